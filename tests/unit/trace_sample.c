/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trace_sample.h"

#define ALL_SEEN (VM_SEEN_MAPS | VM_SEEN_FLAGS | VM_SEEN_CONTENTS | VM_SEEN_OWN)
#define ANON(s, e, m)                                                                              \
	{                                                                                          \
		.start = (s), .end = (e), .mode = (m), .flags_known = 1, .flags = 1ull << 34 | 3   \
	}

static const struct vm_vma before[] = {
	ANON(0x10000000, 0x10004000, VM_MODE_R | VM_MODE_W),
	{ .start = 0x10010000,
	  .end = 0x10014000,
	  .offset = 0x3000,
	  .inode = 0x123456789a,
	  .dev = 8u << 20 | 1,
	  .mode = VM_MODE_R | VM_MODE_S,
	  .flags_known = 1 },
	ANON(0x7fff00000000, 0x7fff00001000, 0),
};
static const struct vm_vma split[] = {
	ANON(0x10000000, 0x10002000, VM_MODE_R | VM_MODE_W),
	ANON(0x10002000, 0x10004000, VM_MODE_R),
	{ .start = 0x10010000,
	  .end = 0x10014000,
	  .offset = 0x3000,
	  .inode = 0x123456789a,
	  .dev = 8u << 20 | 1,
	  .mode = VM_MODE_R | VM_MODE_S,
	  .flags_known = 1 },
	ANON(0x7fff00000000, 0x7fff00001000, 0),
};
static const struct vm_vma removed[] = {
	ANON(0x10000000, 0x10002000, VM_MODE_R | VM_MODE_W),
};
static const struct vm_page pages[] = {
	{ 0x10000000, { 1, 0xfedcba9876543210 } },
	{ 0x10001000, { 0, 0 } },
	{ 0x10010000, { 0x8000000000000000, 0 } },
};
static const struct vm_page fewer[] = {
	{ 0x10001000, { 0, 77 } },
};
static const struct vm_vma own[] = {
	{ .start = 0x400000,
	  .end = 0x500000,
	  .inode = 42,
	  .dev = 1,
	  .mode = VM_MODE_R | VM_MODE_X,
	  .flags_known = 1,
	  .flags = 5 },
	{ .start = 0x7ffffffde000,
	  .end = 0x7ffffffff000,
	  .mode = VM_MODE_R | VM_MODE_W,
	  .kind = VM_KIND_STACK },
	{ .start = 0xffffffffff600000,
	  .end = 0xffffffffff601000,
	  .mode = VM_MODE_X,
	  .kind = VM_KIND_VSYSCALL },
};

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))
#define SNAP(m, v, p, no)                                                                          \
	((struct vm_snapshot){ .mask = (m),                                                        \
			       .nvma = COUNT(v),                                                   \
			       .npage = COUNT(p),                                                  \
			       .nown = (no),                                                       \
			       .vma = (v),                                                         \
			       .page = (p),                                                        \
			       .own = own })

static void sample_info(struct vm_target_info *info)
{
	strcpy(info->sysname, "Linux");
	strcpy(info->release, "6.18.44-test");
	strcpy(info->version, "#1 SMP PREEMPT_DYNAMIC");
	strcpy(info->machine, "x86_64");
	strcpy(info->inject, "seal-ignored-munmap");
	info->layout = (struct vm_layout){ .page_size = 4096,
					   .pmd_size = 2u << 20,
					   .pud_size = 1u << 30,
					   .task_size = 0x7ffffffff000,
					   .arena_base = 0x10000000,
					   .arena_size = 4ull << 30 };
	info->features = VM_HAS_MSEAL | VM_HAS_PAGEMAP | VM_PROBED_BEHAVIOUR;
	info->mmap_min_addr = 65536;
	info->max_map_count = 65530;
	info->overcommit_ratio = 50;
	info->total_pages = 1 << 20;
	info->rlimit_as = UINT64_MAX;
	info->rlimit_data = UINT64_MAX;
	info->rlimit_memlock = 8 << 20;
	info->rlimit_stack = 8 << 20;
	info->cap_effective = 1ull << 40;
	info->rlimit_max_as = info->rlimit_max_data = UINT64_MAX;
	info->rlimit_max_memlock = 16 << 20;
	info->rlimit_max_stack = 9 << 20;
	info->cap_permitted = 3ull << 40;
	info->data_segment = 0x12345;
	info->lsm_min_addr = 4096;
	info->uid = 65534;
	info->gid = UINT32_MAX;
	info->nguard = 1;
	info->guard[0] = (struct vm_range){ 0x400000, UINT64_MAX };
	info->nown = COUNT(own);
	memcpy(info->own, own, sizeof(own));
}

