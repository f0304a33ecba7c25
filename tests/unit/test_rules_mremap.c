/* SPDX-License-Identifier: MIT */
/*
 * What mremap(2) may do, check by check, in the order of 6.12 (sys_mremap(), mremap_to(),
 * vma_to_resize(), move_vma()) and of 6.17 on (check_mremap_params(), check_prep_vma(),
 * remap_move()).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

#define MMF "maymove|fixed"
#define DU  "maymove|dontunmap"

static void test_arguments(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p8+4 rw");

	(void)state;
	BOTH_SAY(b, "mremap p0+4 to 4 pages 0x8", "EINVAL (unknown flags)");
	BOTH_SAY(b, "mremap p0+4 -> p16 fixed", "EINVAL (MREMAP_FIXED without MREMAP_MAYMOVE)");
	BOTH_SAY(b, "mremap p0+4 -> p16 dontunmap",
		 "EINVAL (MREMAP_DONTUNMAP without MREMAP_MAYMOVE)");
	BOTH_SAY(b, "mremap p0+4 -> p16+5 " DU, "EINVAL (MREMAP_DONTUNMAP with another length)");
	BOTH_SAY(b, "mremap p0[1b]+4 to 4 pages 0", "EINVAL (address not page aligned)");
	BOTH_SAY(b, "mremap p0+4 to 0 pages 0", "EINVAL (new length is 0)");
	BOTH_SAY(b, "mremap p0+4 to -1b 0", "EINVAL (new length is 0)");
	BOTH_SAY(b, "mremap p0+4 -> p16[1b] " MMF, "EINVAL (destination not page aligned)");
	BOTH_SAY(b, "mremap p0+4 -> task[-3]+4 " MMF, "EINVAL (destination ends beyond TASK_SIZE)");
	BOTH_SAY(b, "mremap p0+4 -> p3+4 " MMF, "EINVAL (source and destination overlap)");
	SAYS(b, "6.12", "mremap p0+4 -> p4+4 " MMF, "= p4 {unmap p4+4, move p0+4 to p4}");
	SAYS(b, "6.18", "mremap p0+4 -> p4+4 " MMF, "= p4 {move p0+4 to p4}");
	SAYS(b, "6.18", "mremap p0+4 -> task[-4]+4 " MMF,
	     "= 0x7fffffffb000 {move p0+4 to 0x7fffffffb000}");
	SAYS(b, "6.12", "mremap p4+4 -> p1+4 " MMF, "EFAULT (source is not mapped)");
	bench_close(b);
}

/* Two checks fail: who wins? */
static void test_order_of_arguments(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed | p8+4 rw");

	(void)state;
	BOTH_SAY(b, "mremap p30[1b]+4 to 0 pages 0", "EINVAL (address not page aligned)");
	/* 6.12 looks for the source before the destination, 6.17 after it */
	SAYS(b, "6.12", "mremap p30+4 -> p31+4 " MMF, "EFAULT (source is not mapped)");
	SAYS(b, "6.18", "mremap p30+4 -> p31+4 " MMF, "EINVAL (source and destination overlap)");
	SAYS(b, "6.12", "mremap p0+4 -> p2+4 " MMF, "EPERM (source is sealed)");
	SAYS(b, "6.18", "mremap p0+4 -> p2+4 " MMF, "EINVAL (source and destination overlap)");
	SAYS(b, "6.12", "mremap p0+4 -> p16[1b] " MMF, "EPERM (source is sealed)");
	SAYS(b, "6.18", "mremap p0+4 -> p16[1b] " MMF, "EINVAL (destination not page aligned)");
	SAYS(b, "6.12", "mremap p0+4 -> task+4 " MMF, "EPERM (source is sealed)");
	SAYS(b, "6.18", "mremap p0+4 -> task+4 " MMF, "EINVAL (destination ends beyond TASK_SIZE)");
	/* a length beyond TASK_SIZE: an argument since 6.17, a lack of room before */
	SAYS(b, "6.12", "mremap p8+4 to 1task+1b maymove", "ENOMEM (new length beyond TASK_SIZE)");
	SAYS(b, "6.18", "mremap p8+4 to 1task+1b maymove", "EINVAL (new length beyond TASK_SIZE)");
	SAYS(b, "6.12", "mremap p8+4 to 1task+1b 0", "ENOMEM (no room to grow in place)");
	SAYS(b, "6.18", "mremap p0+4 to 1task+1b 0", "EINVAL (new length beyond TASK_SIZE)");
	SAYS(b, "6.12", "mremap p0+4 to 1task+1b 0", "EPERM (source is sealed)");
	SAYS(b, "6.12", "mremap p30+4 to 1task+1b 0", "EFAULT (source is not mapped)");
	/* DONTUNMAP compares the lengths as passed, from 6.17 on rounded */
	SAYS(b, "6.12", "mremap p8+4-1b -> p16+4 " DU "|fixed",
	     "EINVAL (MREMAP_DONTUNMAP with another length)");
	SAYS(b, "6.18", "mremap p8+4-1b -> p16+4 " DU "|fixed", "= p16 {move p8+4 to p16 keep}");
	bench_close(b);
}

