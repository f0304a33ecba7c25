/* SPDX-License-Identifier: MIT */
/* shmat and shmdt: arguments, what is replaced, which pieces of an attachment go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

/* A bench where all shared areas are what `attach` says: one letter an area, `-` for none. */
static struct bench *attached(const char *state, const char *attach)
{
	struct bench *b = bench_open(state);

	vm_objects_name(&b->objects, 8 * PAGE);
	for (uint32_t i = 0; i < b->state.n; i++) {
		if (attach[i] == '-')
			continue;
		b->state.area[i].attach = (uint16_t)(attach[i] - 'a' + 1);
		b->objects.named[VM_OBJECT_S0] = b->state.area[i].object;
	}
	return b;
}

static void test_attach(void **state)
{
	struct bench *b = attached("p20+2 rw | p40+1 rw sealed", "--");

	(void)state;
	BOTH_SAY(b, "shmat s0 p0", "= p0 {map p0+8 rw shared}");
	BOTH_SAY(b, "shmat s0 p0 rdonly", "= p0 {map p0+8 r shared}");
	BOTH_SAY(b, "shmat s0 p0 exec", "= p0 {map p0+8 rwx shared}");
	BOTH_SAY(b, "shmat s0 p0[5b] rnd", "= p0 {map p0+8 rw shared}");
	BOTH_SAY(b, "shmat s0 null", "chosen 8 {map chosen+0+8 rw shared}");
	BOTH_SAY(b, "shmat s0 p0[5b]", "EINVAL (address not SHMLBA aligned)");
	BOTH_SAY(b, "shmat m0 p0", "EINVAL (no such segment)");
	BOTH_SAY(b, "shmat s0 null remap", "EINVAL (SHM_REMAP without an address)");
	BOTH_SAY(b, "shmat s0 null[5b] rnd remap", "EINVAL (SHM_REMAP without an address)");
	BOTH_SAY(b, "shmat s0 p14", "EINVAL (something is mapped there)");
	BOTH_SAY(b, "shmat s0 null[-4]", "EINVAL (range wraps)");
	BOTH_SAY(b, "shmat s0 p14 remap", "= p14 {map p14+8 rw shared}");
	BOTH_SAY(b, "shmat s0 p33 remap", "EPERM (sealed page in the destination) {split p33+8}");
	b->info.features &= ~VM_HAS_SYSV_SHM;
	BOTH_SAY(b, "shmat s0 p0", "silent: no SysV shared memory here");
	bench_close(b);
}

/* A segment lives while it is mapped. */
static void test_life(void **state)
{
	struct bench *b = attached("p0+2 rw shared o0@0", "a");

	(void)state;
	bench_ask(b, "6.18", false, "shmat s0 p8");
	assert_int_equal(b->out.o[0].effect.step[0].object, 0);
	vm_state_unmap(&b->state, ARENA(0), ARENA(2));
	bench_ask(b, "6.18", false, "shmat s0 p8");
	assert_int_equal(b->out.o[0].effect.step[0].object, VM_NO_OBJECT);
	/* ... or while the parent of a forked child maps it */
	b->objects.named[VM_OBJECT_S0] = 0;
	b->objects.object[0].held = true;
	bench_ask(b, "6.18", false, "shmat s0 p8");
	assert_int_equal(b->out.o[0].effect.step[0].object, 0);
	bench_close(b);
}

static void test_detach(void **state)
{
	struct bench *b = attached("p0+8 rw shared o0@0 | p10+2 rw", "a-");

	(void)state;
	BOTH_SAY(b, "shmdt p0", "= 0 {unmap p0+8}");
	BOTH_SAY(b, "shmdt p0[1b]", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "shmdt p1", "EINVAL (no segment attached there)");
	BOTH_SAY(b, "shmdt p10", "EINVAL (no segment attached there)");
	bench_close(b);
	/* the first pages are gone; a hole; a piece of another attachment; one that was moved */
	b = attached("p2+1 rw shared o0@2 | p4+1 r shared o0@4 | p5+1 rw shared o0@5 | "
		     "p6+1 rw shared o0@0",
		     "aaba");
	BOTH_SAY(b, "shmdt p0", "= 0 {unmap p2+1, unmap p4+1}");
	BOTH_SAY(b, "shmdt p6", "= 0 {unmap p6+1}");
	bench_close(b);
	/* grown beyond the segment: one VMA, two, or not known */
	b = attached("p0+4 rw shared o0@0 ~ p4+8 rw shared o0@4", "aa");
	BOTH_SAY(b, "shmdt p0", "= 0 {unmap p0+12}");
	b->state.area[1].begins = VM_YES;
	BOTH_SAY(b, "shmdt p0", "= 0 {unmap p0+4}");
	b->state.area[1].begins = VM_MAYBE;
	BOTH_SAY(b, "shmdt p0", "silent: a mapping of the segment may be one VMA or two");
	bench_close(b);
}

static void test_detach_sealed(void **state)
{
	struct bench *b = attached("p0+2 rw shared o0@0 | p2+2 rw shared sealed o0@2 | "
				   "p4+4 rw shared o0@4",
				   "aaa");

	(void)state;
	BOTH_SAY(b, "shmdt p0", "= 0 {unmap p0+2, unmap p4+4}");
	b->state.area[1].sealed = VM_MAYBE;
	BOTH_SAY(b, "shmdt p0", "silent: a mapping of the segment may be sealed");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_detach),
		cmocka_unit_test(test_detach_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
