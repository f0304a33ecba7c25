/* SPDX-License-Identifier: MIT */
/* Verdicts on traces made by hand: each kind with its title, and none on the same trace unbroken.
 */
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

/* A trace of one call: layouts before and after. */
static struct trace_builder *one(const char *before, const char *call, int64_t result,
				 const char *after)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, before);
	tb_call(t, call, result, after);
	tb_end(t, "same");
	return t;
}

/* ... judged by both profiles. */
static void judged(const char *before, const char *call, int64_t result, const char *after,
		   const char *text)
{
	struct trace_builder *t = one(before, call, result, after);

	EXACT(t, "6.12", text);
	EXACT(t, "6.18", text);
	assert_int_equal(tb_judgement(t)->worst == VM_OK, text[0] == 0);
	tb_close(t);
}

static void test_no_verdict(void **state)
{
	(void)state;
	judged("p0+4 rw", "munmap p0+4", 0, "", "");
	judged("p0+4 rw", "munmap p1+1", 0, "p0+1 rw | p2+2 rw", "");
	judged("p0+4 rw sealed", "munmap p1+1", -EPERM, "same", "");
	judged("p0+4 rw", "mprotect p1+1 r", 0, "p0+1 rw | p1+1 r ac | p2+2 rw", "");
	judged("p0+4 rw", "mseal p0+4", 0, "p0+4 rw sealed", "");
	judged("p0+4 rw", "mmap p2+4 r anon private", ARENA(2), "p0+2 rw | p2+4 r", "");
	judged("p0+4 rw", "mmap any+4 r anon private", ARENA(20), "p0+4 rw | p20+4 r", "");
	judged("p0+4 rw | p16+4 r", "mremap p0+4 -> p16+6 " MMF, ARENA(16), "p16+6 rw", "");
	judged("p0+4 rw", "mremap p0+4 to 6 pages 0", ARENA(0), "p0+6 rw", "");
	judged("p0+4 rw", "mremap p0+4 to 2 pages 0", ARENA(0), "p0+2 rw", "");
	judged("p0+4 rw", "mremap p0+2 to 4 pages maymove", ARENA(30), "p2+2 rw | p30+4 rw", "");
	judged("p0+4 rw shared o1@0", "mremap p1+0 to 2 pages maymove", ARENA(30),
	       "p0+4 rw shared o1@0 | p30+2 rw shared o1@1", "");
	judged("p0+4 rw", "read p0+4", 4, "same", "");
}

static void test_sealed(void **state)
{
	(void)state;
	judged("p0+4 rw sealed | p4+2 r", "munmap p0+4", 0, "p4+2 r",
	       "1 violation sealed: munmap: sealed page lost");
	judged("p0+4 rw sealed | p4+2 r", "munmap p2+4", -EPERM, "p0+2 rw sealed | p4+2 r",
	       "1 violation sealed: munmap: sealed page lost on EPERM");
	judged("p0+4 rw sealed", "mprotect p0+4 r", 0, "p0+4 r sealed ac",
	       "1 violation sealed: mprotect: sealed page protection changed");
	judged("p0+4 rw sealed", "mseal p1+1", 0, "p0+4 rw",
	       "1 violation sealed: mseal: sealed page seal lost");
	judged("p0+2 r sealed", "mmap p0+2 r anon shared", ARENA(0), "p0+2 r shared o1@0",
	       "1 violation sealed: mmap: sealed page sharing changed");
	judged("p0+2 r shared sealed o1@0", "mmap p0+2 r anon shared", ARENA(0),
	       "p0+2 r shared o2@0", "1 violation sealed: mmap: sealed page replaced");
	/* elsewhere too, whatever the call */
	judged("p0+4 rw | p8+2 r sealed", "munmap p0+4", 0, "",
	       "1 violation sealed: munmap: sealed page lost");
}

static void test_seal_ignored(void **state)
{
	(void)state;
	judged("p0+4 rw sealed", "mprotect p0+4 rw", 0, "same",
	       "1 violation errno: mprotect: seal ignored, success instead of EPERM "
	       "(sealed page in the range)");
	judged("p0+4 rw sealed", "mremap p0+4 to 4 pages 0", ARENA(0), "same",
	       "1 violation errno: mremap: seal ignored, success instead of EPERM "
	       "(source is sealed)");
}

