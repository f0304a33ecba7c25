/* SPDX-License-Identifier: MIT */
/* What munmap(2), mprotect(2), mseal(2) and touches may do; 6.12 and 6.18 agree on all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/oracle_text.h"

static void test_munmap(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r | p8+2 r sealed");

	(void)state;
	BOTH_SAY(b, "munmap p0[1b]+4", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "munmap task[1]+1", "EINVAL (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "munmap task[-1]+1+1b", "EINVAL (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "munmap p0+-1", "EINVAL (range ends beyond TASK_SIZE)");
	BOTH_SAY(b, "munmap p0+0", "EINVAL (length is 0)");
	BOTH_SAY(b, "munmap task+0", "EINVAL (length is 0)");
	BOTH_SAY(b, "munmap task[-1]+1", "= 0 {unmap 0x7fffffffe000+1}");
	BOTH_SAY(b, "munmap p2+3-1b", "= 0 {unmap p2+3}");
	BOTH_SAY(b, "munmap p3+5", "= 0 {unmap p3+5}");
	BOTH_SAY(b, "munmap p20+5", "= 0 {unmap p20+5}");
	BOTH_SAY(b, "munmap p3+6", "EPERM (sealed page in the range) {split p3+6}");
	BOTH_SAY(b, "munmap p9+1", "EPERM (sealed page in the range) {split p9+1}");
	/* which of two? */
	BOTH_SAY(b, "munmap p8[1b]+0", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "munmap p8+0", "EINVAL (length is 0)");
	bench_state(b, "p0+4 rw sealed?");
	BOTH_SAY(b, "munmap p3+1",
		 "EPERM (sealed page in the range) {split p3+1}; = 0 {unmap p3+1}");
	b->info.max_map_count = 9;
	BOTH_SAY(b, "munmap p4+1", "ENOMEM (too many mappings); = 0 {unmap p4+1}");
	assert_string_equal(bench_ask(b, "6.12", true, "munmap p0[1b]+0"),
			    "EINVAL (address not page aligned); EINVAL (length is 0)");
	bench_close(b);
}

