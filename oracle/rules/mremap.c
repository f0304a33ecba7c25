/* SPDX-License-Identifier: MIT */
/*
 * mremap(2). 6.12: mm/mremap.c SYSCALL_DEFINE5(mremap), mremap_to(), vma_to_resize(), move_vma().
 * 6.17 on: do_mremap(), check_mremap_params(), check_prep_vma(), remap_move(), mremap_to().
 */
#define _GNU_SOURCE
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PARAMS "mm/mremap.c sys_mremap(), mremap_to() (6.12); check_mremap_params() (6.17)"
#define PREP   "mm/mremap.c vma_to_resize() (6.12); check_prep_vma() (6.17)"

static const struct vm_cause bad_flags = { .text = "unknown flags", .basis = PARAMS };
static const struct vm_cause fixed_stays = { .text = "MREMAP_FIXED without MREMAP_MAYMOVE",
					     .basis = PARAMS };
static const struct vm_cause keep_stays = { .text = "MREMAP_DONTUNMAP without MREMAP_MAYMOVE",
					    .basis = PARAMS };
static const struct vm_cause keep_resizes = { .text = "MREMAP_DONTUNMAP with another length",
					      .basis = PARAMS };
static const struct vm_cause unaligned = { .text = "address not page aligned", .basis = PARAMS };
static const struct vm_cause zero_len = { .text = "new length is 0", .basis = PARAMS };
static const struct vm_cause too_long = { .text = "new length beyond TASK_SIZE", .basis = PARAMS };
static const struct vm_cause dest_unaligned = { .text = "destination not page aligned",
						.basis = PARAMS };
static const struct vm_cause dest_beyond = { .text = "destination ends beyond TASK_SIZE",
					     .basis = PARAMS };
static const struct vm_cause overlap = { .text = "source and destination overlap",
					 .basis = PARAMS };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = PARAMS,
					   .resource = true };
static const struct vm_cause no_source = { .text = "source is not mapped", .basis = PREP };
static const struct vm_cause source_gone = { .text = "source lies in the destination",
					     .basis = PREP };
static const struct vm_cause source_sealed = { .text = "source is sealed",
					       .basis = PREP "; mseal.rst",
					       .seal = true };
static const struct vm_cause private_zero = { .text = "old length 0 of a private mapping",
					      .basis = PREP };
static const struct vm_cause crosses = { .text = "source crosses a VMA", .basis = PREP };
static const struct vm_cause not_several = {
	.text = "SysV segment and more than one VMA",
	.basis = "mm/mremap.c remap_move(), vma_multi_allowed() (6.17)"
};
static const struct vm_cause rlimit = { .text = "RLIMIT_AS or RLIMIT_DATA",
					.basis = "mm/mmap.c may_expand_vm()",
					.resource = true };
static const struct vm_cause memlock = { .text = "source grows beyond RLIMIT_MEMLOCK",
					 .basis = "mm/mmap.c mlock_future_ok()",
					 .resource = true };
static const struct vm_cause dest_sealed = {
	.text = "destination is sealed",
	.basis = "mm/mremap.c mremap_to(): do_munmap(); mseal.rst",
	.seal = true
};
static const struct vm_cause tail_beyond = { .text = "source tail ends beyond TASK_SIZE",
					     .basis = "mm/vma.c do_vmi_munmap()" };
static const struct vm_cause tail_sealed = { .text = "source tail is sealed",
					     .basis =
						     "mm/vma.c vms_gather_munmap_vmas(); mseal.rst",
					     .seal = true };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause huge_unaligned = { .text = "not aligned to huge pages",
						.basis = "mm/mremap.c mremap() (6.12); "
							 "align_hugetlb() (6.17)" };
static const struct vm_cause huge_grows = { .text = "huge pages do not grow",
					    .basis = "mm/mremap.c mremap() (6.12); "
						     "align_hugetlb() (6.17)" };
