/* SPDX-License-Identifier: MIT */
/* mmap(2). mm/mmap.c do_mmap(), __mmap_region() (6.12; vma.c from 6.13 on). */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MAP_TYPE_BITS		 0xfu
#define MAP_SHARED_VALIDATE_BITS 0x3u

static const struct vm_cause no_file = { .text = "no file, not anonymous",
					 .basis = "mm/mmap.c ksys_mmap_pgoff()" };
static const struct vm_cause bad_offset = { .text = "offset not page aligned",
					    .basis = "arch sys_mmap()" };
static const struct vm_cause offset_wraps = { .text = "offset and length wrap",
					      .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause file_size = { .text = "offset and length beyond what a file can have",
					   .basis = "mm/mmap.c file_mmap_ok()" };
static const struct vm_cause not_legacy = {
	.text = "MAP_SHARED_VALIDATE with a flag it does not know",
	.basis = "mm/mmap.c do_mmap(): LEGACY_MAP_MASK"
};
static const struct vm_cause read_only = { .text = "shared and writable, file opened read-only",
					   .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause zero_len = { .text = "length is 0", .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause len_wraps = { .text = "length wraps to 0",
					   .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mmap.c do_mmap()",
					   .resource = true };
static const struct vm_cause too_long = { .text = "longer than TASK_SIZE",
					  .basis = "mm/mmap.c __get_unmapped_area()" };
static const struct vm_cause reads_as_error = { .text = "address reads as an error",
						.basis = "mm/mmap.c __get_unmapped_area(): "
							 "IS_ERR_VALUE()" };
static const struct vm_cause beyond = { .text = "range ends beyond TASK_SIZE",
					.basis = "mm/mmap.c __get_unmapped_area()" };
static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/mmap.c __get_unmapped_area()" };
static const struct vm_cause min_addr = { .text = "address below mmap_min_addr",
					  .basis = "security/min_addr.c, security_mmap_addr()" };
static const struct vm_cause no_room = { .text = "no free range is long enough",
					 .basis = "mm/mmap.c vm_unmapped_area()",
					 .resource = true };
static const struct vm_cause exists = { .text = "MAP_FIXED_NOREPLACE over a mapping",
					.basis = "mm/mmap.c do_mmap(); mmap(2)" };
static const struct vm_cause cannot_lock = { .text = "MAP_LOCKED, RLIMIT_MEMLOCK is 0",
					     .basis = "mm/mlock.c can_do_mlock()" };
static const struct vm_cause memlock = { .text = "RLIMIT_MEMLOCK",
					 .basis = "mm/mmap.c mlock_future_ok()",
					 .resource = true };
static const struct vm_cause bad_type = { .text = "neither MAP_SHARED nor MAP_PRIVATE",
					  .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause not_huge_file = { .text = "MAP_HUGETLB of a file without huge pages",
					       .basis = "mm/mmap.c ksys_mmap_pgoff()" };
static const struct vm_cause huge_size = { .text = "huge pages of a size that there is not",
					   .basis = "mm/mmap.c ksys_mmap_pgoff(): "
						    "hstate_sizelog()" };
static const struct vm_cause huge_unaligned = {
	.text = "address not aligned to huge pages",
	.basis = "arch/x86/mm/hugetlbpage.c, fs/hugetlbfs/inode.c hugetlb_get_unmapped_area()"
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
static const struct vm_cause droppable_locked = { .text = "MAP_DROPPABLE and MAP_LOCKED",
						  .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause grows_shared = {
	.text = "MAP_GROWSDOWN of other than private anonymous memory",
	.basis = "mm/mmap.c do_mmap()"
};
static const struct vm_cause mdwe = { .text = "PR_SET_MDWE: writable and executable",
				      .basis = "map_deny_write_exec(); PR_SET_MDWE(2const)" };
static const struct vm_cause sealed = { .text = "sealed page in the destination",
					.basis = "mm/vma.c vms_gather_munmap_vmas(); mseal.rst",
					.seal = true };
static const struct vm_cause rlimit = { .text = "RLIMIT_AS or RLIMIT_DATA",
					.basis = "mm/mmap.c may_expand_vm()",
					.resource = true };
static const struct vm_cause commit = { .text = "commit limit",
					.basis = "mm/util.c __vm_enough_memory()",
					.resource = true };
static const struct vm_cause commit_late = {
	.text = "commit limit",
	.basis = "mm/mmap.c __mmap_region() of 6.1: do_mas_munmap(), then __vm_enough_memory()",
	.resource = true
};
/* shmem charges its object only after the old mappings are gone: vms_abort_munmap_vmas() leaves a
 * gap. */
static const struct vm_cause shmem_commit = {
	.text = "commit limit of a shared mapping",
	.basis = "mm/vma.c __mmap_new_vma(): shmem_zero_setup() after vms_clean_up_area()",
	.resource = true
};

/* As there: what is replaced is gone before the new VMA and its nodes are allocated. */
static const struct vm_cause no_vma = {
	.text = "an allocation failed",
	.basis = "mm/mmap.c __mmap_region(): vm_area_alloc() after vms_clean_up_area()",
	.resource = true,
	.starved = true,
};

/* LEGACY_MAP_MASK of include/linux/mman.h: 0x1f << 26 are MAP_HUGE_2MB and MAP_HUGE_1GB. */
#define LEGACY                                                                                     \
	(MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_DENYWRITE | MAP_EXECUTABLE |   \
	 MAP_GROWSDOWN | MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE | MAP_NONBLOCK | MAP_STACK |    \
	 MAP_HUGETLB | X86_32BIT | X86_ABOVE4G | 0x1fu << 26)
#define X86_32BIT   0x40u
#define X86_ABOVE4G 0x80u

/* Where MAP_32BIT looks: arch/x86/kernel/sys_x86_64.c find_start_end(). */
#define LOW_START 0x40000000u
#define LOW_END	  0x80000000u

/* Of MAP_HUGETLB: the size of a page. */
static uint64_t huge_bytes(const struct vm_map_request *q)
{
	return (uint64_t)1 << q->huge;
}

/* VM_LOCKED_MASK that is asked for. */
static uint64_t asked_lock(const struct vm_map_request *q)
{
	return q->flags & MAP_LOCKED ? VM_BIT(VM_FLAG_LO) : 0;
}

/* do_mmap(), once there is an address: may it be locked? All of it counts, whatever it replaces. */
static bool check_lock(struct vm_rule *r, const struct vm_map_request *q)
{
	return vm_fails(r, vm_is(q->flags & MAP_LOCKED && vm_cannot_lock(r)), EPERM,
			&cannot_lock) ||
	       vm_fails(r, vm_new_over_memlock(r, asked_lock(q), q->len), EAGAIN, &memlock);
}

static bool is_droppable(const struct vm_map_request *q)
{
	return (q->flags & MAP_TYPE_BITS) == VM_MAP_DROPPABLE;
}

/* Flags of the new VMA: do_mmap(). */
static uint64_t new_flags(const struct vm_rule *r, const struct vm_map_request *q)
{
	uint64_t flags = VM_MAY_ALL;

	if (is_droppable(q))
		flags |= VM_BIT(VM_FLAG_DP) | VM_BIT(VM_FLAG_NR) | VM_BIT(VM_FLAG_WF) |
			 VM_BIT(VM_FLAG_DD);
	if (q->flags & MAP_GROWSDOWN)
		flags |= VM_BIT(VM_FLAG_GD);
	if (q->flags & MAP_STACK && r->info->features & VM_HAS_THP)
		flags |= VM_BIT(VM_FLAG_NH);
	if (q->flags & MAP_NORESERVE && (q->huge || r->info->overcommit_memory != 2))
		flags |= VM_BIT(VM_FLAG_NR);
	if (q->huge)
		flags |= VM_BIT(VM_FLAG_HT);
	if (q->read_only && q->shared)
		flags &= ~VM_BIT(VM_FLAG_MW);
	/* __mmap_region(): VM_LOCKED_MASK goes unless vma_supports_mlock() */
	return is_droppable(q) || q->huge ? flags : flags | r->s->locks.def_flags | asked_lock(q);
}

/*
 * Huge pages are not charged but reserved, whatever the rights. As of shared memory, what was
 * mapped before is gone when that fails.
 */
static bool reserve(struct vm_rule *r, const struct vm_map_request *q, bool chosen)
{
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = q->addr, .end = q->addr + q->len };
	enum vm_tri unaligned_offset = vm_is(q->offset & (huge_bytes(q) - 1)), none = VM_NO;
	const struct vm_state *before = r->s;

	if (!(q->flags & MAP_NORESERVE))
		none = vm_huge_to_be_had(r) == VM_NO ? VM_YES : VM_MAYBE;
	if (unaligned_offset == VM_NO && none == VM_NO)
		return false;
	if (!chosen)
		vm_does(r, &gap);
	if (vm_fails(r, unaligned_offset, EINVAL, &huge_offset) ||
	    vm_fails(r, none, ENOMEM, &no_huge_pages))
		return true;
	r->done.n = r->nkept;
	r->s = before;
	return false;
}

/* The old mappings are gone (gap; NULL: there are none) when memory is charged. As vm_fails(). */
static bool unmapped_first(struct vm_rule *r, const struct vm_step *gap, enum vm_tri over,
			   const struct vm_cause *cause)
{
	const struct vm_state *before = r->s;

	if (over != VM_NO && gap)
		vm_does(r, gap);
	if (vm_fails(r, over, ENOMEM, cause))
		return true;
	r->done.n = r->nkept;
	r->s = before;
	return false;
}

/* Is memory charged, and does that fail? Shared anonymous memory: only after the old mappings are
 * gone. */
static bool charge(struct vm_rule *r, const struct vm_map_request *q, bool chosen,
		   uint64_t new_vm_flags)
{
	uint64_t pages = q->len / r->info->layout.page_size, old = 0;
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = q->addr, .end = q->addr + q->len };
	enum vm_tri over;

	if (q->huge)
		return reserve(r, q, chosen);
	if (new_vm_flags & VM_BIT(VM_FLAG_NR))
		return false;
	if (!q->shared) {
		if (!(q->prot & PROT_WRITE))
			return false;
		/* what the replaced mappings had charged is given back */
		for (uint32_t i = vm_state_from(r->s, q->addr);
		     !chosen && i < r->s->n && r->s->area[i].start < q->addr + q->len; i++)
			old += (r->s->area[i].end - r->s->area[i].start) /
			       r->info->layout.page_size;
		over = vm_over_commit(r, pages > old ? pages - old : 0, pages);
		if (r->p->mmap_unmaps_first && !chosen)
			return unmapped_first(r, &gap, vm_over_commit(r, pages, pages),
					      &commit_late);
		return chosen ? vm_fails(r, over, ENOMEM, &commit)
			      : vm_fails_split(r, over, ENOMEM, &commit, q->addr, q->addr + q->len);
	}
	if (q->object)
		return false;
	over = vm_over_commit(r, pages, pages);
	return unmapped_first(r, chosen ? NULL : &gap, over, &shmem_commit);
}

/* Until 6.12 x86 places huge pages in a way of its own (arch/x86/mm/hugetlbpage.c). */
static bool huge_area_generic(const struct vm_rule *r)
{
	return r->p->huge_area_generic || !vm_is_x86(r);
}

static bool low_only(const struct vm_rule *r, const struct vm_map_request *q)
{
	return q->flags & X86_32BIT && (!q->huge || huge_area_generic(r)) && vm_is_x86(r);
}

/* As vm_hint_taken() and vm_no_room(), for MAP_32BIT: arch_get_unmapped_area(). */
static enum vm_tri low_hint_taken(const struct vm_rule *r, uint64_t hint, uint64_t len)
{
	enum vm_tri clear;

	if (!hint || len > LOW_END || hint > LOW_END - len)
		return VM_NO;
	clear = vm_state_clear(r->s, hint, hint + len, vm_stack_gap(r));
	return clear == VM_YES && hint < r->info->mmap_min_addr ? VM_MAYBE : clear;
}

static enum vm_tri low_no_room(const struct vm_rule *r, uint64_t len)
{
	uint64_t hole = vm_state_largest_hole(r->s, LOW_START, LOW_END);

	if (len > hole)
		return VM_YES;
	/* a search for an aligned place wants more, but is not the last one */
	return len + 2 * r->info->layout.pmd_size > hole ? VM_MAYBE : VM_NO;
}

/* What is mapped, once the address is settled (fixed: at addr; else where the kernel chose). */
static void map(struct vm_rule *r, const struct vm_map_request *q, bool chosen)
{
	uint64_t flags = new_flags(r, q);
	struct vm_step step = { .kind = VM_STEP_MAP,
				.prot = vm_mode_of_prot(q->prot),
				.shared = q->shared,
				.chosen = chosen,
				.start = chosen ? 0 : q->addr,
				.end = chosen ? q->len : q->addr + q->len,
				.object = q->backing,
				.attach = q->attach,
				.off = q->object || q->huge ? q->offset : 0,
				.huge = q->huge,
				.flags = flags | q->key,
				.maybe = is_droppable(q) || q->huge
						 ? 0
						 : r->s->locks.def_maybe & ~flags };
	struct vm_step copies = { .kind = VM_STEP_COPY, .chosen = chosen };
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = q->addr, .end = q->addr + q->len };
	bool data = step.prot & VM_MODE_W && !q->shared && !(flags & VM_BIT(VM_FLAG_GD));
	/* what is replaced counts only once: pglen - vms.nr_pages, of whatever kind it is */
	uint64_t replaced = chosen ? 0 : vm_state_sizes(r->s, step.start, step.end).total;
	enum vm_tri over = vm_over_rlimit(r, q->len - replaced, vm_is(data));

	step.maybe |= q->key_maybe;
	/* after vms_gather_munmap_vmas(): splits stay */
	if (chosen || r->p->mmap_unmaps_first
		    ? vm_fails(r, over, ENOMEM, &rlimit)
		    : vm_fails_split(r, over, ENOMEM, &rlimit, q->addr, q->addr + q->len))
		return;
	if (charge(r, q, chosen, flags))
		return;
	if (((q->flags & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE ||
	     (flags | step.maybe) & VM_BIT(VM_FLAG_LO)) &&
	    q->object && !q->shared && q->prot & PROT_WRITE) {
		/* vm_mmap_pgoff(): mm_populate() writes to what may be written */
		copies.start = step.start;
		copies.end = step.end;
	}
	if (chosen) {
		/* not shown in the working state: nothing is judged after it */
		r->done.n = r->nkept;
		r->done.step[r->done.n++] = step;
		if (copies.end)
			r->done.step[r->done.n++] = copies;
		vm_succeeds_chosen(r, q->len, low_only(r, q) ? LOW_END : 0);
		if (q->huge && !r->failed)
			r->out->o[r->out->n - 1].align = huge_bytes(q);
	} else {
		r->done.step[r->done.n++] = gap;
		vm_starves(r, &no_vma);
		r->done.n--;
		vm_does(r, &step);
		if (copies.end)
			r->done.step[r->done.n++] = copies;
		vm_succeeds(r, (int64_t)q->addr);
	}
}

/* do_mmap(), once there is an address: the type, what the file allows, and rights that go together.
 */
static bool check_type(struct vm_rule *r, const struct vm_map_request *q)
{
	uint64_t type = q->flags & MAP_TYPE_BITS, page = r->info->layout.page_size;
	uint8_t mode = vm_mode_of_prot(q->prot);
	bool file = q->object || q->huge;
	/* MAP_SHARED_VALIDATE is for files only, MAP_DROPPABLE for what has none */
	bool known = type == MAP_SHARED || type == MAP_PRIVATE ||
		     (file ? type == MAP_SHARED_VALIDATE_BITS
			   : type == VM_MAP_DROPPABLE && !(r->info->features & VM_LACKS_DROPPABLE));

	if (file &&
	    vm_fails(r, vm_is(q->offset / page + q->len / page > (uint64_t)INT64_MAX / page),
		     EOVERFLOW, &file_size))
		return true;
	if (file && type == MAP_SHARED_VALIDATE_BITS &&
	    vm_fails(r, vm_is(q->flags & ~(uint64_t)LEGACY), EOPNOTSUPP, &not_legacy))
		return true;
	if (q->object && q->shared &&
	    vm_fails(r, vm_is(q->prot & PROT_WRITE && q->read_only), EACCES, &read_only))
		return true;
	return vm_fails(r, vm_is(!known), EINVAL, &bad_type) ||
	       vm_fails(r, vm_is(is_droppable(q) && q->flags & MAP_LOCKED), EINVAL,
			&droppable_locked) ||
	       vm_fails(r,
			vm_is(q->flags & MAP_GROWSDOWN && (file || q->shared || is_droppable(q))),
			EINVAL, &grows_shared) ||
	       vm_fails(r, vm_is(vm_mdwe_refuses(r, mode, mode)), EACCES, &mdwe);
}

/* Unmapping what is in the way. Until 6.1 mmap_region() makes ENOMEM of whatever refuses that. */
static bool cannot_unmap(struct vm_rule *r, uint64_t start, uint64_t end)
{
	if (!r->p->mmap_unmaps_first)
		return vm_gather_fails(r, start, end, &sealed, &in_huge_page);
	return vm_fails(r, vm_state_in_huge_page(r->s, start), ENOMEM, &in_huge_page) ||
	       vm_fails_split(r, vm_state_in_huge_page(r->s, end), ENOMEM, &in_huge_page, start,
			      start);
}

static void map_fixed(struct vm_rule *r, const struct vm_map_request *q)
{
	uint64_t task = r->info->layout.task_size, end = q->addr + q->len;

	/* what the search returns is the address, and taken for its error */
	if (vm_fails(r, vm_is(q->huge && q->addr & (huge_bytes(q) - 1)), EINVAL, &huge_unaligned) ||
	    vm_fails(r, vm_is(vm_result_errno((int64_t)q->addr)), (int)-q->addr, &reads_as_error) ||
	    vm_fails(r, vm_is(q->addr > task - q->len), ENOMEM, &beyond) ||
	    vm_fails(r, vm_is(vm_unaligned(r, q->addr)), EINVAL, &unaligned) ||
	    vm_fails(r, vm_below_min_addr(r, q->addr), EPERM, &min_addr))
		return;
	if (q->addr > task - q->len)
		return; /* addr + len has no meaning from here on */
	if (q->flags & MAP_FIXED_NOREPLACE &&
	    vm_fails(r, vm_is(vm_state_any(r->s, q->addr, end)), EEXIST, &exists))
		return;
	if (check_lock(r, q) || check_type(r, q) || cannot_unmap(r, q->addr, end))
		return;
	map(r, q, false);
}

/*
 * A hint for huge pages is rounded down to one until 6.12, up later. Down to page 0 it is taken
 * where that is free, and refused then: true.
 */
static bool hint_is_page_0(struct vm_rule *r, const struct vm_map_request *q, uint64_t *hint)
{
	uint64_t size = huge_bytes(q);
	bool asked = *hint;

	if (huge_area_generic(r))
		*hint += size - 1;
	*hint &= ~(size - 1);
	return asked && !*hint && !huge_area_generic(r) &&
	       vm_state_clear(r->s, 0, q->len, vm_stack_gap(r)) == VM_YES &&
	       vm_fails(r, vm_below_min_addr(r, 0), EPERM, &min_addr);
}

static void map_chosen(struct vm_rule *r, struct vm_map_request *q)
{
	uint64_t min = vm_page_align(r, r->info->hint_min_addr), hint, room = q->len;
	enum vm_tri taken, full;

	/* round_hint_to_min() */
	q->addr &= vm_page_mask(r);
	hint = q->addr && q->addr < min ? min : q->addr;
	if (q->huge) {
		room += huge_bytes(q) - r->info->layout.page_size;
		if (hint_is_page_0(r, q, &hint))
			return;
	}
	taken = low_only(r, q) ? low_hint_taken(r, hint, q->len)
			       : vm_hint_taken(r, &hint, q->len, q->backing, q->offset);
	full = low_only(r, q) ? low_no_room(r, room) : vm_no_room(r, room);
	if (taken != VM_YES && vm_fails(r, full, ENOMEM, &no_room))
		return;
	if (taken != VM_YES && full == VM_MAYBE && vm_fails(r, VM_MAYBE, EPERM, &min_addr))
		return;
	if (check_lock(r, q) || check_type(r, q))
		return;
	q->addr = hint;
	map(r, q, taken != VM_YES);
}

void vm_rule_map(struct vm_rule *r, struct vm_map_request *q)
{
	if (q->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		map_fixed(r, q);
	else
		map_chosen(r, q);
}

/* log2 of the page size that MAP_HUGETLB asks for; 0 where there is none of it. */
static uint8_t huge_log(const struct vm_rule *r, const struct vm_map_request *q)
{
	uint64_t features = r->info->features, code = VM_MAP_HUGE_CODE(q->flags);
	uint8_t pmd = (uint8_t)__builtin_ctzll(r->info->layout.pmd_size);

	if ((!code || code == pmd) && features & VM_HAS_HUGE_DEFAULT)
		return pmd;
	if (code == 21 && features & VM_HAS_HUGE_2MB)
		return 21;
	return code == 30 && features & VM_HAS_HUGE_1GB ? 30 : 0;
}

/* 64 KiB, 32 and 512 MiB, 16 GiB, by the size of pages: Documentation/arch/arm64/hugetlbpage.rst */
static bool perhaps_arm64(const struct vm_rule *r, uint64_t code)
{
	const uint64_t logs = 1ull << 16 | 1ull << 25 | 1ull << 29 | 1ull << 34;

	return vm_is_arm64(r) && logs >> code & 1;
}

void vm_rule_mmap(struct vm_rule *r)
{
	const uint64_t *arg = r->sc->arg;
	struct vm_map_request q = { .addr = arg[0],
				    .len = vm_page_align(r, arg[1]),
				    .prot = arg[2],
				    .flags = arg[3],
				    .object = arg[3] & MAP_ANONYMOUS ? VM_OBJECT_NONE : arg[4],
				    .offset = arg[5] };
	uint64_t pages;
	bool no_descriptor = !(q.flags & MAP_ANONYMOUS) && (!q.object || q.object == VM_OBJECT_S0);

	bool of_huge = q.flags & MAP_HUGETLB;

	if (of_huge && !no_descriptor) {
		q.huge = huge_log(r, &q);
		q.len = vm_mmap_length(r->sc, &r->info->layout);
	}
	pages = q.len / r->info->layout.page_size;
	q.backing = r->objects->named[q.object];
	q.read_only = q.object == VM_OBJECT_R0;
	q.shared = (q.flags & MAP_TYPE_BITS) == MAP_SHARED ||
		   (q.flags & MAP_TYPE_BITS) == MAP_SHARED_VALIDATE_BITS;
	if (vm_fails(r, vm_is(vm_unaligned(r, q.offset)), EINVAL, &bad_offset) ||
	    vm_fails(r, vm_is(no_descriptor), EBADF, &no_file) ||
	    vm_stops(r, vm_is(of_huge && q.object), EINVAL, &not_huge_file))
		return;
	if (of_huge && !no_descriptor && !q.huge && perhaps_arm64(r, VM_MAP_HUGE_CODE(q.flags))) {
		vm_silent(r, "huge pages of a size that may be arm64's");
		return;
	}
	if (vm_stops(r, vm_is(of_huge && !no_descriptor && !q.huge), EINVAL, &huge_size) ||
	    vm_stops(r, vm_is(!arg[1]), EINVAL, &zero_len) ||
	    vm_stops(r, vm_is(!q.len), q.huge ? EINVAL : ENOMEM, &len_wraps) ||
	    vm_fails(r, vm_is(q.offset / r->info->layout.page_size + pages < pages), EOVERFLOW,
		     &offset_wraps) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
		return;
	if (q.prot == PROT_EXEC)
		q.key = vm_takes_exec_key(r, &q.key_maybe);
	if (vm_stops(r, vm_is(q.len > r->info->layout.task_size), ENOMEM, &too_long))
		return;
	vm_rule_map(r, &q);
}