static void test_source(void **state)
{
	struct bench *b = bench_open("p0+4 rw sealed | p8+2 rw | p10+2 r");

	(void)state;
	BOTH_SAY(b, "mremap p4+4 to 4 pages 0", "EFAULT (source is not mapped)");
	BOTH_SAY(b, "mremap p4+4 to 8 pages maymove", "EFAULT (source is not mapped)");
	BOTH_SAY(b, "mremap p0+4 to 4 pages 0", "EPERM (source is sealed)");
	BOTH_SAY(b, "mremap p0+4 to 2 pages 0", "EPERM (source is sealed)");
	BOTH_SAY(b, "mremap p0+4 to 8 pages maymove", "EPERM (source is sealed)");
	BOTH_SAY(b, "mremap p0+4 -> p16 " MMF, "EPERM (source is sealed)");
	BOTH_SAY(b, "mremap p0+4 -> p16 " DU, "EPERM (source is sealed)");
	BOTH_SAY(b, "mremap p0+0 to 4 pages maymove", "EPERM (source is sealed)");
	/* a source that crosses: growth and DONTUNMAP say EFAULT, in place nothing changes */
	BOTH_SAY(b, "mremap p8+4 to 6 pages maymove", "EFAULT (source crosses a VMA)");
	BOTH_SAY(b, "mremap p8+4 -> p16 " DU, "EFAULT (source crosses a VMA)");
	BOTH_SAY(b, "mremap p8+0 to 4 pages maymove", "EINVAL (old length 0 of a private mapping)");
	bench_close(b);
}

/* The same length and no destination: nothing is checked but the source's first page. */
static void test_same_length(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r sealed");

	(void)state;
	BOTH_SAY(b, "mremap p0+4 to 4 pages 0", "= p0");
	BOTH_SAY(b, "mremap p0+40 to 40 pages maymove", "= p0");
	BOTH_SAY(b, "mremap p0+4-1b to 4 pages 0", "= p0");
	bench_close(b);
}

static void test_shrink_in_place(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p4+2 r | p8+2 r sealed | p12+4 rw sealed?");

	(void)state;
	BOTH_SAY(b, "mremap p0+4 to 2 pages 0", "= p0 {unmap p2+2}");
	/* the tail may hold other VMAs and holes, even the source need not reach it */
	BOTH_SAY(b, "mremap p0+8 to 5 pages 0", "= p0 {unmap p5+3}");
	BOTH_SAY(b, "mremap p0+9 to 2 pages 0", "EPERM (source tail is sealed) {split p2+7}");
	BOTH_SAY(b, "mremap p0+1task to 2 pages 0", "EINVAL (source tail ends beyond TASK_SIZE)");
	bench_state(b, "p0+4 rw | p4+2 r sealed?");
	BOTH_SAY(b, "mremap p0+6 to 2 pages 0",
		 "EPERM (source tail is sealed) {split p2+4}; = p0 {unmap p2+4}");
	/* 6.12 has no limit on the lengths here: both ends may wrap into a proper range */
	bench_state(b, "p4+1 r | p8+4 rw");
	SAYS(b, "6.12", "mremap p8+-3 to -4 pages 0", "= p8 {unmap p4+1}");
	SAYS(b, "6.18", "mremap p8+-3 to -4 pages 0", "EINVAL (new length beyond TASK_SIZE)");
	bench_close(b);
}

