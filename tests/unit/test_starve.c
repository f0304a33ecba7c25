/* SPDX-License-Identifier: MIT */
/* Calls in which an allocation failed: what they may do then, and what not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/trace_builder.h"

#define MMF "maymove|fixed"

/* A trace of one call, in which an allocation failed or not. */
static const char *taken(bool injected, enum vm_contract contract, const char *before,
			 const char *call, int64_t result, const char *after)
{
	static char text[512];
	struct trace_builder *t = tb_open("6.12.117");

	tb_start(t, before);
	tb_call(t, call, result, after);
	tb_last(t)->injected = injected;
	tb_end(t, "same");
	snprintf(text, sizeof(text), "%s", tb_judge(t, "6.12", contract));
	tb_close(t);
	return text;
}

#define STARVED(before, call, result, after, text)                                                 \
	assert_string_equal(taken(true, VM_CONTRACT_EXACT, before, call, result, after), text)
#define STRICT(before, call, result, after, text)                                                  \
	assert_string_equal(taken(true, VM_CONTRACT_STRICT, before, call, result, after), text)

/* Without an injected failure none of this is excused. */
static void test_only_where_one_was_injected(void **state)
{
	(void)state;
	assert_string_equal(
		taken(false, VM_CONTRACT_EXACT, "p0+4 rw", "munmap p1+1", -ENOMEM, "same"),
		"1 violation errno: munmap: ENOMEM instead of success");
	STARVED("p0+4 rw", "munmap p1+1", -ENOMEM, "same", "");
}

/* Nothing changed, or all of it done. */
static void test_failure_untouched_and_success(void **state)
{
	(void)state;
	STARVED("p0+4 rw", "munmap p1+1", 0, "p0+1 rw | p2+2 rw", "");
	STARVED("p0+4 rw", "mprotect p1+1 r", -ENOMEM, "same", "");
	STARVED("p0+4 rw", "mseal p1+1", -ENOMEM, "same", "");
	STARVED("p0+4 rw", "mmap p8+4 rw anon private", -ENOMEM, "same", "");
	STARVED("p0+4 rw", "mmap p8+4 rw anon shared", -ENOSPC, "same", "");
	STARVED("p0+4 rw", "mremap p0+4 to 6 pages maymove", -ENOMEM, "same", "");
	STARVED("p0+4 rw", "fork", -ENOMEM, "same", "");
	STARVED("p0+4 rw", "fork", -EAGAIN, "same", "");
	STARVED("p0+4 rw", "madvise p1+1 random", -EAGAIN, "same", "");
	STARVED("p0+4 rw", "mincore p0+4 0", -EAGAIN, "same", "");
	STARVED("p0+4 rw", "mlock p0+4", -ENOMEM, "same", "");
}

static void test_not_any_errno(void **state)
{
	(void)state;
	STARVED("p0+4 rw", "munmap p1+1", -EAGAIN, "same",
		"1 violation errno: munmap: EAGAIN instead of success");
	STARVED("p0+4 rw", "mprotect p1+1 r", -EFAULT, "same",
		"1 violation errno: mprotect: EFAULT instead of ENOMEM (an allocation failed)");
	STARVED("p0+4 rw shared o1@0", "mlockall current", -ENOMEM, "same",
		"1 violation errno: mlockall: ENOMEM instead of success");
}

/* A check that fails still says its own errno, whatever failed before it. */
static void test_checks_still_fail(void **state)
{
	(void)state;
	STARVED("p0+4 rw sealed", "munmap p1+1", -EPERM, "same", "");
	STARVED("p0+4 rw sealed", "munmap p1+1", -ENOMEM, "same", "");
	STARVED("p0+4 rw sealed", "munmap p1+1", 0, "p0+1 rw sealed | p2+2 rw sealed",
		"1 violation sealed: munmap: sealed page lost");
}

/* The destination is unmapped before the move is tried. */
static void test_destination_lost(void **state)
{
	(void)state;
	STARVED("p0+4 rw | p16+6 r", "mremap p0+4 -> p16+6 " MMF, -ENOMEM, "p0+4 rw",
		"1 deviation failure: mremap: destination lost on ENOMEM (an allocation failed)");
	STARVED("p0+4 rw | p16+6 r", "mremap p0+4 -> p16+6 " MMF, -ENOMEM, "same", "");
	STRICT("p0+4 rw | p16+6 r", "mremap p0+4 -> p16+6 " MMF, -ENOMEM, "p0+4 rw",
	       "1 violation failure: mremap: destination lost on ENOMEM (an allocation failed)");
	/* the source is never to be lost */
	STARVED("p0+4 rw | p16+6 r", "mremap p0+4 -> p16+6 " MMF, -ENOMEM, "p16+6 r",
		"1 violation failure: mremap: source lost on ENOMEM (an allocation failed)");
	STARVED("p0+4 rw | p16+4 r", "mmap p16+4 rw anon private", -ENOMEM, "p0+4 rw",
		"1 deviation failure: mmap: destination lost on ENOMEM (an allocation failed)");
}

