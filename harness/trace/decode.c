/* SPDX-License-Identifier: MIT */
/*
 * Reading an event log. The bytes come from a child that fuzzed calls may have driven mad: nothing
 * in them is believed before it is checked, and what passes keeps the promises of snapshot.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/trace/wire.h"

/* A site and its NUL, so that what follows stays aligned. */
#define SITE_BYTES (VM_SITE_MAX + 8)

/* Room for every array of every event, so that pointers stay valid; only what is used is touched.
 */
#define EVENT_BYTES                                                                                \
	(VM_SNAPSHOT_MAX_VMAS * sizeof(struct vm_vma) +                                            \
	 VM_SNAPSHOT_MAX_PAGES * sizeof(struct vm_page) + VM_MAX_OWN * sizeof(struct vm_vma) +     \
	 VM_MAX_EDGES * sizeof(struct vm_edge) + VM_MAX_COMPARES * sizeof(struct vm_compare) +     \
	 SITE_BYTES)
#define ARENA_BYTES (VM_TRACE_MAX_EVENTS * EVENT_BYTES)

struct decoder {
	struct vm_reader in;
	struct vm_trace *trace;
	const char *problem;
	char *free; /* the unused rest of the arena */
	uint64_t calls_seen;
	uint32_t next_seq;
	uint64_t cover_at;
	bool last_seen, own_in_arena, all_flags_known;
	/* The arrays as last read. */
	uint32_t nvma, npage, nown;
	const struct vm_vma *vma, *own;
	const struct vm_page *page;
};

struct counts {
	uint32_t keep, removed, inserted, total;
};

static bool fail(struct decoder *d, const char *problem)
{
	if (!d->problem)
		d->problem = problem;
	return false;
}

static bool intact(struct decoder *d)
{
	return !d->in.bad || fail(d, "a record is cut off or out of range");
}

static bool get_counts(struct decoder *d, uint32_t nwas, uint32_t max, struct counts *c)
{
	c->keep = (uint32_t)vm_get_limited(&d->in, nwas);
	c->removed = (uint32_t)vm_get_limited(&d->in, nwas - c->keep);
	c->inserted = (uint32_t)vm_get_limited(&d->in, max - (nwas - c->removed));
	c->total = nwas - c->removed + c->inserted;
	return intact(d);
}

static void *take(struct decoder *d, size_t bytes)
{
	void *p = d->free;

	d->free += bytes;
	return p;
}

/* The new array: the items that stay are copied, the inserted ones are the caller's to fill in. */
static inline void *splice(struct decoder *d, const void *was, const struct counts *c, size_t size)
{
	char *now = take(d, c->total * size);
	uint32_t tail = c->total - c->keep - c->inserted;

	if (c->keep)
		memcpy(now, was, c->keep * size);
	if (tail)
		memcpy(now + (c->keep + c->inserted) * size,
		       (const char *)was + (c->keep + c->removed) * size, tail * size);
	return now;
}

void vm_get_vma(struct vm_reader *r, struct vm_vma *vma, uint64_t prev_end)
{
	unsigned int head = vm_get_byte(r);

	vma->mode = head & 15u;
	vma->kind = VM_VMA_KIND_OF(head);
	vma->flags_known = !!(head & VM_VMA_FLAGS);
	vma->pad = 0;
	vma->start = prev_end + vm_unpack_addr(vm_get_varint(r));
	vma->end = vma->start + vm_unpack_addr(vm_get_varint(r));
	vma->offset = vm_unpack_addr(vm_get_varint(r));
	vma->inode = vm_get_varint(r);
	vma->dev = (uint32_t)vm_get_limited(r, UINT32_MAX);
	vma->flags = vma->flags_known ? vm_get_varint(r) : 0;
}

bool vm_vma_valid(const struct vm_vma *vma, uint64_t prev_end, uint64_t page_size)
{
	return vma->start >= prev_end && vma->start < vma->end &&
	       !((vma->start | vma->end) & (page_size - 1)) && vma->kind <= VM_KIND_KCOV;
}

