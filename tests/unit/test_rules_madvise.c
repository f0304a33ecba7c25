/* SPDX-License-Identifier: MIT */
/* What madvise(2) and process_madvise(2) may do, and what becomes of pages, flags and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

#define ADVICE (VM_HAS_MADV_HUGEPAGE | VM_HAS_MADV_MERGEABLE | VM_HAS_MADV_SWAPIN)

static struct bench *open_with(const char *state)
{
	struct bench *b = bench_open(state);

	b->info.features |= ADVICE;
	return b;
}

/* Area i is a private mapping of an object. */
static void make_private_file(struct bench *b, uint32_t i)
{
	struct vm_area *a = &b->state.area[i];

	b->objects.object[a->object].backed = true;
	b->objects.object[a->object].size = 4 * PAGE;
	a->anon = vm_object_copies(&b->objects, a->object);
}

static void test_arguments(void **state)
{
	struct bench *b = open_with("p0+4 rw");

	(void)state;
	BOTH_SAY(b, "madvise p0[1b]+1 5", "EINVAL (unknown advice)");
	BOTH_SAY(b, "madvise p0+1 0xffffffff", "EINVAL (unknown advice)");
	BOTH_SAY(b, "madvise p0[1b]+0 cold", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "madvise p0+-1b cold", "EINVAL (range wraps)");
	BOTH_SAY(b, "madvise null[-2]+3 cold", "EINVAL (range wraps)");
	BOTH_SAY(b, "madvise p20+0 dontneed", "= 0");
	BOTH_SAY(b, "madvise task+1 cold", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "madvise p0+4 hwpoison", "EINVAL (unknown advice)");
	b->info.features = VM_HAS_MADV_HWPOISON;
	BOTH_SAY(b, "madvise p0+4 hwpoison", "EPERM (needs CAP_SYS_ADMIN)");
	BOTH_SAY(b, "madvise p0+0 soft_offline", "= 0");
	BOTH_SAY(b, "madvise p0+4 hugepage", "EINVAL (unknown advice)");
	BOTH_SAY(b, "madvise p0+4 unmergeable", "EINVAL (unknown advice)");
	BOTH_SAY(b, "madvise p0+4 willneed", "EBADF (no swap in this kernel)");
	bench_close(b);
}

static void test_walk(void **state)
{
	struct bench *b = open_with("p1+2 rw | p4+2 r shared | p6+2 r sealed | p8+2 rw");

	(void)state;
	BOTH_SAY(b, "madvise p1+2 dontneed", "= 0 {drop p1+2} documented");
	BOTH_SAY(b, "madvise p0+6 dontneed", "ENOMEM (hole in the range) {drop p0+6} documented");
	BOTH_SAY(b, "madvise p0+9 dontneed",
		 "EPERM (sealed page in the range) {drop p0+6} documented");
	BOTH_SAY(b, "madvise p0+9 cold", "ENOMEM (hole in the range)");
	BOTH_SAY(b, "madvise p8+4 dontfork", "ENOMEM (hole in the range) {flags p8+2} documented");
	BOTH_SAY(b, "madvise p8+4 free", "ENOMEM (hole in the range) {free p8+2} documented");
	BOTH_SAY(b, "madvise p1+5 free",
		 "EINVAL (not private anonymous memory) {free p1+2} documented");
	b->info.max_map_count = 9;
	BOTH_SAY(b, "madvise p8+1 dontdump",
		 "EAGAIN (too many mappings); = 0 {flags p8+1} documented");
	bench_close(b);
}

