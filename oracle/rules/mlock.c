/* SPDX-License-Identifier: MIT */
/* mlock(2), mlock2(2), munlock(2). mm/mlock.c do_mlock(), apply_vma_lock_flags(), mlock_fixup(). */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

static const struct vm_cause flags = { .text = "unknown flags", .basis = "mm/mlock.c mlock2()" };
static const struct vm_cause not_allowed = { .text = "RLIMIT_MEMLOCK is 0",
					     .basis = "mm/mlock.c can_do_mlock()" };
static const struct vm_cause limit = { .text = "RLIMIT_MEMLOCK",
				       .basis = "mm/mlock.c do_mlock()",
				       .resource = true };
static const struct vm_cause wraps = { .text = "range wraps",
				       .basis = "mm/mlock.c apply_vma_lock_flags()" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/mlock.c apply_vma_lock_flags()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mlock.c mlock_fixup(): vma_modify_flags()",
					   .resource = true };
static const struct vm_cause no_access = {
	.text = "memory that cannot be accessed",
	.basis = "mm/gup.c populate_vma_page_range(); __mlock_posix_error_return()"
};
static const struct vm_cause no_huge_page = { .text = "no huge page to be had",
					      .basis = "mm/hugetlb.c hugetlb_no_page(): SIGBUS" };
static const struct vm_cause past_end = { .text = "page lies past the end of its object",
					  .basis = "mm/gup.c __get_user_pages(): SIGBUS" };

/* A range in whole pages, and what becomes of VM_LOCKED_MASK in it. */
struct request {
	uint64_t start, end, flags;
};

/* What is counted already is not counted again: count_mm_mlocked_page_nr(). */
static enum vm_tri over_limit(const struct vm_rule *r, const struct request *q, uint64_t len)
{
	uint64_t maybe, maybe_here, most = vm_lock_limit(r);
	uint64_t locked = vm_state_locked(r->s, 0, UINT64_MAX, &maybe);
	uint64_t end = q->start + len < q->start ? UINT64_MAX : q->start + len;
	uint64_t others = locked - vm_state_locked(r->s, q->start, end, &maybe_here);

	if (most == UINT64_MAX)
		return VM_NO;
	if (len > most || others > most - len)
		return VM_YES;
	return maybe - maybe_here > most - len - others ? VM_MAYBE : VM_NO;
}

/* The lock flags of [start, at) are set: what is done when the call fails at `at`. */
static void flagged_up_to(struct vm_rule *r, const struct request *q, uint64_t at)
{
	struct vm_step step = {
		.kind = VM_STEP_LOCK, .start = q->start, .end = at, .flags = q->flags
	};

	r->done.n = 0;
	if (q->start < at)
		r->done.step[r->done.n++] = step;
}

/*
 * apply_vma_lock_flags(): one VMA after the other; those before a hole stay changed. mlock(2)
 * promises that an error changes no lock. Returns true if the call certainly ends here.
 */
static bool apply_flags(struct vm_rule *r, const struct request *q)
{
	const struct vm_state *s = r->s;
	uint64_t at = q->start;

	r->what = "partly applied";
	for (uint32_t i = vm_state_from(s, at); at < q->end; i++) {
		if (vm_stops(r, vm_is(i >= s->n || s->area[i].start > at), ENOMEM, &hole))
			return true;
		at = s->area[i].end < q->end ? s->area[i].end : q->end;
		flagged_up_to(r, q, at);
		if (at < q->end)
			vm_starves(r, NULL);
	}
	r->what = NULL;
	return false;
}

static const struct vm_cause guarded = { .text = "guard page",
					 .basis = "mm/memory.c do_swap_page(): PTE_MARKER_GUARD" };

/* Why can an area not be populated from `at` on? NULL: it can. */
static const struct vm_cause *unreachable(const struct vm_rule *r, const struct vm_area *a,
					  uint64_t at)
{
	if (!a->prot)
		return &no_access;
	if (a->off + (at - a->start) >= r->objects->object[a->object].size)
		return &past_end;
	return NULL;
}