static struct vm_event *add(struct vm_trace *t, uint8_t kind, struct vm_snapshot after)
{
	struct vm_event *e = &t->event[t->nevents];

	e->kind = kind;
	e->seq_begin = 2 * t->nevents;
	e->seq_end = e->seq_begin + 1;
	e->after = after;
	t->nevents++;
	if (kind != VM_EVENT_CALL)
		return e;
	e->call = (uint8_t)(t->nevents - 2);
	e->sc.op = t->prog.call[e->call].op;
	for (unsigned int i = 0; i < vm_call_desc(e->sc.op)->nargs; i++)
		e->sc.arg[i] = i ? 0x1000u * i : 0x10000000;
	return e;
}

void trace_sample(struct vm_trace *t)
{
	struct vm_event *e;

	memset(t, 0, sizeof(*t));
	sample_info(&t->info);
	t->prog.ncalls = VM_PROGRAM_MAX_CALLS;
	for (unsigned int i = 0; i < VM_PROGRAM_MAX_CALLS; i++)
		t->prog.call[i].op = (uint8_t)(i % VM_OP_COUNT);
	add(t, VM_EVENT_START, SNAP(ALL_SEEN, before, pages, COUNT(own)));
	add(t, VM_EVENT_CALL, SNAP(ALL_SEEN, before, pages, COUNT(own)))->result = -EFAULT;
	add(t, VM_EVENT_CALL, SNAP(ALL_SEEN, split, pages, COUNT(own)))->result = 0x7fff12345000;
	e = add(t, VM_EVENT_CALL, SNAP(VM_SEEN_MAPS, removed, fewer, 0));
	e->status = VM_STATUS_FAULTED;
	e->signo = SIGSEGV;
	e->sigcode = SEGV_ACCERR;
	e->sigaddr = 0x10002000;
	e->result = 2;
	e = add(t, VM_EVENT_CALL, SNAP(0, removed, fewer, 0));
	e->status = VM_STATUS_WITHHELD;
	e->result = VM_WITHHELD_MEMORY;
	e = add(t, VM_EVENT_CALL, SNAP(VM_SEEN_OWN | VM_SEEN_MAPS, removed, pages, 1));
	e->sc.arg[0] = UINT64_MAX;
	e->result = INT64_MIN;
	e = add(t, VM_EVENT_CALL, SNAP(VM_SEEN_MAPS | VM_SEEN_CONTENTS, removed, fewer, 2));
	e->actor = 3;
	e->space = UINT16_MAX;
	e->seq_end = UINT32_MAX - 4;
	e = add(t, VM_EVENT_CALL, SNAP(VM_SEEN_OWN, split, pages, COUNT(own)));
	e->seq_begin = 5;
	e->seq_end = 6;
	e = add(t, VM_EVENT_END, SNAP(ALL_SEEN, split, pages, 0));
	e->seq_begin = 20;
	e->seq_end = 21;
}

uint64_t trace_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Mostly what event i - 1 has, with single VMAs and pages changed, lost and new. */
static void random_arrays(struct vm_snapshot *s, struct vm_vma *vma, struct vm_page *page,
			  unsigned int max, uint64_t *seed)
{
	s->nvma = 0;
	s->npage = 0;
	for (unsigned int slot = 0; slot < max; slot++) {
		uint64_t start = 0x20000000 + 0x10000ull * slot;
		uint64_t dice = trace_random(seed) % 100;

		if (slot % 7 == dice % 7 && dice < 20)
			continue;
		vma[s->nvma++] = (struct vm_vma){ .start = start,
						  .end = start + (dice < 5 ? 0x2000 : 0x1000),
						  .mode = dice < 4 ? VM_MODE_R : VM_MODE_W,
						  .inode = dice < 2 ? dice : 0 };
		if (slot % 3)
			page[s->npage++] = (struct vm_page){ start, { dice < 6 ? dice : 9, slot } };
	}
	s->vma = vma;
	s->page = page;
}

void trace_random_event(struct vm_trace *t, unsigned int i, struct vm_vma *vma,
			struct vm_page *page, unsigned int max, uint64_t *seed)
{
	struct vm_event *e = &t->event[i];

