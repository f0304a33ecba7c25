/* SPDX-License-Identifier: MIT */
#include "fuzz/mutate/aim.h"

static uint64_t pages_of(const struct vm_mutator *m, uint64_t bytes)
{
	uint64_t n = bytes / m->layout.page_size;

	return n > 0xffff ? 0xffff : n;
}

/* The VMA at or beside a range of one of the last calls: what one left is what the next meets. */
static bool pick_near(struct vm_mutator *m, const struct vm_model_area *areas, size_t n,
		      struct vm_model_area *out)
{
	uint32_t back = vm_rng_below(&m->rng, 3), side = vm_rng_below(&m->rng, 3);
	const struct vm_span *s;
	uint64_t at;

	if (back >= m->nrecent)
		return false;
	s = &m->recent[(m->nrecent - 1 - back) % VM_RECENT];
	at = side == 0 ? s->start : side == 1 ? s->start - 1 : s->start + s->len;
	for (size_t i = 0; i < n; i++) {
		*out = areas[i];
		if (at >= areas[i].start && at < areas[i].end)
			return true;
	}
	return false;
}

static bool pick_area(struct vm_mutator *m, struct vm_model_area *out)
{
	const struct vm_model_area *areas;
	size_t n = vm_model_areas(m->model, &areas);

	if (!n)
		return false;
	if (vm_rng_chance(&m->rng, 40) && pick_near(m, areas, n, out))
		return true;
	*out = areas[vm_rng_below(&m->rng, (uint32_t)n)];
	return true;
}

/* One of the areas that `is` accepts, each as likely. */
static bool pick_such(struct vm_mutator *m,
		      bool (*is)(const struct vm_mutator *, const struct vm_model_area *),
		      struct vm_model_area *out)
{
	const struct vm_model_area *areas;
	size_t n = vm_model_areas(m->model, &areas);
	uint32_t seen = 0;

	*out = (struct vm_model_area){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (is(m, &areas[i]) && vm_rng_below(&m->rng, ++seen) == 0)
			*out = areas[i];
	}
	return seen > 0;
}

static bool is_sealed(const struct vm_mutator *m, const struct vm_model_area *a)
{
	(void)m;
	return a->sealed;
}

static bool is_shared(const struct vm_mutator *m, const struct vm_model_area *a)
{
	(void)m;
	return a->shared;
}

static bool is_chosen(const struct vm_mutator *m, const struct vm_model_area *a)
{
	return vm_model_addr(m->model, a->start).base == VM_BASE_NAME;
}

struct vm_span vm_span_arena(struct vm_mutator *m)
{
	static const uint8_t lens[] = { 1, 1, 2, 2, 2, 3, 4, 4, 4, 6, 8, 16 };
	uint32_t page = vm_rng_chance(&m->rng, 75) ? vm_rng_below(&m->rng, 32)
						   : vm_rng_below(&m->rng, VM_ARENA_PAGES);
	uint64_t start = m->layout.arena_base + page * m->layout.page_size;

	/* Where page tables end and huge pages begin. */
	if (vm_rng_chance(&m->rng, 4))
		start += vm_rng_below(&m->rng, 4) * m->layout.pmd_size;
	return (struct vm_span){ start,
				 lens[vm_rng_below(&m->rng, sizeof(lens))] * m->layout.page_size };
}

static struct vm_span part(struct vm_mutator *m, const struct vm_model_area *a)
{
	uint64_t ps = m->layout.page_size, n = pages_of(m, a->end - a->start);
	uint64_t first, count;

	if (n < 2)
		return (struct vm_span){ a->start, a->end - a->start };
	switch (vm_rng_below(&m->rng, 3)) {
	case 0: /* the head */
		first = 0;
		count = 1 + vm_rng_below(&m->rng, (uint32_t)(n - 1));
		break;
	case 1: /* the tail */
		count = 1 + vm_rng_below(&m->rng, (uint32_t)(n - 1));
		return (struct vm_span){ a->end - count * ps, count * ps };
	default:
		first = vm_rng_below(&m->rng, (uint32_t)n);
		count = 1 + vm_rng_below(&m->rng, (uint32_t)(n - first));
	}
	return (struct vm_span){ a->start + first * ps, count * ps };
}

struct vm_span vm_span_inside(struct vm_mutator *m)
{
	struct vm_model_area a;