static void test_mprotect_arguments(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed | p8+4 rw");

	(void)state;
	BOTH_SAY(b, "mprotect p0+4 0x3000001", "EINVAL (PROT_GROWSDOWN and PROT_GROWSUP)");
	BOTH_SAY(b, "mprotect p0[1b]+4 r", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mprotect p4+0 r", "= 0");
	BOTH_SAY(b, "mprotect p0+-1b r", "ENOMEM (range wraps)");
	BOTH_SAY(b, "mprotect p0+-1 0x10", "ENOMEM (range wraps)");
	BOTH_SAY(b, "mprotect p0+4 0x10", "EINVAL (unknown protection bits)");
	BOTH_SAY(b, "mprotect p4+2 r", "ENOMEM (start is not mapped)");
	BOTH_SAY(b, "mprotect p7+2 r", "ENOMEM (start is not mapped)");
	BOTH_SAY(b, "mprotect p8+4 0x9", "= 0 {protect p8+4 r} documented");
	/* which of two? */
	BOTH_SAY(b, "mprotect p0[1b]+0 r", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mprotect p0[1b]+4 0x3000010", "EINVAL (PROT_GROWSDOWN and PROT_GROWSUP)");
	BOTH_SAY(b, "mprotect p4+2 0x10", "EINVAL (unknown protection bits)");
	BOTH_SAY(b, "mprotect p4+0 0x10", "= 0");
	BOTH_SAY(b, "mprotect p0+-1b 0x10", "ENOMEM (range wraps)");
	/* what may grow: nothing here */
	BOTH_SAY(b, "mprotect p8+2 0x1000001",
		 "EINVAL (PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping)");
	BOTH_SAY(b, "mprotect p7+2 0x1000001",
		 "EINVAL (PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping)");
	BOTH_SAY(b, "mprotect p7+2 0x2000001", "ENOMEM (start is not mapped)");
	BOTH_SAY(b, "mprotect p8+2 0x2000001",
		 "EINVAL (PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping)");
	BOTH_SAY(b, "mprotect p5+2 0x1000001", "ENOMEM (start is not mapped)");
	bench_close(b);
}

/* VMAs before the one that fails stay changed. */
static void test_mprotect_prefix(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p4+2 r sealed | p8+2 rw");

	(void)state;
	BOTH_SAY(b, "mprotect p0+4 rx", "= 0 {protect p0+4 rx} documented");
	BOTH_SAY(b, "mprotect p1+2-1b rx", "= 0 {protect p1+2 rx} documented");
	BOTH_SAY(b, "mprotect p1+4 rx",
		 "EPERM (sealed page in the range) {protect p1+3 rx} documented");
	/* a seal says no even to what would change nothing */
	BOTH_SAY(b, "mprotect p4+1 r", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "mprotect p4+9 r", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "mprotect p8+4 none",
		 "ENOMEM (hole in the range) {protect p8+2 none} documented");
	bench_state(b, "p0+2 rw | p2+2 r sealed? ? p4+2 r sealed?");
	BOTH_SAY(b, "mprotect p0+6 rx",
		 "EPERM (sealed page in the range) {protect p0+2 rx} documented; "
		 "EPERM (sealed page in the range) {protect p0+4 rx} documented; "
		 "= 0 {protect p0+6 rx} documented");
	assert_string_equal(bench_ask(b, "6.12", true, "mprotect p0+9 0x11"),
			    "EINVAL (unknown protection bits); "
			    "EPERM (sealed page in the range) {protect p0+2 r} documented; "
			    "EPERM (sealed page in the range) {protect p0+4 r} documented; "
			    "ENOMEM (hole in the range) {protect p0+6 r} documented");
	bench_close(b);
}

static void test_mprotect_commit(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+101 r | p103+101 r ac");

	(void)state;
	b->info.total_pages = 100;
	BOTH_SAY(b, "mprotect p0+103 rw", "ENOMEM (commit limit) {protect p0+2 rw} documented");
	BOTH_SAY(b, "mprotect p2+101 rw", "ENOMEM (commit limit)");
	BOTH_SAY(b, "mprotect p2+101 rx", "= 0 {protect p2+101 rx} documented");
	BOTH_SAY(b, "mprotect p3+100 rw", "= 0 {protect p3+100 rw} documented");
	BOTH_SAY(b, "mprotect p2+100 rw", "= 0 {protect p2+100 rw} documented");
	BOTH_SAY(b, "mprotect p103+101 rw", "= 0 {protect p103+101 rw} documented");
	bench_state(b, "p0+101 r shared | p101+101 r ac?");
	BOTH_SAY(b, "mprotect p0+101 rw", "= 0 {protect p0+101 rw} documented");
	BOTH_SAY(b, "mprotect p101+101 rw",
		 "ENOMEM (commit limit); = 0 {protect p101+101 rw} documented");
	/* VMAs that may have merged may be charged as one */
	bench_state(b, "p0+60 r ? p60+60 r");
	BOTH_SAY(b, "mprotect p0+60 rw",
		 "ENOMEM (commit limit); = 0 {protect p0+60 rw} documented");
	bench_state(b, "p0+60 r | p60+60 rx");
	BOTH_SAY(b, "mprotect p0+60 rw", "= 0 {protect p0+60 rw} documented");
	bench_close(b);
}

static void test_mprotect_map_count(void **state)
{
	struct bench *b = bench_open("p0+1 r | p1+2 x");

	(void)state;
	/* a VMA that cannot be split, those before it stay changed */
	b->info.max_map_count = 10;
	BOTH_SAY(b, "mprotect p0+2 rx",
		 "ENOMEM (too many mappings); "
		 "ENOMEM (too many mappings) {protect p0+1 rx} documented; "
		 "= 0 {protect p0+2 rx} documented");
	bench_close(b);
}

static void test_mseal(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed | p4+2 r | p8+1 none shared");

	(void)state;
	BOTH_SAY(b, "mseal p0+4 0x1", "EINVAL (flags are not 0)");
	BOTH_SAY(b, "mseal p0[1b]+4", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mseal p0+-1b", "EINVAL (range wraps)");
	BOTH_SAY(b, "mseal p0+-1", "EINVAL (range wraps)");
	BOTH_SAY(b, "mseal p6+0", "= 0");
	BOTH_SAY(b, "mseal p4+3", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "mseal p5+4", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "mseal p7+2", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "mseal p1+5-1b", "= 0 {seal p1+5}");
	BOTH_SAY(b, "mseal p8+1", "= 0 {seal p8+1}");
	/* which of two? */
	BOTH_SAY(b, "mseal p0[1b]+4 0x1", "EINVAL (flags are not 0)");
	BOTH_SAY(b, "mseal p6[1b]+0", "EINVAL (address not page aligned)");
	assert_string_equal(bench_ask(b, "6.12", true, "mseal p6+1 0x1"),
			    "EINVAL (flags are not 0); ENOMEM (hole in the range)");
	b->info.max_map_count = 11;
	BOTH_SAY(b, "mseal p1+1", "ENOMEM (too many mappings); = 0 {seal p1+1}");
	/* the seals before the VMA that cannot be split stay */
	BOTH_SAY(b, "mseal p1+4",
		 "ENOMEM (too many mappings); ENOMEM (too many mappings) {seal p1+3} documented; "
		 "= 0 {seal p1+4}");
	b->info.features &= ~VM_HAS_MSEAL;
	BOTH_SAY(b, "mseal p0+4 0x1", "ENOSYS (no mseal on this kernel)");
	bench_close(b);
}

static void test_touch(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+1 r | p3+1 none | p4+1 w | p5+1 x | p7+1 rw");

	(void)state;
	BOTH_SAY(b, "read p0+3", "= 3");
	BOTH_SAY(b, "read p3+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "read p0+8", "SIGSEGV/2 after 3 (protection does not allow it)");
	/* any right lets x86 read */
	BOTH_SAY(b, "read p4+2", "= 2");
	BOTH_SAY(b, "read p4+4", "SIGSEGV/1 after 2 (page is not mapped)");
	BOTH_SAY(b, "write p0+2", "= 2 {write p0+2}");
	BOTH_SAY(b, "write p0+4",
		 "SIGSEGV/2 after 2 (protection does not allow it) {write p0+2} documented");
	BOTH_SAY(b, "write p5+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "fill p7+2", "SIGSEGV/1 after 1 (page is not mapped) {fill p7+1} documented");
	BOTH_SAY(b, "fill p4+1", "= 1 {fill p4+1}");
	BOTH_SAY(b, "read p9+0", "= 0");
	/* bytes count as the pages that they lie in */
	BOTH_SAY(b, "read p0[1b]+1", "= 2");
	BOTH_SAY(b, "read p0[1b]+1-1b", "= 1");
	BOTH_SAY(b, "write p1[1b]+1b", "= 1 {write p1+1}");
	BOTH_SAY(b, "read task+1", "SIGSEGV/-1 after 0 (address beyond TASK_SIZE)");
	BOTH_SAY(b, "read task[-1]+1", "SIGSEGV/1 after 0 (page is not mapped)");
	bench_close(b);
}

static void test_touch_elsewhere(void **state)
{
	struct bench *b = bench_open("p0+1 x | p1+1 r | p2+1 none | p3+1 rx");

	(void)state;
	BOTH_SAY(b, "read p0+1", "= 1");
	BOTH_SAY(b, "read p3+1", "= 1");
	BOTH_SAY(b, "write p0+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "write p3+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "mprotect p0+1 r|0x10", "EINVAL (unknown protection bits)");
	strcpy(b->info.machine, "aarch64");
	BOTH_SAY(b, "mprotect p0+1 r|0x10",
		 "EINVAL (unknown protection bits); = 0 {protect p0+1 r} documented");
	BOTH_SAY(b, "mprotect p0+1 r|0x50", "EINVAL (unknown protection bits)");
	BOTH_SAY(b, "pkey_alloc 0 0x4",
		 "EINVAL (unknown rights); ENOSPC (the processor has no protection keys)");
	BOTH_SAY(b, "pkey_alloc 0 0x10", "EINVAL (unknown rights)");
	BOTH_SAY(b, "read p1+1", "= 1");
	BOTH_SAY(b, "read p2+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "read p0+1", "SIGSEGV/-1 after 0 (protection does not allow it); = 1");
	bench_close(b);
}

/* Shared memory is as long as it was made: what was grown beyond cannot be touched. */
static void test_touch_past_the_end(void **state)
{
	struct bench *b = bench_open("p0+2 rw shared o0@0 | p8+2 rw shared o0@1");

	(void)state;
	b->objects.object[0].size = 2 * PAGE;
	BOTH_SAY(b, "read p0+2", "= 2");
	BOTH_SAY(b, "read p8+2", "SIGBUS/2 after 1 (page lies past the end of its object)");
	BOTH_SAY(b, "write p9+1", "SIGBUS/2 after 0 (page lies past the end of its object)");
	bench_close(b);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(vm_rule_name(VM_OP_MMAP), "mmap");
	assert_string_equal(vm_rule_name(VM_OP_MREMAP), "mremap");
	assert_string_equal(vm_rule_name(VM_OP_FILL), "touch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_munmap),
		cmocka_unit_test(test_mprotect_arguments),
		cmocka_unit_test(test_mprotect_prefix),
		cmocka_unit_test(test_mprotect_commit),
		cmocka_unit_test(test_mprotect_map_count),
		cmocka_unit_test(test_mseal),
		cmocka_unit_test(test_touch),
		cmocka_unit_test(test_touch_elsewhere),
		cmocka_unit_test(test_touch_past_the_end),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
