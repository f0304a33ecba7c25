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
