/* SPDX-License-Identifier: MIT */
/* Kinds of memory that few programs have, and the calls that treat them apart. */
#include <linux/mman.h>
#include <sys/mman.h>

#include "fuzz/mutate/aim.h"
#include "oracle/state/state.h"

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

/* Where there is room to grow mostly; some just above what was there before. */
static void make_growing(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t *flags = &call->arg[3].bits, ps = m->layout.page_size;
	struct vm_span s = vm_span_arena(m);

	*flags |= MAP_GROWSDOWN;
	if (vm_rng_chance(&m->rng, 92)) {
		*flags = (*flags & ~(uint64_t)MAP_TYPE) | MAP_PRIVATE | MAP_ANONYMOUS;
		call->arg[4].bits = VM_OBJECT_NONE;
	}
	if (call->let || vm_rng_chance(&m->rng, 40))
		return;
	s.start += (1 + vm_rng_below(&m->rng, 4)) * 256 * ps;
	put_span(m, call, s);
}

/* Mostly where it can succeed without a pool: aligned, and not reserved. */
static void make_huge(struct vm_mutator *m, struct vm_call *call)
{
	enum { DEFAULT, TWO_MB, ONE_GB, OTHER };
	static const uint8_t weight[] = { 70, 15, 8, 7 };
	uint64_t *flags = &call->arg[3].bits, pmd = m->layout.pmd_size;
	uint64_t len = (1 + vm_rng_below(&m->rng, 3)) * pmd;
	uint64_t at = m->layout.arena_base + vm_rng_below(&m->rng, 12) * pmd;

	*flags |= MAP_HUGETLB | (vm_rng_chance(&m->rng, 85) ? MAP_NORESERVE : 0);
	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case TWO_MB:
		*flags |= 21u << 26;
		break;
	case ONE_GB:
		*flags |= 30u << 26;
		len = m->layout.page_size;
		at = m->layout.arena_base + (1 + vm_rng_below(&m->rng, 3)) * m->layout.pud_size;
		break;
	case OTHER:
		*flags |= (uint64_t)vm_rng_below(&m->rng, 64) << 26;
		break;
	}
	if (vm_rng_chance(&m->rng, 25))
		len -= vm_rng_below(&m->rng, (uint32_t)(len / m->layout.page_size)) *
		       m->layout.page_size;
	if (vm_rng_chance(&m->rng, 8))
		at += m->layout.page_size * (1 + vm_rng_below(&m->rng, 511));
	if (vm_rng_chance(&m->rng, 8))
		call->arg[5].len.pages = (int32_t)(vm_rng_chance(&m->rng, 50) ? 512 : 1);
	if (call->let) {
		call->arg[1].len = vm_quantity_from(&m->layout, len);
		return;
	}
	put_span(m, call, (struct vm_span){ at, len });
}

/* A part of huge pages, whole ones mostly. */
static bool huge_span(struct vm_mutator *m, struct vm_span *s)
{
	uint64_t pmd = m->layout.pmd_size, ps = m->layout.page_size, n, first;

	if (!vm_rng_chance(&m->rng, 50) || !vm_span_flagged(m, VM_BIT(VM_FLAG_HT), s))
		return false;
	n = s->len / pmd < 16 ? s->len / pmd : 16;
	first = vm_rng_below(&m->rng, (uint32_t)n);
	s->start += first * pmd;
	s->len = (1 + vm_rng_below(&m->rng, (uint32_t)(n - first))) * pmd;
	if (vm_rng_chance(&m->rng, 20))
		s->start += (1 + vm_rng_below(&m->rng, 511)) * ps;
	if (vm_rng_chance(&m->rng, 20))
		s->len -= (1 + vm_rng_below(&m->rng, 511)) * ps;
	return true;
}

/* Calls on a range: of huge pages, where there are some. */
static void aim_range(struct vm_mutator *m, struct vm_call *call)
{
	struct vm_span s;

	if (!huge_span(m, &s))
		return;
	if (vm_call_is_touch(call->op) && s.len > 4 * m->layout.page_size)
		s.len = (1 + vm_rng_below(&m->rng, 4)) * m->layout.page_size;
	put_span(m, call, s);
	if (call->op == VM_OP_REMAP_FILE_PAGES) {
		call->arg[3].len.pages = vm_rng_chance(&m->rng, 80) ? 0 : 1;
		call->arg[4].bits |= MAP_NONBLOCK;
	}
}

/* To where there are or may be huge pages; of the same length mostly. */
static void aim_mremap(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t pmd = m->layout.pmd_size;
	struct vm_span s;

	if (!huge_span(m, &s))
		return;
	put_span(m, call, s);
	call->arg[2].len =
		vm_rng_chance(&m->rng, 60)
			? call->arg[1].len
			: vm_quantity_from(&m->layout, (1 + vm_rng_below(&m->rng, 3)) * pmd);
	if (!vm_rng_chance(&m->rng, 85))
		return;
	call->arg[4].addr = vm_addr_from(m, m->layout.arena_base + vm_rng_below(&m->rng, 16) * pmd);
}

