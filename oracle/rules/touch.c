/* SPDX-License-Identifier: MIT */
/* Touches: read, write, fill. arch/x86/mm/fault.c access_error(); mm/shmem.c shmem_fault(). */
#include "oracle/rules/rule.h"

#include <signal.h>
#include <string.h>

#define VM_SEGV_PKUERR 4 /* SEGV_PKUERR */

static const struct vm_cause unmapped = { .text = "page is not mapped",
					  .basis = "arch fault handler: SEGV_MAPERR" };
static const struct vm_cause refused = {
	.text = "protection does not allow it",
	.basis = "arch fault handler, access_error(): SEGV_ACCERR"
};
static const struct vm_cause key_denies = {
	.text = "protection key does not allow it",
	.basis = "arch/x86/mm/fault.c bad_area_access_from_pkeys(): SEGV_PKUERR"
};
static const struct vm_cause guarded = {
	.text = "guard page",
	.basis = "mm/memory.c handle_pte_marker(): VM_FAULT_SIGSEGV, SEGV_MAPERR"
};
static const struct vm_cause past_end = { .text = "page lies past the end of its object",
					  .basis = "mm/shmem.c shmem_fault(): SIGBUS" };
static const struct vm_cause no_huge_page = { .text = "no huge page to be had",
					      .basis = "mm/hugetlb.c hugetlb_no_page(): SIGBUS" };
static const struct vm_cause cannot_grow = {
	.text = "below mmap_min_addr, or what grows down was mapped too low",
	.basis = "mm/mmap.c expand_downwards(): mmap_min_addr, vm_pgoff"
};
static const struct vm_cause in_gap = { .text = "growth into the guard gap above a mapping",
					.basis = "mm/mmap.c expand_downwards(): stack_guard_gap" };
static const struct vm_cause stack_limit = { .text = "growth beyond RLIMIT_STACK",
					     .basis = "mm/mmap.c acct_stack_growth()",
					     .resource = true };
static const struct vm_cause memlock = { .text = "growth beyond RLIMIT_MEMLOCK",
					 .basis = "mm/mmap.c acct_stack_growth()",
					 .resource = true };
static const struct vm_cause as_limit = { .text = "growth beyond RLIMIT_AS",
					  .basis = "mm/mmap.c acct_stack_growth()",
					  .resource = true };
static const struct vm_cause commit = { .text = "growth beyond the commit limit",
					.basis = "mm/mmap.c acct_stack_growth()",
					.resource = true };
static const struct vm_cause beyond = { .text = "address beyond TASK_SIZE",
					.basis = "arch fault handler" };

static const struct vm_cause no_memory = {
	.text = "an allocation failed",
	.basis = "mm/mmap.c expand_downwards(): anon_vma_prepare(), vma_iter_prealloc()",
	.resource = true,
	.starved = true,
};

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
	o->sigcode = r->starved ? -1 : code; /* a signal that cannot be queued has no code */
	o->cause = cause;
	o->effect = r->done;
}

/* May this touch be made in an area, whatever its key says? Any right lets x86 read. */
static enum vm_tri allowed(const struct vm_rule *r, const struct vm_area *a)
{
	bool x86 = vm_is_x86(r);

	if (r->sc->op != VM_OP_READ)
		return vm_is(a->prot & VM_MODE_W);
	if (!x86)
		return a->prot & VM_MODE_R ? VM_YES : a->prot ? VM_MAYBE : VM_NO;
	return vm_is(a->prot);
}

/* Growth comes first among what was done. */
static uint32_t grown(const struct vm_rule *r)
{
	uint32_t n = 0;

	while (n < r->done.n && r->done.step[n].kind == VM_STEP_GROW)
		n++;
	return n;
}

static void touched(struct vm_rule *r, uint64_t start, uint64_t end)
{
	struct vm_step step = { .kind = r->sc->op == VM_OP_FILL ? VM_STEP_FILL : VM_STEP_WRITE,
				.call = r->call,
				.start = start,
				.end = end };

	r->done.n = grown(r);
	if (r->sc->op == VM_OP_READ || start >= end)
		return;
	if (r->done.n == VM_EFFECT_MAX)
		vm_silent(r, "more steps than fit");
	else
		r->done.step[r->done.n++] = step;
}

/* Is `at` in the guard gap above what is mapped below, which can be accessed and does not grow? */
static enum vm_tri is_in_gap(const struct vm_rule *r, const struct vm_area *below, uint64_t at)
{
	if (!below->prot || at - below->end >= vm_stack_gap(r) || vm_area_grows(below) == VM_YES)
		return VM_NO;
	return vm_area_grows(below) == VM_MAYBE ? VM_MAYBE : VM_YES;
}

