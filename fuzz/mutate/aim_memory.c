/* SPDX-License-Identifier: MIT */
/* Kinds of memory that few programs have, and the calls that treat them apart. */
#include <linux/mman.h>
#include <sys/mman.h>

#include "fuzz/mutate/aim.h"

static void put_span(struct vm_mutator *m, struct vm_call *call, struct vm_span s)
{
	call->arg[0].addr = vm_addr_from(m, s.start);
	call->arg[1].len = vm_quantity_from(&m->layout, s.len);
}

static void make_droppable(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t *flags = &call->arg[3].bits;

	*flags = (*flags & ~(uint64_t)MAP_TYPE) | VM_MAP_DROPPABLE | MAP_ANONYMOUS;
	if (vm_rng_chance(&m->rng, 15))
		*flags |= MAP_LOCKED;
	if (vm_rng_chance(&m->rng, 3))
		*flags &= ~(uint64_t)MAP_ANONYMOUS;
}

static void aim_mmap(struct vm_mutator *m, struct vm_call *call)
{
	if (vm_rng_chance(&m->rng, 6))
		make_droppable(m, call);
}

/* Advice that droppable memory refuses, or that shows that it is what it is. */
static void aim_madvise(struct vm_mutator *m, struct vm_call *call)
{
	static const uint8_t advice[] = { MADV_KEEPONFORK, MADV_DODUMP,	   MADV_WIPEONFORK,
					  MADV_DONTDUMP,   MADV_MERGEABLE, MADV_PAGEOUT };
	struct vm_span s;

	if (!vm_rng_chance(&m->rng, 40) || !vm_span_flagged(m, 1ull << VM_FLAG_DP, &s))
		return;
	put_span(m, call, s);
	call->arg[2].bits = advice[vm_rng_below(&m->rng, sizeof(advice))];
}

void vm_aim_memory(struct vm_mutator *m, struct vm_call *call)
{
	switch (call->op) {
	case VM_OP_MMAP:
		aim_mmap(m, call);
		break;
	case VM_OP_MADVISE:
		aim_madvise(m, call);
		break;
	default:
		break;
	}
}