static void test_growth_in_place(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p8+2 rw | p10+2 r");

	(void)state;
	BOTH_SAY(b, "mremap p0+4 to 8 pages 0", "= p0 {extend p4+4}");
	BOTH_SAY(b, "mremap p1+3 to 5 pages maymove", "= p1 {extend p4+2}");
	BOTH_SAY(b, "mremap p0+4 to 9 pages 0", "ENOMEM (no room to grow in place)");
	BOTH_SAY(b, "mremap p0+2 to 3 pages 0", "ENOMEM (no room to grow in place)");
	BOTH_SAY(b, "mremap p8+2 to 3 pages 0", "ENOMEM (no room to grow in place)");
	BOTH_SAY(b, "mremap p0+4 to 9 pages maymove",
		 "chosen 9 {move p0+4 to chosen+0, extend chosen+4+5}");
	BOTH_SAY(b, "mremap p0+2 to 3 pages maymove",
		 "chosen 3 {move p0+2 to chosen+0, extend chosen+2+1}");
	/* a VMA that may end here: both may happen */
	bench_state(b, "p0+2 rw ~ p2+2 rw | p4+4 none sealed?");
	BOTH_SAY(b, "mremap p0+2 to 3 pages 0", "ENOMEM (no room to grow in place)");
	bench_state(b, "p0+4 rw");
	b->info.layout.task_size = ARENA(6);
	BOTH_SAY(b, "mremap p0+4 to 6 pages 0", "= p0 {extend p4+2}");
	BOTH_SAY(b, "mremap p0+4 to 7 pages 0", "ENOMEM (no room to grow in place)");
	bench_close(b);
}

static void test_uncertain_boundary(void **state)
{
	struct bench *b = bench_open("p0+2 rw ? p2+2 rw");

	(void)state;
	BOTH_SAY(b, "mremap p0+4 to 6 pages 0",
		 "EFAULT (source crosses a VMA); = p0 {extend p4+2}");
	SAYS(b, "6.12", "mremap p0+4 -> p16+6 " MMF,
	     "EFAULT (source crosses a VMA) {unmap p16+6}; "
	     "= p16 {unmap p16+6, move p0+4 to p16, extend p20+2}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+6 " MMF,
	     "EFAULT (source crosses a VMA); "
	     "= p16 {unmap p16+6, move p0+4 to p16, extend p20+2}");
	/* a joined boundary is none, one that is certain decides */
	bench_state(b, "p0+2 rw ~ p2+2 rw");
	BOTH_SAY(b, "mremap p0+4 to 6 pages 0", "= p0 {extend p4+2}");
	bench_state(b, "p0+2 rw | p2+2 rw");
	BOTH_SAY(b, "mremap p0+4 to 6 pages 0", "EFAULT (source crosses a VMA)");
	/* does it end where the next may begin? */
	bench_state(b, "p0+4 rw sealed?");
	BOTH_SAY(b, "mremap p0+4 to 6 pages 0", "EPERM (source is sealed); = p0 {extend p4+2}");
	bench_close(b);
}

