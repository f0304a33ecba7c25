/* SPDX-License-Identifier: MIT */
/* What locking may do: mlock(2) and its kin, and the locks of mmap, mremap and mprotect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/unit/oracle_text.h"

static void test_mlock_arguments(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	BOTH_SAY(b, "mlock2 p0+4 0x2", "EINVAL (unknown flags)");
	BOTH_SAY(b, "mlock2 p0+4", "= 0 {lock p0+4 lo, copy p0+4}");
	BOTH_SAY(b, "mlock2 p0+4 onfault", "= 0 {lock p0+4 lf, copy p0+4}");
	BOTH_SAY(b, "mlock p16+0", "= 0");
	BOTH_SAY(b, "mlock p16+-1b", "= 0");
	BOTH_SAY(b, "mlock p1[5b]+1", "= 0 {lock p1+2 lo, copy p1+2}");
	BOTH_SAY(b, "mlock p0+2049", "ENOMEM (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mlock p0+-1", "ENOMEM (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "munlock p0+-1", "EINVAL (range wraps)");
	BOTH_SAY(b, "munlock p4+1", "ENOMEM (hole in the range)");
	b->info.rlimit_memlock = 0;
	BOTH_SAY(b, "mlock p16+0", "EPERM (RLIMIT_MEMLOCK is 0)");
	BOTH_SAY(b, "mlock2 p0+1 0x2", "EINVAL (unknown flags)");
	BOTH_SAY(b, "munlock p0+4", "= 0 {lock p0+4}");
	b->info.cap_effective = 1 << 14;
	BOTH_SAY(b, "mlock p0+4", "= 0 {lock p0+4 lo, copy p0+4}");
	BOTH_SAY(b, "mlock p0+-1", "EINVAL (range wraps)");
	b->info.cap_effective = 0;
	b->info.rlimit_memlock = 4 * PAGE;
	b->info.max_map_count = 9;
	BOTH_SAY(b, "mlock p0+4", "ENOMEM (too many mappings); = 0 {lock p0+4 lo, copy p0+4}");
	bench_close(b);
}

static void test_mlock_limit(void **state)
{
	struct bench *b = bench_open("p0+4 rw lo | p4+4 rw | p8+4 rw lf");

	(void)state;
	b->info.rlimit_memlock = 10 * PAGE + 5;
	BOTH_SAY(b, "mlock p4+2", "= 0 {lock p4+2 lo, copy p4+2}");
	BOTH_SAY(b, "mlock p4+3", "ENOMEM (RLIMIT_MEMLOCK)");
	/* what is locked already counts once */
	BOTH_SAY(b, "mlock p0+6", "= 0 {lock p0+6 lo, copy p0+6}");
	BOTH_SAY(b, "mlock p0+12", "ENOMEM (RLIMIT_MEMLOCK)");
	bench_state(b, "p0+4 rw lo | p4+8 rw lo?");
	BOTH_SAY(b, "mlock p4+8", "ENOMEM (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mlock p0+4", "ENOMEM (RLIMIT_MEMLOCK); = 0 {lock p0+4 lo, copy p0+4}");
	bench_close(b);
}

static void test_mlock_failures(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p6+2 rw | p8+1 none | p9+1 r");

	(void)state;
	BOTH_SAY(b, "mlock p1+6", "ENOMEM (hole in the range) {lock p1+3 lo}");
	BOTH_SAY(b, "munlock p1+6", "ENOMEM (hole in the range) {lock p1+3}");
	BOTH_SAY(b, "mlock p5+2", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "mlock p6+4",
		 "ENOMEM (memory that cannot be accessed) {lock p6+4 lo, copy p6+2}");
	BOTH_SAY(b, "mlock p8+2", "ENOMEM (memory that cannot be accessed) {lock p8+2 lo}");
	BOTH_SAY(b, "mlock2 p6+4 onfault", "= 0 {lock p6+4 lf, copy p6+4}");
	bench_state(b, "p0+4 rw shared o0@0");
	b->objects.object[0].size = 2 * PAGE + 1;
	BOTH_SAY(b, "mlock p0+3", "= 0 {lock p0+3 lo, copy p0+3}");
	BOTH_SAY(b, "mlock p1+3",
		 "ENOMEM (page lies past the end of its object) {lock p1+3 lo, copy p1+2}");
	BOTH_SAY(b, "mlock p3+1", "ENOMEM (page lies past the end of its object) {lock p3+1 lo}");
	bench_close(b);
}

