/* SPDX-License-Identifier: MIT */
/* munmap(2). mm/vma.c do_vmi_munmap(), vms_gather_munmap_vmas(). */
#include "oracle/rules/rule.h"

#include <errno.h>

static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/vma.c do_vmi_munmap()" };
static const struct vm_cause beyond = { .text = "range ends beyond TASK_SIZE",
					.basis = "mm/vma.c do_vmi_munmap()" };
static const struct vm_cause zero_len = { .text = "length is 0",
					  .basis = "mm/vma.c do_vmi_munmap()" };
static const struct vm_cause sealed = { .text = "sealed page in the range",
					.basis = "mm/vma.c vms_gather_munmap_vmas(); mseal.rst",
					.seal = true };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause in_special = { .text = "split inside a special mapping",
					    .basis = "mm/mmap.c special_mapping_split()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/vma.c vms_gather_munmap_vmas()",
					   .resource = true };

void vm_rule_munmap(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[0], len = r->sc->arg[1], task = r->info->layout.task_size;
	bool outside = addr > task || len > task - addr;
	struct vm_step step = { .kind = VM_STEP_UNMAP,
				.start = addr,
				.end = addr + vm_page_align(r, len) };

	if (vm_fails(r, vm_is(vm_unaligned(r, addr)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is(outside), EINVAL, &beyond) ||
	    vm_stops(r, vm_is(!vm_page_align(r, len)), EINVAL, &zero_len) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    vm_gather_fails(r, addr, step.end, &sealed,
			    vm_is_special(r, addr) ? &in_special : &in_huge_page))
		return;
	vm_does(r, &step);
	vm_succeeds(r, 0);
}