	if (!pick_area(m, &a))
		return vm_span_arena(m);
	if (vm_rng_chance(&m->rng, 45))
		return (struct vm_span){ a.start, a.end - a.start };
	return part(m, &a);
}

struct vm_span vm_span_crossing(struct vm_mutator *m)
{
	const struct vm_model_area *areas;
	size_t n = vm_model_areas(m->model, &areas), at;
	uint64_t ps = m->layout.page_size, start, before, beyond;

	if (!n)
		return vm_span_arena(m);
	at = vm_rng_below(&m->rng, (uint32_t)n);
	/* The next VMA that touches its neighbour, if there is one. */
	for (size_t i = 0; i < n; i++) {
		size_t k = (at + i) % n;

		if (k + 1 < n && areas[k].end == areas[k + 1].start) {
			at = k;
			break;
		}
	}
	before = 1 + vm_rng_below(&m->rng, (uint32_t)pages_of(m, areas[at].end - areas[at].start));
	beyond = 1 + vm_rng_below(&m->rng, 4);
	if (at + 1 < n && areas[at].end == areas[at + 1].start && vm_rng_chance(&m->rng, 60))
		beyond = pages_of(m, areas[at + 1].end - areas[at + 1].start);
	start = areas[at].end - before * ps;
	return (struct vm_span){ start, (before + beyond) * ps };
}

struct vm_span vm_span_hole(struct vm_mutator *m)
{
	uint64_t ps = m->layout.page_size, n = 1 + vm_rng_below(&m->rng, 6);
	struct vm_model_area a;

	if (!pick_area(m, &a))
		return vm_span_arena(m);
	if (vm_rng_chance(&m->rng, 30) && a.start > n * ps)
		return (struct vm_span){ a.start - n * ps, n * ps };
	return (struct vm_span){ a.end, n * ps };
}

bool vm_span_half_sealed(struct vm_mutator *m, uint64_t pages, struct vm_span *s)
{
	uint64_t ps = m->layout.page_size, half = (pages + 1) / 2;
	struct vm_model_area a;

	if (!pick_such(m, is_sealed, &a))
		return false;
	s->len = pages * ps;
	s->start = vm_rng_chance(&m->rng, 50) ? a.start - half * ps : a.end - half * ps;
	return true;
}

bool vm_span_chosen(struct vm_mutator *m, struct vm_span *s)
{
	struct vm_model_area a;

	if (!pick_such(m, is_chosen, &a))
		return false;
	*s = (struct vm_span){ a.start, a.end - a.start };
	return true;
}

bool vm_span_recent(struct vm_mutator *m, struct vm_span *s)
{
	uint32_t n = m->nrecent < VM_RECENT ? m->nrecent : VM_RECENT;

	if (!n)
		return false;
	*s = m->recent[vm_rng_below(&m->rng, n)];
	return true;
}

bool vm_span_shared(struct vm_mutator *m, struct vm_span *s)
{
	struct vm_model_area a;

	if (!pick_such(m, is_shared, &a))
		return false;
	*s = (struct vm_span){ a.start, a.end - a.start };
	return true;
}

bool vm_span_flagged(struct vm_mutator *m, uint64_t flags, struct vm_span *s)
{
	const struct vm_model_area *areas, *found = NULL;
	size_t n = vm_model_areas(m->model, &areas);
	uint32_t seen = 0;

	for (size_t i = 0; i < n; i++)
		if (areas[i].flags & flags && vm_rng_below(&m->rng, ++seen) == 0)
			found = &areas[i];
	if (found)
		*s = (struct vm_span){ found->start, found->end - found->start };
	return found;
}

uint64_t vm_addr_nonsense(struct vm_mutator *m)
{
	const struct vm_layout *l = &m->layout;

	switch (vm_rng_below(&m->rng, 9)) {
	case 0:
		return 0;
	case 1:
		return m->mmap_min_addr > l->page_size ? l->page_size : 0;
	case 2:
		return l->task_size;
	case 3:
		return l->task_size - l->page_size * vm_rng_below(&m->rng, 4);
	case 4:
		return 0 - l->page_size * (1 + vm_rng_below(&m->rng, 4));
	case 5:
		return l->arena_base + vm_rng_below(&m->rng, 4) * l->pud_size;
	case 6:
		return vm_rng_next(&m->rng);
	case 7: /* as a return value it would be an errno */
		return 0 - (uint64_t)(1 + vm_rng_below(&m->rng, VM_ERRNO_MAX));
	default:
		return vm_span_arena(m).start + 1 + vm_rng_below(&m->rng, (uint32_t)l->page_size);
	}
}

