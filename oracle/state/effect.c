/* SPDX-License-Identifier: MIT */
#include "oracle/state/effect.h"
#include "oracle/state/process.h"

/*
 * MAP_HUGETLB: a file of its own for each mapping, whose pages nobody looks at. mm/mmap.c
 * ksys_mmap_pgoff().
 */
static void set_huge_file(const struct vm_step *st, struct vm_area *a, struct vm_objects *o)
{
	a->huge = st->huge;
	a->account = VM_NO;
	a->object = vm_object_new(o, true, true, UINT64_MAX);
	if (a->object == VM_NO_OBJECT || st->shared)
		return;
	a->anon = vm_object_copies(o, a->object);
	if (a->anon == VM_NO_OBJECT)
		a->object = VM_NO_OBJECT;
}

static void map_new(const struct vm_step *st, uint64_t start, uint64_t end, struct vm_state *s,
		    struct vm_objects *o)
{
	bool reserve = !(st->flags & VM_BIT(VM_FLAG_NR));
	struct vm_area a = {
		.start = start,
		.end = end,
		.prot = st->prot,
		.shared = st->shared,
		.sealed = VM_NO,
		/* accountable_mapping(): private and writable; shared anonymous memory is charged
		   by shmem */
		.account = !st->shared && st->prot & VM_MODE_W && reserve ? VM_YES : VM_NO,
		.begins = VM_MAYBE,
		.flags = st->flags,
		.flags_maybe = st->maybe,
		.object = st->object,
		.off = st->off,
		.anon = VM_NO_OBJECT,
		.attach = st->attach,
	};

	if (st->huge) {
		set_huge_file(st, &a, o);
	} else if (a.object == VM_NO_OBJECT) {
		a.object =
			vm_object_new(o, st->shared, true, st->shared ? end - start : UINT64_MAX);
		a.off = st->flags & VM_BIT(VM_FLAG_GD) ? start : 0;
	} else if (!st->shared) {
		a.anon = vm_object_copies(o, a.object);
		if (a.anon == VM_NO_OBJECT)
			a.object = VM_NO_OBJECT;
	}
	if (st->attach)
		o->named[VM_OBJECT_S0] = a.object;
	if (a.object == VM_NO_OBJECT)
		s->lost = true;
	else
		vm_state_put(s, &a);
}

/*
 * The key of an area that gets other rights: asked for; or, from mprotect, as it was, unless it is
 * that of PROT_EXEC alone, which goes with it. arch/x86/mm/pkeys.c __arch_override_mprotect_pkey().
 */
static void new_key(const struct vm_step *st, struct vm_area *a, const struct vm_keys *k)
{
	uint64_t maybe, exec = vm_key_of_exec(k, &maybe);
	bool only_exec = a->prot == VM_MODE_X && k->exec;

	if (st->clear & VM_KEY_FLAGS) {
		a->flags = (a->flags & ~VM_KEY_FLAGS) | st->flags;
		a->flags_maybe = (a->flags_maybe & ~VM_KEY_FLAGS) | st->maybe;
	} else if (a->prot == VM_MODE_X && k->doubt) {
		a->flags_maybe |= VM_KEY_FLAGS;
	} else if (only_exec && !(a->flags_maybe & VM_KEY_FLAGS) &&
		   (a->flags & VM_KEY_FLAGS) == exec) {
		a->flags &= ~VM_KEY_FLAGS;
	}
}

static void protect_area(const struct vm_step *st, struct vm_area *a, const struct vm_keys *k)
{
	uint8_t prot = st->prot;

	new_key(st, a, k);
	if (!a->shared && prot & VM_MODE_W &&
	    !(a->flags & (VM_BIT(VM_FLAG_NR) | VM_BIT(VM_FLAG_HT)))) {
		if (!(a->prot & VM_MODE_W) && a->account == VM_NO)
			a->account = VM_YES;
	} else if (a->prot != prot && a->account == VM_YES && a->anon == VM_NO_OBJECT &&
		   !st->keeps_charge) {
		/* mprotect_fixup(): given back only where no page was ever faulted */
		a->account = VM_MAYBE;
	}
	a->prot = prot;
}