static const struct vm_cause huge_keep = { .text = "MREMAP_DONTUNMAP of huge pages",
					   .basis = PREP ": VM_DONTEXPAND" };
static const struct vm_cause min_addr = { .text = "destination below mmap_min_addr",
					  .basis = "security_mmap_addr()" };
static const struct vm_cause no_room = { .text = "no free range is long enough",
					 .basis = "mm/mmap.c vm_unmapped_area()",
					 .resource = true };
static const struct vm_cause no_growth = { .text = "no room to grow in place",
					   .basis = "mm/mremap.c vma_expandable()" };
static const struct vm_cause commit = { .text = "commit limit",
					.basis = "mm/mremap.c move_vma(), vrm_calc_charge()",
					.resource = true };

static const struct vm_cause not_unmapped = {
	.text = "an allocation failed",
	.basis = "mm/mremap.c move_vma(), \"OOM: unable to split vma\"",
	.resource = true,
	.starved = true,
};

/* The arguments, page aligned. */
struct remap {
	uint64_t addr, old_len, new_len, to;
	uint64_t flags;
	bool fixed, keep, maymove;
	uint64_t kept; /* what is left of the source after a shrink */
};

static bool check_flags(struct vm_rule *r, const struct remap *m)
{
	uint64_t known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	bool resizes =
		r->p->dontunmap_rounded ? m->old_len != m->new_len : r->sc->arg[1] != r->sc->arg[2];

	return vm_fails(r, vm_is(m->flags & ~known), EINVAL, &bad_flags) ||
	       vm_fails(r, vm_is(m->fixed && !m->maymove), EINVAL, &fixed_stays) ||
	       vm_fails(r, vm_is(m->keep && !m->maymove), EINVAL, &keep_stays) ||
	       vm_fails(r, vm_is(m->keep && resizes), EINVAL, &keep_resizes) ||
	       vm_fails(r, vm_is(vm_unaligned(r, m->addr)), EINVAL, &unaligned) ||
	       vm_stops(r, vm_is(!m->new_len), EINVAL, &zero_len);
}

static bool check_destination(struct vm_rule *r, const struct remap *m)
{
	uint64_t task = r->info->layout.task_size;
	bool overlaps = m->addr + m->old_len > m->to && m->to + m->new_len > m->addr;

	return vm_fails(r, vm_is(vm_unaligned(r, m->to)), EINVAL, &dest_unaligned) ||
	       vm_stops(r, vm_is(m->new_len > task || m->to > task - m->new_len), EINVAL,
			&dest_beyond) ||
	       vm_fails(r, vm_is(overlaps), EINVAL, &overlap);
}

static bool check_source(struct vm_rule *r, const struct remap *m)
{
	const struct vm_area *a = vm_state_at(r->s, m->addr);

	if (!a)
		return vm_stops(r, VM_YES, EFAULT, &no_source);
	return vm_fails(r, a->sealed, EPERM, &source_sealed);
}

/*
 * Lengths of huge pages are rounded up to them; both addresses must be aligned to them, used or
 * not. Returns true if the call certainly ends here.
 */
static bool align_huge(struct vm_rule *r, struct remap *m)
{
	const struct vm_area *a = vm_state_at(r->s, m->addr);
	uint64_t mask;

	if (!a || vm_area_huge(a) == VM_NO)
		return false;
	if (vm_area_huge(a) == VM_MAYBE || !a->huge) {
		vm_silent(r, "huge pages of unknown size");
		return true;
	}
	mask = ((uint64_t)1 << a->huge) - 1;
	m->old_len = (m->old_len + mask) & ~mask;
	m->new_len = (m->new_len + mask) & ~mask;
	m->kept = m->old_len < m->new_len ? m->old_len : m->new_len;
	return vm_fails(r, vm_is((m->addr | m->to) & mask), EINVAL, &huge_unaligned) ||
	       vm_stops(r, vm_is(m->new_len > m->old_len), EINVAL, &huge_grows);
}