static const struct vm_vma *get_vmas(struct decoder *d, const struct vm_vma *was, uint32_t *n,
				     uint32_t max)
{
	uint64_t page_size = d->trace->info.layout.page_size, prev_end;
	struct vm_vma *now;
	struct counts c;
	uint32_t i;

	if (!get_counts(d, *n, max, &c))
		return NULL;
	now = splice(d, was, &c, sizeof(*now));
	prev_end = c.keep ? now[c.keep - 1].end : 0;
	for (i = c.keep; i < c.keep + c.inserted; i++) {
		vm_get_vma(&d->in, &now[i], prev_end);
		if (!intact(d))
			return NULL;
		if (!vm_vma_valid(&now[i], prev_end, page_size)) {
			fail(d, "a VMA is empty, misaligned, overlapping or of an unknown kind");
			return NULL;
		}
		prev_end = now[i].end;
	}
	if (i < c.total && now[i].start < prev_end) {
		fail(d, "VMAs overlap");
		return NULL;
	}
	*n = c.total;
	return now;
}

static void get_page(struct vm_reader *r, struct vm_page *page, uint64_t prev)
{
	unsigned int head = vm_get_byte(r);

	page->addr = prev + vm_unpack_addr(vm_get_varint(r));
	page->content.head = head & VM_PAGE_HEAD ? vm_get_fixed(r, 8) : 0;
	page->content.rest = head & VM_PAGE_REST ? vm_get_fixed(r, 8) : 0;
	if (head & ~(VM_PAGE_HEAD | VM_PAGE_REST))
		r->bad = true;
}

static bool get_pages(struct decoder *d)
{
	uint64_t page_size = d->trace->info.layout.page_size, prev;
	struct vm_page *now;
	struct counts c;
	uint32_t i;

	if (!get_counts(d, d->npage, VM_SNAPSHOT_MAX_PAGES, &c))
		return false;
	now = splice(d, d->page, &c, sizeof(*now));
	for (i = c.keep; i < c.keep + c.inserted; i++) {
		prev = i ? now[i - 1].addr : 0;
		get_page(&d->in, &now[i], prev);
		if (!intact(d))
			return false;
		if (now[i].addr & (page_size - 1) || (i && now[i].addr <= prev))
			return fail(d, "a page is misaligned or out of order");
	}
	if (i && i < c.total && now[i].addr <= now[i - 1].addr)
		return fail(d, "pages are out of order");
	d->page = now;
	d->npage = c.total;
	return true;
}

static bool flags_known(const struct vm_vma *vma, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!vma[i].flags_known)
			return false;
	return true;
}

static bool pages_are_mapped(const struct decoder *d)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < d->npage; i++) {
		while (v < d->nvma && d->vma[v].end <= d->page[i].addr)
			v++;
		if (v == d->nvma || d->page[i].addr < d->vma[v].start)
			return false;
	}
	return true;
}

static bool get_own(struct decoder *d)
{
	d->own = get_vmas(d, d->own, &d->nown, VM_MAX_OWN);
	d->own_in_arena = true;
	return d->own;
}

/* own[] begins as info.own; a trace may be copied, so events never point into it. */
static void own_to_arena(struct decoder *d)
{
	void *copy = take(d, d->nown * sizeof(*d->own));

	if (d->nown)
		memcpy(copy, d->own, d->nown * sizeof(*d->own));
	d->own = copy;
	d->own_in_arena = true;
}

static bool get_arrays(struct decoder *d, unsigned int head)
{
	if (head & VM_SNAP_VMA) {
		d->vma = get_vmas(d, d->vma, &d->nvma, VM_SNAPSHOT_MAX_VMAS);
		if (!d->vma)
			return false;
		d->all_flags_known = flags_known(d->vma, d->nvma);
	}
	if (head & VM_SNAP_PAGE && !get_pages(d))
		return false;
	if (head & VM_SNAP_OWN && !get_own(d))
		return false;
	return true;
}