static void test_bystander(void **state)
{
	(void)state;
	judged("p0+4 rw | p8+2 r", "munmap p0+4", 0, "",
	       "1 violation bystander: munmap: bystander lost");
	judged("p0+4 rw | p8+2 r", "munmap p0+4", 0, "p8+2 rw",
	       "1 violation bystander: munmap: bystander protection changed");
	judged("p0+4 rw | p8+2 r", "mprotect p4+1 r", -ENOMEM, "p0+4 rw | p6+4 r",
	       "1 violation bystander: mprotect: bystander mapped on ENOMEM");
	judged("p0+4 rw", "mremap p0+2 -> p16+2 " MMF, ARENA(16), "p3+1 rw | p16+2 rw",
	       "1 violation bystander: mremap: bystander lost");
	judged("p0+4 rw | p8+2 r", "mseal p0+4", 0, "p0+4 rw sealed | p8+2 r sealed",
	       "1 violation bystander: mseal: bystander sealed");
}

static void test_failure(void **state)
{
	(void)state;
	judged("p0+4 rw", "mprotect p0+4 0x10", -EINVAL, "p0+2 rw",
	       "1 violation failure: mprotect: range lost on EINVAL (unknown protection bits)");
	/* a call that is refused for its address has no range of its own */
	judged("p0+4 rw", "munmap p0[1b]+4", -EINVAL, "p0+2 rw",
	       "1 violation bystander: munmap: bystander lost on EINVAL");
	judged("p0+2 rw | p2+2 r", "mremap p0+4 to 6 pages maymove", -EFAULT, "p0+1 rw | p2+2 r",
	       "1 violation failure: mremap: source tail lost on EFAULT "
	       "(source crosses a VMA)");
	judged("p0+2 rw | p2+2 r", "mremap p0+4 to 6 pages maymove", -EFAULT, "p2+2 r",
	       "1 violation failure: mremap: source lost on EFAULT (source crosses a VMA)");
	/* an errno that is none of the expected, and something changed */
	judged("p0+4 rw", "munmap p0+4", -EBUSY, "",
	       "1 violation failure: munmap: range lost on EBUSY (not an expected errno)");
}

static void test_success(void **state)
{
	(void)state;
	judged("p0+4 rw", "munmap p0+4", 0, "same",
	       "1 violation success: munmap: success, but range is still mapped");
	judged("p0+4 rw", "munmap p0+4", 0, "p0+1 rw",
	       "1 violation success: munmap: success, but range is still mapped");
	judged("p0+4 rw", "mprotect p0+4 r", 0, "same",
	       "1 violation success: mprotect: success, but range has other protection");
	judged("p0+4 rw", "mseal p0+4", 0, "same",
	       "1 violation success: mseal: success, but range is not sealed");
	judged("p0+4 rw", "mmap p8+2 r anon private", ARENA(8), "same",
	       "1 violation success: mmap: success, but destination is not mapped");
	judged("p0+4 rw", "mmap p8+2 r anon private", ARENA(8), "p0+4 rw | p8+2 r sealed",
	       "1 violation success: mmap: success, but destination is sealed");
	judged("p0+4 rw", "mmap p8+2 r anon private", ARENA(8), "p0+4 rw | p8+2 r shared o1@0",
	       "1 violation success: mmap: success, but destination has other sharing");
	judged("p0+4 rw", "mremap p0+4 -> p16+4 " MMF, ARENA(16), "p0+4 rw | p16+4 rw",
	       "1 violation success: mremap: success, but source is still mapped");
	judged("p0+4 r shared o1@0", "mremap p1+2 -> p16+2 " MMF, ARENA(16),
	       "p0+1 r shared o1@0 | p3+1 r shared o1@3 | p16+2 r shared o1@0",
	       "1 violation success: mremap: success, but destination has other backing");
}

static void test_errno(void **state)
{
	(void)state;
	judged("p0+4 rw", "munmap p0+4", -EINVAL, "same",
	       "1 violation errno: munmap: EINVAL instead of success");
	judged("p0+4 rw", "munmap p0[1b]+4", -ENOMEM, "same",
	       "1 violation errno: munmap: ENOMEM instead of EINVAL (address not page aligned)");
	judged("p0+4 rw", "munmap p0[1b]+4", 0, "same",
	       "1 violation errno: munmap: success instead of EINVAL (address not page aligned)");
	judged("p0+4 rw sealed", "munmap p0+4", -EINVAL, "same",
	       "1 violation errno: munmap: EINVAL instead of EPERM (sealed page in the range)");
	judged("p0+4 rw", "mprotect p0+4 rw", 7, "same",
	       "1 violation errno: mprotect: wrong value returned");
	judged("p0+4 rw", "mmap any+2 r anon private", ARENA(3), "same",
	       "1 violation errno: mmap: wrong value returned");
	judged("p0+4 rw", "mmap any+2 r anon private", ARENA(8) + 1, "same",
	       "1 violation errno: mmap: wrong value returned");
	judged("p0+4 rw", "mmap any+2 r anon private", (int64_t)(TASK_SIZE - PAGE), "same",
	       "1 violation errno: mmap: wrong value returned");
	judged("p0+4 rw", "mmap any+2 r anon private", 4096, "same",
	       "1 violation errno: mmap: wrong value returned");
}

