/* SPDX-License-Identifier: MIT */
/*
 * What a call may do when one of its allocations fails. Wherever it allocates, it has done some of
 * the steps that it does when it succeeds, or when it fails by a check: an allocation that fails
 * ends it between two of them. So the outcomes of a rule say also where an allocation failure
 * leaves something behind. It need not end the call at all: many allocations can be done without.
 */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <string.h>

static const struct vm_cause no_memory = {
	.text = "an allocation failed",
	.basis = "the kernel ends a call between two of its steps where it runs out of memory",
	.resource = true,
	.starved = true,
};

/* What the call says, most likely first. 0: nothing. */
struct errnos {
	int first, second;
};

/*
 * ENOMEM, but: madvise_vma_behavior() and madvise_vma_anon_name() make it EAGAIN,
 * __mlock_posix_error_return() too if it is populating that failed; mincore() has its own word.
 */
static struct errnos errnos_of(uint8_t op)
{
	switch (op) {
	case VM_OP_SHMDT:
	case VM_OP_MLOCKALL:
	case VM_OP_MUNLOCKALL:
		return (struct errnos){ 0, 0 }; /* they look at no failure */
	case VM_OP_MMAP:			/* __shmem_get_inode(): no inode, no space */
		return (struct errnos){ ENOMEM, ENOSPC };
	case VM_OP_MINCORE:
		return (struct errnos){ EAGAIN, 0 };
	case VM_OP_MADVISE:
	case VM_OP_PROCESS_MADVISE:
	case VM_OP_NAME:
	case VM_OP_MLOCK:
	case VM_OP_MLOCK2:
	case VM_OP_FORK:
		return (struct errnos){ ENOMEM, EAGAIN };
	default:
		return (struct errnos){ ENOMEM, 0 };
	}
}

static bool same_steps(const struct vm_effect *a, const struct vm_effect *b)
{
	return a->n == b->n && !memcmp(a->step, b->step, a->n * sizeof(a->step[0]));
}

/* Is there one with this result and effect already? */
static bool known(const struct vm_rule *r, uint8_t kind, int64_t value)
{
	for (uint32_t i = 0; i < r->out->n; i++) {
		const struct vm_outcome *o = &r->out->o[i];

		if (o->kind == kind && o->value == value && !o->lacking &&
		    same_steps(&o->effect, &r->done))
			return true;
	}
	return false;
}

static void refuse(struct vm_rule *r, uint8_t kind, int64_t value, const struct vm_cause *cause)
{
	if (!value || known(r, kind, value))
		return;
	vm_add_outcome(r, kind, value)->cause = cause ? cause : &no_memory;
}

void vm_starves(struct vm_rule *r, const struct vm_cause *cause)
{
	struct errnos e = errnos_of(r->sc->op);

	/* a touch is made again; brk says that it failed by the old break */
	if (!r->starved || !strcmp(vm_rule_name(r->sc->op), "touch"))
		return;
	if (r->sc->op == VM_OP_BRK) {
		refuse(r, VM_RESULT_VALUE, (int64_t)r->s->process.brk, cause);
		return;
	}
	refuse(r, VM_RESULT_ERRNO, e.first, cause);
	refuse(r, VM_RESULT_ERRNO, e.second, cause);
}

/* The same as outcome i, with what is done now as effect. */
static struct vm_outcome *again(struct vm_rule *r, uint32_t i)
{
	const struct vm_outcome was = r->out->o[i];
	struct vm_outcome *o = vm_add_outcome(r, was.kind, was.value);

	o->len = was.len;
	o->cause = was.cause;
	return o;
}

void vm_starves_unsaid(struct vm_rule *r, const struct vm_cause *cause)
{
	struct vm_outcome *o;

	if (!r->starved || r->failed || !r->out->n)
		return;
	o = again(r, r->out->n - 1);
	o->cause = cause;
	o->lacking = true;
}

/* The first n steps of an outcome are done, and the next one has begun: VMAs may be split. */
static void stop_at(struct vm_rule *r, const struct vm_effect *e, uint32_t n)
{
	const struct vm_step *next = &e->step[n];

	r->done.n = n;
	memcpy(r->done.step, e->step, n * sizeof(e->step[0]));
	if (n < e->n && !next->chosen && next->start < next->end && n < VM_EFFECT_MAX)
		r->done.step[r->done.n++] = (struct vm_step){ .kind = VM_STEP_SPLIT,
							      .start = next->start,
							      .end = next->end };
	vm_starves(r, NULL);
}

/*
 * mm_populate() looks at no failure, and none is promised to be told: mmap(2), MAP_POPULATE. What
 * it has populated does not show: that comes second, so that it is doubted (doubt_others()).
 */
static void unpopulated(struct vm_rule *r, uint32_t i)
{
	struct vm_effect *e = &r->out->o[i].effect;

	if (r->out->o[i].kind == VM_RESULT_ERRNO || !e->n || e->step[e->n - 1].kind != VM_STEP_COPY)
		return;
	r->done = *e;
	again(r, i);
	e->n--;
}

void vm_starve(struct vm_rule *r)
{
	uint32_t n = r->out->n;

	if (r->out->silent)
		return;
	for (uint32_t i = 0; i < n && !r->out->silent; i++) {
		struct vm_effect e = r->out->o[i].effect;

		r->licence = r->out->o[i].licence;
		r->what = r->out->o[i].what;
		/* a step that fills in pages, locks or copies comes last, and ends no call */
		for (uint32_t k = 0; (k < e.n || !k) && !r->out->silent; k++)
			stop_at(r, &e, k);
		if (!r->out->silent)
			unpopulated(r, i);
	}
}
