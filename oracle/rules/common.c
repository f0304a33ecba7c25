/* SPDX-License-Identifier: MIT */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#define CAP_SYS_RAWIO_BIT 17
#define GIB		  (1ull << 30)

uint64_t vm_page_mask(const struct vm_rule *r)
{
	return ~(r->info->layout.page_size - 1);
}

uint64_t vm_page_align(const struct vm_rule *r, uint64_t len)
{
	return (len + r->info->layout.page_size - 1) & vm_page_mask(r);
}

bool vm_unaligned(const struct vm_rule *r, uint64_t addr)
{
	return addr & ~vm_page_mask(r);
}

uint64_t vm_stack_gap(const struct vm_rule *r)
{
	return VM_STACK_GAP_PAGES * r->info->layout.page_size;
}

enum vm_tri vm_over_commit(const struct vm_rule *r, uint64_t min_pages, uint64_t max_pages)
{
	uint64_t limit = r->info->total_pages;

	switch (r->info->overcommit_memory) {
	case 0: /* heuristic: refuses only what can never be there */
		if (min_pages > limit)
			return VM_YES;
		return max_pages > limit ? VM_MAYBE : VM_NO;
	case 1:
		return VM_NO;
	default: /* strict: depends on what the whole system has committed, even for 0 pages */
		return VM_MAYBE;
	}
}

enum vm_tri vm_below_min_addr(const struct vm_rule *r, uint64_t addr)
{
	if (addr >= r->info->mmap_min_addr)
		return VM_NO;
	return vm_is(!(r->info->cap_effective >> CAP_SYS_RAWIO_BIT & 1));
}

/* x86_64 DEFAULT_MAP_WINDOW: with 5 levels of page tables, only a hint beyond it makes for more. */
#define MAP_WINDOW ((uint64_t)1 << 47)

/* Where the search certainly looks: not near the stack, whose gap moves mmap_base down. */
static void search_window(const struct vm_rule *r, uint64_t *low, uint64_t *high)
{
	uint64_t size = r->info->layout.task_size, task = size < MAP_WINDOW ? size : MAP_WINDOW;
	bool legacy = r->info->rlimit_stack == UINT64_MAX;
	uint64_t top = task / 8 < 64 * GIB ? task / 8 : 64 * GIB;

	*low = legacy ? task / 3 + GIB : r->info->hint_min_addr + (1u << 20);
	*high = task - top;
	if (!legacy && r->info->rlimit_stack > top / 2)
		*high = task / 6; /* mmap_base(): gap_max is 5/6 of TASK_SIZE */
}

enum vm_tri vm_no_room(const struct vm_rule *r, uint64_t len)
{
	uint64_t low, high, slack = 2 * r->info->layout.pmd_size;

	if (vm_state_largest_hole(r->s, 0, r->info->layout.task_size) < len)
		return VM_YES;
	search_window(r, &low, &high);
	if (vm_state_largest_hole(r->s, low, high) >= len + slack)
		return VM_NO;
	return VM_MAYBE;
}

/*
 * File systems with thp_get_unmapped_area() (ext4, xfs; f0 may be on one) look for a huge page
 * more, and take the hint only where that is free too: mm/huge_memory.c __thp_get_unmapped_area().
 * Where the offset, rounded up to one, is beyond what a file can have, short lengths seem long.
 */
static bool may_be_padded(const struct vm_rule *r, uint64_t hint, uint64_t len, uint32_t object,
			  uint64_t off)
{
	uint64_t pmd = r->info->layout.pmd_size;

	return object != VM_NO_OBJECT && object == r->objects->named[VM_OBJECT_F0] &&
	       (len >= pmd || off > INT64_MAX - pmd) &&
	       vm_state_clear(r->s, hint + len, hint + len + pmd, vm_stack_gap(r)) != VM_YES;
}

