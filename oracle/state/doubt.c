/* SPDX-License-Identifier: MIT */
/* Effects that may or may not have happened, and that a layout does not show. */
#include "oracle/state/effect.h"
#include "oracle/state/process.h"

#include <string.h>

static bool is_hidden(uint8_t kind)
{
	switch (kind) {
	case VM_STEP_SEAL:
	case VM_STEP_FLAGS:
	case VM_STEP_DROP:
	case VM_STEP_FREE:
	case VM_STEP_PUNCH:
	case VM_STEP_GUARD:
	case VM_STEP_UNGUARD:
	case VM_STEP_COPY:
	case VM_STEP_EXEC_KEY:
		return true;
	default:
		return false;
	}
}

bool vm_effect_is_hidden(const struct vm_effect *e)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (!is_hidden(e->step[i].kind))
			return false;
	return true;
}

/* The bytes of pages with an entry are unknown; the others have the object's default anyway. */
static void forget_pages(struct vm_object *x, uint64_t off, uint64_t end)
{
	for (uint32_t i = vm_object_from(x, off); i < x->npages && x->page[i].off < end; i++)
		x->page[i].known = x->page[i].rest_known = false;
}

/* Pages that may have been freed are what they were, or zero: now or whenever the kernel likes. */
static void may_be_freed(const struct vm_area *a, struct vm_objects *o)
{
	struct vm_object *x = &o->object[a->object];
	uint64_t end = a->off + (a->end - a->start);

	for (uint32_t i = vm_object_from(x, a->off); i < x->npages && x->page[i].off < end; i++)
		x->page[i].may_zero = VM_ZERO_HEAD | VM_ZERO_REST;
}

/* A private mapping may have its own copies of these pages, those that were just made too. */
static void doubt_copies(const struct vm_area *a, struct vm_objects *o)
{
	struct vm_object *x = &o->object[a->anon];
	uint32_t first = vm_object_from(x, a->off);
	uint32_t last = vm_object_from(x, a->off + (a->end - a->start));

	if (last < x->npages)
		memmove(&x->page[first], &x->page[last], (x->npages - last) * sizeof(x->page[0]));
	x->npages -= last - first;
	x->partial = true;
}

static void doubt_bytes(const struct vm_step *st, struct vm_area *a, struct vm_objects *o)
{
	uint64_t end = a->off + (a->end - a->start);

	if (st->kind == VM_STEP_COPY && a->anon != VM_NO_OBJECT && !(a->flags & VM_BIT(VM_FLAG_HT)))
		doubt_copies(a, o);
	else if (st->kind == VM_STEP_COPY)
		return;
	else if (st->kind == VM_STEP_FREE && !a->shared && a->anon == VM_NO_OBJECT)
		may_be_freed(a, o);
	else if (st->kind == VM_STEP_PUNCH && a->shared)
		forget_pages(&o->object[a->object], a->off, end);
	else if (st->kind != VM_STEP_PUNCH && st->kind != VM_STEP_FREE && !a->shared)
		forget_pages(&o->object[a->anon != VM_NO_OBJECT ? a->anon : a->object], a->off,
			     end);
}

static void doubt_area(const struct vm_step *st, struct vm_area *a, struct vm_objects *o)
{
	switch (st->kind) {
	case VM_STEP_SEAL:
		a->sealed = a->sealed == VM_YES ? VM_YES : VM_MAYBE;
		a->begins = a->begins == VM_YES ? VM_YES : VM_MAYBE;
		return;
	case VM_STEP_FLAGS:
		a->flags_maybe |= st->flags | st->clear;
		a->begins = VM_MAYBE;
		return;
	case VM_STEP_UNGUARD:
		a->guard = a->guard == VM_NO ? VM_NO : VM_MAYBE;
		return;
	case VM_STEP_GUARD:
		a->guard = a->guard == VM_YES ? VM_YES : VM_MAYBE;
		break;
	default:
		break;
	}
	doubt_bytes(st, a, o);
}

void vm_effect_doubt(const struct vm_effect *e, struct vm_state *s, struct vm_objects *o)
{
	for (uint32_t i = 0; i < e->n; i++) {
		const struct vm_step *st = &e->step[i];
		uint32_t k;

		if (st->kind == VM_STEP_EXEC_KEY)
			vm_key_doubt(&s->process.keys);
		if (!is_hidden(st->kind) || st->chosen || st->kind == VM_STEP_EXEC_KEY)
			continue;
		vm_state_split(s, st->start);
		vm_state_split(s, st->end);
		for (k = vm_state_from(s, st->start); k < s->n && s->area[k].start < st->end; k++)
			doubt_area(st, &s->area[k], o);
		if (k < s->n && (st->kind == VM_STEP_FLAGS || st->kind == VM_STEP_SEAL))
			s->area[k].begins = VM_MAYBE;
	}
	vm_state_settle(s);
}
