/* SPDX-License-Identifier: MIT */
#include "oracle/rules/rule.h"

static const struct {
	const char *name;
	void (*outcomes)(struct vm_rule *r);
} rules[VM_OP_COUNT] = {
#define VM_CALL(op, since, share, file, rule) [VM_OP_##op] = { #file, vm_rule_##rule },
	VM_CALLS(VM_CALL)
#undef VM_CALL
};

const char *vm_rule_name(uint8_t op)
{
	return rules[op].name;
}

struct vm_outcome *vm_add_outcome(struct vm_rule *r, uint8_t kind, int64_t value)
{
	struct vm_outcome *o;

	if (r->out->n == VM_MAX_OUTCOMES) {
		vm_silent(r, "more outcomes than fit");
		return &r->out->o[0];
	}
	o = &r->out->o[r->out->n++];
	o->kind = kind;
	o->licence = r->licence;
	o->signo = o->sigcode = 0;
	o->value = value;
	o->len = o->align = 0;
	o->cause = NULL;
	o->lacking = false;
	o->what = r->what;
	o->effect.n = r->done.n;
	for (uint32_t i = 0; i < r->done.n; i++)
		o->effect.step[i] = r->done.step[i];
	return o;
}

bool vm_fails(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause)
{
	if (cond == VM_NO)
		return false;
	vm_add_outcome(r, VM_RESULT_ERRNO, err)->cause = cause;
	if (cond == VM_YES)
		r->failed = true;
	return cond == VM_YES && !r->documented;
}

bool vm_refuses(struct vm_rule *r, enum vm_tri cond, int64_t value, const struct vm_cause *cause)
{
	if (cond == VM_NO)
		return false;
	vm_add_outcome(r, VM_RESULT_VALUE, value)->cause = cause;
	if (cond == VM_YES)
		r->failed = true;
	return cond == VM_YES;
}

bool vm_fails_split(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause,
		    uint64_t start, uint64_t end)
{
	struct vm_step split = { .kind = VM_STEP_SPLIT, .start = start, .end = end };
	bool stop, room = r->done.n < VM_EFFECT_MAX;

	if (room)
		r->done.step[r->done.n++] = split;
	stop = vm_fails(r, cond, err, cause);
	r->done.n -= room;
	return stop;
}

bool vm_stops(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause)
{
	return vm_fails(r, cond, err, cause) || cond == VM_YES;
}

void vm_does(struct vm_rule *r, const struct vm_step *step)
{
	struct vm_effect one = { .n = 1, .step = { *step } };

	if (r->failed)
		return;
	if (r->done.n == VM_EFFECT_MAX) {
		vm_silent(r, "more steps than fit");
		return;
	}
	r->done.step[r->done.n++] = *step;
	if (r->s != r->work) {
		vm_state_copy(r->work, r->s);
		r->s = r->work;
	}
	vm_effect_apply(&one, 0, r->work, r->objects, r->info->layout.page_size);
	if (r->work->lost)
		vm_silent(r, "more areas than fit");
}

void vm_succeeds(struct vm_rule *r, int64_t value)
{
	if (!r->failed)
		vm_add_outcome(r, VM_RESULT_VALUE, value);
}

void vm_succeeds_chosen(struct vm_rule *r, uint64_t len, uint64_t below)
{
	if (!r->failed)
		vm_add_outcome(r, VM_RESULT_CHOSEN, (int64_t)below)->len = len;
}

void vm_succeeds_bits(struct vm_rule *r, uint64_t value, uint64_t mask)
{
	if (!r->failed)
		vm_add_outcome(r, VM_RESULT_BITS, (int64_t)value)->len = mask;
}

void vm_silent(struct vm_rule *r, const char *why)
{
	r->out->silent = true;
	r->out->why_silent = why;
}

/* Is an object mapped in [start, end)? */
static bool has_object(const struct vm_rule *r, uint64_t start, uint64_t end)
{
	const struct vm_state *s = r->s;

	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++)
		if (!s->area[i].own && r->objects->object[s->area[i].object].backed)
			return true;
	return false;
}

/*
 * With vm.overcommit_memory 2 each new page of an object is promised when it is touched, and a
 * segment when it is made (mm/shmem.c shmem_acct_blocks(), ipc/shm.c newseg()): whether that can be
 * depends on the whole machine.
 */
static bool needs_promise(const struct vm_rule *r)
{
	const uint64_t *arg = r->sc->arg;

	if (r->info->overcommit_memory != 2)
		return false;
	switch (r->sc->op) {
	case VM_OP_SHMAT:
		return true;
	case VM_OP_MLOCKALL:
		return has_object(r, 0, UINT64_MAX);
	case VM_OP_READ:
	case VM_OP_WRITE:
	case VM_OP_FILL:
	case VM_OP_MLOCK:
	case VM_OP_MLOCK2:
	case VM_OP_MADVISE:
	case VM_OP_PROCESS_MADVISE:
		return has_object(r, arg[0],
				  arg[0] + arg[1] < arg[0] ? UINT64_MAX : arg[0] + arg[1]);
	default:
		return false;
	}
}

void vm_outcomes(struct vm_rule *r)
{
	r->out->n = 0;
	r->out->silent = false;
	r->out->why_silent = NULL;
	r->failed = false;
	r->done.n = r->nkept = 0;
	r->licence = VM_MEANT;
	r->what = NULL;
	if (needs_promise(r))
		vm_silent(r, "an object's pages may not be promised (vm.overcommit_memory is 2)");
	else
		rules[r->sc->op].outcomes(r);
	if (r->starved)
		vm_starve(r);
}
