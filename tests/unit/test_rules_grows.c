/* SPDX-License-Identifier: MIT */
/* Memory that grows down: what calls and touches may do with it, and what becomes of belief. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

static void test_mmap(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	BOTH_SAY(b, "mmap p4+2 rw anon private growsdown", "= p4 {map p4+2 rw}");
	BOTH_SAY(b, "mmap p4+2 rw anon shared growsdown",
		 "EINVAL (MAP_GROWSDOWN of other than private anonymous memory)");
	BOTH_SAY(b, "mmap p4+2 rw anon droppable growsdown",
		 "EINVAL (MAP_GROWSDOWN of other than private anonymous memory)");
	BOTH_SAY(b, "mmap p4+2 rw anon growsdown", "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	bench_close(b);
}

/* 256 pages below p600 are kept free, where a hint asks for them. */
static void test_gap(void **state)
{
	struct bench *b = bench_open("p600+2 rw gd");

	(void)state;
	BOTH_SAY(b, "mmap p0[342]+2 r anon private hint", "= p342 {map p342+2 r}");
	BOTH_SAY(b, "mmap p0[342]+3 r anon private hint", "chosen 3 {map chosen+0+3 r}");
	BOTH_SAY(b, "mmap p0[599]+1 r anon private hint", "chosen 1 {map chosen+0+1 r}");
	BOTH_SAY(b, "mmap p0[599]+1 r anon private noreplace", "= p599 {map p599+1 r}");
	BOTH_SAY(b, "mmap p0[599]+1 r anon private", "= p599 {map p599+1 r}");
	BOTH_SAY(b, "mremap p0[600]+1 -> p0[400]+1 maymove|dontunmap",
		 "chosen 1 {move p600+1 to chosen+0 keep}");
	bench_state(b, "p600+2 rw gd?");
	BOTH_SAY(b, "mmap p0[342]+3 r anon private hint", "chosen 3 {map chosen+0+3 r}");
	bench_close(b);
}

static void test_clear(void **state)
{
	struct bench *b = bench_open("p10+2 r | p300+1 rw gd | p400+1 rw gd?");
	const uint64_t gap = 256 * PAGE;

	(void)state;
	assert_int_equal(vm_state_clear(&b->state, ARENA(12), ARENA(44), gap), VM_YES);
	assert_int_equal(vm_state_clear(&b->state, ARENA(12), ARENA(45), gap), VM_NO);
	assert_int_equal(vm_state_clear(&b->state, ARENA(11), ARENA(13), gap), VM_NO);
	assert_int_equal(vm_state_clear(&b->state, ARENA(301), ARENA(302), gap), VM_MAYBE);
	assert_int_equal(vm_state_clear(&b->state, ARENA(399), ARENA(401), gap), VM_NO);
	assert_int_equal(vm_state_clear(&b->state, ARENA(0), ARENA(10), gap), VM_YES);
	assert_int_equal(vm_state_clear(&b->state, ARENA(401), ARENA(500), gap), VM_YES);
	bench_close(b);
}

static void test_touch_below(void **state)
{
	struct bench *b = bench_open("p300+2 rw gd");

	(void)state;
	BOTH_SAY(b, "read p0[298]+1", "= 1 {grow p298+2}");
	BOTH_SAY(b, "fill p0[298]+4", "= 4 {grow p298+2, fill p298+4}");
	BOTH_SAY(b, "write p0[290]+1", "= 1 {grow p290+10, write p290+1}");
	BOTH_SAY(b, "write p0[298]+5",
		 "SIGSEGV/1 after 4 (page is not mapped) {grow p298+2, write p298+4} "
		 "documented");
	bench_state(b, "p300+2 r gd");
	BOTH_SAY(b, "write p0[299]+1",
		 "SIGSEGV/2 after 0 (protection does not allow it) {grow p299+1} documented");
	bench_state(b, "p300+2 rw");
	BOTH_SAY(b, "read p0[299]+1", "SIGSEGV/1 after 0 (page is not mapped)");
	bench_state(b, "p300+2 rw gd?");
	BOTH_SAY(b, "read p0[299]+1", "SIGSEGV/1 after 0 (page is not mapped); = 1 {grow p299+1}");
	bench_state(b, "p290+2 rw gd | p300+2 rw gd");
	BOTH_SAY(b, "fill p0[289]+4", "= 4 {grow p289+1, grow p292+8, fill p289+4}");
	bench_close(b);
}