/* A changed array that was not observed, or flags without VMAs, make no sense. */
static bool head_valid(unsigned int head)
{
	return !(head & VM_SNAP_VMA && !(head & VM_SEEN_MAPS)) &&
	       !(head & VM_SEEN_FLAGS && !(head & VM_SEEN_MAPS)) &&
	       !(head & VM_SNAP_PAGE && !(head & VM_SEEN_CONTENTS)) &&
	       !(head & VM_SNAP_OWN && !(head & VM_SEEN_OWN));
}

static bool get_totals(struct decoder *d, struct vm_totals *totals)
{
	uint64_t number[VM_TOTALS_COUNT];

	for (size_t i = 0; i < VM_TOTALS_COUNT; i++)
		number[i] = vm_get_varint(&d->in);
	memcpy(totals, number, sizeof(number));
	return intact(d);
}

static bool get_snapshot(struct decoder *d, struct vm_snapshot *s)
{
	unsigned int head = vm_get_byte(&d->in);
	unsigned int both = VM_SEEN_MAPS | VM_SEEN_CONTENTS;

	if (!intact(d))
		return false;
	if (!head_valid(head))
		return fail(d, "a snapshot's mask contradicts itself");
	if (!get_arrays(d, head))
		return false;
	if (head & VM_SNAP_TOTALS && !get_totals(d, &s->totals))
		return false;
	s->mask = (head & VM_SNAP_MASK) | (head & VM_SNAP_TOTALS ? VM_SEEN_TOTALS : 0);
	if (s->mask & VM_SEEN_MAPS) {
		s->vma = d->vma;
		s->nvma = d->nvma;
	}
	if (s->mask & VM_SEEN_CONTENTS) {
		s->page = d->page;
		s->npage = d->npage;
	}
	if (s->mask & VM_SEEN_OWN) {
		if (!d->own_in_arena)
			own_to_arena(d);
		s->own = d->own;
		s->nown = d->nown;
	}
	if (s->mask & VM_SEEN_FLAGS && !d->all_flags_known)
		return fail(d, "a VMA lacks its flags");
	if ((s->mask & both) == both && !pages_are_mapped(d))
		return fail(d, "a present page is in no VMA");
	return true;
}

static void get_place(struct decoder *d, struct vm_event *e)
{
	e->actor = (uint16_t)vm_get_limited(&d->in, UINT16_MAX);
	e->space = (uint16_t)vm_get_limited(&d->in, UINT16_MAX);
}

static struct vm_event *new_event(struct decoder *d, uint8_t kind)
{
	struct vm_trace *t = d->trace;
	struct vm_event *e = &t->event[t->nevents];

	if (t->nevents == VM_TRACE_MAX_EVENTS || d->last_seen) {
		fail(d, "more events than a program has");
		return NULL;
	}
	t->nevents++;
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->seq_begin = d->next_seq;
	return e;
}

/*
 * The call that an actor is in; NULL if it is in none. The newest is nearly always the one. A fork
 * begins in the parent and returns in the child.
 */
static struct vm_event *open_call(struct decoder *d, uint16_t actor, uint16_t space)
{
	for (uint32_t i = d->trace->nevents; i-- > 0;) {
		struct vm_event *e = &d->trace->event[i];

		if ((e->actor == actor && e->space == space) ||
		    (space && e->status == VM_STATUS_RUNNING && e->sc.op == VM_OP_FORK))
			return e->status == VM_STATUS_RUNNING ? e : NULL;
	}
	return NULL;
}

static bool get_begin(struct decoder *d, unsigned int head)
{
	const struct vm_program *prog = &d->trace->prog;
	struct vm_event place = { .seq_begin = d->next_seq }, *e;
	unsigned int call = vm_get_byte(&d->in);

	if (head & VM_REC_PLACE) {
		get_place(d, &place);
		place.seq_begin = (uint32_t)vm_get_limited(&d->in, UINT32_MAX);
	}
	if (!intact(d))
		return false;
	if (call >= prog->ncalls || prog->call[call].op >= VM_OP_COUNT)
		return fail(d, "a call that the program does not have");
	if (d->calls_seen >> call & 1)
		return fail(d, "a call is made twice");
	if (open_call(d, place.actor, place.space))
		return fail(d, "a call begins inside another");
	e = new_event(d, VM_EVENT_CALL);
	if (!e)
		return false;
	d->calls_seen |= 1ull << call;
	e->status = VM_STATUS_RUNNING;
	e->call = (uint8_t)call;
	e->actor = place.actor;
	e->space = place.space;
	e->seq_begin = place.seq_begin;
	e->seq_end = e->seq_begin + 1;
	e->sc.op = prog->call[call].op;
	for (unsigned int i = 0, n = vm_call_desc(e->sc.op)->nargs; i < n; i++)
		e->sc.arg[i] = vm_get_varint(&d->in);
	d->next_seq = e->seq_begin + 2;
	return intact(d);
}