static void test_bystanders_are_not_excused(void **state)
{
	(void)state;
	STARVED("p0+4 rw | p8+2 r", "munmap p1+1", -ENOMEM, "p0+4 rw",
		"1 violation bystander: munmap: bystander lost on ENOMEM");
	STARVED("p0+4 rw | p8+2 r sealed", "mprotect p0+1 r", -ENOMEM, "p0+4 rw | p8+2 r",
		"1 violation sealed: mprotect: sealed page seal lost on ENOMEM");
}

/* VMAs before the one that could not be split are changed: documents say so. */
static void test_prefixes(void **state)
{
	(void)state;
	STARVED("p0+2 rw | p2+2 r | p4+4 rw", "mprotect p0+6 none", -ENOMEM,
		"p0+4 none ac? | p4+4 rw",
		"1 note failure: mprotect: partly applied on ENOMEM (an allocation failed)");
	STARVED("p0+2 rw | p2+2 r | p4+4 rw", "mprotect p0+6 none", -ENOMEM,
		"p0+2 rw | p2+2 none | p4+4 rw",
		"1 violation failure: mprotect: range protection changed on ENOMEM (an allocation "
		"failed)");
	STARVED("p0+2 rw | p2+4 r", "mseal p0+4", -ENOMEM, "p0+2 rw sealed | p2+4 r",
		"1 note failure: mseal: partly applied on ENOMEM (an allocation failed)");
	STARVED("p0+2 rw | p2+4 r", "mlock p0+4", -ENOMEM, "p0+2 rw lo | p2+4 r",
		"1 deviation failure: mlock: partly applied on ENOMEM (an allocation failed)");
	/* ... or all of them, and it was populating that failed */
	STARVED("p0+2 rw", "mlock p0+2", -EAGAIN, "p0+2 rw lo",
		"1 deviation failure: mlock: locked all the same on EAGAIN (an allocation failed)");
}

/* Failures that the call does not look at. */
static void test_success_that_lacks_something(void **state)
{
	(void)state;
	STARVED("p0+6 rw", "mremap p1+2 -> p16+2 " MMF, ARENA(16), "p0+6 rw | p16+2 rw",
		"1 deviation success: mremap: success, but source is still mapped (an allocation "
		"failed)");
	assert_string_equal(taken(false, VM_CONTRACT_EXACT, "p0+6 rw", "mremap p1+2 -> p16+2 " MMF,
				  ARENA(16), "p0+6 rw | p16+2 rw"),
			    "1 violation success: mremap: success, but source is still mapped");
	STARVED("p0+2 rw lo | p2+2 r lo", "munlockall", 0, "p0+2 rw | p2+2 r lo",
		"1 deviation success: munlockall: success, but range has other VmFlags (an "
		"allocation failed)");
	STARVED("p0+6 rw", "munmap p1+2", 0, "same",
		"1 violation success: munmap: success, but range is still mapped");
}

/* A signal that could not be queued has no code; the touch itself is made again. */
static void test_touches(void **state)
{
	struct trace_builder *t = tb_open("6.12.117");

	(void)state;
	tb_start(t, "p0+2 r");
	tb_fault(t, "write p0+2", 0, SIGSEGV, 0, "same");
	tb_last(t)->injected = true;
	tb_call(t, "read p0+2", 2, "same");
	tb_last(t)->injected = true;
	tb_end(t, "same");
	EXACT(t, "6.12", "");
	tb_close(t);
	/* memory that grows down, and could not */
	t = tb_open("6.12.117");
	tb_start(t, "p8+2 rw");
	tb_call(t, "mmap p4+1 rw anon private growsdown", ARENA(4), "p4+1 rw gd | p8+2 rw");
	tb_fault(t, "write p3+1", 0, SIGSEGV, SEGV_MAPERR, "same");
	tb_last(t)->injected = true;
	tb_end(t, "same");
	EXACT(t, "6.12", "");
	tb_last(t)[-1].injected = false;
	EXACT(t, "6.12", "2 violation access: write: SIGSEGV instead of success");
	tb_close(t);
	STARVED("p0+2 rw", "read p0+2", -ENOMEM, "same",
		"1 violation errno: read: ENOMEM instead of success");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_where_one_was_injected),
		cmocka_unit_test(test_failure_untouched_and_success),
		cmocka_unit_test(test_not_any_errno),
		cmocka_unit_test(test_checks_still_fail),
		cmocka_unit_test(test_destination_lost),
		cmocka_unit_test(test_bystanders_are_not_excused),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_success_that_lacks_something),
		cmocka_unit_test(test_touches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