/* Growth of a locked mapping is locked too. */
static enum vm_tri grown_over_memlock(const struct vm_rule *r, const struct vm_area *a,
				      uint64_t grown)
{
	uint64_t lo = VM_BIT(VM_FLAG_LO);
	enum vm_tri over;

	if (!grown || !((a->flags | a->flags_maybe) & lo))
		return VM_NO;
	over = vm_over_memlock(r, grown);
	return over == VM_YES && a->flags_maybe & lo ? VM_MAYBE : over;
}

/* vma_to_resize(), the second half of check_prep_vma(): only for what moves or grows. */
static bool check_resize(struct vm_rule *r, const struct remap *m)
{
	const struct vm_area *a = vm_state_at(r->s, m->addr);
	enum vm_tri one;
	uint64_t grown = m->new_len - m->kept;

	if (!a)
		return vm_stops(r, VM_YES, EFAULT, &source_gone);
	if (vm_fails(r, vm_is(!m->old_len && !a->shared), EINVAL, &private_zero))
		return true;
	if (m->keep && vm_fails(r, vm_area_huge(a), EINVAL, &huge_keep))
		return true;
	if (m->addr + m->kept < m->addr)
		one = VM_NO;
	else
		one = vm_state_one_vma(r->s, m->addr, m->addr + m->kept);
	return vm_fails(r, one == VM_MAYBE ? VM_MAYBE : vm_is(one == VM_NO), EFAULT, &crosses) ||
	       vm_fails(r, grown_over_memlock(r, a, grown), EAGAIN, &memlock) ||
	       (grown &&
		vm_fails(r, vm_over_rlimit(r, grown, vm_area_is_data(a)), ENOMEM, &rlimit));
}

static bool over_commit(struct vm_rule *r, const struct vm_area *a, uint64_t bytes)
{
	uint64_t pages = bytes / r->info->layout.page_size;

	if (a->account == VM_NO)
		return false;
	return vm_fails(r, vm_over_commit(r, a->account == VM_YES ? pages : 0, pages), ENOMEM,
			&commit);
}

/* Growth of a locked mapping, as the last step, is populated: mm_populate() in mremap(). */
static void populates(struct vm_rule *r, const struct vm_area *a)
{
	struct vm_step copies = r->done.step[r->done.n - 1];

	copies.kind = VM_STEP_COPY;
	if ((a->flags | a->flags_maybe) & VM_BIT(VM_FLAG_LO) && r->done.n < VM_EFFECT_MAX)
		r->done.step[r->done.n++] = copies;
}

/* The steps of a move to `to` (relative to the chosen address if chosen). */
static void moves(struct vm_rule *r, const struct remap *m, bool chosen, uint64_t to)
{
	uint64_t page = r->info->layout.page_size;
	struct vm_step move = { .kind = VM_STEP_MOVE,
				.start = m->addr,
				.end = m->addr + m->kept,
				.to = to,
				.keep = m->keep,
				.chosen = chosen };
	struct vm_step more = { .kind = VM_STEP_EXTEND,
				.start = to + m->kept,
				.end = to + m->new_len,
				.to = to + m->kept - page,
				.chosen = chosen };
	struct vm_step twice = { .kind = VM_STEP_DUPLICATE,
				 .start = to,
				 .end = to + m->new_len,
				 .to = m->addr,
				 .chosen = chosen };

	if (r->done.n + 3 > VM_EFFECT_MAX) {
		vm_silent(r, "more steps than fit");
		return;
	}
	if (!m->old_len) {
		r->done.step[r->done.n++] = twice;
		return;
	}
	r->done.step[r->done.n++] = move;
	if (m->new_len > m->kept) {
		r->done.step[r->done.n++] = more;
		populates(r, vm_state_at(r->s, m->addr));
	}
}