static void test_seals(void **state)
{
	struct bench *b = open_with("p0+2 r sealed | p2+2 rw sealed | p4+2 r shared sealed");

	(void)state;
	BOTH_SAY(b, "madvise p0+2 dontneed_locked", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "madvise p0+2 remove", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "madvise p0+2 wipeonfork", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "madvise p0+2 dontdump", "= 0 {flags p0+2} documented");
	BOTH_SAY(b, "madvise p0+2 pageout", "= 0");
	BOTH_SAY(b, "madvise p2+4 dontneed", "= 0 {drop p2+4} documented");
	BOTH_SAY(b, "madvise p4+2 remove", "= 0 {punch p4+2} documented");
	SAYS(b, "6.12", "madvise p0+1 guard_install", "EINVAL (unknown advice)");
	SAYS(b, "6.18", "madvise p0+1 guard_install", "EPERM (sealed page in the range)");
	SAYS(b, "6.18", "madvise p0+1 guard_remove", "= 0 {unguard p0+1} documented");
	make_private_file(b, 0);
	BOTH_SAY(b, "madvise p0+2 dontneed", "= 0 {drop p0+2} documented");
	bench_state(b, "p0+2 r sealed?");
	BOTH_SAY(b, "madvise p0+2 dontneed",
		 "EPERM (sealed page in the range); = 0 {drop p0+2} documented");
	bench_close(b);
}

static void test_kinds(void **state)
{
	struct bench *b = open_with("p0+2 rw | p4+4 rw shared | p8+4 r");

	(void)state;
	make_private_file(b, 2);
	BOTH_SAY(b, "madvise p0+2 remove", "EINVAL (no file behind the mapping)");
	BOTH_SAY(b, "madvise p8+4 remove", "EACCES (not a shared mapping that can be written)");
	b->state.area[1].flags = VM_BIT(VM_FLAG_MR);
	BOTH_SAY(b, "madvise p4+1 remove", "EACCES (not a shared mapping that can be written)");
	b->state.area[1].flags = VM_MAY_ALL | VM_BIT(VM_FLAG_LO);
	BOTH_SAY(b, "madvise p4+1 remove", "EINVAL (locked or huge pages)");
	BOTH_SAY(b, "madvise p4+1 dontneed", "EINVAL (locked or huge pages)");
	BOTH_SAY(b, "madvise p4+1 dontneed_locked", "= 0 {drop p4+1} documented");
	BOTH_SAY(b, "madvise p4+1 cold", "EINVAL (locked or huge pages)");
	b->state.area[1].flags = VM_MAY_ALL;
	b->objects.named[VM_OBJECT_F0] = b->state.area[1].object;
	BOTH_SAY(b, "madvise p4+1 remove",
		 "EOPNOTSUPP (the file system punches no holes); = 0 {punch p4+1} documented");
	BOTH_SAY(b, "madvise p4+1 wipeonfork", "EINVAL (not private anonymous memory)");
	BOTH_SAY(b, "madvise p8+1 wipeonfork", "EINVAL (not private anonymous memory)");
	BOTH_SAY(b, "madvise p8+1 free", "EINVAL (not private anonymous memory)");
	b->state.area[0].flags |= VM_BIT(VM_FLAG_DP);
	BOTH_SAY(b, "madvise p0+1 keeponfork", "EINVAL (droppable memory)");
	BOTH_SAY(b, "madvise p0+1 dodump", "EINVAL (droppable memory)");
	BOTH_SAY(b, "madvise p0+1 collapse",
		 "EINVAL (huge page not to be had); EAGAIN (huge page not to be had); "
		 "EBUSY (huge page not to be had); ENOMEM (huge page not to be had); = 0");
	bench_close(b);
}

static void test_populate(void **state)
{
	struct bench *b = open_with("p0+2 rw | p2+2 r | p4+8 rw shared");

	(void)state;
	b->objects.object[b->state.area[2].object].size = 4 * PAGE + 1;
	BOTH_SAY(b, "madvise p0+4 populate_read", "= 0");
	BOTH_SAY(b, "madvise p0+4 populate_write",
		 "EINVAL (protection does not allow it) {copy p0+2} documented");
	BOTH_SAY(b, "madvise p4+5 populate_write", "= 0 {copy p4+5} documented");
	BOTH_SAY(b, "madvise p4+6 populate_write",
		 "EFAULT (page lies past the end of its object) {copy p4+5} documented");
	BOTH_SAY(b, "madvise p10+4 populate_read", "EFAULT (page lies past the end of its object)");
	BOTH_SAY(b, "madvise p13+1 populate_read", "ENOMEM (hole in the range)");
	b->state.area[0].guard = VM_YES;
	BOTH_SAY(b, "madvise p0+1 populate_read", "EFAULT (guard page in the range)");
	b->state.area[0].guard = VM_MAYBE;
	BOTH_SAY(b, "madvise p0+1 populate_read", "EFAULT (guard page in the range); = 0");
	bench_close(b);
}

