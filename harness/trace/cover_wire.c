/* SPDX-License-Identifier: MIT */
/* What kcov told of a call, as the body of a record of more. docs/trace-format.md. */
#include "harness/trace/wire.h"

#define HEAD_BYTES    4	 /* record, kind, call, flags */
#define LEN_BYTES     4	 /* of the body: a varint that is always as long as this */
#define EDGE_BYTES    22 /* at most: an escape, two varints */
#define COMPARE_BYTES 31 /* at most: a byte, three varints */
#define COUNT_BYTES   (2 * VM_VARINT_MAX)

#define COMPARE_SIZE	 0x0fu
#define COMPARE_CONSTANT 0x10u

static uint64_t distance(uint64_t to, uint64_t from)
{
	return vm_zigzag((int64_t)(to - from));
}

static uint64_t behind(uint64_t from, uint64_t distance)
{
	return from + (uint64_t)vm_unzigzag(distance);
}

/*
 * Most edges begin where the one before ended: one varint each, the distance plus 1. A zero says
 * that this one begins elsewhere, and how far from there.
 */
static uint8_t *put_edges(uint8_t *p, const struct vm_cover *cover, uint64_t *first)
{
	uint64_t at = *first;

	p = vm_put_varint(p, cover->nedges);
	for (uint32_t i = 0; i < cover->nedges; i++) {
		const struct vm_edge *e = &cover->edge[i];

		if (i && e->from != at) {
			*p++ = 0;
			p = vm_put_varint(p, distance(e->from, at));
			at = e->from;
		}
		p = vm_put_varint(p, distance(e->to, at) + 1);
		at = e->to;
		if (!i)
			*first = at;
	}
	return p;
}

bool vm_get_edges(struct vm_reader *r, struct vm_edge *edge, uint32_t *n, uint64_t *first)
{
	uint64_t at = *first, far;

	*n = (uint32_t)vm_get_limited(r, VM_MAX_EDGES);
	for (uint32_t i = 0; i < *n; i++) {
		far = vm_get_varint(r);
		if (!far && i) {
			at = behind(at, vm_get_varint(r));
			far = vm_get_varint(r);
		}
		if (!far)
			r->bad = true;
		edge[i].from = i ? at : 0;
		edge[i].to = at = behind(at, far - 1);
		if (!i)
			*first = at;
	}
	return !r->bad;
}

static uint8_t *put_compares(uint8_t *p, const struct vm_cover *cover)
{
	uint64_t at = 0;

	p = vm_put_varint(p, cover->ncompares);
	for (uint32_t i = 0; i < cover->ncompares; i++) {
		const struct vm_compare *c = &cover->compare[i];

		*p++ = (uint8_t)((c->size & COMPARE_SIZE) | (c->constant ? COMPARE_CONSTANT : 0));
		p = vm_put_varint(p, distance(c->pc, at));
		p = vm_put_varint(p, vm_pack_addr(c->a));
		p = vm_put_varint(p, vm_pack_addr(c->b));
		at = c->pc;
	}
	return p;
}

bool vm_get_compares(struct vm_reader *r, struct vm_compare *compare, uint32_t *n)
{
	uint64_t at = 0;

	*n = (uint32_t)vm_get_limited(r, VM_MAX_COMPARES);
	for (uint32_t i = 0; i < *n; i++) {
		struct vm_compare *c = &compare[i];
		unsigned int head = vm_get_byte(r);

		*c = (struct vm_compare){ .size = head & COMPARE_SIZE,
					  .constant = !!(head & COMPARE_CONSTANT) };
		c->pc = at = behind(at, vm_get_varint(r));
		c->a = vm_unpack_addr(vm_get_varint(r));
		c->b = vm_unpack_addr(vm_get_varint(r));
		if (c->size != 1 && c->size != 2 && c->size != 4 && c->size != 8)
			r->bad = true;
		if (head & ~(COMPARE_SIZE | COMPARE_CONSTANT))
			r->bad = true;
	}
	return !r->bad;
}

static void put_length(uint8_t *p, size_t len)
{
	for (unsigned int i = 0; i < LEN_BYTES; i++)
		p[i] = (uint8_t)((len >> 7 * i & 0x7f) | (i < LEN_BYTES - 1 ? 0x80 : 0));
}

/* Where the body of a record of `bytes` at most begins; NULL if it is not to be written. */
static uint8_t *begin(struct vm_event_writer *w, const struct vm_event *e, enum vm_more kind,
		      size_t bytes)
{
	uint8_t *p = w->buf + w->len;

	bytes += HEAD_BYTES + LEN_BYTES + COUNT_BYTES;
	if (w->full || w->len > w->cap / 2 || w->cap - w->len < bytes)
		return NULL;
	*p++ = VM_REC_MORE;
	*p++ = (uint8_t)kind;
	*p++ = e->call;
	*p++ = e->cover.cut ? VM_MORE_CUT : 0;
	return p + LEN_BYTES;
}

static void end(struct vm_event_writer *w, const uint8_t *p)
{
	uint8_t *length = w->buf + w->len + HEAD_BYTES;

	put_length(length, (size_t)(p - length) - LEN_BYTES);
	w->len = (size_t)(p - w->buf);
}

void vm_event_write_cover(struct vm_event_writer *w, const struct vm_event *e)
{
	const struct vm_cover *c = &e->cover;
	uint8_t *p;

	if (c->nedges) {
		p = begin(w, e, VM_MORE_EDGES, (size_t)c->nedges * EDGE_BYTES);
		if (p)
			end(w, put_edges(p, c, &w->cover_at));
	}
	if (c->ncompares) {
		p = begin(w, e, VM_MORE_COMPARES, (size_t)c->ncompares * COMPARE_BYTES);
		if (p)
			end(w, put_compares(p, c));
	}
}