/* mlock_fixup(): VMAs that have these flags already are left alone. */
static void lock_areas(const struct vm_step *st, struct vm_state *s)
{
	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	for (uint32_t i = vm_state_from(s, st->start); i < s->n && s->area[i].start < st->end;
	     i++) {
		struct vm_area *a = &s->area[i];

		if (!vm_area_lockable(a) ||
		    ((a->flags & VM_LOCK_FLAGS) == st->flags && !(a->flags_maybe & VM_LOCK_FLAGS)))
			continue;
		a->flags = (a->flags & ~VM_LOCK_FLAGS) | st->flags;
		a->flags_maybe &= ~VM_LOCK_FLAGS;
		a->begins = VM_MAYBE;
		if (i + 1 < s->n)
			s->area[i + 1].begins = VM_MAYBE;
	}
}

static void change_areas(const struct vm_step *st, struct vm_state *s)
{
	uint32_t i;

	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	for (i = vm_state_from(s, st->start); i < s->n && s->area[i].start < st->end; i++) {
		if (st->kind == VM_STEP_SEAL)
			s->area[i].sealed = VM_YES;
		else if (st->kind == VM_STEP_NAME)
			s->area[i].name = st->name;
		else
			protect_area(st, &s->area[i], &s->process.keys);
		s->area[i].begins = VM_MAYBE;
	}
	if (i < s->n)
		s->area[i].begins = VM_MAYBE;
}

/* VMAs that come to differ are split, for certain; where they were apart, they may merge. */
static void may_merge(struct vm_area *a)
{
	if (a->begins == VM_YES)
		a->begins = VM_MAYBE;
}

/* A VMA whose flags are what they are to be is left alone (mm/madvise.c madvise_update_vma()). */
static void change_flags(const struct vm_step *st, struct vm_state *s)
{
	uint64_t touched = st->flags | st->clear;

	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	for (uint32_t i = vm_state_from(s, st->start); i < s->n && s->area[i].start < st->end;
	     i++) {
		struct vm_area *a = &s->area[i];

		if (st->ksm_only &&
		    (a->shared || a->flags & (VM_BIT(VM_FLAG_DP) | VM_BIT(VM_FLAG_HT))))
			continue;
		if (!(a->flags_maybe & touched) && (a->flags & touched) == st->flags)
			continue;
		a->flags = (a->flags & ~st->clear) | st->flags;
		a->flags_maybe &= ~touched;
		may_merge(a);
		if (i + 1 < s->n)
			may_merge(a + 1);
	}
}

/* mbind_range(): VMAs that have this policy are left alone. */
static void change_policies(const struct vm_step *st, struct vm_state *s)
{
	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	for (uint32_t i = vm_state_from(s, st->start); i < s->n && s->area[i].start < st->end;
	     i++) {
		struct vm_area *a = &s->area[i];
		uint16_t policy = st->policy;

		if (st->keep)
			policy = a->policy ? a->policy | VM_POLICY_HOME : 0;
		if (a->policy == policy && policy != VM_POLICY_UNKNOWN)
			continue;
		a->policy = policy;
		a->begins = VM_MAYBE;
		if (i + 1 < s->n)
			a[1].begins = VM_MAYBE;
	}
}

bool vm_fresh_pages(struct vm_area *a, struct vm_objects *o)
{
	if (a->shared)
		return true;
	if (a->anon != VM_NO_OBJECT)
		return (a->anon = vm_object_copies(o, a->object)) != VM_NO_OBJECT;
	a->object = vm_object_new(o, false, true, UINT64_MAX);
	if (vm_area_grows(a) == VM_NO)
		a->off = 0;
	return a->object != VM_NO_OBJECT;
}

