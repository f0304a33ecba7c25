/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "fuzz/mutate/aim.h"

static struct vm_span source(struct vm_mutator *m)
{
	enum { INSIDE, CROSSING, OLD_LEN_0, AIMED };
	static const uint8_t weight[] = { 58, 22, 6, 14 };
	struct vm_span s;

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case INSIDE:
		return vm_span_inside(m);
	case CROSSING:
		return vm_span_crossing(m);
	case OLD_LEN_0: /* a second mapping of a shared object; of a private one: EINVAL */
		if (vm_rng_chance(&m->rng, 10) || !vm_span_shared(m, &s))
			s = vm_span_inside(m);
		s.len = 0;
		return s;
	default:
		return vm_span_aimed(m);
	}
}

static uint64_t flags_of(struct vm_mutator *m)
{
	static const uint64_t flags[] = {
		MREMAP_MAYMOVE | MREMAP_FIXED,
		MREMAP_MAYMOVE,
		0,
		MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		MREMAP_FIXED,
		MREMAP_DONTUNMAP,
		MREMAP_FIXED | MREMAP_DONTUNMAP,
	};
	static const uint8_t weight[] = { 50, 20, 13, 7, 6, 1, 1, 1 };

	if (vm_rng_chance(&m->rng, 1))
		return (1ull << vm_rng_below(&m->rng, 32)) | vm_rng_below(&m->rng, 8);
	return flags[vm_rng_weighted(&m->rng, weight, sizeof(weight))];
}

static uint64_t new_len(struct vm_mutator *m, uint64_t old_len, uint64_t flags)
{
	enum { SAME, GROW, SHRINK, BYTES, HUGE, NONSENSE, PMD };
	static const uint8_t weight[] = { 40, 22, 20, 3, 6, 5, 4 };
	uint64_t ps = m->layout.page_size, pages = old_len / ps;

	if ((flags & MREMAP_DONTUNMAP) && vm_rng_chance(&m->rng, 85))
		return old_len;
	if (!old_len)
		return ps * (1 + vm_rng_below(&m->rng, 6));
	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case SAME:
		return old_len;
	case GROW:
		return old_len + ps * (1 + vm_rng_below(&m->rng, 6));
	case SHRINK:
		return pages < 2 ? ps : ps * (1 + vm_rng_below(&m->rng, (uint32_t)(pages - 1)));
	case BYTES: /* equal after rounding, or just not */
		return old_len + (uint64_t)vm_rng_range(&m->rng, -2, 2);
	case HUGE: /* more than may be committed, on most machines */
		return (64ull << vm_rng_below(&m->rng, 4)) * m->layout.pud_size;
	case NONSENSE:
		return vm_len_nonsense(m);
	default:
		return m->layout.pmd_size * (1 + vm_rng_below(&m->rng, 2));
	}
}

static struct vm_span destination(struct vm_mutator *m, struct vm_span src, uint64_t len)
{
	enum { INSIDE, CROSSING, HALF_SEALED, HOLE, ARENA, OVERLAP, CHOSEN, NONSENSE, RECENT };
	static const uint8_t weight[] = { 32, 8, 9, 15, 16, 6, 5, 3, 12 };
	uint64_t ps = m->layout.page_size, pages = len / ps;
	struct vm_span s = vm_span_inside(m);

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case CROSSING:
		return vm_span_crossing(m);
	case HALF_SEALED:
		vm_span_half_sealed(m, pages && pages < 64 ? pages : 2, &s);
		break;
	case HOLE:
		return vm_span_hole(m);
	case ARENA:
		return vm_span_arena(m);
	case OVERLAP:
		s.start = src.start + ps * (uint64_t)vm_rng_range(&m->rng, -2, 2);
		break;
	case CHOSEN:
		vm_span_chosen(m, &s);
		break;
	case RECENT:
		vm_span_recent(m, &s);
		break;
	case NONSENSE:
		s.start = vm_addr_nonsense(m);
		break;
	}
	if (vm_rng_chance(&m->rng, 1))
		s.start += 1 + vm_rng_below(&m->rng, (uint32_t)ps - 1);
	return s;
}

void vm_aim_mremap(struct vm_mutator *m, struct vm_call *call)
{
	uint64_t flags = flags_of(m);
	struct vm_span src = source(m);
	uint64_t len = new_len(m, src.len, flags);

	call->arg[0].addr = vm_addr_from(m, src.start);
	call->arg[1].len = vm_quantity_from(&m->layout, src.len);
	call->arg[2].len = vm_quantity_from(&m->layout, len);
	call->arg[3].bits = flags;
	call->arg[4].addr = (struct vm_addr){ .base = VM_BASE_NULL };
	if ((flags & MREMAP_FIXED) || vm_rng_chance(&m->rng, 10))
		call->arg[4].addr = vm_addr_from(m, destination(m, src, len).start);
	/* The kernel chooses: what it chose is worth a name. */
	if (!(flags & MREMAP_FIXED) && (flags & MREMAP_MAYMOVE) && vm_rng_chance(&m->rng, 80))
		vm_aim_name(m, call);
}
