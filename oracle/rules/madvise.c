/* SPDX-License-Identifier: MIT */
/* madvise(2), and process_madvise(2) of oneself. mm/madvise.c do_madvise(), madvise_walk_vmas(). */
#include "oracle/rules/madvise.h"

#include <errno.h>

#define CAP_SYS_NICE_BIT   23
#define MAX_RW_COUNT_BYTES (INT32_MAX & ~0xfffull) /* MAX_RW_COUNT: INT_MAX & PAGE_MASK */

static const struct vm_cause unknown = { .text = "unknown advice",
					 .basis = "mm/madvise.c madvise_behavior_valid()" };
static const struct vm_cause not_here = {
	.text = "advice that process_madvise does not take",
	.basis = "mm/madvise.c process_madvise_behavior_valid(), until 6.12"
};
static const struct vm_cause not_nice = { .text = "needs CAP_SYS_NICE",
					  .basis = "mm/madvise.c process_madvise() of 6.1" };
static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/madvise.c do_madvise()" };
static const struct vm_cause wraps = { .text = "range wraps",
				       .basis = "mm/madvise.c do_madvise()" };
static const struct vm_cause flags = { .text = "flags are not 0",
				       .basis = "mm/madvise.c process_madvise()" };
static const struct vm_cause too_long = { .text = "length is negative",
					  .basis = "lib/iov_iter.c copy_iovec_from_user()" };
static const struct vm_cause not_user = { .text = "range beyond user addresses",
					  .basis = "lib/iov_iter.c import_ubuf(): access_ok()" };
static const struct vm_cause privilege = { .text = "needs CAP_SYS_ADMIN",
					   .basis = "mm/madvise.c madvise_inject_error()" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/madvise.c madvise_walk_vmas(); madvise(2)" };
static const struct vm_cause sealed = {
	.text = "sealed page in the range",
	.basis = "mm/madvise.c can_madvise_modify() (6.12: mm/mseal.c can_modify_vma_madv())",
	.seal = true
};
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/vma.c __split_vma(): ENOMEM made EAGAIN",
					   .resource = true };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause no_huge_page = { .text = "no huge page to be had",
					      .basis = "mm/hugetlb.c hugetlb_no_page(): SIGBUS" };
static const struct vm_cause no_right = { .text = "protection does not allow it",
					  .basis = "mm/gup.c check_vma_flags()" };
static const struct vm_cause key = { .text = "protection key does not allow it",
				     .basis = "mm/gup.c check_vma_flags()" };
static const struct vm_cause guarded = { .text = "guard page in the range",
					 .basis = "mm/memory.c handle_pte_marker()" };
static const struct vm_cause past_end = { .text = "page lies past the end of its object",
					  .basis = "mm/madvise.c madvise_populate(): SIGBUS" };

/* Advice that depends on how the kernel was built was asked for by the executor (probe.c). */
static bool is_known(const struct vm_rule *r, int32_t advice)
{
	switch (advice) {
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_COLLAPSE:
		return r->info->features & VM_HAS_MADV_HUGEPAGE;
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
		return r->info->features & VM_HAS_MADV_MERGEABLE;
	case MADV_HWPOISON:
	case MADV_SOFT_OFFLINE:
		return r->info->features & VM_HAS_MADV_HWPOISON;
	case MADV_GUARD_INSTALL:
	case MADV_GUARD_REMOVE:
		return vm_has_guards(r->p, r->info);
	default:
		return (advice >= MADV_NORMAL && advice <= MADV_DONTNEED) ||
		       (advice >= MADV_FREE && advice <= MADV_DONTNEED_LOCKED);
	}
}

static bool is_discard(int32_t advice)
{
	switch (advice) {
	case MADV_FREE:
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_REMOVE:
	case MADV_DONTFORK:
	case MADV_WIPEONFORK:
	case MADV_GUARD_INSTALL:
		return true;
	default:
		return false;
	}
}

/*
 * Only what nobody could write to is protected: private anonymous memory without the write right,
 * or with a key that denies it.
 */
static enum vm_tri seal_refuses(const struct vm_rule *r, const struct vm_area *a, int32_t advice)
{
	enum vm_tri denied = a->prot & VM_MODE_W ? vm_area_key_denies(r, a, true) : VM_YES;

