/* SPDX-License-Identifier: MIT */
/* mseal(2). mm/mseal.c do_mseal(); Documentation/userspace-api/mseal.rst. */
#include "oracle/rules/rule.h"

#include <errno.h>

static const struct vm_cause no_call = { .text = "no mseal on this kernel",
					 .basis = "kernel before 6.10" };
static const struct vm_cause flags = { .text = "flags are not 0",
				       .basis = "mm/mseal.c do_mseal()" };
static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/mseal.c do_mseal()" };
static const struct vm_cause wraps = { .text = "range wraps", .basis = "mm/mseal.c do_mseal()" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/mseal.c check_mm_seal(); mseal.rst" };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause in_special = { .text = "split inside a special mapping",
					    .basis = "mm/mmap.c special_mapping_split()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/vma.c __split_vma()",
					   .resource = true };

/*
 * apply_mm_seal(): one VMA after the other; those before one that cannot be split stay sealed,
 * which mseal.rst allows.
 */
static void run_out(struct vm_rule *r, uint64_t start, uint64_t end)
{
	r->licence = VM_DOCUMENTED;
	for (uint64_t at = start; at < end;) {
		uint32_t next = vm_state_vma_next(r->s, vm_state_from(r->s, at));

		r->done.step[0] =
			(struct vm_step){ .kind = VM_STEP_SEAL, .start = start, .end = at };
		r->done.n = at > start;
		r->what = at > start ? "partly applied" : NULL;
		vm_starves(r, NULL);
		vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count);
		at = r->s->area[next - 1].end;
	}
	r->done.n = 0;
	r->licence = VM_MEANT;
	r->what = NULL;
}

/* At its end. Where the range begins in the same VMA, that was split there before. */
static bool refused(struct vm_rule *r, enum vm_tri cut, const struct vm_cause *cause,
		    uint64_t start)
{
	return r->done.n ? vm_fails(r, cut, EINVAL, cause)
			 : vm_fails_split(r, cut, EINVAL, cause, start, start);
}

/* Only what is not sealed yet is split; VMAs in front of one that cannot be stay sealed. */
static bool cannot_split(struct vm_rule *r, uint64_t start, uint64_t end)
{
	const struct vm_area *first = vm_state_at(r->s, start), *last = vm_state_at(r->s, end);
	enum vm_tri cut = vm_state_in_huge_page(r->s, start);
	uint32_t i = vm_state_from(r->s, end);
	const struct vm_cause *cause = vm_is_special(r, start) ? &in_special : &in_huge_page;

	if (cut != VM_NO && first->sealed != VM_YES &&
	    vm_fails(r, first->sealed == VM_NO ? cut : VM_MAYBE, EINVAL, cause))
		return true;
	cut = vm_state_in_huge_page(r->s, end);
	if (cut == VM_NO || last->sealed == VM_YES)
		return false;
	/* back to where the last VMA begins, by way of where it may */
	for (;; i--) {
		const struct vm_area *a = &r->s->area[i];
		bool begins = !i || a->begins == VM_YES || a[-1].end != a->start;

		r->done.step[0] =
			(struct vm_step){ .kind = VM_STEP_SEAL, .start = start, .end = a->start };
		r->done.n = a->start > start;
		if (begins)
			break;
		if (a->begins == VM_MAYBE)
			refused(r, VM_MAYBE, cause, start);
	}
	if (refused(r, last->sealed == VM_NO ? cut : VM_MAYBE, cause, start))
		return true;
	r->done.n = 0;
	return false;
}

void vm_rule_mseal(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[0], len = vm_page_align(r, r->sc->arg[1]);
	struct vm_step step = { .kind = VM_STEP_SEAL, .start = addr, .end = addr + len };

	if (vm_stops(r, vm_is(!(r->info->features & VM_HAS_MSEAL)), ENOSYS, &no_call) ||
	    vm_fails(r, vm_is(r->sc->arg[2]), EINVAL, &flags) ||
	    vm_fails(r, vm_is(vm_unaligned(r, addr)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is(r->sc->arg[1] && !len), EINVAL, &wraps) ||
	    vm_stops(r, vm_is(addr + len < addr), EINVAL, &wraps))
		return;
	if (!len) {
		vm_succeeds(r, 0);
		return;
	}
	if (vm_stops(r, vm_is(!vm_state_all(r->s, addr, addr + len)), ENOMEM, &hole))
		return;
	if (r->starved || vm_over_map_count(r) != VM_NO)
		run_out(r, addr, addr + len);
	if (cannot_split(r, addr, addr + len))
		return;
	vm_does(r, &step);
	vm_succeeds(r, 0);
}