static void test_process_madvise(void **state)
{
	struct bench *b = open_with("p0+4 rw");

	(void)state;
	BOTH_SAY(b, "process_madvise p0[1b]+-1 5 0x2", "EINVAL (flags are not 0)");
	BOTH_SAY(b, "process_madvise p0[1b]+-1 5", "EINVAL (length is negative)");
	BOTH_SAY(b, "process_madvise null[-4]+1 5", "EFAULT (range beyond user addresses)");
	BOTH_SAY(b, "process_madvise task+1 cold",
		 "EFAULT (range beyond user addresses); ENOMEM (hole in the range)");
	BOTH_SAY(b, "process_madvise p0[1b]+0 cold", "= 0");
	SAYS(b, "6.12", "process_madvise p0+0 5",
	     "EINVAL (advice that process_madvise does not take)");
	SAYS(b, "6.18", "process_madvise p0+0 5", "= 0");
	SAYS(b, "6.18", "process_madvise p0+1 5", "EINVAL (unknown advice)");
	SAYS(b, "6.12", "process_madvise p0+1 dontneed",
	     "EINVAL (advice that process_madvise does not take)");
	SAYS(b, "6.18", "process_madvise p0+17b dontneed", "= 17 {drop p0+1} documented");
	BOTH_SAY(b, "process_madvise p0+17b cold", "= 17");
	BOTH_SAY(b, "process_madvise p0+8 cold", "ENOMEM (hole in the range)");
	bench_close(b);
}

static void apply(struct bench *b, struct vm_step step)
{
	struct vm_effect e = { .n = 1, .step = { step } };

	vm_effect_apply(&e, 0, &b->state, &b->objects, PAGE);
}

static struct vm_step over(enum vm_step_kind kind, uint64_t page, uint64_t n)
{
	return (struct vm_step){ .kind = kind, .start = ARENA(page), .end = ARENA(page + n) };
}

/* The believed entry of a page, or NULL for its object's default. */
static struct vm_object_page *entry(struct bench *b, uint64_t page)
{
	const struct vm_area *a = vm_state_at(&b->state, ARENA(page));
	bool zero;

	return vm_object_look(&b->objects, a->object, a->anon, a->off + (ARENA(page) - a->start),
			      &zero);
}

static void test_drop(void **state)
{
	struct bench *b = open_with("p0+4 rw | p8+4 rw shared | p16+4 rw");

	(void)state;
	make_private_file(b, 2);
	apply(b, over(VM_STEP_FILL, 0, 4));
	apply(b, over(VM_STEP_FILL, 8, 4));
	apply(b, over(VM_STEP_FILL, 16, 4));
	apply(b, over(VM_STEP_DROP, 1, 17));
	assert_non_null(entry(b, 0));
	assert_null(entry(b, 1));
	assert_null(entry(b, 3));
	assert_non_null(entry(b, 8));
	assert_null(entry(b, 17));
	assert_non_null(entry(b, 18));
	assert_int_equal(vm_state_at(&b->state, ARENA(1))->begins, VM_NO);
	apply(b, over(VM_STEP_PUNCH, 9, 2));
	assert_int_equal(entry(b, 9)->content.head, 0);
	assert_int_not_equal(entry(b, 11)->content.head, 0);
	bench_close(b);
}