static void test_mlockall(void **state)
{
	struct bench *b = bench_open("p0+4 rw");
	const char *all = "0+34359738367"; /* up to TASK_SIZE */
	char text[256];

	(void)state;
	BOTH_SAY(b, "mlockall 0", "EINVAL (flags are unknown, none, or onfault alone)");
	BOTH_SAY(b, "mlockall onfault", "EINVAL (flags are unknown, none, or onfault alone)");
	BOTH_SAY(b, "mlockall current|0x8", "EINVAL (flags are unknown, none, or onfault alone)");
	BOTH_SAY(b, "mlockall future", "= 0 {default 0+0 lo}");
	snprintf(text, sizeof(text), "= 0 {default 0+0 lf, lock %s lf, copy %s}", all, all);
	BOTH_SAY(b, "mlockall current|future|onfault", text);
	snprintf(text, sizeof(text), "= 0 {default 0+0, lock %s}", all);
	BOTH_SAY(b, "munlockall", text);
	b->info.rlimit_memlock = 4 * PAGE;
	snprintf(text, sizeof(text), "= 0 {default 0+0, lock %s lo, copy %s}", all, all);
	BOTH_SAY(b, "mlockall current", text);
	bench_state(b, "p0+4 rw | p9+1 none own");
	BOTH_SAY(b, "mlockall current", "ENOMEM (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mlockall future", "= 0 {default 0+0 lo}");
	b->info.rlimit_memlock = 0;
	BOTH_SAY(b, "mlockall future", "EPERM (RLIMIT_MEMLOCK is 0)");
	bench_close(b);
}

static void test_mmap(void **state)
{
	struct bench *b = bench_open("p0+4 rw lo | p4+2 r sealed");

	(void)state;
	b->info.rlimit_memlock = 8 * PAGE;
	BOTH_SAY(b, "mmap p8+4 rw anon private locked", "= p8 {map p8+4 rw lo}");
	/* what is replaced is not taken off */
	BOTH_SAY(b, "mmap p0+5 rw anon private locked", "EAGAIN (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mmap p4+5 rw anon locked", "EAGAIN (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mmap p4+5 rw anon private locked noreplace",
		 "EEXIST (MAP_FIXED_NOREPLACE over a mapping)");
	BOTH_SAY(b, "mmap any+5 rw anon private locked", "EAGAIN (RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mmap any+4 rw anon private locked", "chosen 4 {map chosen+0+4 rw lo}");
	b->state.locks.def_flags = VM_LOCK_FLAGS;
	BOTH_SAY(b, "mmap p8+4 r anon shared", "= p8 {map p8+4 r shared lf}");
	BOTH_SAY(b, "mmap p8+5 r anon shared", "EAGAIN (RLIMIT_MEMLOCK)");
	b->state.locks.def_flags = 0;
	b->state.locks.def_maybe = VM_LOCK_FLAGS;
	BOTH_SAY(b, "mmap p8+5 r anon shared", "EAGAIN (RLIMIT_MEMLOCK); = p8 {map p8+5 r shared}");
	b->state.locks.def_maybe = 0;
	b->info.rlimit_memlock = 0;
	BOTH_SAY(b, "mmap p8+4 r anon private", "= p8 {map p8+4 r}");
	BOTH_SAY(b, "mmap p8+4 r anon private locked", "EPERM (MAP_LOCKED, RLIMIT_MEMLOCK is 0)");
	bench_close(b);
}

static void test_mremap(void **state)
{
	struct bench *b = bench_open("p0+4 rw lo | p4+1 rw | p16+4 rw lo");

	(void)state;
	b->info.rlimit_memlock = 10 * PAGE;
	BOTH_SAY(b, "mremap p16+4 to 6 pages 0", "= p16 {extend p20+2, copy p20+2}");
	BOTH_SAY(b, "mremap p16+4 to 7 pages 0", "EAGAIN (source grows beyond RLIMIT_MEMLOCK)");
	BOTH_SAY(b, "mremap p4+1 to 64 pages maymove",
		 "chosen 64 {move p4+1 to chosen+0, extend chosen+1+63}");
	/* on 6.12 the locks of the destination are gone by then, so that there is room */
	SAYS(b, "6.12", "mremap p0+4 -> p16+7 maymove|fixed",
	     "= p16 {unmap p16+7, move p0+4 to p16, extend p20+3, copy p20+3}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+7 maymove|fixed",
	     "EAGAIN (source grows beyond RLIMIT_MEMLOCK)");
	SAYS(b, "6.12", "mremap p0+4 -> p16+11 maymove|fixed",
	     "EAGAIN (source grows beyond RLIMIT_MEMLOCK) {unmap p16+11}");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mlock_arguments),
		cmocka_unit_test(test_mlock_limit),
		cmocka_unit_test(test_mlock_failures),
		cmocka_unit_test(test_mlockall),
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_mremap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