/*
 * move_vma(): the VMA has to be split for its moved part to be unmapped, and that failed: all of it
 * stays where it was, without the pages.
 */
static void leaves_source(struct vm_rule *r, const struct remap *m)
{
	for (uint32_t i = 0; i < r->done.n && m->old_len && !m->keep; i++) {
		struct vm_step *move = &r->done.step[i];

		if (move->kind != VM_STEP_MOVE)
			continue;
		move->keep = move->leftover = true;
		vm_starves_unsaid(r, &not_unmapped);
		move->keep = move->leftover = false;
	}
}

/* Move (or duplicate) to a place that get_unmapped_area() chooses. */
static void move_chosen(struct vm_rule *r, const struct remap *m, uint64_t hint)
{
	const struct vm_area *a = vm_state_at(r->s, m->addr);
	uint64_t to = hint;
	enum vm_tri taken =
		vm_hint_taken(r, &to, m->new_len, a->object, a->off + (m->addr - a->start));

	/* a free hint below mmap_min_addr is taken, then refused */
	if (taken != VM_NO && vm_fails(r, vm_below_min_addr(r, to), EPERM, &min_addr))
		return;
	if (taken != VM_YES && vm_fails(r, vm_no_room(r, m->new_len), ENOMEM, &no_room))
		return;
	if (taken != VM_YES && vm_no_room(r, m->new_len) == VM_MAYBE &&
	    vm_fails(r, VM_MAYBE, EPERM, &min_addr))
		return;
	if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    over_commit(r, a, m->keep ? m->new_len : m->new_len - m->kept))
		return;
	moves(r, m, taken != VM_YES, taken == VM_YES ? to : 0);
	if (taken == VM_YES)
		vm_succeeds(r, (int64_t)to);
	else
		vm_succeeds_chosen(r, m->new_len, 0);
	leaves_source(r, m);
}

static bool unmap_tail(struct vm_rule *r, const struct remap *m)
{
	uint64_t task = r->info->layout.task_size, start = m->addr + m->new_len;
	struct vm_step step = { .kind = VM_STEP_UNMAP,
				.start = start,
				.end = m->addr + m->old_len };

	if (vm_stops(r, vm_is(start > task || m->old_len - m->new_len > task - start), EINVAL,
		     &tail_beyond) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) ||
	    vm_gather_fails(r, start, step.end, &tail_sealed, &in_huge_page))
		return true;
	vm_does(r, &step);
	return false;
}

/* mremap_to(): a fixed destination, or DONTUNMAP. */
static void remap_to(struct vm_rule *r, const struct remap *m)
{
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = m->to, .end = m->to + m->new_len };
	const struct vm_area *a;

	if (m->fixed) {
		if (vm_gather_fails(r, gap.start, gap.end, &dest_sealed, &in_huge_page))
			return;
		vm_does(r, &gap);
	}
	if (r->p->mremap_checks_first &&
	    vm_stops(r, vm_is(!vm_state_at(r->s, m->addr)), EFAULT, &source_gone))
		return;
	if (m->old_len > m->new_len && unmap_tail(r, m))
		return;
	if (!r->p->mremap_checks_first && check_resize(r, m))
		return;
	a = vm_state_at(r->s, m->addr);
	if (m->keep &&
	    vm_fails(r, vm_over_rlimit(r, m->new_len, vm_area_is_data(a)), ENOMEM, &rlimit))
		return;
	if (!m->fixed) {
		move_chosen(r, m, m->to);
		return;
	}
	if (vm_fails(r, vm_below_min_addr(r, m->to), EPERM, &min_addr) ||
	    over_commit(r, a, m->keep ? m->new_len : m->new_len - m->kept))
		return;
	moves(r, m, false, m->to);
	vm_succeeds(r, (int64_t)m->to);
	leaves_source(r, m);
}

/* Can the VMA grow where it is? */
static enum vm_tri grows_in_place(const struct vm_rule *r, const struct remap *m)
{
	uint64_t end = m->addr + m->old_len, new_end = m->addr + m->new_len;