static void test_freed(void **state)
{
	struct bench *b = open_with("p0+4 rw");

	(void)state;
	apply(b, over(VM_STEP_FILL, 0, 4));
	apply(b, over(VM_STEP_FREE, 0, 3));
	apply(b, over(VM_STEP_WRITE, 1, 1));
	apply(b, over(VM_STEP_FILL, 2, 1));
	assert_int_equal(entry(b, 0)->may_zero, VM_ZERO_HEAD | VM_ZERO_REST);
	assert_int_equal(entry(b, 1)->may_zero, VM_ZERO_REST);
	assert_int_equal(entry(b, 2)->may_zero, 0);
	assert_int_equal(entry(b, 3)->may_zero, 0);
	bench_close(b);
}

static void test_flags(void **state)
{
	struct bench *b = open_with("p0+4 rw | p4+2 rw shared");
	struct vm_step step = over(VM_STEP_FLAGS, 1, 5);

	(void)state;
	step.flags = VM_BIT(VM_FLAG_MG);
	step.ksm_only = true;
	apply(b, step);
	assert_string_equal(text_of_state(&b->state),
			    "p0+1 rw o0@0 | p1+3 rw o0@1 | p4+2 rw shared o1@0");
	assert_int_equal(vm_state_at(&b->state, ARENA(1))->flags, VM_MAY_ALL | step.flags);
	assert_int_equal(vm_state_at(&b->state, ARENA(4))->flags, VM_MAY_ALL);
	step = over(VM_STEP_FLAGS, 0, 4);
	step.clear = VM_BIT(VM_FLAG_MG);
	apply(b, step);
	assert_string_equal(text_of_state(&b->state),
			    "p0+1 rw o0@0 ? p1+3 rw o0@1 | p4+2 rw shared o1@0");
	/* nothing to change: no split */
	step.start = ARENA(2);
	apply(b, step);
	assert_int_equal(vm_state_at(&b->state, ARENA(2))->begins, VM_NO);
	bench_close(b);
}

static void test_guard(void **state)
{
	struct bench *b = open_with("p0+4 rw");
	struct vm_step move = over(VM_STEP_MOVE, 0, 4);

	(void)state;
	apply(b, over(VM_STEP_FILL, 0, 4));
	apply(b, over(VM_STEP_GUARD, 1, 2));
	assert_null(entry(b, 1));
	SAYS(b, "6.18", "read p0+4", "SIGSEGV/1 after 1 (guard page)");
	apply(b, over(VM_STEP_UNGUARD, 1, 1));
	move.to = ARENA(8);
	move.keep = true;
	apply(b, move);
	SAYS(b, "6.18", "read p8+4", "SIGSEGV/1 after 2 (guard page)");
	SAYS(b, "6.18", "read p0+4", "= 4");
	bench_close(b);
}

static void test_doubt(void **state)
{
	struct bench *b = open_with("p0+4 rw");
	struct vm_effect e = { .n = 1, .step = { over(VM_STEP_DROP, 1, 1) } };

	(void)state;
	assert_true(vm_effect_is_hidden(&e));
	apply(b, over(VM_STEP_FILL, 0, 4));
	vm_effect_doubt(&e, &b->state, &b->objects);
	assert_true(entry(b, 0)->known);
	assert_false(entry(b, 1)->known);
	e.step[0] = over(VM_STEP_GUARD, 2, 1);
	vm_effect_doubt(&e, &b->state, &b->objects);
	assert_int_equal(vm_state_at(&b->state, ARENA(2))->guard, VM_MAYBE);
	e.step[0] = over(VM_STEP_FLAGS, 3, 1);
	e.step[0].flags = VM_BIT(VM_FLAG_DD);
	vm_effect_doubt(&e, &b->state, &b->objects);
	assert_int_equal(vm_state_at(&b->state, ARENA(3))->flags_maybe, VM_BIT(VM_FLAG_DD));
	e.step[0] = over(VM_STEP_UNMAP, 3, 1);
	assert_false(vm_effect_is_hidden(&e));
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_walk),
		cmocka_unit_test(test_seals),	  cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_populate),  cmocka_unit_test(test_process_madvise),
		cmocka_unit_test(test_drop),	  cmocka_unit_test(test_freed),
		cmocka_unit_test(test_flags),	  cmocka_unit_test(test_guard),
		cmocka_unit_test(test_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