/* Does a private mapping have pages of its own in [a->start, a->end)? */
static bool has_pages(const struct vm_area *a, const struct vm_objects *o)
{
	const struct vm_object *x = &o->object[a->anon != VM_NO_OBJECT ? a->anon : a->object];
	uint32_t i = vm_object_from(x, a->off);

	if (a->anon == VM_NO_OBJECT && !x->zero)
		return true;
	return i < x->npages && x->page[i].off < a->off + (a->end - a->start);
}

/* Pages that a mapping alone has may be zero from now on, whenever the kernel likes. */
static void free_pages(const struct vm_area *a, struct vm_objects *o)
{
	struct vm_object *x = &o->object[a->object];
	uint64_t end = a->off + (a->end - a->start);

	if (a->shared || a->anon != VM_NO_OBJECT)
		return;
	for (uint32_t i = vm_object_from(x, a->off); i < x->npages && x->page[i].off < end; i++)
		x->page[i].may_zero = VM_ZERO_HEAD | VM_ZERO_REST;
}

static void discard_area(const struct vm_step *st, struct vm_area *a, struct vm_state *s,
			 struct vm_objects *o)
{
	switch (st->kind) {
	case VM_STEP_FREE:
		free_pages(a, o);
		return;
	case VM_STEP_PUNCH:
		if (a->shared)
			vm_object_punch(o, a->object, a->off, a->off + (a->end - a->start));
		return;
	case VM_STEP_UNGUARD:
		a->guard = VM_NO;
		return;
	case VM_STEP_GUARD:
		s->guards_used = true;
		a->guard = VM_YES;
		break;
	default:
		break;
	}
	if (!a->shared && has_pages(a, o) && !vm_fresh_pages(a, o))
		s->lost = true;
}

/* What madvise discards; it splits no VMA. */
static void discard(const struct vm_step *st, struct vm_state *s, struct vm_objects *o)
{
	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	for (uint32_t i = vm_state_from(s, st->start); i < s->n && s->area[i].start < st->end; i++)
		discard_area(st, &s->area[i], s, o);
}

/*
 * Where a part of a VMA loses its locks it is a VMA of its own, unless there were none to lose:
 * where locks are not known, neither is this.
 */
static void part_ways(const struct vm_step *st, struct vm_area *left, const struct vm_state *s)
{
	struct vm_area *next = left + 1;

	if (!((left->flags | left->flags_maybe) & VM_LOCK_FLAGS))
		return;
	if (left->start == st->start && left->begins == VM_NO)
		left->begins = VM_MAYBE;
	if (left->end == st->end && next < s->area + s->n && next->begins == VM_NO)
		next->begins = VM_MAYBE;
}

/* MREMAP_DONTUNMAP: the VMA stays, but for its locks (mm/mremap.c dontunmap_complete()). */
static void leave_source(const struct vm_step *st, const struct vm_area *a,
			 const struct vm_area *moved, struct vm_state *s, struct vm_objects *o)
{
	struct vm_area *left = &s->area[vm_state_from(s, a->start)];

	left->guard = VM_NO;
	if (!vm_fresh_pages(left, o))
		s->lost = true;
	if (st->leftover) {
		left->account = VM_MAYBE;
		return;
	}
	part_ways(st, left, s);
	if (left->flags & VM_BIT(VM_FLAG_LO)) {
		s->locks.lost += left->end - left->start;
		s->locks.unlocks_more |= moved->end == left->start || moved->start == left->end ||
					 left->begins != VM_YES ||
					 (left + 1 < s->area + s->n && left[1].start == left->end &&
					  left[1].begins != VM_YES);
	}
	left->flags &= ~VM_LOCK_FLAGS;
	left->flags_maybe &= ~VM_LOCK_FLAGS;
}

static void move_one(const struct vm_step *st, struct vm_area a, uint64_t to, struct vm_state *s,
		     struct vm_objects *o)
{
	struct vm_area moved = a;