#define IN_GAP "SIGSEGV/1 after 0 (growth into the guard gap above a mapping)"

static void test_what_is_below(void **state)
{
	struct bench *b = bench_open("p0+1 r | p400+2 rw gd");

	(void)state;
	BOTH_SAY(b, "read p0[256]+1", IN_GAP);
	BOTH_SAY(b, "read p0[257]+1", "= 1 {grow p257+143}");
	bench_state(b, "p0+1 none | p400+2 rw gd");
	BOTH_SAY(b, "read p1+1", "= 1 {grow p1+399}");
	bench_state(b, "p0+1 rw gd | p400+2 rw gd");
	BOTH_SAY(b, "read p1+1", "= 1 {grow p1+399}");
	bench_state(b, "p0+1 rw gd? | p400+2 rw gd");
	BOTH_SAY(b, "read p1+1", IN_GAP "; = 1 {grow p1+399}");
	bench_state(b, "p0+1 rw own | p400+2 rw gd");
	BOTH_SAY(b, "read p1+1", IN_GAP);
	bench_close(b);
}

static void test_limits(void **state)
{
	struct bench *b = bench_open("p300+2 rw gd ~ p302+2 r gd ? p304+2 rw gd");
	const char *too_long = "SIGSEGV/1 after 0 (growth beyond RLIMIT_STACK)";

	(void)state;
	b->info.rlimit_stack = 8 * PAGE;
	BOTH_SAY(b, "read p0[296]+1",
		 "SIGSEGV/1 after 0 (growth beyond RLIMIT_STACK); = 1 {grow p296+4}");
	BOTH_SAY(b, "read p0[295]+1", too_long);
	BOTH_SAY(b, "read p0[298]+1", "= 1 {grow p298+2}");
	/* what grows down is no data */
	b->info.rlimit_data = PAGE;
	b->info.rlimit_as = vm_state_sizes(&b->state, 0, UINT64_MAX).total + PAGE;
	BOTH_SAY(b, "read p0[299]+1", "= 1 {grow p299+1}");
	BOTH_SAY(b, "read p0[298]+1", "SIGSEGV/1 after 0 (growth beyond RLIMIT_AS)");
	b->info.rlimit_data = UINT64_MAX;
	b->info.rlimit_as = UINT64_MAX;
	b->info.overcommit_memory = 2;
	BOTH_SAY(b, "read p0[299]+1",
		 "SIGSEGV/1 after 0 (growth beyond the commit limit); = 1 {grow p299+1}");
	b->info.overcommit_memory = 0;
	b->info.rlimit_memlock = 4 * PAGE;
	bench_state(b, "p300+2 rw lo gd");
	BOTH_SAY(b, "read p0[298]+1", "= 1 {grow p298+2}");
	BOTH_SAY(b, "read p0[297]+1", "SIGSEGV/1 after 0 (growth beyond RLIMIT_MEMLOCK)");
	bench_close(b);
}

