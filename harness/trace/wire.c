/* SPDX-License-Identifier: MIT */
/* Writing an event log. Runs in the executor's child: no allocation, little memory touched. */
#include <string.h>

#include "harness/trace/wire.h"

/* More than any record takes without its arrays. */
#define RECORD_MAX     128
#define COUNTS_MAX     (3 * VM_VARINT_MAX)
#define PAGE_BYTES_MAX (1 + VM_VARINT_MAX + 2 * 8)

/* How an array differs from the one before: `keep` items, then `removed` replaced by `inserted`. */
struct delta {
	uint32_t keep, removed, inserted;
};

void vm_event_writer_init(struct vm_event_writer *w, uint8_t *buf, size_t cap,
			  const struct vm_vma *own, uint32_t nown)
{
	w->buf = buf;
	w->cap = cap;
	w->len = 0;
	w->full = false;
	w->next_seq = 0;
	w->cover_at = 0;
	w->nvma = 0;
	w->npage = 0;
	w->nown = nown < VM_MAX_OWN ? nown : VM_MAX_OWN;
	if (w->nown)
		memcpy(w->own, own, w->nown * sizeof(*own));
}

static bool room(struct vm_event_writer *w, const uint8_t *p, size_t bytes)
{
	if (w->cap - (size_t)(p - w->buf) >= bytes)
		return true;
	w->full = true;
	return false;
}

static inline struct delta find_delta(const void *was, uint32_t nwas, const void *now,
				      uint32_t nnow, size_t size)
{
	uint32_t shared = nwas < nnow ? nwas : nnow;
	const char *a = was, *b = now;
	uint32_t keep = 0, tail = 0;

	if (!shared)
		return (struct delta){ 0, nwas, nnow };
	while (keep < shared && !memcmp(a + keep * size, b + keep * size, size))
		keep++;
	a += nwas * size;
	b += nnow * size;
	while (keep + tail < shared && !memcmp(a - (tail + 1) * size, b - (tail + 1) * size, size))
		tail++;
	return (struct delta){ keep, nwas - keep - tail, nnow - keep - tail };
}

/* Bring the writer's copy up to date, touching only what differs. */
static inline void keep_copy(void *copy, uint32_t *ncopy, const void *now, uint32_t nnow,
			     const struct delta *d, size_t size)
{
	size_t from = d->keep * size;
	uint32_t items = d->removed == d->inserted ? d->inserted : nnow - d->keep;

	if (items)
		memcpy((char *)copy + from, (const char *)now + from, items * size);
	*ncopy = nnow;
}

static uint8_t *put_counts(uint8_t *p, const struct delta *d)
{
	p = vm_put_varint(p, d->keep);
	p = vm_put_varint(p, d->removed);
	return vm_put_varint(p, d->inserted);
}

uint8_t *vm_put_vma(uint8_t *p, const struct vm_vma *vma, uint64_t prev_end)
{
	*p++ = (uint8_t)((vma->mode & 15u) | VM_VMA_KIND(vma->kind & 7u) |
			 (vma->flags_known ? VM_VMA_FLAGS : 0));
	p = vm_put_varint(p, vm_pack_addr(vma->start - prev_end));
	p = vm_put_varint(p, vm_pack_addr(vma->end - vma->start));
	p = vm_put_varint(p, vm_pack_addr(vma->offset));
	p = vm_put_varint(p, vma->inode);
	p = vm_put_varint(p, vma->dev);
	return vma->flags_known ? vm_put_varint(p, vma->flags) : p;
}

/* NULL when there is no room. Sets *changed if anything was written. */
static uint8_t *put_vmas(struct vm_event_writer *w, uint8_t *p, struct vm_vma *copy,
			 uint32_t *ncopy, const struct vm_vma *now, uint32_t nnow, bool *changed)
{
	struct delta d = find_delta(copy, *ncopy, now, nnow, sizeof(*now));
	uint64_t prev_end = d.keep ? now[d.keep - 1].end : 0;

	if (!d.removed && !d.inserted)
		return p;
	*changed = true;
	if (!room(w, p, COUNTS_MAX + (size_t)d.inserted * VM_VMA_BYTES_MAX))
		return NULL;
	p = put_counts(p, &d);
	for (uint32_t i = d.keep; i < d.keep + d.inserted; i++) {
		p = vm_put_vma(p, &now[i], prev_end);
		prev_end = now[i].end;
	}
	keep_copy(copy, ncopy, now, nnow, &d, sizeof(*now));
	return p;
}

static uint8_t *put_page(uint8_t *p, const struct vm_page *page, uint64_t prev)
{
	uint64_t head = page->content.head, rest = page->content.rest;

	*p++ = (uint8_t)((head ? VM_PAGE_HEAD : 0) | (rest ? VM_PAGE_REST : 0));
	p = vm_put_varint(p, vm_pack_addr(page->addr - prev));
	if (head)
		p = vm_put_fixed(p, head, 8);
	return rest ? vm_put_fixed(p, rest, 8) : p;
}

static uint8_t *put_pages(struct vm_event_writer *w, uint8_t *p, const struct vm_page *now,
			  uint32_t nnow, bool *changed)
{
	struct delta d = find_delta(w->page, w->npage, now, nnow, sizeof(*now));
	uint64_t prev = d.keep ? now[d.keep - 1].addr : 0;

	if (!d.removed && !d.inserted)
		return p;
	*changed = true;
	if (!room(w, p, COUNTS_MAX + (size_t)d.inserted * PAGE_BYTES_MAX))
		return NULL;
	p = put_counts(p, &d);
	for (uint32_t i = d.keep; i < d.keep + d.inserted; i++) {
		p = put_page(p, &now[i], prev);
		prev = now[i].addr;
	}
	keep_copy(w->page, &w->npage, now, nnow, &d, sizeof(*now));
	return p;
}