	moved.start = to + (a.start - st->start);
	moved.end = to + (a.end - st->start);
	/* Pieces of one VMA stay together; VMAs that were apart may merge where they come together.
	 */
	moved.begins = a.start > st->start && a.begins == VM_NO ? VM_NO : VM_MAYBE;
	if (st->keep)
		leave_source(st, &a, &moved, s, o);
	else
		vm_state_unmap(s, a.start, a.end);
	if (!s->lost)
		vm_state_put(s, &moved);
}

static void move_areas(const struct vm_step *st, uint64_t to, struct vm_state *s,
		       struct vm_objects *o)
{
	uint64_t at = st->start;
	uint8_t begins = VM_YES; /* of the next area, before the one in front of it was moved */

	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	while (at < st->end && !s->lost) {
		uint32_t i = vm_state_from(s, at);
		struct vm_area a;

		if (i >= s->n || s->area[i].start >= st->end)
			break;
		a = s->area[i];
		a.begins = a.start == at ? begins : VM_YES;
		at = a.end;
		begins = i + 1 < s->n ? s->area[i + 1].begins : VM_YES;
		move_one(st, a, to, s, o);
	}
}

static void extend(const struct vm_step *st, uint64_t start, uint64_t end, uint64_t like,
		   struct vm_state *s, struct vm_objects *o)
{
	const struct vm_area *from = vm_state_at(s, like);
	struct vm_area a;

	if (!from)
		return;
	a = *from;
	a.start = start;
	a.end = end;
	a.begins = st->kind == VM_STEP_EXTEND ? VM_NO : VM_MAYBE;
	a.guard = VM_NO;
	a.off = from->off + (st->kind == VM_STEP_EXTEND ? start : like) - from->start;
	if (!vm_fresh_pages(&a, o))
		s->lost = true;
	else
		vm_state_put(s, &a);
}

/*
 * mm/mmap.c expand_downwards() (mm/vma.c from 6.17 on): the VMA's start moves; it does not merge
 * with what it comes to touch. Where it began the VMA goes on.
 */
static void grow_down(const struct vm_step *st, struct vm_state *s, struct vm_objects *o)
{
	const struct vm_area *from = vm_state_at(s, st->end);
	struct vm_area a;

	if (!from || from->start != st->end || vm_state_any(s, st->start, st->end))
		return;
	a = *from;
	a.start = st->start;
	a.end = st->end;
	a.begins = VM_YES;
	a.guard = VM_NO;
	a.off = from->off - (st->end - st->start);
	if (!vm_fresh_pages(&a, o)) {
		s->lost = true;
		return;
	}
	vm_state_put(s, &a);
	s->area[vm_state_from(s, st->end)].begins = VM_NO;
}

/* The entry that a write to a page changes: a private mapping of an object gets its own copy. */
static struct vm_object_page *page_to_write(struct vm_objects *o, const struct vm_area *a,
					    uint64_t off)
{
	struct vm_object_page *seen, *p;
	struct vm_object_page was;
	bool zero = false;

	if (a->anon == VM_NO_OBJECT)
		return vm_object_page(&o->object[a->object], off);
	seen = vm_object_look(o, a->object, a->anon, off, &zero);
	was = seen ? *seen
		   : (struct vm_object_page){ .off = off, .known = zero, .rest_known = zero };
	p = vm_object_page(&o->object[a->anon], off);
	if (p)
		*p = was;
	return p;
}

/*
 * What may be zero of a page just written; the rest of it too, if that was written. VM_DROPPABLE:
 * mm/rmap.c try_to_unmap_one() drops the page, dirty or not.
 */
static uint8_t may_zero(const struct vm_area *a, uint8_t before, bool rest)
{
	if (a->flags & VM_BIT(VM_FLAG_DP))
		return VM_ZERO_HEAD | VM_ZERO_REST | VM_ZERO_EITHER;
	return rest ? 0 : before & VM_ZERO_REST;
}

