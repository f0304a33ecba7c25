/* SPDX-License-Identifier: MIT */
/* mlockall(2), munlockall(2). mm/mlock.c apply_mlockall_flags(). */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif

static const struct vm_cause bad_flags = { .text = "flags are unknown, none, or onfault alone",
					   .basis = "mm/mlock.c mlockall()" };
static const struct vm_cause not_allowed = { .text = "RLIMIT_MEMLOCK is 0",
					     .basis = "mm/mlock.c can_do_mlock()" };
static const struct vm_cause limit = { .text = "RLIMIT_MEMLOCK",
				       .basis = "mm/mlock.c mlockall(): total_vm",
				       .resource = true };

static const struct vm_cause not_split = {
	.text = "an allocation failed",
	.basis = "mm/mlock.c apply_mlockall_flags() ignores mlock_fixup()",
	.resource = true,
	.starved = true,
};

/* Of one VMA, [start, end), the flags could not be changed: the second step is that of all. */
static void leaves_out(struct vm_rule *r, uint64_t start, uint64_t end)
{
	struct vm_effect all = r->done;

	r->done.step[1].end = start;
	r->done.step[2] = all.step[1];
	r->done.step[2].start = end;
	for (uint32_t i = 2; i < all.n; i++)
		r->done.step[i + 1] = all.step[i];
	r->done.n = all.n + 1;
	vm_starves_unsaid(r, &not_split);
	r->done = all;
}

/* VMAs that may be told to have been left out; more than a program mostly has. */
#define MOST_LEFT_OUT 24

/* All VMAs get the flags, the executor's too; errors of single ones are ignored. */
static void apply(struct vm_rule *r, uint64_t now, uint64_t later, bool current)
{
	uint64_t task = r->info->layout.task_size;
	struct vm_step future = { .kind = VM_STEP_DEFAULT, .flags = later };
	struct vm_step lock = { .kind = VM_STEP_LOCK, .end = task, .flags = now };
	struct vm_step populate = { .kind = VM_STEP_COPY, .end = task };

	r->done.step[r->done.n++] = future;
	if (current)
		r->done.step[r->done.n++] = lock;
	if (now)
		r->done.step[r->done.n++] = populate;
	vm_succeeds(r, 0);
	for (uint32_t i = 0, n = 0; r->starved && current && i < r->s->n && n < MOST_LEFT_OUT; i++)
		if (!r->s->area[i].own) {
			leaves_out(r, r->s->area[i].start, r->s->area[i].end);
			n++;
		}
}

void vm_rule_mlockall(struct vm_rule *r)
{
	uint32_t flags = (uint32_t)r->sc->arg[0];
	uint64_t how = VM_BIT(VM_FLAG_LO) | (flags & MCL_ONFAULT ? VM_BIT(VM_FLAG_LF) : 0);

	if (r->sc->op == VM_OP_MUNLOCKALL) {
		apply(r, 0, 0, true);
		return;
	}
	if (vm_fails(r,
		     vm_is(!flags || flags == MCL_ONFAULT ||
			   flags & ~(uint32_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)),
		     EINVAL, &bad_flags) ||
	    vm_fails(r, vm_is(vm_cannot_lock(r)), EPERM, &not_allowed) ||
	    vm_fails(r,
		     vm_is(flags & MCL_CURRENT &&
			   vm_state_sizes(r->s, 0, UINT64_MAX).total > vm_lock_limit(r)),
		     ENOMEM, &limit))
		return;
	apply(r, flags & MCL_CURRENT ? how : 0, flags & MCL_FUTURE ? how : 0, flags & MCL_CURRENT);
}
