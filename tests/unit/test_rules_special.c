/* SPDX-License-Identifier: MIT */
/* The vdso (two pages from p0 on) and vvar (four from p2 on): what calls may do with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

#define SPLIT  "EINVAL (split inside a special mapping)"
#define SEALED "EPERM (sealed page in the range)"

static struct bench *open_bench(void)
{
	struct bench *b = bench_open("p0+2 rx special | p2+4 r special");

	b->state.area[1].flags = VM_BIT(VM_FLAG_MR);
	return b;
}

static void test_munmap(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	BOTH_SAY(b, "munmap p0+1", SPLIT " {split p0+0}");
	BOTH_SAY(b, "munmap p1+1", SPLIT);
	BOTH_SAY(b, "munmap p3+2", SPLIT);
	BOTH_SAY(b, "munmap p2+4", "= 0 {unmap p2+4}");
	b->state.area[1].sealed = VM_YES;
	BOTH_SAY(b, "munmap p3+2", SEALED);
	BOTH_SAY(b, "munmap p2+1", SEALED " {split p2+1}");
	BOTH_SAY(b, "munmap p1+1", SPLIT);
	bench_close(b);
}

static void test_mprotect(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	BOTH_SAY(b, "mprotect p0+1 r", SPLIT " {split p0+0} documented");
	BOTH_SAY(b, "mprotect p1+1 r", SPLIT);
	BOTH_SAY(b, "mprotect p1+1 rx", "= 0 {protect p1+1 rx} documented");
	BOTH_SAY(b, "mprotect p0+2 none", "= 0 {protect p0+2 none} documented");
	BOTH_SAY(b, "mprotect p2+4 rw", "EACCES (the file does not allow it)");
	BOTH_SAY(b, "mprotect p2+1 rx", "EACCES (the file does not allow it)");
	b->state.area[0].sealed = VM_YES;
	BOTH_SAY(b, "mprotect p1+1 rx", SEALED);
	BOTH_SAY(b, "mprotect p0+2 r", SEALED);
	bench_close(b);
}

static void test_mseal(void **state)
{
	struct bench *b = open_bench();

	(void)state;
	BOTH_SAY(b, "mseal p0+1", SPLIT " {split p0+0}");
	BOTH_SAY(b, "mseal p3+3", SPLIT);
	BOTH_SAY(b, "mseal p2+4", "= 0 {seal p2+4}");
	b->state.area[1].sealed = VM_YES;
	BOTH_SAY(b, "mseal p3+1", "= 0 {seal p3+1}");
	bench_close(b);
}

/* A part that was given the rights it had, and all that has those of its neighbour, stay one VMA.
 */
static void test_neither_splits_nor_merges(void **state)
{
	struct bench *b = open_bench();
	struct vm_effect e = { .n = 1 };

	(void)state;
	e.step[0] = (struct vm_step){ .kind = VM_STEP_PROTECT,
				      .start = b->state.area[0].start + 4096,
				      .end = b->state.area[0].end,
				      .prot = VM_MODE_R | VM_MODE_X };
	vm_effect_apply(&e, 0, &b->state, &b->objects, 4096);
	BOTH_SAY(b, "mprotect p0+2 r", "= 0 {protect p0+2 r} documented");
	e.step[0].start -= 4096;
	e.step[0].prot = VM_MODE_R;
	vm_effect_apply(&e, 0, &b->state, &b->objects, 4096);
	BOTH_SAY(b, "munmap p1+1", SPLIT);
	BOTH_SAY(b, "munmap p0+2", "= 0 {unmap p0+2}");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_munmap),
		cmocka_unit_test(test_mprotect),
		cmocka_unit_test(test_mseal),
		cmocka_unit_test(test_neither_splits_nor_merges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