/* populate_vma_page_range() writes to what is private and writable. */
static enum vm_tri key_denies(const struct vm_rule *r, const struct vm_area *a)
{
	return vm_area_key_denies(r, a, a->prot & VM_MODE_W && !a->shared);
}

/* Pages of [start, at) are there now, and all of the flags. */
static void populated_up_to(struct vm_rule *r, const struct request *q, uint64_t at)
{
	struct vm_step step = { .kind = VM_STEP_COPY, .start = q->start, .end = at };

	r->done.n = 1;
	if (q->start < at)
		r->done.step[r->done.n++] = step;
}

/* __mm_populate() without ignore_errors: the first page that cannot be had ends the call. */
static bool fails_at(struct vm_rule *r, const struct request *q, uint64_t at, enum vm_tri cond,
		     const struct vm_cause *cause)
{
	populated_up_to(r, q, at);
	r->what = "locked all the same";
	return vm_fails(r, cond, ENOMEM, cause);
}

static bool populate_area(struct vm_rule *r, const struct request *q, const struct vm_area *a)
{
	uint64_t low = a->start > q->start ? a->start : q->start;
	uint64_t high = a->end < q->end ? a->end : q->end, size, page = r->info->layout.page_size;
	const struct vm_cause *cause;

	if (vm_area_lockable(a) && q->flags & VM_BIT(VM_FLAG_LF))
		return false;
	cause = unreachable(r, a, low);
	if (cause)
		return fails_at(r, q, low, VM_YES, cause);
	if (key_denies(r, a) != VM_NO && fails_at(r, q, low, key_denies(r, a), &no_access))
		return true;
	if (a->guard != VM_NO && fails_at(r, q, low, a->guard, &guarded))
		return true;
	if (vm_huge_missing(r, a) != VM_NO &&
	    fails_at(r, q, low, vm_huge_missing(r, a), &no_huge_page))
		return true;
	cause = unreachable(r, a, high - page);
	if (!cause)
		return false;
	size = (r->objects->object[a->object].size + page - 1) & ~(page - 1);
	return fails_at(r, q, a->start + (size - a->off), VM_YES, cause);
}

static void populate(struct vm_rule *r, const struct request *q)
{
	const struct vm_state *s = r->s;

	for (uint32_t i = vm_state_from(s, q->start); i < s->n && s->area[i].start < q->end; i++)
		if (populate_area(r, q, &s->area[i]))
			return;
	populated_up_to(r, q, q->start);
	r->what = "locked all the same";
	vm_starves(r, NULL);
	populated_up_to(r, q, q->end);
	vm_starves(r, NULL);
	r->what = NULL;
	vm_succeeds(r, 0);
}

static bool check_lock(struct vm_rule *r, struct request *q, uint64_t len)
{
	uint32_t asked = r->sc->op == VM_OP_MLOCK2 ? (uint32_t)r->sc->arg[2] : 0;

	q->flags = VM_BIT(VM_FLAG_LO);
	if (asked & MLOCK_ONFAULT)
		q->flags |= VM_BIT(VM_FLAG_LF);
	return vm_fails(r, vm_is(asked & ~(uint32_t)MLOCK_ONFAULT), EINVAL, &flags) ||
	       vm_fails(r, vm_is(vm_cannot_lock(r)), EPERM, &not_allowed) ||
	       vm_fails(r, over_limit(r, q, len), ENOMEM, &limit);
}

void vm_rule_mlock(struct vm_rule *r)
{
	uint64_t offset = r->sc->arg[0] & ~vm_page_mask(r);
	uint64_t len = vm_page_align(r, r->sc->arg[1] + offset);
	struct request q = { .start = r->sc->arg[0] - offset };

	q.end = q.start + len;
	if ((r->sc->op != VM_OP_MUNLOCK && check_lock(r, &q, len)) ||
	    vm_stops(r, vm_is(q.end < q.start), EINVAL, &wraps))
		return;
	if (q.start == q.end) {
		vm_succeeds(r, 0);
		return;
	}
	if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) || apply_flags(r, &q))
		return;
	if (r->sc->op == VM_OP_MUNLOCK)
		vm_succeeds(r, 0);
	else
		populate(r, &q);
}