/* A fixed destination: what is lost when a later check fails. */
static void test_destination_lost(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p16+6 rw | p24+4 r");

	(void)state;
	SAYS(b, "6.12", "mremap p0+4 -> p16+6 " MMF, "EFAULT (source crosses a VMA) {unmap p16+6}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+6 " MMF, "EFAULT (source crosses a VMA)");
	SAYS(b, "6.12", "mremap p0+0 -> p16+4 " MMF,
	     "EINVAL (old length 0 of a private mapping) {unmap p16+4}");
	SAYS(b, "6.18", "mremap p0+0 -> p16+4 " MMF, "EINVAL (old length 0 of a private mapping)");
	/* shrinking, but what is kept crosses: 6.12 has cut the tail off too */
	SAYS(b, "6.12", "mremap p0+4 -> p16+3 " MMF,
	     "EFAULT (source crosses a VMA) {unmap p16+3, unmap p3+1}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+3 " MMF, "EFAULT (source crosses a VMA)");
	/* what is kept lies in one VMA: the tail may cross */
	BOTH_SAY(b, "mremap p0+4 -> p16+1 " MMF,
		 "= p16 {unmap p16+1, unmap p1+3, move p0+1 to p16}");
	/* the same length over a boundary */
	SAYS(b, "6.12", "mremap p0+4 -> p16+4 " MMF, "EFAULT (source crosses a VMA) {unmap p16+4}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF, "= p16 {move p0+4 to p16}");
	/* DONTUNMAP the same */
	SAYS(b, "6.12", "mremap p0+4 -> p16+4 " DU "|fixed",
	     "EFAULT (source crosses a VMA) {unmap p16+4}");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " DU "|fixed", "= p16 {move p0+4 to p16 keep}");
	bench_close(b);
}

static void test_destination_sealed(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p16+2 rw | p18+2 r sealed");

	(void)state;
	BOTH_SAY(b, "mremap p0+2 -> p16+3 " MMF, "EPERM (destination is sealed) {split p16+3}");
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " MMF, "= p16 {unmap p16+2, move p0+2 to p16}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+2 " MMF, "= p16 {move p0+2 to p16}");
	/* 6.12 looks at the destination before the source's boundary, 6.17 after it */
	SAYS(b, "6.12", "mremap p0+3 -> p17+4 " MMF, "EPERM (destination is sealed) {split p17+4}");
	SAYS(b, "6.18", "mremap p0+3 -> p17+4 " MMF, "EFAULT (source crosses a VMA)");
	bench_close(b);
}

/* remap_move(): one VMA after the other, each failure leaves those before it moved. */
static void test_move_of_several(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p6+2 rw sealed | p16+9 rw");

	(void)state;
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF, "= p16 {move p0+4 to p16}");
	SAYS(b, "6.18", "mremap p1+2 -> p16+2 " MMF, "= p16 {move p1+2 to p16}");
	/* holes inside and behind are kept, one at the start is not allowed */
	SAYS(b, "6.18", "mremap p2+4 -> p16+4 " MMF, "= p16 {move p2+4 to p16}");
	SAYS(b, "6.18", "mremap p4+3 -> p16+3 " MMF, "EFAULT (source is not mapped)");
	SAYS(b, "6.18", "mremap p40+3 -> p16+3 " MMF, "EFAULT (source is not mapped)");
	/* the first two are moved when the third is found sealed */
	SAYS(b, "6.18", "mremap p0+8 -> p16+8 " MMF, "EPERM (source is sealed) {move p0+6 to p16}");
	SAYS(b, "6.18", "mremap p6+2 -> p16+2 " MMF, "EPERM (source is sealed)");
	SAYS(b, "6.18", "mremap p0+6 -> p16+6 " MMF, "= p16 {move p0+6 to p16}");
	/* 6.12 knows one VMA only, and has unmapped the destination by then */
	SAYS(b, "6.12", "mremap p0+8 -> p16+8 " MMF, "EFAULT (source crosses a VMA) {unmap p16+8}");
	bench_close(b);
}

static void test_move_onto_seals(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r | p6+2 rw | p16+2 rw | p18+1 r sealed");

	(void)state;
	SAYS(b, "6.18", "mremap p0+8 -> p16+8 " MMF,
	     "EPERM (destination is sealed) {move p0+2 to p16, split p18+2}");
	SAYS(b, "6.18", "mremap p0+2 -> p18+2 " MMF, "EPERM (destination is sealed) {split p18+2}");
	/* a seal opposite to a hole of the source is not met */
	SAYS(b, "6.18", "mremap p2+6 -> p16+6 " MMF, "= p16 {move p2+6 to p16}");
	SAYS(b, "6.12", "mremap p2+2 -> p17+2 " MMF, "EPERM (destination is sealed) {split p17+2}");
	/* which of two seals? the source's is looked at first, piece by piece */
	bench_state(b, "p0+2 rw | p2+2 r sealed | p16+2 rw sealed | p18+2 rw sealed");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF, "EPERM (destination is sealed) {split p16+2}");
	SAYS(b, "6.18", "mremap p2+2 -> p16+2 " MMF, "EPERM (source is sealed)");
	SAYS(b, "6.12", "mremap p2+2 -> p16+2 " MMF, "EPERM (source is sealed)");
	bench_close(b);
}