	if (!m->old_len || new_end < end || new_end > r->info->layout.task_size ||
	    vm_state_any(r->s, end, new_end))
		return VM_NO;
	return vm_state_vma_ends(r->s, end);
}

/* mremap_at(): no destination given. */
static void remap_at(struct vm_rule *r, const struct remap *m)
{
	struct vm_step grow = { .kind = VM_STEP_EXTEND,
				.start = m->addr + m->old_len,
				.end = m->addr + m->new_len,
				.to = m->addr + m->old_len - r->info->layout.page_size };
	enum vm_tri in_place;
	uint32_t done;

	if (m->old_len >= m->new_len) {
		if (m->old_len > m->new_len && unmap_tail(r, m))
			return;
		vm_succeeds(r, (int64_t)m->addr);
		return;
	}
	if (!r->p->mremap_checks_first && check_resize(r, m))
		return;
	in_place = grows_in_place(r, m);
	if (in_place != VM_NO) {
		if (over_commit(r, vm_state_at(r->s, m->addr), m->new_len - m->old_len))
			return;
		done = r->done.n;
		r->done.step[r->done.n++] = grow;
		populates(r, vm_state_at(r->s, m->addr));
		vm_succeeds(r, (int64_t)m->addr);
		r->done.n = done;
		if (in_place == VM_YES)
			return;
	}
	if (!m->maymove) {
		vm_fails(r, in_place == VM_MAYBE ? VM_MAYBE : VM_YES, ENOMEM, &no_growth);
		return;
	}
	if (vm_stops(r, vm_is(m->new_len > r->info->layout.task_size), ENOMEM, &too_long))
		return;
	move_chosen(r, m, 0);
}

/* What remap_move() has moved so far. */
static void moved_up_to(struct vm_rule *r, const struct remap *m, uint64_t end)
{
	r->done.n = 0;
	if (end <= m->addr)
		return;
	r->done.step[r->done.n++] = (struct vm_step){
		.kind = VM_STEP_MOVE, .start = m->addr, .end = end, .to = m->to, .keep = m->keep
	};
	r->what = "source partly moved";
}

static enum vm_tri both(enum vm_tri a, enum vm_tri b)
{
	return a == VM_NO || b == VM_NO ? VM_NO : a == VM_YES && b == VM_YES ? VM_YES : VM_MAYBE;
}

/* Does the piece [start, stop), which stays, exceed a limit, when those before it are moved? */
static enum vm_tri kept_over_rlimit(const struct vm_rule *r, const struct remap *m,
				    const struct vm_area *piece, uint64_t start, uint64_t stop)
{
	struct vm_sizes mapped = vm_state_sizes(r->s, 0, UINT64_MAX);
	const struct vm_area *area = r->s->area;

	for (uint32_t i = vm_state_from(r->s, m->addr); i < r->s->n && area[i].start < stop; i++) {
		uint64_t low = area[i].start > m->addr ? area[i].start : m->addr;
		uint64_t high = area[i].end < stop ? area[i].end : stop;
		struct vm_sizes gone =
			vm_state_sizes(r->s, m->to + (low - m->addr), m->to + (high - m->addr));

		mapped.total -= gone.total;
		mapped.data -= gone.data;
		mapped.maybe -= gone.maybe;
		if (low < start)
			vm_sizes_add(&mapped, &area[i], high - low);
	}
	return vm_cannot_expand(r, &mapped, stop - start, vm_area_is_data(piece));
}

