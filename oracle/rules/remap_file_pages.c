/* SPDX-License-Identifier: MIT */
/* remap_file_pages(2), since 4.0 an emulation by mmap. mm/mmap.c sys_remap_file_pages(). */
#include "oracle/rules/rule.h"

#include <errno.h>

#define SYS_REMAP "mm/mmap.c sys_remap_file_pages()"

static const struct vm_cause bad_prot = { .text = "prot is not 0",
					  .basis = SYS_REMAP "; remap_file_pages(2)" };
static const struct vm_cause bad_size = { .text = "size is 0 or wraps", .basis = SYS_REMAP };
static const struct vm_cause offset_wraps = { .text = "offset and size wrap", .basis = SYS_REMAP };
static const struct vm_cause not_shared = { .text = "no shared mapping that may be written",
					    .basis = SYS_REMAP ": VM_SHARED" };
static const struct vm_cause mixed = { .text = "range is not of one kind", .basis = SYS_REMAP };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mmap.c do_mmap()",
					   .resource = true };
static const struct vm_cause file_size = { .text = "offset and size beyond what a file can have",
					   .basis = "mm/mmap.c file_mmap_ok()" };
static const struct vm_cause memlock = { .text = "RLIMIT_MEMLOCK",
					 .basis = "mm/mmap.c do_mmap(): mlock_future_ok()",
					 .resource = true };
static const struct vm_cause mdwe = { .text = "PR_SET_MDWE: writable and executable",
				      .basis = "map_deny_write_exec(); PR_SET_MDWE(2const)" };
static const struct vm_cause huge_unaligned = {
	.text = "not aligned to huge pages",
	.basis = "fs/hugetlbfs/inode.c hugetlb_get_unmapped_area()"
};
static const struct vm_cause huge_offset = {
	.text = "offset not aligned to huge pages",
	.basis = "fs/hugetlbfs/inode.c hugetlbfs_file_mmap(), after vms_clean_up_area()"
};
static const struct vm_cause no_huge_pages = {
	.text = "no huge pages to reserve",
	.basis = "mm/hugetlb.c hugetlb_reserve_pages(), after vms_clean_up_area()",
	.resource = true
};
static const struct vm_cause segment_gone = {
	.text = "last mapping of a SysV segment",
	.basis = "ipc/shm.c shm_mmap(): __shm_open(), after vms_clean_up_area()"
};
static const struct vm_cause sealed = { .text = "sealed page in the range",
					.basis = "mm/vma.c vms_gather_munmap_vmas(); mseal.rst",
					.seal = true };

/* The old mappings are gone before the new VMA and its nodes are allocated. */
static const struct vm_cause no_vma = {
	.text = "an allocation failed",
	.basis = "mm/mmap.c __mmap_region(): vm_area_alloc() after vms_clean_up_area()",
	.resource = true,
	.starved = true,
};

static enum vm_tri has_flag(const struct vm_area *a, unsigned int flag)
{
	return a->flags_maybe & VM_BIT(flag) ? VM_MAYBE : vm_is(a->flags & VM_BIT(flag));
}

/* VM_SHARED: a shared mapping of a file opened read-only has neither it nor VM_MAYWRITE. */
static enum vm_tri is_shared(const struct vm_area *a)
{
	return a && a->shared ? has_flag(a, VM_FLAG_MW) : VM_NO;
}

/* Do vm_file and vm_flags of two VMAs differ? */
static enum vm_tri differ(const struct vm_area *a, const struct vm_area *b)
{
	uint64_t maybe = a->flags_maybe | b->flags_maybe;

	if (a->shared != b->shared || a->object != b->object || a->attach != b->attach ||
	    a->prot != b->prot || (a->flags ^ b->flags) & ~maybe)
		return VM_YES;
	if (a->sealed == VM_MAYBE || b->sealed == VM_MAYBE || maybe)
		return VM_MAYBE;
	return vm_is(a->sealed != b->sealed);
}

/* Is [start, end) not all mapped, and like its first page? */
static enum vm_tri is_mixed(const struct vm_state *s, uint64_t start, uint64_t end)
{
	uint32_t first = vm_state_from(s, start);
	enum vm_tri is = VM_NO;

	if (!vm_state_all(s, start, end))
		return VM_YES;
	for (uint32_t i = first + 1; i < s->n && s->area[i].start < end; i++) {
		enum vm_tri d = differ(&s->area[first], &s->area[i]);

		if (d == VM_YES)
			return VM_YES;
		/* VM_MAYBE_GUARD (6.18) is a flag that stays when the guards are gone */
		is = d == VM_MAYBE || s->guards_used ? VM_MAYBE : is;
	}
	return is;
}

/*
 * The old mappings go before the segment is mapped anew. If they were the last, it is no more:
 * segments are marked to be destroyed when they are attached.
 */
static bool destroys(struct vm_rule *r, const struct vm_area *a, uint64_t start, uint64_t end)
{
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = start, .end = end };
	const struct vm_state *before = r->s;

	if (!a->attach)
		return false;
	vm_does(r, &gap);
	vm_starves(r, &no_vma);
	if (vm_fails(r, vm_is(!vm_object_attached(r->objects, r->s)), EINVAL, &segment_gone))
		return true;
	r->done.n = r->nkept;
	r->s = before;
	return false;
}