/* Where a boundary is uncertain, each way to cut the source is an outcome. */
static void test_move_with_uncertain_pieces(void **state)
{
	struct bench *b = bench_open("p0+2 rw ? p2+2 rw | p4+2 r sealed");

	(void)state;
	SAYS(b, "6.18", "mremap p0+6 -> p16+6 " MMF, "EPERM (source is sealed) {move p0+4 to p16}");
	bench_state(b, "p0+2 rw ? p2+2 rw | p18+1 r sealed");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF,
	     "EPERM (destination is sealed) {split p16+4}; "
	     "EPERM (destination is sealed) {move p0+2 to p16, split p18+2}");
	bench_state(b, "p0+2 rw | p2+2 r sealed? | p18+1 r");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF,
	     "EPERM (source is sealed) {move p0+2 to p16}; = p16 {move p0+4 to p16}");
	bench_state(b, "p0+2 rw ~ p2+2 rw | p18+1 r sealed");
	SAYS(b, "6.18", "mremap p0+4 -> p16+4 " MMF, "EPERM (destination is sealed) {split p16+4}");
	/* from inside a VMA: the first piece is certain */
	bench_state(b, "p0+4 rw ? p4+2 rw sealed?");
	SAYS(b, "6.18", "mremap p2+2 -> p16+2 " MMF, "= p16 {move p2+2 to p16}");
	bench_close(b);
}

static void test_source_in_destination(void **state)
{
	struct bench *b = bench_open("p0+2 rw shared | p2+2 rw");

	(void)state;
	/* old length 0: only a destination that starts at the source is no overlap */
	SAYS(b, "6.12", "mremap p0+0 -> p0+2 " MMF,
	     "EFAULT (source lies in the destination) {unmap p0+2}");
	SAYS(b, "6.18", "mremap p0+0 -> p0+2 " MMF,
	     "EFAULT (source lies in the destination) {unmap p0+2}");
	BOTH_SAY(b, "mremap p1+0 -> p0+2 " MMF, "EINVAL (source and destination overlap)");
	bench_close(b);
}

static void test_duplicate(void **state)
{
	struct bench *b = bench_open("p0+2 rw shared | p2+2 rw");

	(void)state;
	BOTH_SAY(b, "mremap p1+0 to 3 pages maymove", "chosen 3 {duplicate chosen+0+3 of p1}");
	BOTH_SAY(b, "mremap p0+0 to 3 pages 0", "ENOMEM (no room to grow in place)");
	BOTH_SAY(b, "mremap p1+0 -> p16+3 " MMF, "= p16 {unmap p16+3, duplicate p16+3 of p1}");
	bench_close(b);
}

static void test_dontunmap(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p8+4 rw");

	(void)state;
	/* without MREMAP_FIXED the address is a hint: taken if free */
	BOTH_SAY(b, "mremap p0+4 -> p16+4 " DU, "= p16 {move p0+4 to p16 keep}");
	BOTH_SAY(b, "mremap p1+2 -> p6+2 " DU, "= p6 {move p1+2 to p6 keep}");
	BOTH_SAY(b, "mremap p0+4 -> p6+4 " DU, "chosen 4 {move p0+4 to chosen+0 keep}");
	BOTH_SAY(b, "mremap p0+4 to 4 pages " DU, "chosen 4 {move p0+4 to chosen+0 keep}");
	BOTH_SAY(b, "mremap p0+4 -> p2+4 " DU, "EINVAL (source and destination overlap)");
	SAYS(b, "6.12", "mremap p0+4 -> p8+4 " DU "|fixed",
	     "= p8 {unmap p8+4, move p0+4 to p8 keep}");
	SAYS(b, "6.18", "mremap p0+4 -> p8+4 " DU "|fixed", "= p8 {move p0+4 to p8 keep}");
	bench_close(b);
}