/* As vm_gather_fails() of the destination of a piece, if there is such a piece. */
static bool gather_piece(struct vm_rule *r, enum vm_tri is, uint64_t to, uint64_t end, bool *doomed)
{
	const struct vm_area *first = vm_state_at(r->s, to);
	enum vm_tri head = vm_state_in_huge_page(r->s, to);
	enum vm_tri tail = vm_state_in_huge_page(r->s, end);
	enum vm_tri dest = vm_state_sealed(r->s, to, end);

	*doomed |= head == VM_YES || tail == VM_YES || dest == VM_YES;
	if (head != VM_NO && (vm_fails(r, both(is, first->sealed), EPERM, &dest_sealed) ||
			      vm_fails(r, both(is, head), EINVAL, &in_huge_page)))
		return true;
	return vm_fails_split(r, both(is, dest), EPERM, &dest_sealed, to, end) ||
	       vm_fails_split(r, both(is, tail), EINVAL, &in_huge_page, to, to);
}

/* A piece of huge pages: check_prep_vma(), align_hugetlb(). *len becomes what is moved. */
static bool huge_piece(struct vm_rule *r, const struct remap *m, const struct vm_area *a,
		       enum vm_tri is, uint64_t addresses, uint64_t *len, bool *doomed)
{
	uint64_t mask = ((uint64_t)1 << a->huge) - 1;

	if (vm_area_huge(a) == VM_NO)
		return false;
	if (vm_area_huge(a) == VM_MAYBE || !a->huge) {
		vm_silent(r, "huge pages of unknown size");
		return true;
	}
	*doomed |= addresses & mask || m->keep;
	*len = (*len + mask) & ~mask;
	return vm_fails(r, addresses & mask ? is : VM_NO, EINVAL, &huge_unaligned) ||
	       vm_fails(r, m->keep ? is : VM_NO, EINVAL, &huge_keep);
}

/*
 * One VMA of remap_move(), which holds [start, stop) of the source; `is` says whether there is one
 * with just these ends. Returns true if the call certainly ends here; *doomed is set if it cannot
 * succeed.
 */
static bool move_piece(struct vm_rule *r, const struct remap *m, const struct vm_area *a,
		       uint64_t start, uint64_t stop, enum vm_tri is, bool *doomed)
{
	uint64_t to = m->to + (start - m->addr), len = stop - start;
	enum vm_tri low = vm_below_min_addr(r, to);
	uint64_t pages = len / r->info->layout.page_size;
	struct vm_step gap = { .kind = VM_STEP_UNMAP, .start = to };
	enum vm_tri charge = VM_NO;

	/* shm_get_unmapped_area() is none of those that are known to obey */
	bool refused = a->attach && (start > m->addr || stop < m->addr + m->old_len);

	*doomed |= (refused && is == VM_YES) || a->sealed == VM_YES || low == VM_YES;
	moved_up_to(r, m, start);
	vm_starves(r, NULL);
	if (vm_fails(r, refused ? is : VM_NO, EFAULT, &not_several) ||
	    vm_fails(r, both(is, a->sealed), EPERM, &source_sealed) ||
	    huge_piece(r, m, a, is, start | to, &len, doomed) ||
	    gather_piece(r, is, to, to + len, doomed))
		return true;
	gap.end = to + len;
	r->done.step[r->done.n++] = gap;
	vm_starves(r, NULL);
	if (m->keep && a->account != VM_NO)
		charge = vm_over_commit(r, a->account == VM_YES ? pages : 0, pages);
	return (m->keep &&
		vm_fails(r, both(is, kept_over_rlimit(r, m, a, start, stop)), ENOMEM, &rlimit)) ||
	       vm_fails(r, both(is, low), EPERM, &min_addr) ||
	       vm_fails(r, both(is, charge), ENOMEM, &commit);
}

/* All VMAs that may begin with area i: their ends are certain, or possible where VMAs may have
 * merged. */