static void aim_mmap(struct vm_mutator *m, struct vm_call *call)
{
	/* mostly in place of plain anonymous memory, not of mappings of objects */
	if (!(call->arg[3].bits & MAP_ANONYMOUS) && !vm_rng_chance(&m->rng, 5))
		return;
	if (vm_rng_chance(&m->rng, 9))
		make_droppable(m, call);
	else if (vm_rng_chance(&m->rng, 9))
		make_growing(m, call);
	else if (vm_rng_chance(&m->rng, 8))
		make_huge(m, call);
}

/* How far below what grows down: a few pages, or around its guard gap, or around RLIMIT_STACK. */
static uint64_t depth(struct vm_mutator *m, uint64_t len)
{
	enum { NEAR, FURTHER, GAP, LIMIT };
	static const uint8_t weight[] = { 60, 20, 10, 10 };
	uint64_t ps = m->layout.page_size, most = m->rlimit_stack / ps, pages = len / ps;

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case NEAR:
		return 1 + vm_rng_below(&m->rng, 4);
	case FURTHER:
		return 1 + vm_rng_below(&m->rng, 64);
	case GAP:
		return VM_STACK_GAP_PAGES - 2 + vm_rng_below(&m->rng, 4);
	default:
		if (most > 1u << 20 || most < pages + 2)
			return 1;
		return most - pages - 1 + vm_rng_below(&m->rng, 3);
	}
}

/* A touch below what grows down. */
static void aim_touch(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t ps = m->layout.page_size, below, len;
	struct vm_span s;

	if (!vm_rng_chance(&m->rng, 40) || !vm_span_flagged(m, VM_BIT(VM_FLAG_GD), &s)) {
		aim_range(m, call);
		return;
	}
	below = depth(m, s.len);
	len = vm_rng_chance(&m->rng, 50) ? 1 : 1 + vm_rng_below(&m->rng, (uint32_t)below + 2);
	if (len > VM_TOUCH_MAX_PAGES)
		len = VM_TOUCH_MAX_PAGES;
	put_span(m, call, (struct vm_span){ s.start - below * ps, len * ps });
}

/* PROT_GROWSDOWN mostly of what grows; from inside or below. */
static void aim_mprotect(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t ps = m->layout.page_size;
	struct vm_span s;

	if (!vm_rng_chance(&m->rng, 20) || !vm_span_flagged(m, VM_BIT(VM_FLAG_GD), &s)) {
		if (vm_rng_chance(&m->rng, 1))
			call->arg[2].bits |= (1 + vm_rng_below(&m->rng, 3)) * PROT_GROWSDOWN;
		else
			aim_range(m, call);
		return;
	}
	s.start += (vm_rng_below(&m->rng, (uint32_t)(s.len / ps) + 2) - 1) * ps;
	s.len = (1 + vm_rng_below(&m->rng, 4)) * ps;
	put_span(m, call, s);
	call->arg[2].bits |= vm_rng_chance(&m->rng, 95) ? PROT_GROWSDOWN : PROT_GROWSUP;
}

/* Advice that droppable memory refuses, or that shows that it is what it is. */
static void aim_madvise(struct vm_mutator *m, struct vm_call *call)
{
	static const uint8_t advice[] = { MADV_KEEPONFORK, MADV_DODUMP,	   MADV_WIPEONFORK,
					  MADV_DONTDUMP,   MADV_MERGEABLE, MADV_PAGEOUT };
	struct vm_span s;

	if (!vm_rng_chance(&m->rng, 40) || !vm_span_flagged(m, VM_BIT(VM_FLAG_DP), &s)) {
		aim_range(m, call);
		return;
	}
	put_span(m, call, s);
	call->arg[2].bits = advice[vm_rng_below(&m->rng, sizeof(advice))];
}

void vm_aim_memory(struct vm_mutator *m, struct vm_call *call)
{
	switch (call->op) {
	case VM_OP_MMAP:
		aim_mmap(m, call);
		break;
	case VM_OP_READ:
	case VM_OP_WRITE:
	case VM_OP_FILL:
		aim_touch(m, call);
		break;
	case VM_OP_MPROTECT:
	case VM_OP_PKEY_MPROTECT:
		aim_mprotect(m, call);
		break;
	case VM_OP_MADVISE:
		aim_madvise(m, call);
		break;
	case VM_OP_MREMAP:
		aim_mremap(m, call);
		break;
	case VM_OP_MUNMAP:
	case VM_OP_MSEAL:
	case VM_OP_MLOCK:
	case VM_OP_MLOCK2:
	case VM_OP_MINCORE:
	case VM_OP_MSYNC:
	case VM_OP_PROCESS_MADVISE:
	case VM_OP_REMAP_FILE_PAGES:
		aim_range(m, call);
		break;
	default:
		break;
	}
}