/* A low destination is refused after it was unmapped; the privileged may. */
static void test_mmap_min_addr(void **state)
{
	struct bench *b = bench_open("x1000+2 r | p0+4 rw | p4+2 r");

	(void)state;
	SAYS(b, "6.12", "mremap p0+2 -> null[1]+2 " MMF,
	     "EPERM (destination below mmap_min_addr) {unmap 0x1000+2}");
	SAYS(b, "6.18", "mremap p0+2 -> null[1]+2 " MMF,
	     "EPERM (destination below mmap_min_addr) {unmap 0x1000+2}");
	SAYS(b, "6.18", "mremap p0+6 -> null[14]+6 " MMF,
	     "EPERM (destination below mmap_min_addr) {unmap 0xe000+4}");
	SAYS(b, "6.12", "mremap p0+4 -> null[8]+6 " MMF,
	     "EPERM (destination below mmap_min_addr) {unmap 0x8000+6}");
	BOTH_SAY(b, "mremap p0+2 -> null[8]+2 " DU, "EPERM (destination below mmap_min_addr)");
	SAYS(b, "6.12", "mremap p0+2 -> null[16]+2 " MMF,
	     "= 0x10000 {unmap 0x10000+2, move p0+2 to 0x10000}");
	b->info.cap_effective = 1ull << 17;
	SAYS(b, "6.12", "mremap p0+2 -> null[8]+2 " MMF,
	     "= 0x8000 {unmap 0x8000+2, move p0+2 to 0x8000}");
	bench_close(b);
}

static void test_commit_limit(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r");

	(void)state;
	b->info.total_pages = 100;
	SAYS(b, "6.12", "mremap p0+2 -> p16+103 " MMF, "ENOMEM (commit limit) {unmap p16+103}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+103 " MMF, "ENOMEM (commit limit) {unmap p16+103}");
	BOTH_SAY(b, "mremap p0+2 -> p16+102 " MMF,
		 "= p16 {unmap p16+102, move p0+2 to p16, extend p18+100}");
	BOTH_SAY(b, "mremap p0+2 to 103 pages maymove", "ENOMEM (commit limit)");
	BOTH_SAY(b, "mremap p0+2 to 103 pages 0", "ENOMEM (no room to grow in place)");
	BOTH_SAY(b, "mremap p2+2 to 300 pages 0", "= p2 {extend p4+298}");
	/* what cannot be written is not charged, unless it once was */
	bench_state(b, "p0+2 rw | p2+2 r ac");
	BOTH_SAY(b, "mremap p2+2 to 102 pages 0", "= p2 {extend p4+100}");
	BOTH_SAY(b, "mremap p2+2 to 103 pages 0", "ENOMEM (commit limit)");
	bench_state(b, "p0+2 rw | p2+2 r ac?");
	BOTH_SAY(b, "mremap p2+2 to 103 pages 0", "ENOMEM (commit limit); = p2 {extend p4+101}");
	/* DONTUNMAP is charged in full */
	bench_state(b, "p0+101 rw");
	BOTH_SAY(b, "mremap p0+101 -> p127+101 " DU, "ENOMEM (commit limit)");
	SAYS(b, "6.12", "mremap p0+101 -> p127+101 " DU "|fixed",
	     "ENOMEM (commit limit) {unmap p127+101}");
	SAYS(b, "6.18", "mremap p0+101 -> p127+101 " DU "|fixed",
	     "ENOMEM (commit limit) {unmap p127+101}");
	BOTH_SAY(b, "mremap p0+100 -> p127+100 " DU, "= p127 {move p0+100 to p127 keep}");
	/* a move within the limits of a shrink charges nothing */
	BOTH_SAY(b, "mremap p0+101 -> p127+2 " MMF,
		 "= p127 {unmap p127+2, unmap p2+99, move p0+2 to p127}");
	bench_close(b);
}

