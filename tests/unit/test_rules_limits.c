/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS, RLIMIT_DATA in every rule that asks for them: one below, at, and one above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "harness/trace/preamble.h"
#include "tests/unit/oracle_text.h"

#define MMF  "maymove|fixed"
#define DU   "maymove|dontunmap"
#define OVER "ENOMEM (RLIMIT_AS or RLIMIT_DATA)"

static void test_mmap_as(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r | p100+4 r own");

	(void)state;
	b->info.rlimit_as = 14 * PAGE + 5; /* 10 are mapped, the executor's too */
	BOTH_SAY(b, "mmap p8+3 r anon private", "= p8 {map p8+3 r}");
	BOTH_SAY(b, "mmap p8+4 r anon private", "= p8 {map p8+4 r}");
	BOTH_SAY(b, "mmap p8+5 r anon private", OVER " {split p8+5}");
	BOTH_SAY(b, "mmap any+4 rw anon shared", "chosen 4 {map chosen+0+4 rw shared}");
	BOTH_SAY(b, "mmap any+5 rw anon shared", OVER);
	/* what is replaced counts once */
	BOTH_SAY(b, "mmap p2+8 r anon private", "= p2 {map p2+8 r}");
	BOTH_SAY(b, "mmap p2+9 r anon private", OVER " {split p2+9}");
	/* nothing more, where there is too much already */
	b->info.rlimit_as = 9 * PAGE;
	BOTH_SAY(b, "mmap p0+4 r anon private", OVER " {split p0+4}");
	b->info.rlimit_as = 10 * PAGE;
	BOTH_SAY(b, "mmap p0+4 r anon private", "= p0 {map p0+4 r}");
	bench_close(b);
}

static void test_mmap_data(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r | p8+8 rw shared | p100+3 rw own");

	(void)state;
	b->info.rlimit_data = 9 * PAGE; /* 7 are data */
	BOTH_SAY(b, "mmap p20+2 rw anon private", "= p20 {map p20+2 rw}");
	BOTH_SAY(b, "mmap p20+3 rw anon private", OVER " {split p20+3}");
	BOTH_SAY(b, "mmap p20+3 w anon private", OVER " {split p20+3}");
	BOTH_SAY(b, "mmap p20+3 rx anon private", "= p20 {map p20+3 rx}");
	BOTH_SAY(b, "mmap p20+3 rw anon shared", "= p20 {map p20+3 rw shared}");
	/* pages that are replaced are taken off, be they data or not */
	BOTH_SAY(b, "mmap p4+4 rw anon private", "= p4 {map p4+4 rw}");
	BOTH_SAY(b, "mmap p4+5 rw anon private", "= p4 {map p4+5 rw}");
	BOTH_SAY(b, "mmap p8+8 rw anon private", "= p8 {map p8+8 rw}");
	BOTH_SAY(b, "mmap p14+5 rw anon private", OVER " {split p14+5}");
	/* 0: the hard limit */
	b->info.rlimit_data = 0;
	b->info.rlimit_max_data = 9 * PAGE;
	BOTH_SAY(b, "mmap p20+2 rw anon private", "= p20 {map p20+2 rw}");
	BOTH_SAY(b, "mmap p20+3 rw anon private", OVER " {split p20+3}");
	/* boot option ignore_rlimit_data */
	b->info.features |= VM_NO_RLIMIT_DATA;
	BOTH_SAY(b, "mmap p20+3 rw anon private", "= p20 {map p20+3 rw}");
	bench_close(b);
}

static void test_mprotect(void **state)
{
	struct bench *b = bench_open("p0+4 r | p8+1 rw | p20+4 r shared");

	(void)state;
	b->info.rlimit_data = 5 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "= 0 {protect p0+4 rw} documented");
	b->info.rlimit_data = 4 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "ENOMEM (RLIMIT_DATA)");
	BOTH_SAY(b, "mprotect p0+3 rw", "= 0 {protect p0+3 rw} documented");
	BOTH_SAY(b, "mprotect p0+4 rx", "= 0 {protect p0+4 rx} documented");
	BOTH_SAY(b, "mprotect p8+1 rwx", "= 0 {protect p8+1 rwx} documented");
	BOTH_SAY(b, "mprotect p20+4 rw", "= 0 {protect p20+4 rw} documented");
	/* where RLIMIT_AS would refuse as much again, nothing is refused */
	b->info.rlimit_as = 13 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "ENOMEM (RLIMIT_DATA)");
	b->info.rlimit_as = 12 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "= 0 {protect p0+4 rw} documented");
	b->info.rlimit_as = UINT64_MAX;
	/* VMA by VMA: those before stay changed, and count */
	bench_state(b, "p0+2 r | p2+2 x | p4+2 rw | p6+2 r");
	b->info.rlimit_data = 6 * PAGE;
	BOTH_SAY(b, "mprotect p0+8 rw", "ENOMEM (RLIMIT_DATA) {protect p0+6 rw} documented");
	b->info.rlimit_data = 7 * PAGE;
	BOTH_SAY(b, "mprotect p1+6 rw", "= 0 {protect p1+6 rw} documented");
	/* one VMA or two: all at once, or one after the other */
	bench_state(b, "p0+2 r ? p2+2 r");
	b->info.rlimit_data = 3 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw",
		 "ENOMEM (RLIMIT_DATA); "
		 "ENOMEM (RLIMIT_DATA) {protect p0+2 rw} documented; "
		 "= 0 {protect p0+4 rw} documented");
	b->info.rlimit_data = 4 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "= 0 {protect p0+4 rw} documented");
	b->info.rlimit_data = 1 * PAGE;
	BOTH_SAY(b, "mprotect p0+4 rw", "ENOMEM (RLIMIT_DATA)");
	bench_close(b);
}