/* Would the VMA that begins with area i be too long, if it began at `at`? */
static enum vm_tri over_stack_limit(const struct vm_rule *r, uint32_t i, uint64_t at)
{
	const struct vm_state *s = r->s;
	uint32_t k = vm_state_vma_next(s, i);

	if (s->area[k - 1].end - at > r->info->rlimit_stack)
		return VM_YES;
	while (k < s->n && s->area[k].start == s->area[k - 1].end && s->area[k].begins != VM_YES)
		k++;
	return s->area[k - 1].end - at > r->info->rlimit_stack ? VM_MAYBE : VM_NO;
}

static enum vm_tri growth_over_memlock(const struct vm_rule *r, const struct vm_area *a,
				       uint64_t bytes)
{
	enum vm_tri over;

	if (!((a->flags | a->flags_maybe) & VM_BIT(VM_FLAG_LO)))
		return VM_NO;
	over = vm_over_memlock(r, bytes);
	return over == VM_YES && a->flags_maybe & VM_BIT(VM_FLAG_LO) ? VM_MAYBE : over;
}

/*
 * The page offset would become negative: that of where the VMA was mapped, or is now, if no page
 * was touched before it moved (copy_vma()).
 */
static enum vm_tri below_offset(const struct vm_area *a, uint64_t bytes)
{
	return a->off >= bytes ? VM_NO : VM_MAYBE;
}

/* One reason not to grow. Returns true if it is certain. */
static bool stays(struct vm_rule *r, enum vm_tri cond, int64_t done, const struct vm_cause *cause)
{
	faults(r, cond, done, SIGSEGV, SEGV_MAPERR, cause);
	return cond == VM_YES;
}

/*
 * Nothing is mapped at `at`: if what lies above grows down, it may grow to there, sealed or not.
 * mm/memory.c lock_mm_and_find_vma() (mm/mmap_lock.c from 6.16 on), expand_downwards(). Returns
 * false if the touch certainly ends here.
 */
static bool grow(struct vm_rule *r, uint64_t at, int64_t done)
{
	uint32_t i = vm_state_from(r->s, at);
	const struct vm_area *above = i < r->s->n ? &r->s->area[i] : NULL;
	uint64_t bytes = above ? above->start - at : 0, page = r->info->layout.page_size;
	struct vm_step step = { .kind = VM_STEP_GROW, .start = at, .end = at + bytes };
	enum vm_tri grows = above ? vm_area_grows(above) : VM_NO;

	if (stays(r, grows == VM_MAYBE ? VM_MAYBE : vm_is(grows == VM_NO), done, &unmapped) ||
	    stays(r, vm_is(at < r->info->hint_min_addr), done, &cannot_grow) ||
	    stays(r, i ? is_in_gap(r, above - 1, at) : VM_NO, done, &in_gap) ||
	    stays(r, below_offset(above, bytes), done, &cannot_grow) ||
	    stays(r, vm_over_rlimit(r, bytes, VM_NO), done, &as_limit) ||
	    stays(r, over_stack_limit(r, i, at), done, &stack_limit) ||
	    stays(r, growth_over_memlock(r, above, bytes), done, &memlock) ||
	    stays(r, vm_over_commit(r, bytes / page, bytes / page), done, &commit))
		return false;
	stays(r, r->starved ? VM_MAYBE : VM_NO, done, &no_memory);
	r->done.n = grown(r);
	vm_does(r, &step);
	return !r->out->silent;
}

/* The first page that cannot be touched decides. Returns false if the touch certainly ends at `at`.
 */
static bool touch_page(struct vm_rule *r, uint64_t at, int64_t done)
{
	const struct vm_area *a = vm_state_at(r->s, at);
	enum vm_tri denied, may, past;

	if (at >= r->info->layout.task_size) {
		faults(r, VM_YES, done, SIGSEGV, -1, &beyond);
		return false;
	}
	if (!a) {
		if (!grow(r, at, done))
			return false;
		touched(r, r->sc->arg[0] & vm_page_mask(r), at);
		a = vm_state_at(r->s, at);
	}
	denied = vm_area_key_denies(r, a, r->sc->op != VM_OP_READ);
	faults(r, denied, done, SIGSEGV, VM_SEGV_PKUERR, &key_denies);
	if (denied == VM_YES)
		return false;
	may = allowed(r, a);
	if (may != VM_YES) {
		faults(r, may == VM_NO ? VM_YES : VM_MAYBE, done, SIGSEGV,
		       may == VM_NO ? SEGV_ACCERR : -1, &refused);
		if (may == VM_NO)
			return false;
	}
	if (a->guard != VM_NO) {
		faults(r, a->guard, done, SIGSEGV, SEGV_MAPERR, &guarded);
		if (a->guard == VM_YES)
			return false;
	}
	faults(r, vm_huge_missing(r, a), done, SIGBUS, BUS_ADRERR, &no_huge_page);
	if (vm_huge_missing(r, a) == VM_YES)
		return false;
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
