/* SPDX-License-Identifier: MIT */
/* What mmap(2) of anonymous memory may do, check by check in the order of do_mmap(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

static void test_arguments(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed");

	(void)state;
	BOTH_SAY(b, "mmap p4+4 rw private", "EBADF (no file, not anonymous)");
	BOTH_SAY(b, "mmap p4+0 rw anon private", "EINVAL (length is 0)");
	BOTH_SAY(b, "mmap p4+-1b rw anon private", "ENOMEM (length wraps to 0)");
	BOTH_SAY(b, "mmap any+1task+1b rw anon private", "ENOMEM (longer than TASK_SIZE)");
	BOTH_SAY(b, "mmap p4+1task+1b rw anon private", "ENOMEM (longer than TASK_SIZE)");
	BOTH_SAY(b, "mmap task[-3]+4 rw anon private", "ENOMEM (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "mmap p4[1b]+4 rw anon private", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mmap null[15]+4 rw anon private", "EPERM (address below mmap_min_addr)");
	BOTH_SAY(b, "mmap p3+4 rw anon private noreplace",
		 "EEXIST (MAP_FIXED_NOREPLACE over a mapping)");
	BOTH_SAY(b, "mmap p4+4 rw anon", "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	BOTH_SAY(b, "mmap p4+4 rw anon shared private",
		 "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	BOTH_SAY(b, "mmap any+4 rw anon", "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	BOTH_SAY(b, "mmap p3+4 rw anon private",
		 "EPERM (sealed page in the destination) {split p3+4}");
	bench_close(b);
}

/* Each line fails the check it names and the one after it. */
static void test_order(void **state)
{
	struct bench *b = bench_open("x1000+2 r sealed | p0+4 rw sealed");

	(void)state;
	BOTH_SAY(b, "mmap p4+0 rw private", "EBADF (no file, not anonymous)");
	BOTH_SAY(b, "mmap p4[1b]+0 rw anon private", "EINVAL (length is 0)");
	BOTH_SAY(b, "mmap task[1b]+4 rw anon private", "ENOMEM (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "mmap null[-4b]+1 rw anon private", "EINTR (address reads as an error)");
	BOTH_SAY(b, "mmap null[-1]+1 rw anon private", "ENOMEM (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "mmap null[1b]+4 rw anon private", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mmap null[1]+4 rw anon private noreplace",
		 "EPERM (address below mmap_min_addr)");
	/* over a seal NOREPLACE says that something is there, and comes before the type */
	BOTH_SAY(b, "mmap p0+4 rw anon noreplace", "EEXIST (MAP_FIXED_NOREPLACE over a mapping)");
	BOTH_SAY(b, "mmap p0+4 rw anon fixed noreplace",
		 "EEXIST (MAP_FIXED_NOREPLACE over a mapping)");
	BOTH_SAY(b, "mmap p0+4 rw anon", "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	b->info.total_pages = 2;
	BOTH_SAY(b, "mmap p0+4 rw anon private",
		 "EPERM (sealed page in the destination) {split p0+4}");
	bench_close(b);
}

static void test_success(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r shared");

	(void)state;
	BOTH_SAY(b, "mmap p2+4 rx anon shared", "= p2 {map p2+4 rx shared}");
	BOTH_SAY(b, "mmap p2+4-1b none anon private", "= p2 {map p2+4 none}");
	BOTH_SAY(b, "mmap p6+4 w anon private noreplace", "= p6 {map p6+4 w}");
	BOTH_SAY(b, "mmap any+4 rw anon private", "chosen 4 {map chosen+0+4 rw}");
	BOTH_SAY(b, "mmap any+4 rwx anon shared", "chosen 4 {map chosen+0+4 rwx shared}");
	/* a hint is taken where it is free, its offset in the page dropped */
	BOTH_SAY(b, "mmap p6[1b]+4 r anon private hint", "= p6 {map p6+4 r}");
	BOTH_SAY(b, "mmap p5+4 r anon private hint", "chosen 4 {map chosen+0+4 r}");
	BOTH_SAY(b, "mmap task[-1]+4 r anon private hint", "chosen 4 {map chosen+0+4 r}");
	/* a low hint is raised to the least address */
	BOTH_SAY(b, "mmap null[1]+4 r anon private hint", "= 0x10000 {map 0x10000+4 r}");
	b->info.hint_min_addr = 0x11001;
	BOTH_SAY(b, "mmap null[1]+4 r anon private hint", "= 0x12000 {map 0x12000+4 r}");
	BOTH_SAY(b, "mmap null[1b]+4 r anon private hint", "chosen 4 {map chosen+0+4 r}");
	BOTH_SAY(b, "mmap task[-4]+4 r anon private", "= 0x7fffffffb000 {map 0x7fffffffb000+4 r}");
	/* near the top, where the stack is, it is uncertain */
	BOTH_SAY(b, "mmap task[-100]+4 r anon private hint", "chosen 4 {map chosen+0+4 r}");
	BOTH_SAY(b, "mmap task[-64pud-1pmd-259]+4 r anon private hint",
		 "chosen 4 {map chosen+0+4 r}");
	BOTH_SAY(b, "mmap task[-64pud-1pmd-260]+4 r anon private hint",
		 "= 0x7fefffcfb000 {map 0x7fefffcfb000+4 r}");
	bench_close(b);
}

static void test_privileged_low_address(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	b->info.cap_effective = 1ull << 17;
	BOTH_SAY(b, "mmap null[1]+4 rw anon private", "= 0x1000 {map 0x1000+4 rw}");
	bench_close(b);
}

static void test_uncertain_seal(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed? | p4+2 r");

	(void)state;
	BOTH_SAY(b, "mmap p3+2 rw anon private",
		 "EPERM (sealed page in the destination) {split p3+2}; = p3 {map p3+2 rw}");
	BOTH_SAY(b, "mmap p4+1 rw anon private", "= p4 {map p4+1 rw}");
	bench_close(b);
}

static void test_limits(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r");

	(void)state;
	b->info.total_pages = 100;
	BOTH_SAY(b, "mmap p8+101 rw anon private", "ENOMEM (commit limit) {split p8+101}");
	BOTH_SAY(b, "mmap any+101 rw anon private", "ENOMEM (commit limit)");
	BOTH_SAY(b, "mmap p8+100 rw anon private", "= p8 {map p8+100 rw}");
	BOTH_SAY(b, "mmap p8+101 r anon private", "= p8 {map p8+101 r}");
	/* what is replaced may have been charged */
	BOTH_SAY(b, "mmap p0+101 rw anon private",
		 "ENOMEM (commit limit) {split p0+101}; = p0 {map p0+101 rw}");
	BOTH_SAY(b, "mmap p0+107 rw anon private", "ENOMEM (commit limit) {split p0+107}");
	/* shmem looks only after the old mappings are gone */
	BOTH_SAY(b, "mmap p0+101 r anon shared",
		 "ENOMEM (commit limit of a shared mapping) {unmap p0+101}");
	BOTH_SAY(b, "mmap any+101 r anon shared", "ENOMEM (commit limit of a shared mapping)");
	BOTH_SAY(b, "mmap p0+100 rw anon shared", "= p0 {map p0+100 rw shared}");
	b->info.overcommit_memory = 2;
	BOTH_SAY(b, "mmap p8+1 r anon shared",
		 "ENOMEM (commit limit of a shared mapping) {unmap p8+1}; "
		 "= p8 {map p8+1 r shared}");
	b->info.overcommit_memory = 1;
	BOTH_SAY(b, "mmap p8+101 rw anon private", "= p8 {map p8+101 rw}");
	b->info.max_map_count = 10;
	BOTH_SAY(b, "mmap p3+1 r anon private", "ENOMEM (too many mappings); = p3 {map p3+1 r}");
	bench_close(b);
}

static void test_room(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	/* three quarters of all lie above the arena */
	BOTH_SAY(b, "mmap any+1task r anon private", "ENOMEM (no free range is long enough)");
	/* it fits, but perhaps not where the kernel looks */
	BOTH_SAY(b, "mmap any+1task-32768pud-1000 r anon private",
		 "ENOMEM (no free range is long enough); EPERM (address below mmap_min_addr); "
		 "chosen 25769802775 {map chosen+0+25769802775 r}");
	/* 5 levels of page tables: without a hint the kernel looks below 2^47 alone */
	b->info.layout.task_size = (1ull << 56) - 4096;
	BOTH_SAY(b, "mmap any+0x1000000000000b r anon private",
		 "ENOMEM (no free range is long enough); EPERM (address below mmap_min_addr); "
		 "chosen 68719476736 {map chosen+0+68719476736 r}");
	b->info.layout.task_size = (1ull << 47) - 4096;
	/* without a limit of the stack the search goes bottom-up from a third */
	b->info.rlimit_stack = UINT64_MAX;
	BOTH_SAY(b, "mmap any+4 r anon private", "chosen 4 {map chosen+0+4 r}");
	bench_close(b);
}

static void test_documented(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed");

	(void)state;
	assert_string_equal(bench_ask(b, "6.12", true, "mmap p0[1b]+4 rw anon noreplace"),
			    "EINVAL (address not page aligned); "
			    "EEXIST (MAP_FIXED_NOREPLACE over a mapping); "
			    "EINVAL (neither MAP_SHARED nor MAP_PRIVATE); "
			    "EPERM (sealed page in the destination) {split p0[1b]+4}");
	assert_string_equal(bench_ask(b, "6.12", true, "mmap task+4 rw anon private"),
			    "ENOMEM (range ends beyond TASK_SIZE)");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_success),
		cmocka_unit_test(test_privileged_low_address),
		cmocka_unit_test(test_uncertain_seal),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
