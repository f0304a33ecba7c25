/* SPDX-License-Identifier: MIT */
/* mincore(2). mm/mincore.c sys_mincore(), do_mincore(), mincore_pte_range(). */
#include "oracle/rules/rule.h"

#include <errno.h>

#define SYS_MINCORE "mm/mincore.c sys_mincore()"

static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = SYS_MINCORE };
static const struct vm_cause beyond = { .text = "range ends beyond TASK_SIZE",
					.basis = SYS_MINCORE ": access_ok()" };
static const struct vm_cause no_vector = { .text = "vector beyond TASK_SIZE",
					   .basis = SYS_MINCORE ": access_ok()" };
static const struct vm_cause read_only = { .text = "vector cannot be written",
					   .basis = SYS_MINCORE ": copy_to_user()" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/mincore.c do_mincore(); mincore(2)" };

static bool was_present(const struct vm_snapshot *seen, uint64_t addr)
{
	uint32_t low = 0, high = seen->npage;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (seen->page[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < seen->npage && seen->page[low].addr == addr;
}

static const struct vm_object_page *look(const struct vm_rule *r, const struct vm_area *a,
					 uint64_t off)
{
	bool zero = false;

	return vm_object_look(r->objects, a->object, a->anon, off, &zero);
}

/* Memory that is believed to hold bytes other than zero is somewhere. */
static bool has_bytes(const struct vm_object_page *p)
{
	return p && p->known && (p->content.head || (p->rest_known && p->content.rest));
}

/*
 * Is a page resident? What is mapped by a page table is, unless it can be swapped out or, of a file
 * on a disk, after MADV_FREE or of droppable memory, dropped. What is not, is resident only if its
 * object's page cache holds it, which nobody but that object knows: mincore_page().
 */
static enum vm_tri resident(const struct vm_rule *r, const struct vm_area *a, uint64_t addr)
{
	const struct vm_object *x = &r->objects->object[a->object];
	uint64_t off = a->off + (addr - a->start);
	const struct vm_object_page *p = look(r, a, off);
	bool stays = !(r->info->features & VM_HAS_SWAP) &&
		     a->object != r->objects->named[VM_OBJECT_F0] &&
		     !(p && p->may_zero & VM_ZERO_HEAD) && !(a->flags & VM_BIT(VM_FLAG_DP));
	bool private = !a->shared && a->anon == VM_NO_OBJECT;

	if (x->size != UINT64_MAX && off >= vm_page_align(r, x->size))
		return VM_NO;
	if (vm_area_huge(a) != VM_NO)
		return vm_huge_missing(r, a) == VM_YES ? VM_NO : VM_MAYBE;
	if (r->seen && was_present(r->seen, addr))
		return stays ? VM_YES : VM_MAYBE;
	if (r->seen && private)
		return VM_NO;
	return stays && has_bytes(p) ? VM_YES : VM_MAYBE;
}

static void report(struct vm_rule *r, uint64_t start, uint64_t pages)
{
	uint64_t value = 0, mask = 0, page = r->info->layout.page_size;

	for (uint64_t i = 0; i < VM_MINCORE_BITS; i++) {
		uint64_t addr = start + i * page;
		enum vm_tri is = i < pages ? resident(r, vm_state_at(r->s, addr), addr) : VM_NO;

		mask |= (uint64_t)(is != VM_MAYBE) << i;
		value |= (uint64_t)(is == VM_YES) << i;
	}
	vm_succeeds_bits(r, value, mask);
}

/* Bytes that there certainly are between the vector and TASK_SIZE. */
#define LONG_VECTOR (1u << 20)

void vm_rule_mincore(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], len = r->sc->arg[1], task = r->info->layout.task_size;
	uint64_t page = r->info->layout.page_size, pages = len / page + (len % page != 0);
	bool cannot_write = r->sc->arg[2] & VM_MINCORE_READ_ONLY || pages > VM_MINCORE_MAX_PAGES;

	if (vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is(start + len < start || start + len > task), ENOMEM, &beyond) ||
	    vm_fails(r, vm_is(r->sc->arg[2] & VM_MINCORE_NO_VECTOR), EFAULT, &no_vector) ||
	    /* where the executor keeps its vector is not told: a long one may pass TASK_SIZE */
	    vm_fails(r, pages > LONG_VECTOR ? VM_MAYBE : VM_NO, EFAULT, &no_vector))
		return;
	/* one VMA after the other is looked at, and told */
	if (pages &&
	    (vm_fails(r, vm_is(!vm_state_at(r->s, start)), ENOMEM, &hole) ||
	     vm_fails(r, vm_is(cannot_write), EFAULT, &read_only) ||
	     vm_stops(r, vm_is(!vm_state_all(r->s, start, start + pages * page)), ENOMEM, &hole)))
		return;
	report(r, start, pages);
}
