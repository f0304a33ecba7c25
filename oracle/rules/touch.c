/* SPDX-License-Identifier: MIT */
/* Touches: read, write, fill. arch/x86/mm/fault.c access_error(); mm/shmem.c shmem_fault(). */
#include "oracle/rules/rule.h"

#include <signal.h>
#include <string.h>

static const struct vm_cause unmapped = { .text = "page is not mapped",
					  .basis = "arch fault handler: SEGV_MAPERR" };
static const struct vm_cause refused = {
	.text = "protection does not allow it",
	.basis = "arch fault handler, access_error(): SEGV_ACCERR"
};
static const struct vm_cause guarded = {
	.text = "guard page",
	.basis = "mm/memory.c handle_pte_marker(): VM_FAULT_SIGSEGV, SEGV_MAPERR"
};
static const struct vm_cause past_end = { .text = "page lies past the end of its object",
					  .basis = "mm/shmem.c shmem_fault(): SIGBUS" };
static const struct vm_cause beyond = { .text = "address beyond TASK_SIZE",
					.basis = "arch fault handler" };

static void faults(struct vm_rule *r, enum vm_tri cond, int64_t done, int signo, int code,
		   const struct vm_cause *cause)
{
	struct vm_outcome *o;

	if (cond == VM_NO || r->out->n == VM_MAX_OUTCOMES)
		return;
	o = &r->out->o[r->out->n++];
	memset(o, 0, sizeof(*o));
	o->kind = VM_RESULT_FAULT;
	o->licence = VM_DOCUMENTED;
	o->value = done;
	o->signo = signo;
	o->sigcode = code;
	o->cause = cause;
	o->effect = r->done;
}

/* PROT_EXEC alone gets a key that denies access where there are keys: execute_only_pkey(). */
static bool execute_only_key(const struct vm_rule *r, const struct vm_area *a)
{
	return a->prot == VM_MODE_X && r->info->features & VM_HAS_PKU;
}

/* May this touch be made in an area? Any right lets x86 read; a key may take away from x alone. */
static enum vm_tri allowed(const struct vm_rule *r, const struct vm_area *a)
{
	bool x86 = !strcmp(r->info->machine, "x86_64");

	if (r->sc->op != VM_OP_READ)
		return vm_is(a->prot & VM_MODE_W);
	if (!x86)
		return a->prot & VM_MODE_R ? VM_YES : a->prot ? VM_MAYBE : VM_NO;
	if (execute_only_key(r, a))
		return VM_MAYBE;
	return vm_is(a->prot);
}

static void touched(struct vm_rule *r, uint64_t start, uint64_t end)
{
	struct vm_step step = { .kind = r->sc->op == VM_OP_FILL ? VM_STEP_FILL : VM_STEP_WRITE,
				.call = r->call,
				.start = start,
				.end = end };

	r->done.n = 0;
	if (r->sc->op != VM_OP_READ && start < end)
		r->done.step[r->done.n++] = step;
}

/* The first page that cannot be touched decides. Returns false if the touch certainly ends at `at`.
 */
static bool touch_page(struct vm_rule *r, uint64_t at, int64_t done)
{
	const struct vm_area *a = vm_state_at(r->s, at);
	enum vm_tri may, past;

	if (at >= r->info->layout.task_size) {
		faults(r, VM_YES, done, SIGSEGV, -1, &beyond);
		return false;
	}
	if (!a) {
		faults(r, VM_YES, done, SIGSEGV, SEGV_MAPERR, &unmapped);
		return false;
	}
	may = allowed(r, a);
	if (may != VM_YES) {
		/* SEGV_PKUERR where a key refuses */
		faults(r, may == VM_NO ? VM_YES : VM_MAYBE, done, SIGSEGV,
		       may == VM_NO && !execute_only_key(r, a) ? SEGV_ACCERR : -1, &refused);
		if (may == VM_NO)
			return false;
	}
	if (a->guard != VM_NO) {
		faults(r, a->guard, done, SIGSEGV, SEGV_MAPERR, &guarded);
		if (a->guard == VM_YES)
			return false;
	}
	past = vm_object_past_end(&r->objects->object[a->object], a->off + (at - a->start));
	faults(r, past, done, SIGBUS, BUS_ADRERR, &past_end);
	if (past == VM_YES)
		return false;
	return true;
}

void vm_rule_touch(struct vm_rule *r)
{
	uint64_t page = r->info->layout.page_size, start = r->sc->arg[0] & vm_page_mask(r);
	uint64_t last = r->sc->arg[0] + r->sc->arg[1] - 1;
	int64_t done = 0;

	touched(r, start, start);
	if (!r->sc->arg[1]) {
		vm_succeeds(r, 0);
		return;
	}
	/* a range that wraps starts beyond TASK_SIZE, or it has too many pages and was withheld */
	for (uint64_t at = start;; at += page) {
		if (!touch_page(r, at, done))
			return;
		done++;
		touched(r, start, at + page);
		if (at >= (last & vm_page_mask(r)))
			break;
	}
	vm_succeeds(r, done);
}