uint64_t vm_len_nonsense(struct vm_mutator *m)
{
	const struct vm_layout *l = &m->layout;

	switch (vm_rng_below(&m->rng, 10)) {
	case 0:
		return 0;
	case 1:
		return 1 + vm_rng_below(&m->rng, (uint32_t)l->page_size * 2);
	case 2:
		return l->task_size - l->page_size * vm_rng_below(&m->rng, 3);
	case 3:
		return 0 - (uint64_t)vm_rng_below(&m->rng, 3) * l->page_size - 1;
	case 4:
		return 0 - l->page_size * (1 + vm_rng_below(&m->rng, 4));
	case 5:
		return vm_rng_next(&m->rng) >> vm_rng_below(&m->rng, 64);
	default: /* more than the commit limit of any machine that this runs on, or nearly */
		return (64ull << vm_rng_below(&m->rng, 4)) * l->pud_size;
	}
}

/* The rare ways in which a good range goes wrong. */
static struct vm_span spoil(struct vm_mutator *m, struct vm_span s)
{
	switch (vm_rng_below(&m->rng, 5)) {
	case 0:
		s.start += 1 + vm_rng_below(&m->rng, (uint32_t)m->layout.page_size - 1);
		break;
	case 1:
		s.len -= vm_rng_below(&m->rng, 2) ? 1 : m->layout.page_size / 2;
		break;
	case 2:
		s.len += 1;
		break;
	case 3:
		s.len = vm_len_nonsense(m);
		break;
	default:
		s.start = vm_addr_nonsense(m);
	}
	return s;
}

struct vm_span vm_span_aimed(struct vm_mutator *m)
{
	enum { INSIDE, CROSSING, BEYOND, HOLE, HALF_SEALED, CHOSEN, ARENA, RECENT };
	static const uint8_t weight[] = { 40, 20, 7, 6, 6, 5, 6, 12 };
	struct vm_span s = vm_span_inside(m);

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case CROSSING:
		s = vm_span_crossing(m);
		break;
	case BEYOND:
		s.len += m->layout.page_size;
		break;
	case HOLE:
		s = vm_span_hole(m);
		break;
	case HALF_SEALED:
		vm_span_half_sealed(m, 2 + 2 * vm_rng_below(&m->rng, 3), &s);
		break;
	case CHOSEN:
		vm_span_chosen(m, &s);
		break;
	case ARENA:
		s = vm_span_arena(m);
		break;
	case RECENT:
		vm_span_recent(m, &s);
		break;
	}
	return vm_rng_chance(&m->rng, 6) ? spoil(m, s) : s;
}

struct vm_quantity vm_quantity_from(const struct vm_layout *l, uint64_t value)
{
	struct vm_quantity q = { 0 };
	int64_t rest = (int64_t)value;

	if (value >= l->task_size && value - l->task_size <= 1024 * l->page_size) {
		q.task = 1;
		rest = (int64_t)(value - l->task_size);
	} else if (value < l->task_size && l->task_size - value <= 1024 * l->page_size) {
		q.task = 1;
		rest = -(int64_t)(l->task_size - value);
	} else if (rest / (int64_t)l->pud_size >= 1 && rest / (int64_t)l->pud_size <= INT16_MAX) {
		q.pud = (int16_t)(rest / (int64_t)l->pud_size);
		rest %= (int64_t)l->pud_size;
	}
	if (rest / (int64_t)l->page_size >= INT32_MIN &&
	    rest / (int64_t)l->page_size <= INT32_MAX) {
		q.pages = (int32_t)(rest / (int64_t)l->page_size);
		rest %= (int64_t)l->page_size;
	}
	q.bytes = rest;
	return q;
}

struct vm_addr vm_addr_from(struct vm_mutator *m, uint64_t value)
{
	struct vm_addr addr = vm_model_addr(m->model, value);

	if (addr.base == VM_BASE_NULL)
		addr.off = vm_quantity_from(&m->layout, value);
	return addr;
}
