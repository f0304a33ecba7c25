/* SPDX-License-Identifier: MIT */
/* Bytes: kept by what survives, moves or is mapped twice; zero in what is new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/trace_builder.h"

#define MMF "maymove|fixed"

/* p0+4 rw, new: what is not filled is zero. */
static struct trace_builder *mapped(void)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, "");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "p0+4 rw");
	return t;
}

/* ... its first two pages filled by call 1. */
static struct trace_builder *filled(void)
{
	struct trace_builder *t = mapped();

	tb_call(t, "fill p0+2", 2, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 1);
	return t;
}

static void ends(struct trace_builder *t, const char *text)
{
	tb_end(t, "same");
	EXACT(t, "6.12", text);
	EXACT(t, "6.18", text);
	tb_close(t);
}

static void test_fill(void **state)
{
	struct trace_builder *t;

	(void)state;
	ends(filled(), "");
	/* the right page, the wrong tag; a page that was not filled */
	t = mapped();
	tb_call(t, "fill p0+2", 2, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 0);
	ends(t, "2 violation content: fill: content of range changed");
	t = mapped();
	tb_call(t, "fill p0+2", 2, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	ends(t, "2 violation content: fill: content of range lost");
	t = mapped();
	tb_call(t, "fill p0+1", 1, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 3, 0, 1);
	ends(t, "2 violation content: fill: content of bystander changed");
	/* a zero page that is present is as good as none */
	t = mapped();
	tb_call(t, "fill p0+1", 1, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 3, 0, 0);
	ends(t, "");
}

static void test_write(void **state)
{
	struct trace_builder *t = filled();
	struct vm_content c = vm_content_of_tag(vm_fill_tag(1, 1), PAGE);

	(void)state;
	tb_call(t, "write p1+2", 2, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 1, vm_write_word(2, 0), c.rest);
	tb_bytes(t, 2, vm_write_word(2, 1), 0);
	ends(t, "");
	t = filled();
	tb_call(t, "write p1+2", 2, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 1, vm_write_word(2, 0), c.rest + 1);
	tb_bytes(t, 2, vm_write_word(2, 1), 0);
	ends(t, "3 violation content: write: content of range changed");
	/* a fill that faults leaves the pages before */
	t = filled();
	tb_fault(t, "fill p3+2", 1, SIGSEGV, SEGV_MAPERR, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 1);
	tb_filled(t, 3, 2, 0);
	ends(t, "");
}

static void test_failure_keeps_bytes(void **state)
{
	struct trace_builder *t = filled();

	(void)state;
	tb_call(t, "munmap p0[1b]+4", -EINVAL, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 1, 0, 0);
	ends(t, "3 violation content: munmap: content of bystander zeroed");
	t = filled();
	tb_call(t, "munmap p0[1b]+4", -EINVAL, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	/* a page that is gone is believed gone: nothing is said twice */
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	ends(t, "3 violation content: munmap: content of bystander lost");
}

static void test_move(void **state)
{
	struct trace_builder *t = filled();

	(void)state;
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, (int64_t)ARENA(16), "p16+6 rw");
	tb_filled(t, 16, 1, 0);
	tb_filled(t, 17, 1, 1);
	ends(t, "");
	t = filled();
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, (int64_t)ARENA(16), "p16+6 rw");
	tb_filled(t, 16, 1, 0);
	ends(t, "3 violation content: mremap: content of destination lost");
	t = filled();
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, (int64_t)ARENA(16), "p16+6 rw");
	tb_filled(t, 16, 1, 1);
	tb_filled(t, 17, 1, 0);
	ends(t, "3 violation content: mremap: content of destination changed");
	/* growth is zero */
	t = filled();
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, (int64_t)ARENA(16), "p16+6 rw");
	tb_filled(t, 16, 1, 0);
	tb_filled(t, 17, 1, 1);
	tb_bytes(t, 20, 1, 0);
	ends(t, "3 violation content: mremap: content of destination changed");
}