/* Words of printable characters; none: not known. */
static bool get_site(struct decoder *d, struct vm_event *e)
{
	size_t len = (size_t)vm_get_limited(&d->in, VM_SITE_MAX);
	char *site;

	e->injected = true;
	if (!len || !intact(d))
		return intact(d);
	site = take(d, SITE_BYTES);
	for (size_t i = 0; i < len; i++) {
		site[i] = (char)vm_get_byte(&d->in);
		if (site[i] < ' ' || site[i] > '~')
			return fail(d, "the site of an allocation is no text");
	}
	site[len] = '\0';
	e->site = site;
	return intact(d);
}

static bool get_result(struct decoder *d, struct vm_event *e, unsigned int head)
{
	e->result = vm_unzigzag(vm_get_varint(&d->in));
	if (e->status == VM_STATUS_WITHHELD && (e->result <= VM_PERMITTED || e->result > UINT8_MAX))
		return fail(d, "a call is withheld without a reason");
	if (e->status == VM_STATUS_FAULTED) {
		e->signo = vm_get_int32(&d->in);
		e->sigcode = vm_get_int32(&d->in);
		e->sigaddr = vm_get_varint(&d->in);
	}
	return head & VM_REC_INJECTED ? get_site(d, e) : intact(d);
}

static bool get_end(struct decoder *d, unsigned int head, unsigned int which)
{
	bool call = which == VM_REC_RETURN;
	struct vm_event place = { .seq_begin = d->next_seq }, *e;

	place.seq_end = place.seq_begin + 1;
	if (head & VM_REC_PLACE) {
		get_place(d, &place);
		if (!call)
			place.seq_begin = (uint32_t)vm_get_limited(&d->in, UINT32_MAX);
		place.seq_end = (uint32_t)vm_get_limited(&d->in, UINT32_MAX);
	}
	if (!intact(d))
		return false;
	e = call ? open_call(d, place.actor, place.space)
		 : new_event(d, which == VM_REC_START ? VM_EVENT_START : VM_EVENT_END);
	if (!e)
		return fail(d, "a call returns that was not made");
	e->actor = place.actor;
	e->space = place.space;
	e->seq_begin = call ? e->seq_begin : place.seq_begin;
	e->seq_end = head & VM_REC_PLACE ? place.seq_end : e->seq_begin + 1;
	e->status = (uint8_t)VM_REC_STATUS_OF(head);
	d->next_seq = e->seq_end + 1;
	d->last_seen = which == VM_REC_LAST && !place.space;
	if (call && !get_result(d, e, head))
		return false;
	return !(head & VM_REC_SNAPSHOT) || get_snapshot(d, &e->after);
}

/* The event of a call that has begun; NULL if there is none. */
static struct vm_event *event_of(struct decoder *d, unsigned int call)
{
	for (uint32_t i = d->trace->nevents; i-- > 0;) {
		struct vm_event *e = &d->trace->event[i];

		if (e->kind == VM_EVENT_CALL && e->call == call)
			return e;
	}
	return NULL;
}

static bool get_edges(struct decoder *d, struct vm_cover *cover)
{
	struct vm_edge *edge = take(d, VM_MAX_EDGES * sizeof(*edge));

	if (cover->edge || !vm_get_edges(&d->in, edge, &cover->nedges, &d->cover_at))
		return fail(d, "what kcov told of a call is broken");
	cover->edge = edge;
	d->free = (char *)(edge + cover->nedges);
	return true;
}

