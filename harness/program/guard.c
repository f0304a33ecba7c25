/* SPDX-License-Identifier: MIT */
/* May a call be made, given what the executor itself needs? */
#include "harness/program/call_table.h"

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

enum vm_withheld vm_call_withheld(const struct vm_syscall *sc, const struct vm_layout *layout,
				  const struct vm_range *guard, size_t nguard)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);
	struct vm_range range[2] = { { 0, 0 }, { 0, 0 } };

	desc->footprint(sc, layout, range);
	for (size_t i = 0; i < nguard; i++)
		if (overlaps(&range[0], &guard[i]) || overlaps(&range[1], &guard[i]))
			return VM_WITHHELD_GUARD;
	if (desc->populates && desc->populates(sc) &&
	    touched_pages(sc->arg[0], sc->arg[1], layout->page_size) > VM_TOUCH_MAX_PAGES)
		return VM_WITHHELD_MEMORY;
	return VM_PERMITTED;
}

bool vm_call_harmful(const struct vm_syscall *sc, uint64_t cap_effective)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);

	return cap_effective >> CAP_SYS_ADMIN_BIT & 1 && desc->harmful && desc->harmful(sc);
}
