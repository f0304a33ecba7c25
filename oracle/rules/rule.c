/* SPDX-License-Identifier: MIT */
#include "oracle/rules/rule.h"

static const struct {
	const char *name;
	void (*outcomes)(struct vm_rule *r);
} rules[VM_OP_COUNT] = {
	[VM_OP_MMAP] = { "mmap", vm_rule_mmap },
	[VM_OP_MUNMAP] = { "munmap", vm_rule_munmap },
	[VM_OP_MREMAP] = { "mremap", vm_rule_mremap },
	[VM_OP_MPROTECT] = { "mprotect", vm_rule_mprotect },
	[VM_OP_MSEAL] = { "mseal", vm_rule_mseal },
	[VM_OP_READ] = { "touch", vm_rule_touch },
	[VM_OP_WRITE] = { "touch", vm_rule_touch },
	[VM_OP_FILL] = { "touch", vm_rule_touch },
	[VM_OP_TRUNCATE] = { "truncate", vm_rule_truncate },
	[VM_OP_FORK] = { "fork", vm_rule_fork },
	[VM_OP_END] = { "fork", vm_rule_end },
	[VM_OP_EXEC] = { "fork", vm_rule_exec },
	[VM_OP_SHMAT] = { "shm", vm_rule_shmat },
	[VM_OP_SHMDT] = { "shm", vm_rule_shmdt },
	[VM_OP_MLOCK] = { "mlock", vm_rule_mlock },
	[VM_OP_MLOCK2] = { "mlock", vm_rule_mlock },
	[VM_OP_MUNLOCK] = { "mlock", vm_rule_mlock },
	[VM_OP_MLOCKALL] = { "mlockall", vm_rule_mlockall },
	[VM_OP_MUNLOCKALL] = { "mlockall", vm_rule_mlockall },
	[VM_OP_MADVISE] = { "madvise", vm_rule_madvise },
	[VM_OP_PROCESS_MADVISE] = { "madvise", vm_rule_process_madvise },
	[VM_OP_MSYNC] = { "msync", vm_rule_msync },
	[VM_OP_MINCORE] = { "mincore", vm_rule_mincore },
	[VM_OP_PKEY_MPROTECT] = { "mprotect", vm_rule_mprotect },
	[VM_OP_MBIND] = { "mbind", vm_rule_mbind },
	[VM_OP_HOME_NODE] = { "mbind", vm_rule_home_node },
	[VM_OP_PKEY_ALLOC] = { "pkey", vm_rule_pkey_alloc },
	[VM_OP_PKEY_FREE] = { "pkey", vm_rule_pkey_free },
	[VM_OP_NAME] = { "name", vm_rule_name_area },
	[VM_OP_BRK] = { "brk", vm_rule_brk },
	[VM_OP_MDWE] = { "mdwe", vm_rule_mdwe },
	[VM_OP_REMAP_FILE_PAGES] = { "remap_file_pages", vm_rule_remap_file_pages },
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

void vm_outcomes(struct vm_rule *r)
{
	r->out->n = 0;
	r->out->silent = false;
	r->out->why_silent = NULL;
	r->failed = false;
	r->done.n = r->nkept = 0;
	r->licence = VM_MEANT;
	r->what = NULL;
	rules[r->sc->op].outcomes(r);
	if (r->starved)
		vm_starve(r);
}