static void write_pages(const struct vm_step *st, uint64_t base, struct vm_state *s,
			struct vm_objects *o, uint64_t page_size)
{
	for (uint64_t at = base + st->start; at < base + st->end; at += page_size) {
		const struct vm_area *a = vm_state_at(s, at);
		uint64_t index = (at - base - st->start) / page_size;
		struct vm_object_page *p;

		if (!a)
			continue;
		p = page_to_write(o, a, a->off + (at - a->start));
		if (!p) {
			s->lost = true;
			return;
		}
		if (st->kind == VM_STEP_FILL) {
			p->content = vm_content_of_tag(vm_fill_tag(st->call, index), page_size);
			p->known = p->rest_known = true;
			p->may_zero = may_zero(a, p->may_zero, true);
		} else if (st->kind == VM_STEP_WRITE) {
			p->known = true;
			p->may_zero = may_zero(a, p->may_zero, false);
			p->content.head = vm_write_word(st->call, index);
		}
		if (a->anon == VM_NO_OBJECT)
			vm_object_written(o, a->object, a->off + (at - a->start), page_size);
	}
}

/* More than any program can populate: belief is given up instead. */
#define POPULATE_MAX_PAGES VM_SNAPSHOT_MAX_PAGES

/* Pages of [start, end) of a private mapping get copies; none can be had past the object's end. */
static void copy_pages(const struct vm_area *a, uint64_t start, uint64_t end, bool certain,
		       struct vm_state *s, struct vm_objects *o, uint64_t page_size)
{
	uint64_t first = start > a->start ? start : a->start;

	for (uint64_t at = first; at < end && at < a->end; at += page_size) {
		struct vm_object_page *p;

		if (a->off + (at - a->start) >= o->object[a->object].size)
			return;
		if ((at - first) / page_size == POPULATE_MAX_PAGES) {
			s->lost = true;
			return;
		}
		p = page_to_write(o, a, a->off + (at - a->start));
		if (!p)
			s->lost = true;
		else if (!certain)
			p->known = p->rest_known = false;
	}
}

/*
 * copy_pages() of one area after the other. A guard page ends the populating of its VMA, so that
 * what is behind it is uncertain; *stopped: there was one before. So does a key that keeps the
 * program from writing. __mm_populate() with ignore_errors.
 */
static void copy_area(const struct vm_area *a, uint64_t start, uint64_t end, bool certain,
		      bool *stopped, struct vm_state *s, struct vm_objects *o, uint64_t page_size)
{
	enum vm_tri denied = vm_key_denies(&s->process.keys, a->flags, a->flags_maybe, true);

	if (a->begins == VM_YES)
		*stopped = false;
	*stopped |= a->guard != VM_NO || denied == VM_MAYBE;
	if (a->guard != VM_YES && denied != VM_YES)
		copy_pages(a, start, end, certain && !*stopped, s, o, page_size);
}

/* Are own copies of pages believed in? Of huge pages nobody looks at any. */
static bool has_copies(const struct vm_area *a)
{
	return a->anon != VM_NO_OBJECT && !(a->flags & VM_BIT(VM_FLAG_HT));
}

/*
 * populate_vma_page_range() writes to what is private and writable, and does nothing where locks
 * wait for faults; faultin_page_range() does not mind locks.
 */
static void populate(uint64_t start, uint64_t end, bool despite_locks, struct vm_state *s,
		     struct vm_objects *o, uint64_t page_size)
{
	bool stopped = false;

	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		const struct vm_area *a = &s->area[i];

		if (has_copies(a) && a->prot & VM_MODE_W &&
		    (despite_locks || !(a->flags & VM_BIT(VM_FLAG_LF))))
			copy_area(a, start, end, despite_locks || !(a->flags_maybe & VM_LOCK_FLAGS),
				  &stopped, s, o, page_size);
	}
}

