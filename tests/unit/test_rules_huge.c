/* SPDX-License-Identifier: MIT */
/* Huge pages (MAP_HUGETLB): what calls may do with them where none can be had, and where some may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

#define SPLIT "EINVAL (split inside a huge page)"

static struct bench *open_bench(const char *state)
{
	struct bench *b = bench_open(state);

	b->info.features |= VM_HAS_HUGE_2MB | VM_HAS_HUGE_1GB | VM_HAS_HUGE_DEFAULT;
	return b;
}

static void test_mmap(void **state)
{
	struct bench *b = open_bench("p0+4 rw");
	const char *size = "EINVAL (huge pages of a size that there is not)";

	(void)state;
	BOTH_SAY(b, "mmap p0[512]+1 rw anon private hugetlb noreserve", "= p512 {map p512+512 rw}");
	BOTH_SAY(b, "mmap p0[512]+513 rw anon shared hugetlb huge2mb noreserve",
		 "= p512 {map p512+1024 rw shared}");
	BOTH_SAY(b, "mmap p0+1 rw m0 private hugetlb noreserve",
		 "EINVAL (MAP_HUGETLB of a file without huge pages)");
	BOTH_SAY(b, "mmap p0+1 rw anon private hugetlb noreserve 0x50000000", size);
	BOTH_SAY(b, "mmap p0+0 rw anon private hugetlb noreserve", "EINVAL (length is 0)");
	BOTH_SAY(b, "mmap p0+-1 rw anon private hugetlb", "EINVAL (length wraps to 0)");
	BOTH_SAY(b, "mmap p1+1 rw anon private hugetlb",
		 "EINVAL (address not aligned to huge pages)");
	BOTH_SAY(b, "mmap p0+1 none anon private hugetlb",
		 "ENOMEM (no huge pages to reserve) {unmap p0+512}");
	BOTH_SAY(b, "mmap p0+1 r none@1 anon private hugetlb",
		 "EINVAL (offset not aligned to huge pages) {unmap p0+512}");
	BOTH_SAY(b, "mmap any+1 rw anon private hugetlb", "ENOMEM (no huge pages to reserve)");
	BOTH_SAY(b, "mmap any+1 rw anon private hugetlb noreserve",
		 "chosen 512 {map chosen+0+512 rw}");
	BOTH_SAY(b, "mmap p0[512]+1 rw anon droppable hugetlb noreserve",
		 "EINVAL (neither MAP_SHARED nor MAP_PRIVATE)");
	b->info.features &= ~(VM_HAS_HUGE_1GB | VM_HAS_HUGE_DEFAULT);
	BOTH_SAY(b, "mmap p0+1 rw anon private hugetlb noreserve", size);
	BOTH_SAY(b, "mmap p0+1 rw anon private hugetlb noreserve huge1gb", size);
	bench_close(b);
}

static void test_hint(void **state)
{
	struct bench *b = open_bench("p0+4 rw");

	(void)state;
	SAYS(b, "6.12", "mmap p0[2pmd+1]+1 r anon private hugetlb noreserve hint",
	     "= p1024 {map p1024+512 r}");
	SAYS(b, "6.18", "mmap p0[2pmd+1]+1 r anon private hugetlb noreserve hint",
	     "= p1536 {map p1536+512 r}");
	SAYS(b, "6.12", "mmap null[1]+1 r anon private hugetlb noreserve hint",
	     "EPERM (address below mmap_min_addr)");
	SAYS(b, "6.18", "mmap null[1]+1 r anon private hugetlb noreserve hint",
	     "= 0x200000 {map 0x200000+512 r}");
	bench_close(b);
}

static void test_parts(void **state)
{
	struct bench *b = open_bench("p0+1024 rw ht | p1024+1 r sealed");

	(void)state;
	BOTH_SAY(b, "munmap p0+1", SPLIT " {split p0+0}");
	BOTH_SAY(b, "munmap p1+511", SPLIT);
	BOTH_SAY(b, "munmap p0[512]+1024", "EPERM (sealed page in the range) {split p512+1024}");
	BOTH_SAY(b, "munmap p0[513]+1024", SPLIT);
	BOTH_SAY(b, "munmap p0[512]+512", "= 0 {unmap p512+512}");
	BOTH_SAY(b, "mmap p0+1 r anon private", SPLIT " {split p0+0}");
	BOTH_SAY(b, "mprotect p0+1 r", SPLIT " {split p0+0} documented");
	BOTH_SAY(b, "mprotect p1+511 r", SPLIT);
	BOTH_SAY(b, "mprotect p1+511 rw", "= 0 {protect p1+511 rw} documented");
	BOTH_SAY(b, "mprotect p0+512 r", "= 0 {protect p0+512 r} documented");
	BOTH_SAY(b, "mseal p0+1", SPLIT " {split p0+0}");
	BOTH_SAY(b, "mseal p0[512]+512", "= 0 {seal p512+512}");
	BOTH_SAY(b, "madvise p0+1 random", SPLIT " {split p0+0} documented");
	BOTH_SAY(b, "madvise p0+1 normal", "= 0 {flags p0+1} documented");
	BOTH_SAY(b, "madvise p1+1 dontneed", "EINVAL (start is inside a huge page)");
	BOTH_SAY(b, "madvise p0+513 dontneed", "= 0 {drop p0+512} documented");
	bench_state(b, "p0+2 r | p512+512 rw ht sealed");
	BOTH_SAY(b, "munmap p0[513]+1", "EPERM (sealed page in the range)");
	BOTH_SAY(b, "mseal p0[513]+1", "= 0 {seal p513+1}");
	bench_state(b, "p511+1 r | p512+512 rw ht");
	BOTH_SAY(b, "mseal p0[511]+2", SPLIT " {seal p511+1}");
	bench_state(b, "p0+512 rw ht?");
	BOTH_SAY(b, "munmap p1+511", SPLIT "; = 0 {unmap p1+511}");
	bench_state(b, "p0+262144 rw ht1g");
	BOTH_SAY(b, "munmap p0[512]+512", SPLIT);
	bench_close(b);
}

#define NONE "(no huge page to be had)"

/* With a pool either may happen. */
static void test_touch(void **state)
{
	struct bench *b = open_bench("p0+512 r ht");

	(void)state;
	BOTH_SAY(b, "read p3+1", "SIGBUS/2 after 0 " NONE);
	BOTH_SAY(b, "write p3+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	BOTH_SAY(b, "madvise p3+1 populate_read", "EFAULT " NONE);
	BOTH_SAY(b, "mlock p3+1", "ENOMEM " NONE " {lock p3+1 lo}");
	b->info.features |= VM_HAS_HUGE_POOL;
	BOTH_SAY(b, "read p3+1", "SIGBUS/2 after 0 " NONE "; = 1");
	BOTH_SAY(b, "mmap p0+1 r anon private hugetlb",
		 "ENOMEM (no huge pages to reserve) {unmap p0+512}; = p0 {map p0+512 r}");
	bench_close(b);
}

static void test_mremap(void **state)
{
	struct bench *b = open_bench("p0+1024 rw ht | p2048+2 rw");
	const char *unaligned = "EINVAL (not aligned to huge pages)";

	(void)state;
	BOTH_SAY(b, "mremap p0+1 to 2 pages 0", "= p0");
	BOTH_SAY(b, "mremap p0+1 -> p1+1 maymove", unaligned);
	BOTH_SAY(b, "mremap p1+1 to 1 pages 0", unaligned);
	BOTH_SAY(b, "mremap p0+1 to 513 pages maymove", "EINVAL (huge pages do not grow)");
	BOTH_SAY(b, "mremap p0+1024 to 1 pages 0", "= p0 {unmap p512+512}");
	SAYS(b, "6.18", "mremap p0+1 -> p0[1024]+1 maymove|fixed",
	     "= p1024 {move p0+512 to p1024}");
	SAYS(b, "6.18", "mremap p0+1 -> p0[1025]+1 maymove|fixed", unaligned);
	SAYS(b, "6.12", "mremap p0+512 -> p0[1024]+512 maymove|fixed|dontunmap",
	     "EINVAL (MREMAP_DONTUNMAP of huge pages) {unmap p1024+512}");
	SAYS(b, "6.18", "mremap p0+512 -> p0[1024]+512 maymove|fixed|dontunmap",
	     "EINVAL (MREMAP_DONTUNMAP of huge pages)");
	BOTH_SAY(b, "mremap p0[2048]+1 -> p0[512]+1 maymove|fixed", SPLIT " {split p512+0}");
	bench_close(b);
}

/* A shrink of the heap, which somebody mapped huge pages into. */
static void test_brk(void **state)
{
	struct bench *b = open_bench("x500000+256 rw | x600000+512 rw ht");

	(void)state;
	b->state.process.brk = 0x800000;
	BOTH_SAY(b, "brk null[1537]", "= brk[768] (split inside a huge page) {split brk[257]+511}");
	BOTH_SAY(b, "brk null[1536]", "= brk[256] {unmap brk[256]+512}");
	bench_close(b);
}

/* Belief does not let a VMA begin inside of a huge page. */
static void test_settle(void **state)
{
	struct bench *b = open_bench("p0+500 rw ht ? p500+524 rw ht");

	(void)state;
	vm_state_settle(&b->state);
	assert_int_equal(b->state.area[1].begins, VM_NO);
	bench_state(b, "p0+512 rw ht ? p512+512 rw ht");
	vm_state_settle(&b->state);
	assert_int_equal(b->state.area[1].begins, VM_MAYBE);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap),   cmocka_unit_test(test_hint),
		cmocka_unit_test(test_parts),  cmocka_unit_test(test_touch),
		cmocka_unit_test(test_brk),    cmocka_unit_test(test_mremap),
		cmocka_unit_test(test_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