/*
 * Huge pages are reserved after the old mappings are gone. Returns true if the call ends here; it
 * does where pages might be had as well, since nobody knows how many.
 */
static bool map_huge(struct vm_rule *r, const struct vm_area *a, uint64_t start, uint64_t size,
		     uint64_t pgoff)
{
	uint64_t page = r->info->layout.page_size, bytes = (uint64_t)1 << a->huge;
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = start, .end = start + size };

	if (vm_area_huge(a) == VM_NO)
		return false;
	if (vm_area_huge(a) == VM_MAYBE || !a->huge || vm_huge_to_be_had(r) != VM_NO) {
		vm_silent(r, "huge pages of unknown size or number");
		return true;
	}
	if (vm_fails(r, vm_is((start | size) & (bytes - 1)), EINVAL, &huge_unaligned) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    vm_fails(r, vm_new_over_memlock(r, 0, size), EAGAIN, &memlock) ||
	    vm_fails(r, vm_is(pgoff + size / page > (uint64_t)INT64_MAX / page), EOVERFLOW,
		     &file_size) ||
	    vm_fails(r, vm_is(vm_mdwe_refuses(r, a->prot, a->prot)), EACCES, &mdwe) ||
	    vm_fails_split(r, vm_state_sealed(r->s, start, start + size), EPERM, &sealed, start,
			   start + size))
		return true;
	vm_does(r, &gap);
	if (!vm_fails(r, vm_is(pgoff * page & (bytes - 1)), EINVAL, &huge_offset))
		vm_fails(r, VM_YES, ENOMEM, &no_huge_pages);
	return true;
}

/* do_mmap() of the same file, with the same rights and, of the VMA's other flags, VM_LOCKED. */
static void map_again(struct vm_rule *r, const struct vm_area *a, uint64_t start, uint64_t size,
		      uint64_t pgoff)
{
	uint64_t page = r->info->layout.page_size;
	enum vm_tri locked = has_flag(a, VM_FLAG_LO);
	uint64_t lo = VM_BIT(VM_FLAG_LO), asked = locked == VM_YES ? lo : 0;
	enum vm_tri over = vm_new_over_memlock(r, locked == VM_NO ? 0 : lo, size);
	uint64_t key_maybe = 0;
	struct vm_step map = { .kind = VM_STEP_MAP,
			       .prot = a->prot,
			       .shared = true,
			       .start = start,
			       .end = start + size,
			       .object = a->object,
			       .attach = a->attach,
			       .off = pgoff * page,
			       .flags = VM_MAY_ALL | asked | r->s->locks.def_flags };

	/* VM_READ and so on become PROT_READ and so on */
	if (a->prot == VM_MODE_X)
		map.flags |= vm_takes_exec_key(r, &key_maybe);
	map.maybe =
		key_maybe | ((r->s->locks.def_maybe | (locked == VM_MAYBE ? lo : 0)) & ~map.flags);
	if (over == VM_YES && !(map.flags & lo))
		over = VM_MAYBE;
	if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    vm_fails(r, over, EAGAIN, &memlock) ||
	    vm_fails(r, vm_is(pgoff + size / page > (uint64_t)INT64_MAX / page), EOVERFLOW,
		     &file_size) ||
	    vm_fails(r, vm_is(vm_mdwe_refuses(r, a->prot, a->prot)), EACCES, &mdwe) ||
	    vm_fails_split(r, vm_state_sealed(r->s, start, start + size), EPERM, &sealed, start,
			   start + size) ||
	    destroys(r, a, start, start + size))
		return;
	r->done.step[r->done.n++] =
		(struct vm_step){ .kind = VM_STEP_UNMAP, .start = start, .end = start + size };
	vm_starves(r, &no_vma);
	r->done.n--;
	vm_does(r, &map);
	vm_succeeds(r, 0);
}

void vm_rule_remap_file_pages(struct vm_rule *r)
{
	uint64_t page = r->info->layout.page_size;
	uint64_t start = r->sc->arg[0] & vm_page_mask(r), size = r->sc->arg[1] & vm_page_mask(r);
	uint64_t pgoff = (uint64_t)((int64_t)r->sc->arg[3] >> __builtin_ctzll(page));
	const struct vm_area *a = vm_state_at(r->s, start);

	enum vm_tri shared = is_shared(a);

	if (vm_fails(r, vm_is(r->sc->arg[2]), EINVAL, &bad_prot) ||
	    vm_stops(r, vm_is(start + size <= start), EINVAL, &bad_size) ||
	    vm_fails(r, vm_is(pgoff + size / page < pgoff), EINVAL, &offset_wraps) ||
	    vm_stops(r, vm_is(shared == VM_NO), EINVAL, &not_shared) ||
	    vm_fails(r, shared == VM_MAYBE ? VM_MAYBE : VM_NO, EINVAL, &not_shared) ||
	    vm_fails(r, is_mixed(r->s, start, start + size), EINVAL, &mixed))
		return;
	if (!map_huge(r, a, start, size, pgoff))
		map_again(r, a, start, size, pgoff);
}
