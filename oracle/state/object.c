/* SPDX-License-Identifier: MIT */
#include "oracle/state/object.h"

#include <stdlib.h>
#include <string.h>

void vm_objects_free(struct vm_objects *o)
{
	for (uint32_t i = 0; i < o->cap; i++)
		free(o->object[i].page);
	free(o->object);
	memset(o, 0, sizeof(*o));
}

void vm_objects_reset(struct vm_objects *o)
{
	o->n = 0;
}

void vm_objects_truncate(struct vm_objects *o, uint32_t n)
{
	o->n = n;
	if (o->named[VM_OBJECT_S0] >= n)
		o->named[VM_OBJECT_S0] = VM_NO_OBJECT; /* what it was before was gone already */
}

void vm_objects_hold(struct vm_objects *o, const struct vm_state *parent)
{
	for (uint32_t i = 0; i < o->n; i++)
		o->object[i].held = false;
	for (uint32_t i = 0; parent && i < parent->n; i++)
		o->object[parent->area[i].object].held = true;
}

bool vm_object_attached(const struct vm_objects *o, const struct vm_state *s)
{
	uint32_t segment = o->named[VM_OBJECT_S0];

	if (segment == VM_NO_OBJECT)
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->area[i].object == segment)
			return true;
	return o->object[segment].held;
}

uint32_t vm_object_new(struct vm_objects *o, bool backed, bool zero, uint64_t size)
{
	struct vm_object *x;

	if (o->n == o->cap) {
		uint32_t cap = o->cap ? o->cap * 2 : 64;
		struct vm_object *bigger = realloc(o->object, cap * sizeof(*bigger));

		if (!bigger)
			return UINT32_MAX;
		memset(bigger + o->cap, 0, (cap - o->cap) * sizeof(*bigger));
		o->object = bigger;
		o->cap = cap;
	}
	/* The page array of an earlier user of this place is kept and used again. */
	x = &o->object[o->n];
	x->backed = backed;
	x->zero = zero;
	x->base = x->copy = VM_NO_OBJECT;
	x->held = x->identified = x->partial = false;
	x->dev = 0;
	x->inode = 0;
	x->size = size;
	x->npages = 0;
	return o->n++;
}

uint32_t vm_object_from(const struct vm_object *object, uint64_t off)
{
	uint32_t low = 0, high = object->npages;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (object->page[mid].off < off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct vm_object_page *vm_object_page(struct vm_object *object, uint64_t off)
{
	uint32_t i = vm_object_from(object, off);

	if (i < object->npages && object->page[i].off == off)
		return &object->page[i];
	if (object->npages == object->cap) {
		uint32_t cap = object->cap ? object->cap * 2 : 16;
		struct vm_object_page *bigger = realloc(object->page, cap * sizeof(*bigger));

		if (!bigger)
			return NULL;
		object->page = bigger;
		object->cap = cap;
	}
	memmove(&object->page[i + 1], &object->page[i],
		(object->npages - i) * sizeof(object->page[0]));
	object->npages++;
	object->page[i] = (struct vm_object_page){ .off = off,
						   .known = object->zero,
						   .rest_known = object->zero };
	return &object->page[i];
}

uint32_t vm_object_copies(struct vm_objects *o, uint32_t base)
{
	uint32_t i = vm_object_new(o, false, false, UINT64_MAX);

	if (i != VM_NO_OBJECT)
		o->object[i].base = base;
	return i;
}

uint32_t vm_object_duplicate(struct vm_objects *o, uint32_t object)
{
	uint32_t i = vm_object_new(o, false, o->object[object].zero, o->object[object].size);
	const struct vm_object *from;
	struct vm_object *to;

	if (i == VM_NO_OBJECT)
		return i;
	from = &o->object[object];
	to = &o->object[i];
	to->base = from->base;
	to->partial = from->partial;
	if (to->cap < from->npages) {
		struct vm_object_page *bigger = realloc(to->page, from->npages * sizeof(*bigger));

		if (!bigger)
			return VM_NO_OBJECT;
		to->page = bigger;
		to->cap = from->npages;
	}
	if (from->npages)
		memcpy(to->page, from->page, from->npages * sizeof(from->page[0]));
	to->npages = from->npages;
	return i;
}

struct vm_object_page *vm_object_look(struct vm_objects *o, uint32_t object, uint32_t anon,
				      uint64_t off, bool *zero)
{
	struct vm_object *x = &o->object[object];
	uint32_t i;

	if (anon != VM_NO_OBJECT) {
		struct vm_object *copies = &o->object[anon];

		i = vm_object_from(copies, off);
		if (i < copies->npages && copies->page[i].off == off)
			return &copies->page[i];
		if (copies->partial)
			return NULL;
	}
	i = vm_object_from(x, off);
	*zero = x->zero;
	return i < x->npages && x->page[i].off == off ? &x->page[i] : NULL;
}

enum vm_tri vm_object_past_end(const struct vm_object *x, uint64_t off)
{
	if (off >= x->size)
		return VM_YES;
	return x->backed && x->size == UINT64_MAX ? VM_MAYBE : VM_NO;
}

/* Of the page that holds byte `size` only what lies before is known from here on. */
static void cut_page(struct vm_object *x, uint64_t size, uint64_t page_size)
{
	struct vm_object_page *p;
	uint64_t rest = size % page_size;

	if (!rest)
		return;
	if (x->zero && (vm_object_from(x, size - rest) == x->npages ||
			x->page[vm_object_from(x, size - rest)].off != size - rest))
		return; /* zero stays zero */
	p = vm_object_page(x, size - rest);
	if (!p)
		return;
	p->rest_known = false;
	if (rest < sizeof(p->content.head))
		p->known = false;
}

void vm_object_written(struct vm_objects *o, uint32_t object, uint64_t off, uint64_t page_size)
{
	struct vm_object *x = &o->object[object];

	if (x->backed && off < x->size && x->size - off < page_size)
		cut_page(x, x->size, page_size);
}

void vm_object_resize(struct vm_objects *o, uint32_t object, uint64_t size, uint64_t page_size)
{
	struct vm_object *x = &o->object[object];
	uint64_t end = (size + page_size - 1) & ~(page_size - 1);

	cut_page(x, size < x->size ? size : x->size, page_size);
	for (uint32_t i = 0; i < o->n; i++)
		if (i == object || o->object[i].base == object)
			o->object[i].npages = vm_object_from(&o->object[i], end);
	x->size = size;
}

void vm_object_punch(struct vm_objects *o, uint32_t object, uint64_t off, uint64_t end)
{
	struct vm_object *x = &o->object[object];

	for (uint32_t i = vm_object_from(x, off); i < x->npages && x->page[i].off < end; i++)
		x->page[i] = (struct vm_object_page){ .off = x->page[i].off,
						      .known = true,
						      .rest_known = true };
}

void vm_objects_name(struct vm_objects *o, uint64_t size)
{
	o->named[VM_OBJECT_NONE] = VM_NO_OBJECT;
	o->segment_unknown = false;
	for (unsigned int i = 1; i < VM_OBJECT_COUNT; i++)
		o->named[i] = i == VM_OBJECT_R0	  ? o->named[VM_OBJECT_M0]
			      : i == VM_OBJECT_S0 ? VM_NO_OBJECT
						  : vm_object_new(o, true, true, size);
}