/* Below the lowest address, and below page offset 0 of what was mapped low and moved. */
static void test_low(void **state)
{
	struct bench *b = bench_open("x12000+1 rw gd");

	(void)state;
	BOTH_SAY(b, "read null[16]+1", "= 1 {grow 0x10000+2}");
	b->info.cap_effective = 1ull << 17;
	BOTH_SAY(b, "read null[15]+1",
		 "SIGSEGV/1 after 0 (below mmap_min_addr, or what grows down was mapped too low)");
	bench_state(b, "p300+2 rw gd o0@4");
	BOTH_SAY(b, "read p0[296]+1", "= 1 {grow p296+4}");
	BOTH_SAY(b, "read p0[295]+1",
		 "SIGSEGV/1 after 0 (below mmap_min_addr, or what grows down was mapped too low); "
		 "= 1 {grow p295+5}");
	bench_close(b);
}

static void test_mprotect(void **state)
{
	struct bench *b = bench_open("p2+2 rw ac gd ~ p4+2 rw gd | p6+2 rw");
	const char *no_grow = "EINVAL (PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping)";

	(void)state;
	BOTH_SAY(b, "mprotect p5+1 r|0x1000000", "= 0 {protect p2+4 r} documented");
	BOTH_SAY(b, "mprotect p0+3 r|0x1000000", "= 0 {protect p2+1 r} documented");
	BOTH_SAY(b, "mprotect p5+2 r|0x1000000", "= 0 {protect p2+5 r} documented");
	BOTH_SAY(b, "mprotect p0+2 r|0x1000000", "ENOMEM (start is not mapped)");
	BOTH_SAY(b, "mprotect p6+1 r|0x1000000", no_grow);
	BOTH_SAY(b, "mprotect p2+1 r|0x2000000", no_grow);
	bench_state(b, "p0+1 rw gd | p2+2 rw gd ? p4+2 rw gd");
	BOTH_SAY(b, "mprotect p5+1 r|0x1000000",
		 "= 0 {protect p4+2 r} documented; = 0 {protect p2+4 r} documented");
	bench_state(b, "p2+2 rw gd sealed ? p4+2 rw gd");
	BOTH_SAY(b, "mprotect p5+1 r|0x1000000",
		 "= 0 {protect p4+2 r} documented; EPERM (sealed page in the range)");
	bench_state(b, "p2+2 rw gd?");
	BOTH_SAY(b, "mprotect p3+1 r|0x1000000",
		 "EINVAL (PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping); = 0 {protect p2+2 r} "
		 "documented");
	bench_close(b);
}

static const char *after(const char *state, const struct vm_step *step)
{
	struct bench *b = bench_open(state);
	const struct vm_effect e = { .n = 1, .step = { *step } };
	const char *text;

	vm_effect_apply(&e, 0, &b->state, &b->objects, PAGE);
	text = text_of_state(&b->state);
	bench_close(b);
	return text;
}

/* The VMA goes on upwards, and merges with nothing below. */
static void test_effect(void **state)
{
	const struct vm_step grow = { .kind = VM_STEP_GROW, .start = ARENA(2), .end = ARENA(4) };
	const struct vm_step elsewhere = { .kind = VM_STEP_GROW,
					   .start = ARENA(2),
					   .end = ARENA(5) };

	(void)state;
	assert_string_equal(after("p4+2 rw sealed lo gd", &grow),
			    "p2+2 rw sealed lo gd o1@0 ~ p4+2 rw sealed lo gd o0@0");
	assert_string_equal(after("p0+2 rw gd | p4+2 rw gd", &grow),
			    "p0+2 rw gd o0@0 | p2+2 rw gd o2@0 ~ p4+2 rw gd o1@0");
	assert_string_equal(after("p0+3 none | p4+2 rw gd", &grow),
			    "p0+3 none o0@0 | p4+2 rw gd o1@0");
	assert_string_equal(after("p4+2 rw gd", &elsewhere), "p4+2 rw gd o0@0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap),	      cmocka_unit_test(test_gap),
		cmocka_unit_test(test_clear),	      cmocka_unit_test(test_touch_below),
		cmocka_unit_test(test_what_is_below), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_low),	      cmocka_unit_test(test_mprotect),
		cmocka_unit_test(test_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
