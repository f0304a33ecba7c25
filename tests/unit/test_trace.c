/* SPDX-License-Identifier: MIT */
/* The trace on the wire: what is written comes back, and nothing else is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trace_sample.h"

#define LOG_BYTES (1u << 20)

static struct vm_event_writer writer;
static struct vm_trace written, got;
static uint8_t log_bytes[LOG_BYTES];
static char err[256];

static size_t write_events(const struct vm_trace *t, size_t cap)
{
	vm_event_writer_init(&writer, log_bytes, cap, t->info.own, t->info.nown);
	for (uint32_t i = 0; i < t->nevents; i++) {
		if (t->event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&writer, &t->event[i]);
		if (t->event[i].status != VM_STATUS_RUNNING)
			vm_event_write_end(&writer, &t->event[i]);
	}
	return writer.len;
}

/* Decode from a buffer of exactly that size, so that a sanitizer sees each byte read too many. */
static int decode(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	int ret;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	got.info = written.info;
	got.prog = written.prog;
	ret = vm_events_decode(exact, len, &got, err, sizeof(err));
	free(exact);
	if (!ret)
		trace_keeps_promises(&got);
	return ret;
}

static void assert_refused(const char *why)
{
	size_t len = write_events(&written, LOG_BYTES);

	assert_false(writer.full);
	assert_int_equal(decode(log_bytes, len), -1);
	assert_non_null(strstr(err, why));
	assert_int_equal(got.nevents, 0);
}

static int setup(void **state)
{
	(void)state;
	trace_sample(&written);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_trace_free(&got);
	return 0;
}

static void test_events_come_back(void **state)
{
	size_t len = write_events(&written, LOG_BYTES);

	(void)state;
	assert_int_equal(decode(log_bytes, len), 0);
	trace_assert_events_equal(&written, &got);
}

static void test_unchanged_arrays_share_a_pointer(void **state)
{
	(void)state;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	/* Events 0 and 1 of the sample saw the same, event 2 a VMA more. */
	assert_ptr_equal(got.event[0].after.vma, got.event[1].after.vma);
	assert_ptr_equal(got.event[0].after.page, got.event[1].after.page);
	assert_ptr_equal(got.event[0].after.own, got.event[1].after.own);
	assert_ptr_not_equal(got.event[1].after.vma, got.event[2].after.vma);
	assert_ptr_equal(got.event[1].after.page, got.event[2].after.page);
}

static void test_events_do_not_point_into_info(void **state)
{
	const char *own, *info = (const char *)&got.info;

	(void)state;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	own = (const char *)got.event[0].after.own;
	assert_int_equal(got.event[0].after.nown, written.info.nown);
	assert_true(own < info || own >= info + sizeof(got.info));
}

static void test_unobserved_is_null_and_keeps_the_base(void **state)
{
	struct vm_event *e = written.event;

	(void)state;
	e[1].after.mask = VM_SEEN_CONTENTS;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	assert_int_equal(got.event[1].after.mask, VM_SEEN_CONTENTS);
	assert_null(got.event[1].after.vma);
	assert_null(got.event[1].after.own);
	assert_int_equal(got.event[1].after.nvma, 0);
	assert_int_equal(got.event[1].after.nown, 0);
	assert_int_equal(got.event[1].after.npage, e[1].after.npage);
	assert_int_equal(got.event[2].after.nvma, e[2].after.nvma);
	assert_memory_equal(got.event[2].after.vma, e[2].after.vma,
			    e[2].after.nvma * sizeof(struct vm_vma));
}

static void test_an_empty_address_space_is_observed(void **state)
{
	(void)state;
	written.nevents = 1;
	written.event[0].after = (struct vm_snapshot){ .mask = VM_SEEN_MAPS | VM_SEEN_CONTENTS };
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	assert_int_equal(got.event[0].after.mask, VM_SEEN_MAPS | VM_SEEN_CONTENTS);
	assert_int_equal(got.event[0].after.nvma, 0);
	assert_non_null(got.event[0].after.vma);
}

static void test_a_call_without_end_is_running(void **state)
{
	(void)state;
	written.nevents = 3;
	written.event[2].status = VM_STATUS_RUNNING;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	assert_int_equal(got.nevents, 3);
	assert_int_equal(got.event[2].status, VM_STATUS_RUNNING);
	assert_int_equal(got.event[2].call, written.event[2].call);
	assert_int_equal(got.event[2].sc.arg[0], written.event[2].sc.arg[0]);
	assert_int_equal(got.event[2].after.mask, 0);
}

static void test_little_change_costs_few_bytes(void **state)
{
	size_t before;

	(void)state;
	written.nevents = 1;
	before = write_events(&written, LOG_BYTES);
	vm_event_write_begin(&writer, &written.event[1]);
	vm_event_write_end(&writer, &written.event[1]);
	/* Head, call, one byte a small argument, 6 for an address; head, result, mask. */
	assert_in_range(writer.len - before, 5, 32);
}

