/* SPDX-License-Identifier: MIT */
/* What kcov told of a call, on the wire: it comes back, costs little, and nothing odd is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trace_sample.h"

#define LOG_BYTES (1u << 20)
#define TEXT	  0xffffffff81000000ull

static struct vm_event_writer writer;
static struct vm_trace written, got;
static uint8_t log_bytes[LOG_BYTES];
static char err[256];

static const struct vm_edge edges[] = {
	{ 0, TEXT + 0x1000 },
	{ TEXT + 0x1000, TEXT + 0x1010 },
	{ TEXT + 0x1010, TEXT + 0x1010 },
	{ TEXT + 0x1010, TEXT + 0x900000 },
	{ TEXT + 0x1000, TEXT + 0x20 },
	{ TEXT + 0x20, TEXT + 0x1000 },
	{ TEXT + 0x5, TEXT + 0x6 },
};
static const struct vm_compare compares[] = {
	{ 0x1000, 0x2000, TEXT + 7, 8, 0 },
	{ 3, 0, TEXT + 1, 1, 1 },
	{ UINT64_MAX, 1ull << 63, TEXT + 0x7000, 8, 1 },
};
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

static size_t write_events(void)
{
	vm_event_writer_init(&writer, log_bytes, LOG_BYTES, written.info.own, written.info.nown);
	for (uint32_t i = 0; i < written.nevents; i++) {
		if (written.event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&writer, &written.event[i]);
		vm_event_write_end(&writer, &written.event[i]);
		vm_event_write_cover(&writer, &written.event[i]);
	}
	return writer.len;
}

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

static void assert_same_cover(const struct vm_cover *a, const struct vm_cover *b)
{
	assert_int_equal(a->nedges, b->nedges);
	assert_int_equal(a->ncompares, b->ncompares);
	assert_int_equal(a->cut, b->cut);
	for (uint32_t i = 0; i < a->nedges; i++) {
		assert_int_equal(a->edge[i].from, b->edge[i].from);
		assert_int_equal(a->edge[i].to, b->edge[i].to);
	}
	for (uint32_t i = 0; i < a->ncompares; i++) {
		const struct vm_compare *x = &a->compare[i], *y = &b->compare[i];

		assert_int_equal(x->a, y->a);
		assert_int_equal(x->b, y->b);
		assert_int_equal(x->pc, y->pc);
		assert_int_equal(x->size, y->size);
		assert_int_equal(x->constant, y->constant);
	}
}

static int setup(void **state)
{
	(void)state;
	trace_sample(&written);
	written.event[1].cover = (struct vm_cover){ .nedges = COUNT(edges), .edge = edges };
	written.event[2].cover =
		(struct vm_cover){ .ncompares = COUNT(compares), .compare = compares, .cut = true };
	written.event[4].cover = (struct vm_cover){
		.nedges = 3, .edge = edges, .ncompares = 1, .compare = compares
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_trace_free(&got);
	return 0;
}

static void test_comes_back(void **state)
{
	(void)state;
	assert_int_equal(decode(log_bytes, write_events()), 0);
	trace_assert_events_equal(&written, &got);
	for (uint32_t i = 0; i < written.nevents; i++)
		assert_same_cover(&written.event[i].cover, &got.event[i].cover);
}

static void test_nothing_costs_nothing(void **state)
{
	static uint8_t before[LOG_BYTES];
	size_t with = write_events(), len;

	(void)state;
	trace_sample(&written);
	vm_event_writer_init(&writer, before, LOG_BYTES, written.info.own, written.info.nown);
	for (uint32_t i = 0; i < written.nevents; i++) {
		if (written.event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&writer, &written.event[i]);
		vm_event_write_end(&writer, &written.event[i]);
	}
	len = writer.len;
	assert_true(len < with);
	assert_int_equal(write_events(), len);
	assert_memory_equal(before, log_bytes, len);
}

/* A step to the next block of a function is one byte, of a far one two or three. */
static void test_a_step_is_a_byte(void **state)
{
	static struct vm_edge line[1000];
	size_t without, with;

	(void)state;
	trace_sample(&written);
	without = write_events();
	for (uint32_t i = 0; i < COUNT(line); i++)
		line[i] = (struct vm_edge){ i ? line[i - 1].to : 0, TEXT + 20 * i };
	written.event[1].cover = (struct vm_cover){ .nedges = COUNT(line), .edge = line };
	with = write_events();
	assert_true(with - without < COUNT(line) + 30);
	assert_int_equal(decode(log_bytes, with), 0);
	assert_same_cover(&written.event[1].cover, &got.event[1].cover);
}