enum vm_tri vm_hint_taken(const struct vm_rule *r, uint64_t *addr, uint64_t len, uint32_t object,
			  uint64_t off)
{
	uint64_t low, high, hint = *addr & vm_page_mask(r);
	uint64_t gap = vm_stack_gap(r) + r->info->layout.pmd_size;
	enum vm_tri clear;

	/* mm/mmap.c round_hint_to_min() is the caller's; 0 is no hint */
	if (!hint)
		return VM_NO;
	if (len > r->info->layout.task_size || hint > r->info->layout.task_size - len)
		return VM_NO;
	clear = vm_state_clear(r->s, hint, hint + len, vm_stack_gap(r));
	if (clear == VM_NO)
		return VM_NO;
	*addr = hint;
	search_window(r, &low, &high);
	/* nor where the executor's stack may have its guard gap */
	if (hint + len + gap > high || hint < r->info->mmap_min_addr || clear == VM_MAYBE)
		return VM_MAYBE;
	return may_be_padded(r, hint, len, object, off) ? VM_MAYBE : VM_YES;
}

enum vm_tri vm_over_map_count(const struct vm_rule *r)
{
	/* an area is at most one VMA here, and no call makes more than four */
	return r->s->n + 8 < r->info->max_map_count ? VM_NO : VM_MAYBE;
}

bool vm_mdwe_refuses(const struct vm_rule *r, uint8_t was, uint8_t now)
{
	if (!(r->s->process.mdwe & VM_MDWE_REFUSE) || !(now & VM_MODE_X))
		return false;
	return now & VM_MODE_W || !(was & VM_MODE_X);
}

uint64_t vm_takes_exec_key(struct vm_rule *r, uint64_t *maybe)
{
	const struct vm_keys *k = &r->s->process.keys;

	if (vm_key_taken_by_exec(k)) {
		r->done.step[r->done.n++] = (struct vm_step){ .kind = VM_STEP_EXEC_KEY };
		r->nkept = r->done.n;
	}
	return vm_key_of_exec(k, maybe);
}

enum vm_tri vm_area_key_denies(const struct vm_rule *r, const struct vm_area *a, bool write)
{
	return vm_key_denies(&r->s->process.keys, a->flags, a->flags_maybe, write);
}

uint8_t vm_mode_of_prot(uint64_t prot)
{
	return (prot & PROT_READ ? VM_MODE_R : 0) | (prot & PROT_WRITE ? VM_MODE_W : 0) |
	       (prot & PROT_EXEC ? VM_MODE_X : 0);
}

enum vm_tri vm_huge_to_be_had(const struct vm_rule *r)
{
	return r->info->features & VM_HAS_HUGE_POOL ? VM_MAYBE : VM_NO;
}

enum vm_tri vm_huge_missing(const struct vm_rule *r, const struct vm_area *a)
{
	enum vm_tri huge = vm_area_huge(a);

	return huge == VM_YES && vm_huge_to_be_had(r) == VM_MAYBE ? VM_MAYBE : huge;
}

bool vm_is_special(const struct vm_rule *r, uint64_t addr)
{
	const struct vm_area *a = vm_state_at(r->s, addr);

	return a && a->own == VM_OWN_SPECIAL;
}

bool vm_gather_fails(struct vm_rule *r, uint64_t start, uint64_t end, const struct vm_cause *sealed,
		     const struct vm_cause *in_huge_page)
{
	const struct vm_area *first = vm_state_at(r->s, start);
	enum vm_tri cut = vm_state_in_huge_page(r->s, start);

	/* the VMA that the range begins in comes first, its seal before its pages */
	if (cut != VM_NO &&
	    (vm_fails(r, first->sealed, EPERM, sealed) || vm_fails(r, cut, EINVAL, in_huge_page)))
		return true;
	return vm_fails_split(r, vm_state_sealed(r->s, start, end), EPERM, sealed, start, end) ||
	       vm_fails_split(r, vm_state_in_huge_page(r->s, end), EINVAL, in_huge_page, start,
			      start);
}