/* Random insertions and removals come back; many small deltas upon each other. */
static void test_random_deltas(void **state)
{
	static struct vm_vma vma[VM_TRACE_MAX_EVENTS][64];
	static struct vm_page page[VM_TRACE_MAX_EVENTS][64];
	uint64_t seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		written.nevents = VM_PROGRAM_MAX_CALLS + 1;
		for (unsigned int i = 0; i < written.nevents; i++)
			trace_random_event(&written, i, vma[i], page[i], 64, &seed);
		assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
		trace_assert_events_equal(&written, &got);
	}
}

static void test_largest_arrays(void **state)
{
	static struct vm_vma vma[VM_SNAPSHOT_MAX_VMAS + 1];
	static struct vm_page page[VM_SNAPSHOT_MAX_PAGES + 1];
	struct vm_snapshot *s = &written.event[0].after;

	(void)state;
	for (unsigned int i = 0; i <= VM_SNAPSHOT_MAX_VMAS; i++)
		vma[i] = (struct vm_vma){ .start = 0x100000 + i * 0x10000,
					  .end = 0x100000 + i * 0x10000 + 0xf000 };
	for (unsigned int i = 0; i <= VM_SNAPSHOT_MAX_PAGES; i++)
		page[i] = (struct vm_page){ 0x100000 + i / 15 * 0x10000 + i % 15 * 0x1000,
					    { i, ~0ull } };
	written.nevents = 1;
	*s = (struct vm_snapshot){ .mask = VM_SEEN_MAPS | VM_SEEN_CONTENTS,
				   .nvma = VM_SNAPSHOT_MAX_VMAS,
				   .npage = VM_SNAPSHOT_MAX_PAGES,
				   .vma = vma,
				   .page = page };
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	trace_assert_events_equal(&written, &got);

	/* One more of each than fits counts as not observed. */
	s->nvma++;
	s->npage++;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	assert_int_equal(got.event[0].after.mask, 0);
}

static void test_full_log_is_still_valid(void **state)
{
	size_t whole = write_events(&written, LOG_BYTES), cap;
	uint32_t most = 0;

	(void)state;
	for (cap = 0; cap < whole; cap++) {
		size_t len = write_events(&written, cap);

		assert_true(writer.full);
		assert_true(len <= cap);
		assert_int_equal(decode(log_bytes, len), 0);
		assert_true(got.nevents >= most);
		most = got.nevents;
	}
	assert_true(most > 1);
}

static void test_every_truncation(void **state)
{
	size_t whole = write_events(&written, LOG_BYTES);
	unsigned int valid = 0;

	(void)state;
	for (size_t len = 0; len < whole; len++)
		valid += !decode(log_bytes, len);
	/* Valid are the empty log and the ends of records but the last; nothing in between. */
	assert_int_equal(valid, 2 * written.nevents - 2);
}

static void test_every_corrupt_byte(void **state)
{
	size_t len = write_events(&written, LOG_BYTES);
	unsigned int refused = 0, accepted = 0;

	(void)state;
	for (size_t i = 0; i < len; i++) {
		uint8_t was = log_bytes[i];

		for (unsigned int value = 0; value < 256; value += 1 + (i & 7)) {
			log_bytes[i] = (uint8_t)value;
			if (decode(log_bytes, len))
				refused++;
			else
				accepted++;
		}
		log_bytes[i] = was;
	}
	assert_true(refused > 100);
	assert_true(accepted > 100);
}

static void test_failed_allocations(void **state)
{
	static char longest[VM_SITE_MAX + 2];
	size_t plain = write_events(&written, LOG_BYTES), len;
	struct vm_event *e = &written.event[1];

	(void)state;
	assert_int_equal(e->kind, VM_EVENT_CALL);
	e->injected = true;
	e->site = "failslab vm_area_dup __split_vma";
	len = write_events(&written, LOG_BYTES);
	assert_int_equal(len, plain + 1 + strlen(e->site));
	assert_int_equal(decode(log_bytes, len), 0);
	trace_assert_events_equal(&written, &got);
	assert_false(got.event[2].injected);

	/* not known where */
	e->site = NULL;
	assert_int_equal(write_events(&written, LOG_BYTES), plain + 1);
	assert_int_equal(decode(log_bytes, plain + 1), 0);
	trace_assert_events_equal(&written, &got);

	/* as long as there is room for */
	memset(longest, 'x', VM_SITE_MAX + 1);
	e->site = longest;
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), 0);
	assert_int_equal(strlen(got.event[1].site), VM_SITE_MAX);

	/* no text */
	e->site = "a\x1b[2J";
	assert_int_equal(decode(log_bytes, write_events(&written, LOG_BYTES)), -1);
}