/* A child writes what its fork went through when that is long over. */
static void test_may_come_later(void **state)
{
	struct vm_event fork;

	(void)state;
	fork = written.event[1];
	written.event[1].cover = (struct vm_cover){ 0 };
	write_events();
	writer.len = 0;
	vm_event_writer_init(&writer, log_bytes, LOG_BYTES, written.info.own, written.info.nown);
	for (uint32_t i = 0; i < 4; i++) {
		if (written.event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&writer, &written.event[i]);
		vm_event_write_end(&writer, &written.event[i]);
	}
	vm_event_write_cover(&writer, &fork);
	assert_int_equal(decode(log_bytes, writer.len), 0);
	assert_same_cover(&fork.cover, &got.event[1].cover);
}

static void test_unknown_kinds_are_skipped(void **state)
{
	size_t len = write_events();
	const uint8_t more[] = { 5, 99, 0, 0xff, 3, 1, 2, 3 };

	(void)state;
	written.nevents = 2; /* after which comes nothing that cannot */
	len = write_events();
	memcpy(log_bytes + len, more, sizeof(more));
	assert_int_equal(decode(log_bytes, len + sizeof(more)), 0);
	assert_same_cover(&written.event[1].cover, &got.event[1].cover);
	assert_int_equal(decode(log_bytes, len + sizeof(more) - 1), -1);
	assert_non_null(strstr(err, "cut off"));
}

static void test_refuses(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
		const char *why;
	} bad[] = {
		{ { 5, 1, 40, 0, 1, 0 }, 6, "not made" },	       /* no such call */
		{ { 5, 1, 0, 0, 1, 0 }, 6, "broken" },		       /* edges once more */
		{ { 5, 2, 0, 0, 2, 1, 3 }, 7, "broken" },	       /* a comparison of 3 bytes */
		{ { 5, 2, 0, 0, 6, 1, 0x21, 0, 0, 0 }, 10, "cut" },    /* longer than the log */
		{ { 5, 2, 0, 0, 6, 1, 1, 0, 0, 0, 9 }, 11, "broken" }, /* more than it says */
		{ { 0x25, 2, 0, 0, 1, 0 }, 6, "unknown record" },      /* no place in it */
	};
	size_t len;

	(void)state;
	written.nevents = 2;
	for (size_t i = 0; i < COUNT(bad); i++) {
		len = write_events();
		memcpy(log_bytes + len, bad[i].bytes, bad[i].len);
		assert_int_equal(decode(log_bytes, len + bad[i].len), -1);
		assert_non_null(strstr(err, bad[i].why));
		assert_int_equal(got.nevents, 0);
	}
}

static void test_every_truncation_and_byte(void **state)
{
	size_t len;

	(void)state;
	written.nevents = 6;
	len = write_events();
	for (size_t n = 0; n < len; n++)
		decode(log_bytes, n);
	for (size_t at = 0; at < len; at++) {
		uint8_t was = log_bytes[at];

		for (unsigned int bit = 0; bit < 8; bit++) {
			log_bytes[at] = (uint8_t)(was ^ 1u << bit);
			decode(log_bytes, len);
		}
		log_bytes[at] = was;
	}
}

/* What the oracle needs goes first: a log that is half full takes no more of this. */
static void test_leaves_room(void **state)
{
	static struct vm_edge many[VM_MAX_EDGES];
	size_t before;

	(void)state;
	for (uint32_t i = 0; i < VM_MAX_EDGES; i++)
		many[i] = (struct vm_edge){ (uint64_t)i << 40, (uint64_t)i << 50 };
	written.nevents = 2;
	write_events();
	before = writer.len;
	written.event[1].cover = (struct vm_cover){ .nedges = VM_MAX_EDGES, .edge = many };
	writer.cap = before * 2 - 2;
	vm_event_write_cover(&writer, &written.event[1]);
	assert_int_equal(writer.len, before);
	assert_false(writer.full);
	writer.cap = before + 100;
	vm_event_write_cover(&writer, &written.event[1]);
	assert_int_equal(writer.len, before);
	assert_false(writer.full);
}

static void test_comes_back_from_a_file(void **state)
{
	static uint8_t file[LOG_BYTES];
	size_t len;

	(void)state;
	written.nevents = 6;
	len = vm_trace_encode(&written, file, sizeof(file));
	assert_true(len > 0);
	assert_int_equal(file[8], 3);
	assert_int_equal(vm_trace_decode(file, len, &got, err, sizeof(err)), 0);
	assert_same_cover(&written.event[1].cover, &got.event[1].cover);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_comes_back),
		TEST(test_nothing_costs_nothing),
		TEST(test_a_step_is_a_byte),
		TEST(test_may_come_later),
		TEST(test_unknown_kinds_are_skipped),
		TEST(test_refuses),
		TEST(test_every_truncation_and_byte),
		TEST(test_leaves_room),
		TEST(test_comes_back_from_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
