/* SPDX-License-Identifier: MIT */
#include "oracle/state/effect.h"

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
		.object = st->object,
		.off = st->off,
		.anon = VM_NO_OBJECT,
	};

	if (a.object == VM_NO_OBJECT) {
		a.object =
			vm_object_new(o, st->shared, true, st->shared ? end - start : UINT64_MAX);
		a.off = 0;
	} else if (!st->shared) {
		a.anon = vm_object_copies(o, a.object);
		if (a.anon == VM_NO_OBJECT)
			a.object = VM_NO_OBJECT;
	}
	if (a.object == VM_NO_OBJECT)
		s->lost = true;
	else
		vm_state_put(s, &a);
}

static void protect_area(struct vm_area *a, uint8_t prot)
{
	if (!a->shared && prot & VM_MODE_W && !(a->flags & VM_BIT(VM_FLAG_NR))) {
		if (!(a->prot & VM_MODE_W) && a->account == VM_NO)
			a->account = VM_YES;
	} else if (a->prot != prot && a->account == VM_YES && a->anon == VM_NO_OBJECT) {
		/* mprotect_fixup(): given back only where no page was ever faulted */
		a->account = VM_MAYBE;
	}
	a->prot = prot;
}

static void change_flags(struct vm_area *a, const struct vm_step *st)
{
	a->flags = (a->flags & ~st->clear) | st->flags;
	a->flags_maybe &= ~(st->clear | st->flags);
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
		else if (st->kind == VM_STEP_FLAGS)
			change_flags(&s->area[i], st);
		else
			protect_area(&s->area[i], st->prot);
		s->area[i].begins = VM_MAYBE;
	}
	if (i < s->n)
		s->area[i].begins = VM_MAYBE;
}

/* Pages of its own that a mapping had are gone or elsewhere: it starts anew, zero or the object's.
 */
static bool fresh_pages(struct vm_area *a, struct vm_objects *o)
{
	if (a->shared)
		return true;
	if (a->anon != VM_NO_OBJECT)
		return (a->anon = vm_object_copies(o, a->object)) != VM_NO_OBJECT;
	a->object = vm_object_new(o, false, true, UINT64_MAX);
	a->off = 0;
	return a->object != VM_NO_OBJECT;
}

/* MREMAP_DONTUNMAP: the VMA stays, but for its locks (mm/mremap.c dontunmap_complete()). */
static void leave_source(const struct vm_area *a, struct vm_state *s, struct vm_objects *o)
{
	struct vm_area *left = &s->area[vm_state_from(s, a->start)];

	left->flags &= ~(VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF));
	if (!fresh_pages(left, o))
		s->lost = true;
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
		leave_source(&a, s, o);
	else
		vm_state_unmap(s, a.start, a.end);
	if (!s->lost)
		vm_state_put(s, &moved);
}

static void move_areas(const struct vm_step *st, uint64_t to, struct vm_state *s,
		       struct vm_objects *o)
{
	uint64_t at = st->start;

	vm_state_split(s, st->start);
	vm_state_split(s, st->end);
	while (at < st->end && !s->lost) {
		uint32_t i = vm_state_from(s, at);
		struct vm_area a;

		if (i >= s->n || s->area[i].start >= st->end)
			break;
		a = s->area[i];
		at = a.end;
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
	a.off = from->off + (st->kind == VM_STEP_EXTEND ? start : like) - from->start;
	if (!fresh_pages(&a, o))
		s->lost = true;
	else
		vm_state_put(s, &a);
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

static void write_pages(const struct vm_step *st, uint64_t base, struct vm_state *s,
			struct vm_objects *o, uint64_t page_size)
{
	for (uint64_t at = base + st->start; at < base + st->end; at += page_size) {
		const struct vm_area *a = vm_state_at(s, at);
		uint64_t index = (at - base - st->start) / page_size;
		struct vm_object_page *p;

		if (!a || (st->kind == VM_STEP_COPY &&
			   a->off + (at - a->start) >= o->object[a->object].size))
			continue;
		p = page_to_write(o, a, a->off + (at - a->start));
		if (!p) {
			s->lost = true;
			return;
		}
		if (st->kind == VM_STEP_FILL) {
			p->content = vm_content_of_tag(vm_fill_tag(st->call, index), page_size);
			p->known = p->rest_known = true;
		} else if (st->kind == VM_STEP_WRITE) {
			p->known = true;
			p->content.head = vm_write_word(st->call, index);
		}
	}
}

/* A VMA that holds `addr` inside may be two from here on. */
static void maybe_split(struct vm_state *s, uint64_t addr)
{
	uint32_t i;

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
		case VM_STEP_SEAL:
		case VM_STEP_FLAGS:
		case VM_STEP_NAME:
			change_areas(st, s);
			break;
		case VM_STEP_MOVE:
			move_areas(st, base + st->to, s, o);
			break;
		case VM_STEP_EXTEND:
			extend(st, base + st->start, base + st->end, base + st->to, s, o);
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
		case VM_STEP_FILL:

		case VM_STEP_WRITE:
		case VM_STEP_COPY:
			write_pages(st, base, s, o, page_size);
			break;
		}
	}
	vm_state_settle(s);
}