static void test_random_bytes(void **state)
{
	uint64_t seed = 7;
	unsigned int refused = 0;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		size_t len = trace_random(&seed) % 200;

		for (size_t i = 0; i < len; i++)
			log_bytes[i] = (uint8_t)trace_random(&seed);
		refused += !!decode(log_bytes, len);
	}
	assert_true(refused > 10000);
}

static struct vm_vma *writable_vma(unsigned int event)
{
	static struct vm_vma copy[16];
	struct vm_snapshot *s = &written.event[event].after;

	assert_true(s->nvma <= 16);
	memcpy(copy, s->vma, s->nvma * sizeof(*copy));
	s->vma = copy;
	return copy;
}

static struct vm_page *writable_page(unsigned int event)
{
	static struct vm_page copy[16];
	struct vm_snapshot *s = &written.event[event].after;

	assert_true(s->npage <= 16);
	memcpy(copy, s->page, s->npage * sizeof(*copy));
	s->page = copy;
	return copy;
}

static void test_refuses_bad_vmas(void **state)
{
	struct vm_vma *vma = writable_vma(0), good[2];

	(void)state;
	memcpy(good, vma, sizeof(good));
	vma[0].start += 8;
	assert_refused("misaligned");
	vma[0] = good[0];
	vma[0].end = vma[0].start;
	assert_refused("empty");
	vma[0].end = vma[0].start - 0x1000;
	assert_refused("empty");
	vma[0].end = vma[1].start + 0x1000;
	assert_refused("overlapping");
	vma[0] = good[1];
	vma[1] = good[0];
	assert_refused("overlapping");
	memcpy(vma, good, sizeof(good));
	vma[1].kind = VM_KIND_KCOV + 1;
	assert_refused("unknown kind");
	vma[1] = good[1];
	vma[1].flags_known = 0;
	assert_refused("lacks its flags");
}

/* The item after the inserted ones comes from the event before: its order counts too. */
static void test_refuses_overlap_with_the_kept_tail(void **state)
{
	struct vm_vma *vma = writable_vma(1);

	(void)state;
	vma[0].end = vma[1].start + 0x1000;
	assert_refused("VMAs overlap");
}

static void test_refuses_bad_pages(void **state)
{
	struct vm_page *page = writable_page(0), good[2];

	(void)state;
	memcpy(good, page, sizeof(good));
	page[0].addr += 8;
	assert_refused("misaligned");
	page[0] = page[1];
	assert_refused("out of order");
	page[0] = good[1];
	page[1] = good[0];
	assert_refused("out of order");
	memcpy(page, good, sizeof(good));
	page[0].addr = 0x1000;
	assert_refused("in no VMA");
}

static void test_refuses_pages_before_the_kept_tail(void **state)
{
	struct vm_page *page = writable_page(1);

	(void)state;
	page[0].addr = page[1].addr + 0x1000;
	assert_refused("pages are out of order");
}

static void test_refuses_bad_calls(void **state)
{
	struct vm_event *e = written.event, good[3];

	(void)state;
	memcpy(good, e, sizeof(good));
	e[1].call = written.prog.ncalls;
	assert_refused("does not have");
	e[1].call = e[2].call;
	e[1].sc.op = e[2].sc.op;
	assert_refused("made twice");
	e[1] = good[1];
	e[1].status = VM_STATUS_RUNNING;
	assert_refused("inside another");
	e[1].status = VM_STATUS_WITHHELD;
	e[1].result = VM_PERMITTED;
	assert_refused("without a reason");
	e[1] = good[1];
	e[1].kind = VM_EVENT_START;
	assert_refused("start after");
	e[1] = good[1];
	e[0].kind = VM_EVENT_END;
	assert_refused("more events");
}

static void test_refuses_a_return_without_a_call(void **state)
{
	(void)state;
	vm_event_writer_init(&writer, log_bytes, LOG_BYTES, NULL, 0);
	vm_event_write_end(&writer, &written.event[1]);
	assert_int_equal(decode(log_bytes, writer.len), -1);
	assert_non_null(strstr(err, "not made"));
}

static void test_needs_the_page_size(void **state)
{
	(void)state;
	written.info.layout.page_size = 0;
	assert_int_equal(decode(log_bytes, 0), -1);
	assert_non_null(strstr(err, "page size"));
}