static bool move_from(struct vm_rule *r, const struct remap *m, uint32_t i, uint64_t end,
		      bool *doomed)
{
	const struct vm_area *area = r->s->area;
	uint64_t start = area[i].start > m->addr ? area[i].start : m->addr;
	enum vm_tri is = start > area[i].start || area[i].begins == VM_YES ? VM_YES : VM_MAYBE;

	for (uint32_t k = i;; k++) {
		bool last = area[k].end >= end || k + 1 == r->s->n ||
			    area[k + 1].start != area[k].end || area[k + 1].begins == VM_YES;
		uint64_t stop = area[k].end < end ? area[k].end : end;
		bool maybe = !last && area[k + 1].begins == VM_MAYBE;

		if ((last || maybe) && move_piece(r, m, &area[i], start, stop,
						  both(is, maybe ? VM_MAYBE : VM_YES), doomed))
			return true;
		if (last)
			return false;
		if (maybe)
			is = VM_MAYBE;
	}
}

/* Huge pages move whole. */
static uint64_t end_of_move(const struct vm_state *s, uint64_t end)
{
	const struct vm_area *last = vm_state_at(s, end - 1);

	if (!last || vm_area_huge(last) != VM_YES || !last->huge)
		return end;
	return (end + ((uint64_t)1 << last->huge) - 1) & ~(((uint64_t)1 << last->huge) - 1);
}

/*
 * remap_move() (6.17): fixed, same length, over any number of VMAs. They are moved one at a time; a
 * failure leaves those before it moved.
 */
static void remap_move(struct vm_rule *r, const struct remap *m)
{
	const struct vm_state *s = r->s;
	uint64_t end = m->addr + m->old_len;
	bool doomed = false;

	if (vm_stops(r, vm_is(end < m->addr || !vm_state_at(s, m->addr)), EFAULT, &no_source))
		return;
	for (uint32_t i = vm_state_from(s, m->addr); i < s->n && s->area[i].start < end; i++)
		if ((s->area[i].start <= m->addr || s->area[i].begins != VM_NO) &&
		    move_from(r, m, i, end, &doomed))
			return;
	moved_up_to(r, m, end_of_move(s, end));
	r->what = NULL;
	if (!doomed)
		vm_succeeds(r, (int64_t)m->to);
}

/* 6.12 to 6.16: the source VMA is looked up before anything is said about the destination. */
static void remap_old_order(struct vm_rule *r, struct remap *m)
{
	if (check_flags(r, m) || check_source(r, m) || align_huge(r, m))
		return;
	if (!m->fixed && !m->keep) {
		remap_at(r, m);
		return;
	}
	if (check_destination(r, m) || vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
		return;
	remap_to(r, m);
}

/* From 6.17 on: all of the arguments first, then the source, then the destination is touched. */
static void remap_new_order(struct vm_rule *r, struct remap *m)
{
	bool to = m->fixed || m->keep;

	if (check_flags(r, m) ||
	    vm_stops(r, vm_is(m->new_len > r->info->layout.task_size), EINVAL, &too_long) ||
	    (to && check_destination(r, m)) ||
	    vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
		return;
	if (r->p->mremap_multi_move && m->fixed && m->old_len == m->new_len) {
		remap_move(r, m);
		return;
	}
	if (check_source(r, m) || align_huge(r, m) ||
	    ((to || m->new_len > m->old_len) && check_resize(r, m)))
		return;
	if (to)
		remap_to(r, m);
	else
		remap_at(r, m);
}

void vm_rule_mremap(struct vm_rule *r)
{
	const uint64_t *arg = r->sc->arg;
	struct remap m = { .addr = arg[0],
			   .old_len = vm_page_align(r, arg[1]),
			   .new_len = vm_page_align(r, arg[2]),
			   .flags = arg[3],
			   .to = arg[4],
			   .fixed = arg[3] & MREMAP_FIXED,
			   .keep = arg[3] & MREMAP_DONTUNMAP,
			   .maymove = arg[3] & MREMAP_MAYMOVE };

	m.kept = m.old_len < m.new_len ? m.old_len : m.new_len;
	if (r->p->mremap_new_addr_first)
		remap_new_order(r, &m);
	else
		remap_old_order(r, &m);
}
