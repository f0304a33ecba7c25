/* SPDX-License-Identifier: MIT */
/* May a call be made, given what the executor itself needs? */
#include "harness/program/call_table.h"

#define CAP_IPC_LOCK_BIT  14
#define CAP_SYS_ADMIN_BIT 21

/* The pages that [addr, addr + len) overlaps, whatever the values. */
static uint64_t touched_pages(uint64_t addr, uint64_t len, uint64_t page_size)
{
	uint64_t lead = addr & (page_size - 1);

	if (!len)
		return 0;
	return len / page_size + (lead + len % page_size + page_size - 1) / page_size;
}

static bool overlaps(const struct vm_range *a, const struct vm_range *b)
{
	return a->start < a->end && b->start < b->end && a->start < b->end && b->start < a->end;
}

/*
 * Does the executor's child do as well after this call on its vdso or vvar? It never calls into
 * them, but what is unmapped there or moved away leaves a hole in which nobody looks for what the
 * kernel may put there next. Parts cannot be unmapped: special_mapping_split().
 */
static bool spares_special(const struct vm_syscall *sc, const struct vm_layout *layout,
			   const struct vm_range *range)
{
	const struct vm_range *special[] = { &layout->vdso, &layout->vvar };

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		const struct vm_range *s = special[i];
		bool whole = range->start == s->start && range->end == s->end;

		if (range->start < s->start || range->start >= s->end || range->end > s->end)
			continue;
		return sc->op == VM_OP_MPROTECT || sc->op == VM_OP_MSEAL ||
		       (sc->op == VM_OP_MUNMAP && !whole);
	}
	return false;
}

enum vm_withheld vm_call_withheld(const struct vm_syscall *sc, const struct vm_layout *layout,
				  const struct vm_range *guard, size_t nguard)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);
	struct vm_range range[2] = { { 0, 0 }, { 0, 0 } };

	desc->footprint(sc, layout, range);
	if (spares_special(sc, layout, &range[0]))
		return VM_PERMITTED;
	for (size_t i = 0; i < nguard; i++)
		if (overlaps(&range[0], &guard[i]) || overlaps(&range[1], &guard[i]))
			return VM_WITHHELD_GUARD;
	if (desc->populates && desc->populates(sc) &&
	    touched_pages(sc->arg[0], sc->arg[1], layout->page_size) > VM_TOUCH_MAX_PAGES)
		return VM_WITHHELD_MEMORY;
	return VM_PERMITTED;
}

/* Bytes that a call may map anew. */
static uint64_t maps(const struct vm_syscall *sc, const struct vm_layout *layout)
{
	switch (sc->op) {
	case VM_OP_MMAP:
		return sc->arg[1];
	case VM_OP_MREMAP:
		return sc->arg[2];
	case VM_OP_BRK:
		return sc->arg[0] > layout->brk_base ? sc->arg[0] - layout->brk_base : 0;
	default:
		return 0;
	}
}

bool vm_call_harmful(const struct vm_syscall *sc, const struct vm_layout *layout,
		     uint64_t cap_effective)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);

	/* no RLIMIT_MEMLOCK bounds what is locked, and with it in memory, then */
	if (cap_effective >> CAP_IPC_LOCK_BIT & 1 &&
	    maps(sc, layout) > VM_TOUCH_MAX_PAGES * layout->page_size)
		return true;
	return cap_effective >> CAP_SYS_ADMIN_BIT & 1 && desc->harmful && desc->harmful(sc);
}