static void test_two_actors_may_overlap(void **state)
{
	struct vm_event a = written.event[1], b = written.event[2];

	(void)state;
	b.actor = 1;
	a.seq_begin = 2;
	b.seq_begin = 3;
	b.seq_end = 4;
	a.seq_end = 9;
	vm_event_writer_init(&writer, log_bytes, LOG_BYTES, written.info.own, written.info.nown);
	vm_event_write_begin(&writer, &a);
	vm_event_write_begin(&writer, &b);
	vm_event_write_end(&writer, &b);
	vm_event_write_end(&writer, &a);
	assert_int_equal(decode(log_bytes, writer.len), 0);
	assert_int_equal(got.nevents, 2);
	trace_assert_event_equal(&a, &got.event[0]);
	trace_assert_event_equal(&b, &got.event[1]);
}

static void test_info_comes_back(void **state)
{
	uint8_t bytes[8192];
	size_t len = vm_info_encode(&written.info, bytes, sizeof(bytes));
	struct vm_target_info info;

	(void)state;
	assert_true(len > 100);
	assert_int_equal(vm_info_encode(&written.info, bytes, len), len);
	assert_int_equal(vm_info_encode(&written.info, bytes, len - 1), 0);
	assert_int_equal(vm_info_decode(bytes, len, &info), 0);
	assert_memory_equal(&info, &written.info, sizeof(info));
	for (size_t cut = 0; cut < len; cut++)
		if (vm_info_decode(bytes, cut, &info) == 0)
			assert_int_equal(bytes[cut],
					 7); /* the count of what old infos do not have */
	assert_int_equal(vm_info_decode(bytes, len + 1, &info), -1);
}

/* An info of version 2 of the trace ends before the later numbers. */
static void test_old_info_is_read(void **state)
{
	uint8_t bytes[8192];
	size_t len = vm_info_encode(&written.info, bytes, sizeof(bytes)), cut = len;
	struct vm_target_info info;

	(void)state;
	while (--cut && vm_info_decode(bytes, cut, &info))
		;
	assert_true(cut > 100);
	assert_int_equal(info.rlimit_stack, written.info.rlimit_stack);
	assert_int_equal(info.nown, written.info.nown);
	assert_true(info.rlimit_max_as == UINT64_MAX && info.rlimit_max_stack == UINT64_MAX);
	assert_true(info.data_segment == UINT64_MAX && info.lsm_min_addr == UINT64_MAX);
	assert_int_equal(info.cap_permitted, 0);
	bytes[cut] = 8; /* more than are known: from a newer executor */
	assert_int_equal(vm_info_decode(bytes, len, &info), -1);
}

static void test_info_cannot_steer_a_terminal(void **state)
{
	uint8_t bytes[8192];
	struct vm_target_info info;
	size_t len;

	(void)state;
	strcpy(written.info.release, "6.18\033[2J");
	len = vm_info_encode(&written.info, bytes, sizeof(bytes));
	assert_int_equal(vm_info_decode(bytes, len, &info), 0);
	assert_string_equal(info.release, "6.18?[2J");
}

static void test_info_refuses_nonsense(void **state)
{
	uint8_t bytes[8192];
	struct vm_target_info info, good = written.info;

	(void)state;
	written.info.layout.page_size = 3000;
	assert_int_equal(
		vm_info_decode(bytes, vm_info_encode(&written.info, bytes, sizeof(bytes)), &info),
		-1);
	written.info = good;
	written.info.layout.arena_base = -0x1000ull;
	assert_int_equal(
		vm_info_decode(bytes, vm_info_encode(&written.info, bytes, sizeof(bytes)), &info),
		-1);
	written.info = good;
	written.info.own[1] = written.info.own[0];
	assert_int_equal(
		vm_info_decode(bytes, vm_info_encode(&written.info, bytes, sizeof(bytes)), &info),
		-1);
	assert_int_equal(info.nown, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_come_back),
		TEST(test_unchanged_arrays_share_a_pointer),
		TEST(test_events_do_not_point_into_info),
		TEST(test_unobserved_is_null_and_keeps_the_base),
		TEST(test_an_empty_address_space_is_observed),
		TEST(test_a_call_without_end_is_running),
		TEST(test_little_change_costs_few_bytes),
		TEST(test_random_deltas),
		TEST(test_largest_arrays),
		TEST(test_full_log_is_still_valid),
		TEST(test_every_truncation),
		TEST(test_every_corrupt_byte),
		TEST(test_failed_allocations),
		TEST(test_random_bytes),
		TEST(test_refuses_bad_vmas),
		TEST(test_refuses_overlap_with_the_kept_tail),
		TEST(test_refuses_bad_pages),
		TEST(test_refuses_pages_before_the_kept_tail),
		TEST(test_refuses_bad_calls),
		TEST(test_refuses_a_return_without_a_call),
		TEST(test_needs_the_page_size),
		TEST(test_two_actors_may_overlap),
		TEST(test_info_comes_back),
		TEST(test_old_info_is_read),
		TEST(test_info_cannot_steer_a_terminal),
		TEST(test_info_refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