	if (!is_discard(advice) || !vm_area_is_anonymous(a) || denied == VM_NO)
		return VM_NO;
	return denied == VM_MAYBE && a->sealed == VM_YES ? VM_MAYBE : a->sealed;
}

/* What is done to all mapped pages of [start, end). */
static void done_up_to(struct vm_rule *r, const struct vm_step *step, uint64_t end)
{
	r->done.n = 0;
	if (step->kind == VM_ADVICE_NOTHING || step->start >= end)
		return;
	r->done.n = 1;
	r->done.step[0] = *step;
	r->done.step[0].end = end;
	r->what = "partly applied";
}

/* A VMA whose flags are what they are to be is not split, nor one that the advice ignores. */
static bool cannot_split(struct vm_rule *r, int32_t advice, const struct vm_area *a, uint64_t start,
			 uint64_t end)
{
	struct vm_step step = vm_advice_step(advice, start);
	uint64_t touched = step.flags | step.clear;

	if (vm_area_huge(a) == VM_NO || step.ksm_only ||
	    (!(a->flags_maybe & touched) && (a->flags & touched) == step.flags))
		return false;
	return vm_fails(r, vm_state_in_huge_page(r->s, start), EINVAL, &in_huge_page) ||
	       vm_fails_split(r, vm_state_in_huge_page(r->s, end), EINVAL, &in_huge_page, start,
			      start);
}

/* One VMA, from area `first` up to `next`. Returns true if the rule must stop. */
static bool visit(struct vm_rule *r, int32_t advice, const struct vm_area *a, uint64_t start,
		  uint64_t end)
{
	if (vm_fails(r, seal_refuses(r, a, advice), EPERM, &sealed) ||
	    vm_advice_refused(r, advice, a, start, end))
		return true;
	return vm_advice_is_flags(advice) &&
	       (vm_fails(r, vm_over_map_count(r), EAGAIN, &map_count) ||
		cannot_split(r, advice, a, start, end));
}

/*
 * VMAs are visited one at a time: an error leaves those before it as advised. Holes do not stop the
 * walk, but are told at its end. madvise(2) documents both.
 */
static void walk(struct vm_rule *r, int32_t advice, uint64_t start, uint64_t end, int64_t value)
{
	const struct vm_state *s = r->s;
	struct vm_step step = vm_advice_step(advice, start);
	bool unmapped = false;
	uint64_t at = start;

	r->licence = VM_DOCUMENTED;
	for (uint32_t i = vm_state_from(s, start), next; at < end; i = next) {
		uint64_t upto;

		unmapped |= i >= s->n || s->area[i].start > at;
		if (i >= s->n || s->area[i].start >= end)
			break;
		next = vm_state_vma_next(s, i);
		at = at > s->area[i].start ? at : s->area[i].start;
		upto = s->area[next - 1].end < end ? s->area[next - 1].end : end;
		if (visit(r, advice, &s->area[i], at, upto))
			return;
		at = upto;
		done_up_to(r, &step, vm_advice_end(r, advice, &s->area[i], upto));
		vm_starves(r, NULL);
	}
	if (vm_stops(r, vm_is(unmapped), ENOMEM, &hole))
		return;
	r->what = NULL;
	vm_succeeds(r, value);
}

/* The first page from `at` on, in one area, that its object does not reach to. */
static uint64_t object_ends(const struct vm_rule *r, const struct vm_area *a, uint64_t at)
{
	uint64_t size = r->objects->object[a->object].size, page = r->info->layout.page_size;
	uint64_t off = a->off + (at - a->start);

	if (size > UINT64_MAX - page)
		return a->end;
	size = (size + page - 1) & vm_page_mask(r);
	if (size <= off)
		return at;
	return size - off < a->end - at ? at + (size - off) : a->end;
}

/*
 * MADV_POPULATE_READ and _WRITE fault pages in one after the other, and say what stopped them.
 * mm/gup.c faultin_page_range(), __get_user_pages().
 */