static void test_mremap(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r");

	(void)state;
	b->info.rlimit_as = 100 * PAGE;
	BOTH_SAY(b, "mremap p2+2 to 98 pages 0", "= p2 {extend p4+96}");
	BOTH_SAY(b, "mremap p2+2 to 99 pages 0", OVER);
	BOTH_SAY(b, "mremap p0+4 to 2 pages 0", "= p0 {unmap p2+2}");
	/* 6.12 unmaps the destination first, and so has more room */
	SAYS(b, "6.12", "mremap p0+2 -> p16+103 " MMF, OVER " {unmap p16+103}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+103 " MMF, OVER);
	bench_state(b, "p0+2 rw | p16+4 r");
	b->info.rlimit_as = 6 * PAGE;
	SAYS(b, "6.12", "mremap p0+2 -> p16+4 " MMF,
	     "= p16 {unmap p16+4, move p0+2 to p16, extend p18+2}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+4 " MMF, OVER);
	/* nothing is asked where nothing grows, however much is mapped */
	b->info.rlimit_as = PAGE;
	BOTH_SAY(b, "mremap p0+2 to 2 pages 0", "= p0");
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " MMF, "= p16 {unmap p16+2, move p0+2 to p16}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+2 " MMF, "= p16 {move p0+2 to p16}");
	b->info.rlimit_as = UINT64_MAX;
	/* data is what the source is */
	bench_state(b, "p0+2 rw | p8+2 r | p16+2 rw shared");
	b->info.rlimit_data = 3 * PAGE;
	BOTH_SAY(b, "mremap p0+2 to 3 pages 0", "= p0 {extend p2+1}");
	BOTH_SAY(b, "mremap p0+2 to 4 pages 0", OVER);
	BOTH_SAY(b, "mremap p8+2 to 4 pages 0", "= p8 {extend p10+2}");
	BOTH_SAY(b, "mremap p16+2 to 4 pages 0", "= p16 {extend p18+2}");
	bench_close(b);
}

static void test_mremap_keep(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p16+1 r");

	(void)state;
	b->info.rlimit_as = 6 * PAGE;
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " DU "|fixed",
	     "= p16 {unmap p16+2, move p0+2 to p16 keep}");
	b->info.rlimit_as = 5 * PAGE;
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " DU "|fixed", OVER " {unmap p16+2}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+2 " DU "|fixed", OVER " {unmap p16+2}");
	BOTH_SAY(b, "mremap p0+2 -> p32+2 " DU, OVER);
	/* remap_move() asks for each VMA that stays, with those before it */
	b->info.rlimit_as = 6 * PAGE;
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed",
	     OVER " {move p0+2 to p16 keep, unmap p18+2}");
	b->info.rlimit_as = 8 * PAGE;
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed", "= p16 {move p0+4 to p16 keep}");
	b->info.rlimit_as = UINT64_MAX;
	b->info.rlimit_data = 3 * PAGE;
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed", OVER " {unmap p16+2}");
	bench_state(b, "p0+2 r | p2+2 rw | p18+1 rw");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed",
	     OVER " {move p0+2 to p16 keep, unmap p18+2}");
	b->info.rlimit_data = 4 * PAGE;
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed", "= p16 {move p0+4 to p16 keep}");
	bench_close(b);
}

#define HEAP(b) ((b)->info.layout.brk_base)

static void test_brk(void **state)
{
	struct bench *b = bench_open("p100+6 rw own");

	(void)state;
	b->state.process.brk = HEAP(b);
	b->info.data_segment = 2 * PAGE + 100;
	b->info.rlimit_data = 9 * PAGE;
	assert_non_null(strstr(bench_ask(b, "6.18", false, "brk brk[3]"), "{map "));
	BOTH_SAY(b, "brk brk[4]", "= brk[0] (RLIMIT_AS or RLIMIT_DATA)");
	/* the data segment, in bytes, whatever it has become since, and before all else */
	bench_state(b, "p100+1 rw own");
	b->state.process.brk = HEAP(b);
	assert_non_null(strstr(bench_ask(b, "6.18", false, "brk brk[6+3996b]"), "{map "));
	BOTH_SAY(b, "brk brk[6+3997b]", "= brk[0] (data segment beyond RLIMIT_DATA)");
	b->info.rlimit_data = PAGE;
	BOTH_SAY(b, "brk brk", "= brk[0] (data segment beyond RLIMIT_DATA)");
	BOTH_SAY(b, "brk null", "= brk[0] (below the heap)");
	/* 0 is 0 here */
	b->info.rlimit_data = 0;
	BOTH_SAY(b, "brk brk[1]", "= brk[0] (data segment beyond RLIMIT_DATA)");
	b->info.rlimit_data = UINT64_MAX;
	b->info.rlimit_as = 4 * PAGE;
	assert_non_null(strstr(bench_ask(b, "6.18", false, "brk brk[3]"), "{map "));
	BOTH_SAY(b, "brk brk[4]", "= brk[0] (RLIMIT_AS or RLIMIT_DATA)");
	bench_close(b);
}

