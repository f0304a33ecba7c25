/* SPDX-License-Identifier: MIT */
/* mmap(2) of anonymous memory. mm/mmap.c do_mmap(), __mmap_region() (6.12; vma.c from 6.13 on). */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MAP_TYPE_BITS 0xfu

static const struct vm_cause no_file = { .text = "no file, not anonymous",
					 .basis = "mm/mmap.c ksys_mmap_pgoff()" };
static const struct vm_cause zero_len = { .text = "length is 0", .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause len_wraps = { .text = "length wraps to 0",
					   .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mmap.c do_mmap()",
					   .resource = true };
static const struct vm_cause too_long = { .text = "longer than TASK_SIZE",
					  .basis = "mm/mmap.c __get_unmapped_area()" };
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
static const struct vm_cause bad_type = { .text = "neither MAP_SHARED nor MAP_PRIVATE",
					  .basis = "mm/mmap.c do_mmap()" };
static const struct vm_cause sealed = { .text = "sealed page in the destination",
					.basis = "mm/vma.c vms_gather_munmap_vmas(); mseal.rst",
					.seal = true };
static const struct vm_cause rlimit = { .text = "RLIMIT_AS or RLIMIT_DATA",
					.basis = "mm/mmap.c may_expand_vm()",
					.resource = true };
static const struct vm_cause commit = { .text = "commit limit",
					.basis = "mm/util.c __vm_enough_memory()",
					.resource = true };
/* shmem charges its object only after the old mappings are gone: vms_abort_munmap_vmas() leaves a
 * gap. */
static const struct vm_cause shmem_commit = {
	.text = "commit limit of a shared mapping",
	.basis = "mm/vma.c __mmap_new_vma(): shmem_zero_setup() after vms_clean_up_area()",
	.resource = true
};

/* What is mapped, once the address is settled (fixed: at addr; else where the kernel chose). */
static void map(struct vm_rule *r, bool chosen, uint64_t addr, uint64_t len)
{
	uint64_t prot = r->sc->arg[2], flags = r->sc->arg[3];
	bool shared = (flags & MAP_TYPE_BITS) == MAP_SHARED;
	uint64_t pages = len / r->info->layout.page_size, old = 0;
	struct vm_step step = { .kind = VM_STEP_MAP,
				.prot = vm_mode_of_prot(prot),
				.shared = shared,
				.chosen = chosen,
				.start = chosen ? 0 : addr,
				.end = chosen ? len : addr + len };

	if (!chosen)
		for (uint32_t i = vm_state_from(r->s, addr);
		     i < r->s->n && r->s->area[i].start < addr + len; i++)
			old += (r->s->area[i].end - r->s->area[i].start) /
			       r->info->layout.page_size;
	if (chosen ? vm_fails(r, vm_over_rlimit(r, pages), ENOMEM, &rlimit)
		   : vm_fails_split(r, vm_over_rlimit(r, pages), ENOMEM, &rlimit, addr, addr + len))
		return;
	if (!shared && (prot & PROT_WRITE)) {
		/* what the replaced mappings had charged is given back */
		enum vm_tri over = vm_over_commit(r, pages > old ? pages - old : 0, pages);

		if (chosen ? vm_fails(r, over, ENOMEM, &commit)
			   : vm_fails_split(r, over, ENOMEM, &commit, addr, addr + len))
			return;
	}
	if (shared) {
		enum vm_tri over = vm_over_commit(r, pages, pages);
		struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = addr, .end = addr + len };
		const struct vm_state *before = r->s;

		if (over != VM_NO && !chosen)
			vm_does(r, &gap);
		if (vm_fails(r, over, ENOMEM, &shmem_commit))
			return;
		r->done.n = 0;
		r->s = before;
	}
	if (chosen) {
		/* not shown in the working state: nothing is judged after it */
		r->done.n = 1;
		r->done.step[0] = step;
		vm_succeeds_chosen(r, len);
	} else {
		vm_does(r, &step);
		vm_succeeds(r, (int64_t)addr);
	}
}

static void map_fixed(struct vm_rule *r, uint64_t addr, uint64_t len, uint64_t flags)
{
	uint64_t task = r->info->layout.task_size;

	if (vm_fails(r, vm_is(addr > task - len), ENOMEM, &beyond) ||
	    vm_fails(r, vm_is(vm_unaligned(r, addr)), EINVAL, &unaligned) ||
	    vm_fails(r, vm_below_min_addr(r, addr), EPERM, &min_addr))
		return;
	if (addr > task - len)
		return; /* addr + len has no meaning from here on */
	if (flags & MAP_FIXED_NOREPLACE &&
	    vm_fails(r, vm_is(vm_state_any(r->s, addr, addr + len)), EEXIST, &exists))
		return;
	if (vm_fails(r,
		     vm_is((flags & MAP_TYPE_BITS) != MAP_SHARED &&
			   (flags & MAP_TYPE_BITS) != MAP_PRIVATE),
		     EINVAL, &bad_type) ||
	    vm_fails_split(r, vm_state_sealed(r->s, addr, addr + len), EPERM, &sealed, addr,
			   addr + len))
		return;
	map(r, false, addr, len);
}

static void map_chosen(struct vm_rule *r, uint64_t addr, uint64_t len, uint64_t flags)
{
	uint64_t min = vm_page_align(r, r->info->hint_min_addr), hint;
	enum vm_tri taken;

	/* round_hint_to_min() */
	addr &= vm_page_mask(r);
	hint = addr && addr < min ? min : addr;
	taken = vm_hint_taken(r, &hint, len);
	if (taken != VM_YES && vm_fails(r, vm_no_room(r, len), ENOMEM, &no_room))
		return;
	if (taken != VM_YES && vm_no_room(r, len) == VM_MAYBE &&
	    vm_fails(r, VM_MAYBE, EPERM, &min_addr))
		return;
	if (vm_fails(r,
		     vm_is((flags & MAP_TYPE_BITS) != MAP_SHARED &&
			   (flags & MAP_TYPE_BITS) != MAP_PRIVATE),
		     EINVAL, &bad_type))
		return;
	if (taken == VM_YES)
		map(r, false, hint, len);
	else
		map(r, true, 0, len);
}

void vm_rule_mmap(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[0], len = vm_page_align(r, r->sc->arg[1]);
	uint64_t flags = r->sc->arg[3];

	if (vm_fails(r, vm_is(!(flags & MAP_ANONYMOUS)), EBADF, &no_file) ||
	    vm_stops(r, vm_is(!r->sc->arg[1]), EINVAL, &zero_len) ||
	    vm_stops(r, vm_is(!len), ENOMEM, &len_wraps) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    vm_stops(r, vm_is(len > r->info->layout.task_size), ENOMEM, &too_long))
		return;
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		map_fixed(r, addr, len, flags);
	else
		map_chosen(r, addr, len, flags);
}