static void populate(struct vm_rule *r, int32_t advice, uint64_t start, uint64_t end, int64_t value)
{
	uint8_t right = advice == MADV_POPULATE_WRITE ? VM_MODE_W : VM_MODE_R;
	struct vm_step step = vm_advice_step(advice, start);

	bool holes = false;

	r->licence = VM_DOCUMENTED;
	for (uint64_t at = start, upto; at < end; at = upto) {
		const struct vm_area *a = vm_state_at(r->s, at);

		if (!a && r->p->populate_walks) {
			uint32_t next = vm_state_from(r->s, at);

			holes = true;
			upto = next < r->s->n ? r->s->area[next].start : end;
			continue;
		}
		if (!a) {
			vm_fails(r, VM_YES, ENOMEM, &hole);
			return;
		}
		if (vm_fails(r, vm_is(!(a->prot & right)), EINVAL, &no_right) ||
		    vm_fails(r, vm_area_key_denies(r, a, right == VM_MODE_W), EINVAL, &key) ||
		    vm_fails(r, a->guard, EFAULT, &guarded) ||
		    vm_fails(r, vm_huge_missing(r, a), EFAULT, &no_huge_page))
			return;
		if (vm_object_past_end(&r->objects->object[a->object], a->off + (at - a->start)) ==
		    VM_MAYBE)
			vm_fails(r, VM_MAYBE, EFAULT, &past_end);
		upto = a->end < end ? a->end : end;
		if (object_ends(r, a, at) < upto) {
			done_up_to(r, &step, object_ends(r, a, at));
			if (vm_fails(r, VM_YES, EFAULT, &past_end))
				return;
		}
		done_up_to(r, &step, upto);
		vm_starves(r, NULL);
	}
	if (vm_fails(r, vm_is(holes), ENOMEM, &hole))
		return;
	r->what = NULL;
	vm_succeeds(r, value);
}

/* From the check of the advice on; `len` as passed. Success returns `value`. */
static void advise(struct vm_rule *r, uint64_t len, int64_t value)
{
	int32_t advice = vm_advice(r->sc->arg[2]);
	uint64_t start = r->sc->arg[0], end = start + vm_page_align(r, len);

	if (vm_fails(r, vm_is(!is_known(r, advice)), EINVAL, &unknown) ||
	    vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is((len && !vm_page_align(r, len)) || end < start), EINVAL, &wraps))
		return;
	if (end == start) {
		vm_succeeds(r, value);
		return;
	}
	if (advice == MADV_HWPOISON || advice == MADV_SOFT_OFFLINE)
		vm_stops(r, VM_YES, EPERM, &privilege); /* with the right it is withheld */
	else if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		populate(r, advice, start, end, value);
	else
		walk(r, advice, start, end, value);
}

void vm_rule_madvise(struct vm_rule *r)
{
	advise(r, r->sc->arg[1], 0);
}

/*
 * access_ok(): up to TASK_SIZE; with LAM (linear address masking) up to the middle of the address
 * space, and then nothing is mapped there.
 */
static enum vm_tri beyond_user(const struct vm_rule *r, uint64_t start, uint64_t len)
{
	uint64_t end = start + len;

	if (end < start || end > (1ull << 63) - r->info->layout.page_size)
		return VM_YES;
	return end > r->info->layout.task_size ? VM_MAYBE : VM_NO;
}

void vm_rule_process_madvise(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], len = r->sc->arg[1];
	int32_t advice = vm_advice(r->sc->arg[2]);
	bool may_nice = r->info->cap_effective >> CAP_SYS_NICE_BIT & 1;
	bool any = r->p->process_madvise_own || advice == MADV_COLD || advice == MADV_PAGEOUT ||
		   advice == MADV_WILLNEED || advice == MADV_COLLAPSE;

	if (vm_fails(r, vm_is(r->sc->arg[3]), EINVAL, &flags) ||
	    vm_stops(r, vm_is((int64_t)len < 0), EINVAL, &too_long))
		return;
	len = len < MAX_RW_COUNT_BYTES ? len : MAX_RW_COUNT_BYTES;
	if (vm_stops(r, beyond_user(r, start, len), EFAULT, &not_user) ||
	    vm_fails(r, vm_is(!any), EINVAL, &not_here) ||
	    vm_fails(r, vm_is(r->p->process_madvise_nice && !may_nice), EPERM, &not_nice))
		return;
	if (!len) /* an empty vector is not walked */
		vm_succeeds(r, 0);
	else
		advise(r, len, (int64_t)len);
}
