/* SPDX-License-Identifier: MIT */
/* What 6.1 does otherwise than 6.12: rules, without a kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

/* MAP_FIXED unmaps, then asks for memory. */
static void test_mmap_unmaps_first(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	SAYS(b, "6.1", "mmap p0+16384pud rw anon private",
	     "ENOMEM (commit limit) {unmap p0+4294967296}");
	SAYS(b, "6.12", "mmap p0+16384pud rw anon private",
	     "ENOMEM (commit limit) {split p0+4294967296}");
	/* what is there already is no reason to fail, and what is small does not */
	SAYS(b, "6.1", "mmap p0+4 r anon private", "= p0 {map p0+4 r}");
	SAYS(b, "6.1", "mmap p0+4 rw anon private", "= p0 {map p0+4 rw}");
	bench_close(b);
}

/* Memory that loses the write right stays charged. */
static void test_mprotect_keeps_the_charge(void **state)
{
	struct bench *b = bench_open("p0+2 r | p2+2 rw");
	struct vm_state s;

	(void)state;
	SAYS(b, "6.1", "mprotect p2+2 r", "= 0 {protect p2+2 r} documented");
	vm_state_copy(&s, &b->state);
	vm_effect_apply(&b->out.o[0].effect, 0, &s, &b->objects, PAGE);
	assert_string_equal(text_of_state(&s), "p0+2 r o0@0 ? p2+2 r ac o1@0");
	SAYS(b, "6.12", "mprotect p2+2 r", "= 0 {protect p2+2 r} documented");
	vm_state_copy(&s, &b->state);
	vm_effect_apply(&b->out.o[0].effect, 0, &s, &b->objects, PAGE);
	assert_string_equal(text_of_state(&s), "p0+2 r o0@0 ? p2+2 r ac? o1@0");
	bench_close(b);
}

/* Populating goes on after a hole, and tells it at the end; a right that lacks is told at once. */
static void test_populate_walks(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p4+2 rw | p8+2 none");

	(void)state;
	SAYS(b, "6.1", "madvise p0+6 populate_write",
	     "ENOMEM (hole in the range) {copy p0+6} documented");
	SAYS(b, "6.12", "madvise p0+6 populate_write",
	     "ENOMEM (hole in the range) {copy p0+2} documented");
	SAYS(b, "6.1", "madvise p2+8 populate_read", "EINVAL (protection does not allow it)");
	SAYS(b, "6.12", "madvise p2+8 populate_read", "ENOMEM (hole in the range)");
	SAYS(b, "6.1", "madvise p2+1 populate_read", "ENOMEM (hole in the range)");
	bench_close(b);
}

static void test_process_madvise_is_for_the_nice(void **state)
{
	struct bench *b = bench_open("p0+4 rw");

	(void)state;
	b->info.cap_effective = 0;
	SAYS(b, "6.1", "process_madvise p0+4 cold", "EPERM (needs CAP_SYS_NICE)");
	SAYS(b, "6.1", "process_madvise p0+4 dontneed",
	     "EINVAL (advice that process_madvise does not take)");
	SAYS(b, "6.12", "process_madvise p0+4 cold", "= 0x4000");
	b->info.cap_effective = 1ull << 23;
	SAYS(b, "6.1", "process_madvise p0+4 cold", "= 0x4000");
	bench_close(b);
}

/* What a kernel lacks was asked for, whatever its version. */
static void test_lacks(void **state)
{
	struct bench *b = bench_open("");

	(void)state;
	b->info.features |= VM_LACKS_MDWE | VM_LACKS_DROPPABLE;
	SAYS(b, "6.12", "mdwe refuse", "EINVAL (no PR_SET_MDWE on this kernel)");
	SAYS(b, "6.12", "mmap p0+4 rw anon droppable",
	     "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	b->info.features &= ~(VM_LACKS_MDWE | VM_LACKS_DROPPABLE);
	SAYS(b, "6.12", "mdwe refuse", "= 0");
	SAYS(b, "6.12", "mmap p0+4 rw anon droppable", "= p0 {map p0+4 rw}");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap_unmaps_first),
		cmocka_unit_test(test_mprotect_keeps_the_charge),
		cmocka_unit_test(test_populate_walks),
		cmocka_unit_test(test_process_madvise_is_for_the_nice),
		cmocka_unit_test(test_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