static void test_strict_overcommit(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r");

	(void)state;
	b->info.overcommit_memory = 2;
	SAYS(b, "6.12", "mremap p0+2 -> p16+3 " MMF,
	     "ENOMEM (commit limit) {unmap p16+3}; "
	     "= p16 {unmap p16+3, move p0+2 to p16, extend p18+1}");
	BOTH_SAY(b, "mremap p2+2 to 3 pages 0", "= p2 {extend p4+1}");
	/* move_vma() asks for 0 pages too, which fails where the limit was lowered below use */
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " MMF,
	     "ENOMEM (commit limit) {unmap p16+2}; = p16 {unmap p16+2, move p0+2 to p16}");
	b->info.overcommit_memory = 1;
	b->info.total_pages = 1;
	BOTH_SAY(b, "mremap p0+2 -> p16+6 " MMF,
		 "= p16 {unmap p16+6, move p0+2 to p16, extend p18+4}");
	bench_close(b);
}

static void test_room(void **state)
{
	struct bench *b = bench_open("p0+2 rw");

	(void)state;
	/* the free part above the arena is 3/4 of all, less than this */
	BOTH_SAY(b, "mremap p0+2 to 1task maymove", "ENOMEM (no free range is long enough)");
	bench_close(b);
}

static void test_map_count(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r");

	(void)state;
	b->info.max_map_count = 10;
	SAYS(b, "6.12", "mremap p0+2 -> p16+2 " MMF,
	     "ENOMEM (too many mappings); = p16 {unmap p16+2, move p0+2 to p16}");
	SAYS(b, "6.18", "mremap p0+2 -> p16+2 " MMF,
	     "ENOMEM (too many mappings); = p16 {move p0+2 to p16}");
	/* move_vma() keeps a reserve, a tail may leave one VMA as two */
	SAYS(b, "6.12", "mremap p0+2 to 3 pages maymove",
	     "ENOMEM (too many mappings); "
	     "chosen 3 {move p0+2 to chosen+0, extend chosen+2+1}");
	SAYS(b, "6.12", "mremap p0+2 to 1 page 0", "ENOMEM (too many mappings); = p0 {unmap p1+1}");
	b->info.max_map_count = 11;
	SAYS(b, "6.18", "mremap p0+2 -> p16+2 " MMF, "= p16 {move p0+2 to p16}");
	bench_close(b);
}

/* Without an order of checks: all errors that apply, and no success if one certainly does. */
static void test_documented(void **state)
{
	struct bench *b = bench_open("p0+2 rw | p2+2 r sealed | p16+2 rw sealed");

	(void)state;
	assert_string_equal(bench_ask(b, "6.18", true, "mremap p2[1b]+2 -> p1+4 0xa"),
			    "EINVAL (unknown flags); "
			    "EINVAL (MREMAP_FIXED without MREMAP_MAYMOVE); "
			    "EINVAL (address not page aligned); "
			    "EINVAL (source and destination overlap); "
			    "EPERM (source is sealed); EFAULT (source crosses a VMA); "
			    "EPERM (destination is sealed) {split p1+4}");
	assert_string_equal(bench_ask(b, "6.12", true, "mremap p0+4 -> p16+6 " MMF),
			    "EPERM (destination is sealed) {split p16+6}; "
			    "EFAULT (source crosses a VMA)");
	assert_string_equal(bench_ask(b, "6.12", true, "mremap p0+4 -> p32+6 " MMF),
			    "EFAULT (source crosses a VMA) {unmap p32+6}");
	assert_string_equal(bench_ask(b, "6.12", true, "mremap p0+2 -> p32+2 " MMF),
			    "= p32 {unmap p32+2, move p0+2 to p32}");
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_order_of_arguments),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_same_length),
		cmocka_unit_test(test_shrink_in_place),
		cmocka_unit_test(test_growth_in_place),
		cmocka_unit_test(test_uncertain_boundary),
		cmocka_unit_test(test_destination_lost),
		cmocka_unit_test(test_destination_sealed),
		cmocka_unit_test(test_move_of_several),
		cmocka_unit_test(test_move_onto_seals),
		cmocka_unit_test(test_move_with_uncertain_pieces),
		cmocka_unit_test(test_source_in_destination),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_dontunmap),
		cmocka_unit_test(test_mmap_min_addr),
		cmocka_unit_test(test_commit_limit),
		cmocka_unit_test(test_strict_overcommit),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_map_count),
		cmocka_unit_test(test_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