	memset(e, 0, sizeof(*e));
	e->kind = i ? VM_EVENT_CALL : VM_EVENT_START;
	e->call = (uint8_t)(i ? i - 1 : 0);
	e->sc.op = i ? t->prog.call[e->call].op : 0;
	e->seq_begin = 2 * i;
	e->seq_end = 2 * i + 1;
	random_arrays(&e->after, vma, page, max, seed);
	e->after.mask = trace_random(seed) % 4 ? VM_SEEN_MAPS | VM_SEEN_CONTENTS : VM_SEEN_MAPS;
}

static void assert_snapshot_equal(const struct vm_snapshot *a, const struct vm_snapshot *b)
{
	assert_int_equal(a->mask, b->mask);
	assert_int_equal(a->mask & VM_SEEN_MAPS ? a->nvma : 0, b->nvma);
	assert_int_equal(a->mask & VM_SEEN_CONTENTS ? a->npage : 0, b->npage);
	assert_int_equal(a->mask & VM_SEEN_OWN ? a->nown : 0, b->nown);
	if (b->nvma)
		assert_memory_equal(a->vma, b->vma, b->nvma * sizeof(*b->vma));
	if (b->npage)
		assert_memory_equal(a->page, b->page, b->npage * sizeof(*b->page));
	if (b->nown)
		assert_memory_equal(a->own, b->own, b->nown * sizeof(*b->own));
}

void trace_assert_event_equal(const struct vm_event *a, const struct vm_event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->call, b->call);
	assert_int_equal(a->actor, b->actor);
	assert_int_equal(a->space, b->space);
	assert_int_equal(a->seq_begin, b->seq_begin);
	assert_int_equal(a->seq_end, b->seq_end);
	assert_int_equal(a->sc.op, b->sc.op);
	assert_memory_equal(a->sc.arg, b->sc.arg, sizeof(a->sc.arg));
	assert_int_equal(a->result, b->result);
	assert_int_equal(a->signo, b->signo);
	assert_int_equal(a->sigcode, b->sigcode);
	assert_int_equal(a->sigaddr, b->sigaddr);
	assert_int_equal(a->injected, b->injected);
	assert_int_equal(!a->site, !b->site);
	if (a->site)
		assert_string_equal(a->site, b->site);
	assert_snapshot_equal(&a->after, &b->after);
}

void trace_assert_events_equal(const struct vm_trace *a, const struct vm_trace *b)
{
	assert_int_equal(a->nevents, b->nevents);
	for (uint32_t i = 0; i < a->nevents; i++)
		trace_assert_event_equal(&a->event[i], &b->event[i]);
}

static void vmas_keep_promises(const struct vm_vma *vma, uint32_t n, uint32_t max, uint64_t page)
{
	assert_true(n <= max);
	assert_true(vma || !n);
	for (uint32_t i = 0; vma && i < n; i++) {
		assert_true(vma[i].start < vma[i].end);
		assert_int_equal((vma[i].start | vma[i].end) % page, 0);
		assert_true(!i || vma[i - 1].end <= vma[i].start);
		assert_true(vma[i].kind <= VM_KIND_KCOV);
	}
}

static void snapshot_keeps_promises(const struct vm_snapshot *s, uint64_t page_size)
{
	assert_true(s->mask & VM_SEEN_MAPS ? !!s->vma : !s->vma && !s->nvma);
	assert_true(s->mask & VM_SEEN_CONTENTS ? !!s->page : !s->page && !s->npage);
	assert_true(s->mask & VM_SEEN_OWN ? !!s->own : !s->own && !s->nown);
	vmas_keep_promises(s->vma, s->nvma, VM_SNAPSHOT_MAX_VMAS, page_size);
	vmas_keep_promises(s->own, s->nown, VM_MAX_OWN, page_size);
	assert_true(s->npage <= VM_SNAPSHOT_MAX_PAGES);
	for (uint32_t i = 0; s->page && i < s->npage; i++) {
		assert_int_equal(s->page[i].addr % page_size, 0);
		assert_true(!i || s->page[i - 1].addr < s->page[i].addr);
	}
	for (uint32_t i = 0; s->vma && s->mask & VM_SEEN_FLAGS && i < s->nvma; i++)
		assert_true(s->vma[i].flags_known);
}

void trace_keeps_promises(const struct vm_trace *t)
{
	assert_true(t->nevents <= VM_TRACE_MAX_EVENTS);
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct vm_event *e = &t->event[i];

		assert_true(e->kind <= VM_EVENT_END);
		assert_true(e->status <= VM_STATUS_RUNNING);
		assert_true(e->call < VM_PROGRAM_MAX_CALLS);
		assert_true(e->sc.op < VM_OP_COUNT);
		snapshot_keeps_promises(&e->after, t->info.layout.page_size);
	}
}