static bool get_compares(struct decoder *d, struct vm_cover *cover)
{
	struct vm_compare *compare = take(d, VM_MAX_COMPARES * sizeof(*compare));

	if (cover->compare || !vm_get_compares(&d->in, compare, &cover->ncompares))
		return fail(d, "what kcov told of a call is broken");
	cover->compare = compare;
	d->free = (char *)(compare + cover->ncompares);
	return true;
}

/* Kinds that are not known are skipped: they have their length. */
static bool get_more(struct decoder *d)
{
	unsigned int kind = vm_get_byte(&d->in), call = vm_get_byte(&d->in);
	unsigned int flags = vm_get_byte(&d->in);
	uint64_t len = vm_get_limited(&d->in, (uint64_t)(d->in.end - d->in.at));
	const uint8_t *end = d->in.at + len, *all = d->in.end;
	struct vm_event *e = event_of(d, call);
	bool good = true;

	if (!intact(d) || len > (uint64_t)(all - d->in.at))
		return fail(d, "a record is cut off or out of range");
	if (!e)
		return fail(d, "more of a call that was not made");
	d->in.end = end;
	e->cover.cut |= kind <= VM_MORE_COMPARES && flags & VM_MORE_CUT;
	if (kind == VM_MORE_EDGES)
		good = get_edges(d, &e->cover);
	else if (kind == VM_MORE_COMPARES)
		good = get_compares(d, &e->cover);
	else
		d->in.at = end;
	d->in.end = all;
	return good && (d->in.at == end || fail(d, "what kcov told of a call is broken"));
}

static bool get_record(struct decoder *d)
{
	unsigned int head = vm_get_byte(&d->in);
	unsigned int which = head & VM_REC_WHICH, status = VM_REC_STATUS_OF(head);

	if (which < VM_REC_BEGIN || which > VM_REC_MORE ||
	    (head & VM_REC_INJECTED && which != VM_REC_RETURN))
		return fail(d, "unknown record");
	if (status && (which != VM_REC_RETURN || status >= VM_STATUS_RUNNING))
		return fail(d, "unknown status");
	if (which == VM_REC_MORE)
		return head == VM_REC_MORE ? get_more(d) : fail(d, "unknown record");
	if (which == VM_REC_BEGIN)
		return !(head & VM_REC_SNAPSHOT) ? get_begin(d, head)
						 : fail(d, "a snapshot before a call");
	if (which == VM_REC_START && d->trace->nevents)
		return fail(d, "a start after other events");
	return get_end(d, head, which);
}

int vm_events_decode(const uint8_t *bytes, size_t len, struct vm_trace *trace, char *err,
		     size_t errlen)
{
	struct decoder d = {
		.in = { .at = bytes, .end = len ? bytes + len : bytes },
		.trace = trace,
		.own = trace->info.own,
		.nown = trace->info.nown,
	};
	uint64_t page_size = trace->info.layout.page_size;

	trace->nevents = 0;
	if (!page_size || page_size & (page_size - 1) || d.nown > VM_MAX_OWN) {
		snprintf(err, errlen, "event log: the target's page size or own VMAs are not set");
		return -1;
	}
	if (!trace->arena) {
		trace->arena = malloc(ARENA_BYTES);
		trace->arena_size = trace->arena ? ARENA_BYTES : 0;
	}
	if (!trace->arena) {
		snprintf(err, errlen, "event log: out of memory (%zu bytes)", (size_t)ARENA_BYTES);
		return -1;
	}
	d.free = trace->arena;
	d.vma = trace->arena;
	d.page = trace->arena;
	d.all_flags_known = true;
	while (d.in.at < d.in.end && get_record(&d))
		;
	if (!d.problem)
		return 0;
	snprintf(err, errlen, "event log: %s (at byte %zu of %zu, event %u)", d.problem,
		 (size_t)(d.in.at - bytes), len, trace->nevents);
	trace->nevents = 0;
	return -1;
}

void vm_trace_free(struct vm_trace *trace)
{
	free(trace->arena);
	memset(trace, 0, sizeof(*trace));
}