/* What does not fit the writer's copies counts as not observed. */
static uint32_t fitting_mask(const struct vm_snapshot *s)
{
	uint32_t mask = s->mask & (VM_SNAP_MASK | VM_SEEN_TOTALS);

	if (s->nvma > VM_SNAPSHOT_MAX_VMAS)
		mask &= ~(VM_SEEN_MAPS | VM_SEEN_FLAGS);
	if (s->npage > VM_SNAPSHOT_MAX_PAGES)
		mask &= ~VM_SEEN_CONTENTS;
	if (s->nown > VM_MAX_OWN)
		mask &= ~VM_SEEN_OWN;
	return mask;
}

static uint8_t *put_totals(struct vm_event_writer *w, uint8_t *p, const struct vm_totals *totals)
{
	uint64_t number[VM_TOTALS_COUNT];

	_Static_assert(sizeof(number) == sizeof(*totals), "VM_TOTALS_COUNT numbers");
	if (!room(w, p, VM_TOTALS_COUNT * VM_VARINT_MAX))
		return NULL;
	memcpy(number, totals, sizeof(number));
	for (size_t i = 0; i < VM_TOTALS_COUNT; i++)
		p = vm_put_varint(p, number[i]);
	return p;
}

static uint8_t *put_snapshot(struct vm_event_writer *w, uint8_t *p, const struct vm_snapshot *s,
			     uint32_t mask)
{
	bool vma = false, page = false, own = false;
	uint8_t *head = p++;

	if (mask & VM_SEEN_MAPS)
		p = put_vmas(w, p, w->vma, &w->nvma, s->vma, s->nvma, &vma);
	if (p && mask & VM_SEEN_CONTENTS)
		p = put_pages(w, p, s->page, s->npage, &page);
	if (p && mask & VM_SEEN_OWN)
		p = put_vmas(w, p, w->own, &w->nown, s->own, s->nown, &own);
	if (p && mask & VM_SEEN_TOTALS)
		p = put_totals(w, p, &s->totals);
	*head = (uint8_t)((mask & VM_SNAP_MASK) | (mask & VM_SEEN_TOTALS ? VM_SNAP_TOTALS : 0) |
			  (vma ? VM_SNAP_VMA : 0) | (page ? VM_SNAP_PAGE : 0) |
			  (own ? VM_SNAP_OWN : 0));
	return p;
}

static uint8_t *put_place(uint8_t *p, const struct vm_event *e)
{
	p = vm_put_varint(p, e->actor);
	return vm_put_varint(p, e->space);
}

void vm_event_write_begin(struct vm_event_writer *w, const struct vm_event *e)
{
	bool place = e->actor || e->space || e->seq_begin != w->next_seq;
	const struct vm_call_desc *desc = vm_call_desc(e->sc.op);
	uint8_t *p = w->buf + w->len;

	if (w->full || !room(w, p, RECORD_MAX))
		return;
	*p++ = (uint8_t)(VM_REC_BEGIN | (place ? VM_REC_PLACE : 0));
	*p++ = e->call;
	if (place) {
		p = put_place(p, e);
		p = vm_put_varint(p, e->seq_begin);
	}
	for (unsigned int i = 0; i < desc->nargs; i++)
		p = vm_put_varint(p, e->sc.arg[i]);
	w->next_seq = e->seq_begin + 2;
	w->len = (size_t)(p - w->buf);
}

/* The part of a record that tells which event it is. */
static uint8_t *put_end_head(struct vm_event_writer *w, uint8_t *p, const struct vm_event *e,
			     uint32_t mask)
{
	bool call = e->kind == VM_EVENT_CALL;
	bool place = e->actor || e->space || e->seq_end != e->seq_begin + 1 ||
		     (!call && e->seq_begin != w->next_seq);
	unsigned int which = call			 ? VM_REC_RETURN
			     : e->kind == VM_EVENT_START ? VM_REC_START
							 : VM_REC_LAST;

	*p++ = (uint8_t)(which | (call && e->injected ? VM_REC_INJECTED : 0) |
			 (call ? VM_REC_STATUS(e->status) : 0) | (place ? VM_REC_PLACE : 0) |
			 (mask ? VM_REC_SNAPSHOT : 0));
	if (!place)
		return p;
	p = put_place(p, e);
	if (!call)
		p = vm_put_varint(p, e->seq_begin);
	return vm_put_varint(p, e->seq_end);
}

static uint8_t *put_site(uint8_t *p, const char *site)
{
	size_t len = site ? strnlen(site, VM_SITE_MAX) : 0;

	p = vm_put_varint(p, len);
	if (len)
		memcpy(p, site, len);
	return p + len;
}

void vm_event_write_end(struct vm_event_writer *w, const struct vm_event *e)
{
	uint32_t mask = fitting_mask(&e->after);
	uint8_t *p = w->buf + w->len;

	if (w->full || !room(w, p, RECORD_MAX + (e->injected ? VM_SITE_MAX : 0)))
		return;
	p = put_end_head(w, p, e, mask);
	if (e->kind == VM_EVENT_CALL) {
		p = vm_put_varint(p, vm_zigzag(e->result));
		if (e->status == VM_STATUS_FAULTED) {
			p = vm_put_varint(p, vm_zigzag(e->signo));
			p = vm_put_varint(p, vm_zigzag(e->sigcode));
			p = vm_put_varint(p, e->sigaddr);
		}
		if (e->injected)
			p = put_site(p, e->site);
	}
	if (mask)
		p = put_snapshot(w, p, &e->after, mask);
	if (!p)
		return;
	w->next_seq = e->seq_end + 1;
	w->len = (size_t)(p - w->buf);
}
