/* SPDX-License-Identifier: MIT */
/* What features know of the past of a range: its last changes, which go along with memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "oracle/judge/past.h"

static void did(struct vm_past *p, struct vm_step step, uint64_t chosen)
{
	struct vm_effect e = { .n = 1, .step = { step } };

	vm_past_add(p, &e, chosen);
}

static void test_changes_are_kept_by_range(void **state)
{
	struct vm_past p;

	(void)state;
	vm_past_clear(&p);
	assert_int_equal(vm_past_at(&p, 0x1000, 8 - 1), 0);
	did(&p, (struct vm_step){ .kind = VM_STEP_MAP, .start = 0x1000, .end = 0x4000 }, 0);
	did(&p, (struct vm_step){ .kind = VM_STEP_SEAL, .start = 0x2000, .end = 0x3000 }, 0);
	assert_int_equal(vm_past_at(&p, 0x1000, 2), vm_past_at(&p, 0x3fff, 2));
	assert_int_not_equal(vm_past_at(&p, 0x1000, 1), vm_past_at(&p, 0x2000, 1));
	assert_int_equal(vm_past_at(&p, 0x1000, 1), vm_past_at(&p, 0x2000, 2) >> VM_PAST_BITS);
	assert_int_equal(vm_past_at(&p, 0x4000, 1), 0);
	/* the same again does not count */
	did(&p, (struct vm_step){ .kind = VM_STEP_SEAL, .start = 0x2000, .end = 0x3000 }, 0);
	assert_int_equal(vm_past_at(&p, 0x1000, 1), vm_past_at(&p, 0x2000, 2) >> VM_PAST_BITS);
}

static void test_it_moves_along(void **state)
{
	struct vm_step move = {
		.kind = VM_STEP_MOVE, .start = 0x1000, .end = 0x3000, .chosen = true
	};
	struct vm_past p;
	uint32_t sealed;

	(void)state;
	vm_past_clear(&p);
	did(&p, (struct vm_step){ .kind = VM_STEP_MAP, .start = 0x1000, .end = 0x3000 }, 0);
	did(&p, (struct vm_step){ .kind = VM_STEP_SEAL, .start = 0x2000, .end = 0x3000 }, 0);
	sealed = vm_past_at(&p, 0x2000, 2);
	did(&p, move, 0x9000);
	assert_int_equal(vm_past_at(&p, 0xa000, 3) >> VM_PAST_BITS, sealed);
	assert_int_not_equal(vm_past_at(&p, 0x9000, 1), 0);
	assert_int_not_equal(vm_past_at(&p, 0x9000, 1), vm_past_at(&p, 0x1000, 1));
	assert_int_equal(vm_past_at(&p, 0xb000, 1), 0);
}

static void test_full(void **state)
{
	struct vm_past p;

	(void)state;
	vm_past_clear(&p);
	for (uint64_t i = 0; i < 2 * VM_PAST_MAX; i++) {
		uint64_t start = (i + 1) << 13;

		did(&p,
		    (struct vm_step){ .kind = VM_STEP_MAP, .start = start, .end = start + 0x1000 },
		    0);
	}
	assert_int_equal(p.n, VM_PAST_MAX);
	assert_int_not_equal(vm_past_at(&p, 1 << 13, 1), 0);
	assert_int_equal(vm_past_at(&p, (uint64_t)2 * VM_PAST_MAX << 13, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_are_kept_by_range),
		cmocka_unit_test(test_it_moves_along),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