static void faulted(const char *call, int64_t done, int signo, int code, const char *text)
{
	struct trace_builder *t = tb_open("6.18.44");

	/* mapped by the program: what was there before may hold guard pages */
	tb_start(t, "");
	tb_call(t, "mmap p0+2 rw anon private", ARENA(0), "p0+2 rw");
	tb_call(t, "mmap p2+1 r anon private", ARENA(2), "p0+2 rw | p2+1 r");
	tb_call(t, "mmap p4+1 none anon private", ARENA(4), "p0+2 rw | p2+1 r | p4+1 none");
	tb_fault(t, call, done, signo, code, "same");
	if (strstr(call, "fill") && done)
		tb_last(t)->after.mask &= ~VM_SEEN_CONTENTS;
	tb_end(t, "same");
	EXACT(t, "6.12", text);
	EXACT(t, "6.18", text);
	tb_close(t);
}

static void test_access(void **state)
{
	(void)state;
	faulted("read p0+4", 3, SIGSEGV, SEGV_MAPERR, "");
	faulted("read p4+1", 0, SIGSEGV, SEGV_ACCERR, "");
	faulted("fill p1+2", 1, SIGSEGV, SEGV_ACCERR, "");
	faulted("read p0+4", 2, SIGSEGV, SEGV_MAPERR,
		"4 violation access: read: SIGSEGV at the wrong page or with the wrong code");
	faulted("read p4+1", 0, SIGSEGV, SEGV_MAPERR,
		"4 violation access: read: SIGSEGV at the wrong page or with the wrong code");
	faulted("read p4+1", 0, SIGBUS, BUS_ADRERR,
		"4 violation access: read: SIGBUS instead of SIGSEGV "
		"(protection does not allow it)");
	faulted("read p0+2", 0, SIGSEGV, SEGV_ACCERR,
		"4 violation access: read: SIGSEGV instead of success");
	judged("p0+2 rw | p2+1 r", "write p2+1", 1, "same",
	       "1 violation access: write: success instead of SIGSEGV "
	       "(protection does not allow it)");
	judged("p0+2 rw | p2+1 r", "read p0+3", 2, "same",
	       "1 violation errno: read: wrong value returned");
}

/* A destination that is lost on a failed check: what each contract says. */
static void test_contracts(void **state)
{
	const char *before = "p0+2 rw | p2+2 r | p16+6 rw", *after = "p0+2 rw | p2+2 r";
	const char *call = "mremap p0+4 -> p16+6 " MMF;
	struct trace_builder *t = one(before, call, -EFAULT, after);
	const char *deviation = "1 deviation failure: mremap: destination lost on EFAULT "
				"(source crosses a VMA)";
	const char *violated = "1 violation failure: mremap: destination lost on EFAULT "
			       "(source crosses a VMA)";

	(void)state;
	EXACT(t, "6.12", deviation);
	assert_int_equal(tb_judgement(t)->worst, VM_DEVIATION);
	assert_int_equal(tb_judgement(t)->call[1].changed, 1);
	assert_int_equal(tb_judgement(t)->call[1].severity, VM_DEVIATION);
	assert_string_equal(tb_judgement(t)->call[1].cause, "source crosses a VMA");
	EXACT(t, "6.18", violated);
	assert_int_equal(tb_judgement(t)->call[1].changed, 1);
	JUDGED(t, "6.12", STRICT, violated);
	JUDGED(t, "6.18", STRICT, violated);
	JUDGED(t, "6.12", DOCUMENTED, deviation);
	JUDGED(t, "6.18", DOCUMENTED, deviation);
	/* without a profile: documented, whatever was asked for */
	EXACT(t, "generic", deviation);
	tb_close(t);
	t = one(before, call, -EFAULT, "same");
	EXACT(t, "6.12", "1 violation success: mremap: EFAULT, but destination is still mapped");
	EXACT(t, "6.18", "");
	JUDGED(t, "6.12", STRICT, "");
	JUDGED(t, "6.12", DOCUMENTED, "");
	tb_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_verdict),   cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_seal_ignored), cmocka_unit_test(test_bystander),
		cmocka_unit_test(test_failure),	     cmocka_unit_test(test_success),
		cmocka_unit_test(test_errno),	     cmocka_unit_test(test_access),
		cmocka_unit_test(test_contracts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
