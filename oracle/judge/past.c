/* SPDX-License-Identifier: MIT */
#include "oracle/judge/past.h"

#include <string.h>

/* Changes: 0 is none. */
enum {
	UNMAPPED = 1,
	MAPPED,
	PROTECTED,
	SEALED,
	ARRIVED,
	LEFT,
	KEPT,
	GROWN,
	DOUBLED,
	TOUCHED,
	OTHER
};

void vm_past_clear(struct vm_past *p)
{
	p->n = 0;
}

/* Index of the first range that ends after `addr`. */
static uint32_t from(const struct vm_past *p, uint64_t addr)
{
	uint32_t i = 0;

	while (i < p->n && p->range[i].end <= addr)
		i++;
	return i;
}

uint32_t vm_past_at(const struct vm_past *p, uint64_t addr, unsigned int n)
{
	uint32_t i = from(p, addr);

	if (i == p->n || p->range[i].start > addr)
		return 0;
	return p->range[i].changes & ((1u << n * VM_PAST_BITS) - 1);
}

static bool insert(struct vm_past *p, uint32_t i, uint64_t start, uint64_t end, uint32_t changes)
{
	if (p->n == VM_PAST_MAX)
		return false;
	memmove(&p->range[i + 1], &p->range[i], (p->n - i) * sizeof(p->range[0]));
	p->range[i] = (struct vm_past_range){ start, end, changes };
	p->n++;
	return true;
}

static bool split(struct vm_past *p, uint64_t at)
{
	uint32_t i = from(p, at);
	struct vm_past_range *r = &p->range[i];

	if (i == p->n || r->start >= at)
		return true;
	if (!insert(p, i, r->start, at, r->changes))
		return false;
	p->range[i + 1].start = at;
	return true;
}

/* One more change of all addresses of a range; the same again does not count. */
static void push(struct vm_past *p, uint64_t start, uint64_t end, uint32_t change)
{
	uint32_t i;

	if (start >= end || !split(p, start) || !split(p, end))
		return;
	for (i = from(p, start); start < end; i++) {
		struct vm_past_range *r = &p->range[i];

		if (i == p->n || r->start > start) {
			uint64_t stop = i < p->n && r->start < end ? r->start : end;

			if (!insert(p, i, start, stop, 0))
				return;
			r = &p->range[i];
		}
		if ((r->changes & ((1u << VM_PAST_BITS) - 1)) != change)
			r->changes = r->changes << VM_PAST_BITS | change;
		start = r->end;
	}
}

static void forget(struct vm_past *p, uint64_t start, uint64_t end)
{
	uint32_t first, last;

	if (!split(p, start) || !split(p, end))
		return;
	first = last = from(p, start);
	while (last < p->n && p->range[last].start < end)
		last++;
	memmove(&p->range[first], &p->range[last], (p->n - last) * sizeof(p->range[0]));
	p->n -= last - first;
}

/* The past of what moves replaces that of where it goes; where it was, it has left. */
static void move(struct vm_past *p, const struct vm_step *st, uint64_t to)
{
	struct vm_past_range piece[16];
	uint32_t n = 0;

	if (!split(p, st->start) || !split(p, st->end))
		return;
	for (uint32_t i = from(p, st->start);
	     i < p->n && p->range[i].start < st->end && n < sizeof(piece) / sizeof(piece[0]); i++)
		piece[n++] = p->range[i];
	forget(p, to, to + (st->end - st->start));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = piece[i].start - st->start + to;

		if (!insert(p, from(p, start), start, piece[i].end - st->start + to,
			    piece[i].changes))
			return;
	}
	push(p, to, to + (st->end - st->start), ARRIVED);
	push(p, st->start, st->end, st->keep ? KEPT : LEFT);
}

void vm_past_add(struct vm_past *p, const struct vm_effect *e, uint64_t chosen)
{
	static const uint8_t change[] = {
		[VM_STEP_UNMAP] = UNMAPPED,    [VM_STEP_MAP] = MAPPED,
		[VM_STEP_PROTECT] = PROTECTED, [VM_STEP_SEAL] = SEALED,
		[VM_STEP_GROW] = GROWN,	       [VM_STEP_EXTEND] = GROWN,
		[VM_STEP_DUPLICATE] = DOUBLED, [VM_STEP_FILL] = TOUCHED,
		[VM_STEP_WRITE] = TOUCHED,
	};

	for (uint32_t i = 0; i < e->n; i++) {
		const struct vm_step *st = &e->step[i];
		uint64_t base = st->chosen ? chosen : 0;
		uint32_t what = st->kind < sizeof(change) ? change[st->kind] : 0;

		if (st->kind == VM_STEP_MOVE)
			move(p, st, base + st->to);
		else if (st->kind != VM_STEP_RESIZE)
			push(p, base + st->start, base + st->end, what ? what : OTHER);
	}
}