/* MREMAP_DONTUNMAP takes the pages along and leaves zero. */
static void test_dontunmap(void **state)
{
	struct trace_builder *t = filled();

	(void)state;
	tb_call(t, "mremap p0+4 -> p16+4 maymove|dontunmap", (int64_t)ARENA(16),
		"p0+4 rw | p16+4 rw");
	tb_filled(t, 16, 1, 0);
	tb_filled(t, 17, 1, 1);
	ends(t, "");
	t = filled();
	tb_call(t, "mremap p0+4 -> p16+4 maymove|dontunmap", (int64_t)ARENA(16),
		"p0+4 rw | p16+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 16, 1, 0);
	tb_filled(t, 17, 1, 1);
	ends(t, "3 violation content: mremap: content of source changed");
}

/* A shared object is seen through every mapping, and lives on behind the last look. */
static void test_duplicate(void **state)
{
	const char *twice = "p0+2 rw shared o1@0 | p16+2 rw shared o1@0";
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "mremap p0+0 -> p16+2 " MMF, (int64_t)ARENA(16), twice);
	tb_call(t, "fill p16+2", 2, twice);
	tb_filled(t, 16, 2, 0);
	tb_filled(t, 17, 2, 1);
	tb_call(t, "read p0+2", 2, twice);
	tb_filled(t, 0, 2, 0);
	tb_filled(t, 1, 2, 1);
	tb_filled(t, 16, 2, 0);
	tb_filled(t, 17, 2, 1);
	ends(t, "");
	t = tb_open("6.18.44");
	tb_start(t, "");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "mremap p0+0 -> p16+2 " MMF, (int64_t)ARENA(16), twice);
	tb_call(t, "fill p16+1", 1, twice);
	tb_filled(t, 16, 2, 0);
	tb_call(t, "read p0+1", 1, twice);
	tb_bytes(t, 0, 0, 0);
	ends(t, "4 violation content: read: content of range zeroed");
}

static void test_shrink_and_replace(void **state)
{
	struct trace_builder *t = filled();

	(void)state;
	tb_call(t, "mremap p0+4 to 1 page 0", (int64_t)ARENA(0), "p0+1 rw");
	tb_filled(t, 0, 1, 0);
	/* what grows again is new */
	tb_call(t, "mremap p0+1 to 4 pages 0", (int64_t)ARENA(0), "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 1);
	ends(t, "4 violation content: mremap: content of destination changed");
	t = filled();
	tb_call(t, "mmap p1+2 rw anon private", (int64_t)ARENA(1), "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	ends(t, "");
	t = filled();
	tb_call(t, "mmap p1+2 rw anon private", (int64_t)ARENA(1), "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 1);
	ends(t, "3 violation content: mmap: content of destination changed");
}

/* A page that is lost between others, in the second piece of a mapping. */
static void test_lost_between(void **state)
{
	struct trace_builder *t = mapped();

	(void)state;
	tb_call(t, "fill p0+4", 4, "p0+4 rw");
	for (uint64_t i = 0; i < 4; i++)
		tb_filled(t, i, 1, i);
	tb_call(t, "mprotect p1+3 r", 0, "p0+1 rw | p1+3 r ac");
	tb_filled(t, 0, 1, 0);
	tb_filled(t, 1, 1, 1);
	tb_filled(t, 3, 1, 3);
	tb_end(t, "same");
	EXACT(t, "6.18", "3 violation content: mprotect: content of range lost");
	assert_int_equal(tb_judgement(t)->verdict[0].start, ARENA(2));
	assert_int_equal(tb_judgement(t)->verdict[0].end, ARENA(3));
	tb_close(t);
}

static void test_new_shared_memory_is_zero(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "read p0+2", 2, "p0+2 rw shared o1@0");
	tb_bytes(t, 0, 0, 0);
	tb_bytes(t, 1, 0, 4);
	ends(t, "2 violation content: read: content of range changed");
}

/* Of memory that was there before anything was known, the first look is believed. */
static void test_first_look(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "p0+4 rw");
	tb_bytes(t, 1, 5, 6);
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	tb_bytes(t, 1, 5, 6);
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	tb_bytes(t, 1, 5, 7);
	ends(t, "2 violation content: read: content of range changed");
}

/* Bytes that were not observed are not judged, those seen later are. */
static void test_unobserved(void **state)
{
	struct trace_builder *t = filled();

	(void)state;
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	tb_last(t)->after.mask &= ~VM_SEEN_CONTENTS;
	ends(t, "");
	t = filled();
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	tb_last(t)->after.mask &= ~VM_SEEN_CONTENTS;
	tb_end(t, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 1, 9, 9);
	EXACT(t, "6.18", "4 violation content: program: content of a page changed");
	tb_close(t);
}

static void test_expected_and_observed(void **state)
{
	struct trace_builder *t = filled();
	const struct vm_verdict *v;

	(void)state;
	tb_call(t, "munmap p8+1", 0, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_bytes(t, 1, 0x77, 0x88);
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_int_equal(tb_judgement(t)->nverdicts, 1);
	v = &tb_judgement(t)->verdict[0];
	assert_int_equal(v->start, ARENA(1));
	assert_int_equal(v->end, ARENA(2));
	assert_string_equal(v->rule, "munmap");
	assert_string_equal(v->observed, "first word 0x77, digest of the rest 0x88");
	assert_non_null(strstr(v->expected, "first word 0x"));
	tb_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_failure_keeps_bytes),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_dontunmap),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_shrink_and_replace),
		cmocka_unit_test(test_lost_between),
		cmocka_unit_test(test_new_shared_memory_is_zero),
		cmocka_unit_test(test_first_look),
		cmocka_unit_test(test_unobserved),
		cmocka_unit_test(test_expected_and_observed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