/* What a preamble makes of a target, which is on top of what the executor has there. */
static void test_preamble(void **state)
{
	struct vm_program p = { 0 };
	struct vm_quantity four = { .pages = 4 }, much = { .pud = 9 };
	struct bench *b = bench_open("");
	struct vm_target_info *info = &b->info;
	char why[160];

	(void)state;
	info->nown = 4;
	info->own[0] =
		(struct vm_vma){ .start = PAGE, .end = 4 * PAGE, .mode = VM_MODE_R | VM_MODE_W };
	info->own[1] = (struct vm_vma){ .start = 8 * PAGE, .end = 9 * PAGE, .mode = VM_MODE_R };
	info->own[2] = (struct vm_vma){ .start = 20 * PAGE,
					.end = 30 * PAGE,
					.mode = VM_MODE_R | VM_MODE_W,
					.kind = VM_KIND_STACK };
	info->own[3] =
		(struct vm_vma){ .start = -PAGE * 4, .end = -PAGE * 3, .kind = VM_KIND_VSYSCALL };
	for (unsigned int word = VM_PREAMBLE_AS; word <= VM_PREAMBLE_STACK; word++)
		vm_preamble_set(&p.preamble, word, &four);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_MAX_MAP_COUNT, &four);
	info->rlimit_max_as = info->rlimit_max_data = UINT64_MAX;
	info->rlimit_max_memlock = info->rlimit_max_stack = 8 << 20;
	vm_preamble_overlay(&p, info);
	assert_int_equal(info->rlimit_as, 18 * PAGE);
	assert_int_equal(info->rlimit_data, 7 * PAGE);
	assert_int_equal(info->rlimit_memlock, 4 * PAGE);
	assert_int_equal(info->rlimit_stack, 4 * PAGE);
	assert_int_equal(info->max_map_count, 7);
	/* the whole machine's */
	assert_true(vm_preamble_refused(&p, info, why, sizeof(why)));
	assert_non_null(strstr(why, "'sysctl max_map_count +4' is for the whole machine"));
	info->features |= VM_IS_WHOLE_MACHINE;
	assert_false(vm_preamble_refused(&p, info, why, sizeof(why)));
	assert_string_equal(why, "");
	/* hard limits, and the executor's own bounds */
	info->rlimit_max_memlock = 3 * PAGE;
	assert_true(vm_preamble_refused(&p, info, why, sizeof(why)));
	assert_non_null(strstr(why, "'rlimit memlock 4 pages' is more than the hard limit"));
	info->rlimit_max_memlock = UINT64_MAX;
	vm_preamble_set(&p.preamble, VM_PREAMBLE_MEMLOCK, &much);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_STACK, &much);
	assert_int_equal(vm_preamble_wants(&p, VM_PREAMBLE_MEMLOCK, info), VM_LOCK_MAX);
	assert_int_equal(vm_preamble_wants(&p, VM_PREAMBLE_STACK, info), info->rlimit_stack);
	bench_close(b);
}

static void test_capabilities(void **state)
{
	struct vm_quantity keep = { .pages = 1 }, drop = { 0 };
	struct bench *b = bench_open("");
	struct vm_target_info *info = &b->info;
	struct vm_program p = { 0 };
	char why[160];

	(void)state;
	info->cap_effective = 1ull << 21 | 1ull << 3;
	vm_preamble_set(&p.preamble, VM_PREAMBLE_SYS_ADMIN, &drop);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_IPC_LOCK, &keep);
	assert_true(vm_preamble_refused(&p, info, why, sizeof(why)));
	assert_non_null(strstr(why, "'cap keep ipc_lock' needs an executor"));
	info->cap_permitted = 1ull << 14;
	assert_false(vm_preamble_refused(&p, info, why, sizeof(why)));
	vm_preamble_overlay(&p, info);
	assert_int_equal(info->cap_effective, 1ull << 14 | 1ull << 3);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap_as),	    cmocka_unit_test(test_mmap_data),
		cmocka_unit_test(test_mprotect),    cmocka_unit_test(test_mremap),
		cmocka_unit_test(test_mremap_keep), cmocka_unit_test(test_brk),
		cmocka_unit_test(test_preamble),    cmocka_unit_test(test_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