/* mprotect_fixup(): locked private memory that becomes writable is populated at once. */
static void protect(const struct vm_step *st, struct vm_state *s, struct vm_objects *o,
		    uint64_t page_size)
{
	bool stopped = false;

	for (uint32_t i = vm_state_from(s, st->start);
	     st->prot & VM_MODE_W && i < s->n && s->area[i].start < st->end; i++) {
		struct vm_area a = s->area[i];
		uint64_t locks = (a.flags | a.flags_maybe) & VM_LOCK_FLAGS;

		new_key(st, &a, &s->process.keys);
		if (!has_copies(&a) || a.prot & VM_MODE_W || !(locks & VM_BIT(VM_FLAG_LO)) ||
		    a.flags & ~a.flags_maybe & VM_BIT(VM_FLAG_LF))
			continue;
		if (st->starved)
			o->object[a.anon].partial = true;
		else
			copy_area(&a, st->start, st->end, !(a.flags_maybe & VM_LOCK_FLAGS),
				  &stopped, s, o, page_size);
	}
	change_areas(st, s);
}

/* A VMA that holds `addr` inside may be two from here on. */
static void maybe_split(struct vm_state *s, uint64_t addr)
{
	uint32_t i;

	if (vm_state_in_huge_page(s, addr) == VM_YES)
		return;
	vm_state_split(s, addr);
	i = vm_state_from(s, addr);
	if (i < s->n && s->area[i].start == addr && s->area[i].begins == VM_NO)
		s->area[i].begins = VM_MAYBE;
}

void vm_effect_apply(const struct vm_effect *e, uint64_t chosen, struct vm_state *s,
		     struct vm_objects *o, uint64_t page_size)
{
	for (uint32_t i = 0; i < e->n && !s->lost; i++) {
		const struct vm_step *st = &e->step[i];
		uint64_t base = st->chosen ? chosen : 0;

		switch (st->kind) {
		case VM_STEP_UNMAP:
			vm_state_unmap(s, st->start, st->end);
			break;
		case VM_STEP_MAP:
			map_new(st, base + st->start, base + st->end, s, o);
			break;
		case VM_STEP_PROTECT:
			protect(st, s, o, page_size);
			break;
		case VM_STEP_LOCK:
			lock_areas(st, s);
			break;
		case VM_STEP_DEFAULT:
			s->locks.def_flags = st->flags;
			s->locks.def_maybe = 0;
			break;
		case VM_STEP_EXEC_KEY:
			vm_key_take_for_exec(&s->process.keys);
			break;
		case VM_STEP_SEAL:
		case VM_STEP_NAME:
			change_areas(st, s);
			break;
		case VM_STEP_POLICY:
			change_policies(st, s);
			break;
		case VM_STEP_FLAGS:
			change_flags(st, s);
			break;
		case VM_STEP_DROP:
		case VM_STEP_FREE:
		case VM_STEP_PUNCH:
		case VM_STEP_GUARD:
		case VM_STEP_UNGUARD:
			discard(st, s, o);
			break;
		case VM_STEP_MOVE:
			move_areas(st, base + st->to, s, o);
			break;
		case VM_STEP_EXTEND:
			extend(st, base + st->start, base + st->end, base + st->to, s, o);
			break;
		case VM_STEP_GROW:
			grow_down(st, s, o);
			break;
		case VM_STEP_DUPLICATE:
			extend(st, base + st->start, base + st->end, st->to, s, o);
			break;
		case VM_STEP_RESIZE:
			vm_object_resize(o, st->object, st->end, page_size);
			break;
		case VM_STEP_SPLIT:
			maybe_split(s, st->start);
			maybe_split(s, st->end);
			break;
		case VM_STEP_FORK:
			vm_state_fork(s, o);
			break;
		case VM_STEP_EXEC:
			vm_state_exec(s);
			break;
		case VM_STEP_FILL:
		case VM_STEP_WRITE:
			write_pages(st, base, s, o, page_size);
			break;
		case VM_STEP_COPY:
			populate(base + st->start, base + st->end, st->flags & VM_BIT(VM_FLAG_LF),
				 s, o, page_size);
			break;
		}
	}
	vm_state_settle(s);
}
