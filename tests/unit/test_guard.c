/* SPDX-License-Identifier: MIT */
/* Which calls are withheld. The guard is pages 10..19 of a small address space. */
#include <linux/mman.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "harness/program/advice.h"
#include "harness/program/call_table.h"

#define P	      4096ll
#define TASK	      ((1ull << 47) - P)
#define FIXED_PRIVATE (MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED)
#define MOVE	      (MREMAP_MAYMOVE | MREMAP_FIXED)

static const struct vm_layout layout = {
	.page_size = P,
	.pmd_size = 2ull << 20,
	.pud_size = 1ull << 30,
	.task_size = TASK,
	.arena_base = 0x100000000000,
	.arena_size = 4ull << 30,
};

static const struct vm_range guards[] = { { 10 * P, 20 * P }, { TASK - 4 * P, TASK } };

static enum vm_withheld ask(int op, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const struct vm_syscall sc = { (uint8_t)op, { a, b, c, d, e } };

	return vm_call_withheld(&sc, &layout, guards, 2);
}

#define PERMITTED(op, ...) assert_int_equal(ask(VM_OP_##op, __VA_ARGS__), VM_PERMITTED)
#define GUARDED(op, ...)   assert_int_equal(ask(VM_OP_##op, __VA_ARGS__), VM_WITHHELD_GUARD)
#define TOO_MUCH(op, ...)  assert_int_equal(ask(VM_OP_##op, __VA_ARGS__), VM_WITHHELD_MEMORY)

/* What all calls on one range share: exact at both edges, lengths rounded up. */
static void check_edges(int op, uint64_t prot, uint64_t flags)
{
	assert_int_equal(ask(op, 9 * P, P, prot, flags, 0), VM_PERMITTED);
	assert_int_equal(ask(op, 9 * P, P + 1, prot, flags, 0), VM_WITHHELD_GUARD);
	assert_int_equal(ask(op, 10 * P, 1, prot, flags, 0), VM_WITHHELD_GUARD);
	assert_int_equal(ask(op, 12 * P, P, prot, flags, 0), VM_WITHHELD_GUARD);
	assert_int_equal(ask(op, 19 * P, P, prot, flags, 0), VM_WITHHELD_GUARD);
	assert_int_equal(ask(op, 20 * P, P, prot, flags, 0), VM_PERMITTED);
	assert_int_equal(ask(op, 0, 100 * P, prot, flags, 0), VM_WITHHELD_GUARD);
	assert_int_equal(ask(op, TASK - 5 * P, P, prot, flags, 0), VM_PERMITTED);
	assert_int_equal(ask(op, TASK - P, P, prot, flags, 0), VM_WITHHELD_GUARD);
}

static void test_edges(void **state)
{
	(void)state;
	check_edges(VM_OP_MMAP, 3, FIXED_PRIVATE);
	check_edges(VM_OP_MUNMAP, 0, 0);
	check_edges(VM_OP_MPROTECT, 1, 0);
	check_edges(VM_OP_MSEAL, 0, 0);
	check_edges(VM_OP_READ, 0, 0);
	check_edges(VM_OP_WRITE, 0, 0);
	check_edges(VM_OP_FILL, 0, 0);
	check_edges(VM_OP_MLOCK, 0, 0);
	check_edges(VM_OP_MLOCK2, 1, 0);
	check_edges(VM_OP_MUNLOCK, 0, 0);
	check_edges(VM_OP_MADVISE, MADV_DONTNEED, 0);
	check_edges(VM_OP_PROCESS_MADVISE, MADV_COLD, 0);
}

static void test_no_guard_permits(void **state)
{
	const struct vm_syscall sc = { VM_OP_MUNMAP, { 10 * P, P } };

	(void)state;
	assert_int_equal(vm_call_withheld(&sc, &layout, NULL, 0), VM_PERMITTED);
}

static void test_mmap(void **state)
{
	(void)state;
	/* Only MAP_FIXED without NOREPLACE maps over what is there. */
	PERMITTED(MMAP, 10 * P, P, 3, MAP_ANONYMOUS | MAP_PRIVATE, 0);
	PERMITTED(MMAP, 10 * P, P, 3, MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED_NOREPLACE, 0);
	PERMITTED(MMAP, 10 * P, P, 3, FIXED_PRIVATE | MAP_FIXED_NOREPLACE, 0);
	GUARDED(MMAP, 10 * P, P, 0, MAP_FIXED, 0);
	/* Refused before it looks: no length, unaligned, beyond TASK_SIZE, a length that wraps. */
	PERMITTED(MMAP, 12 * P, 0, 3, FIXED_PRIVATE, 0);
	PERMITTED(MMAP, 12 * P + 1, P, 3, FIXED_PRIVATE, 0);
	PERMITTED(MMAP, TASK - P, 2 * P, 3, FIXED_PRIVATE, 0);
	PERMITTED(MMAP, 12 * P, TASK - 11 * P, 3, FIXED_PRIVATE, 0);
	PERMITTED(MMAP, 12 * P, -1ull, 3, FIXED_PRIVATE, 0);
	PERMITTED(MMAP, 12 * P, -P, 3, FIXED_PRIVATE, 0);
}

static void test_munmap(void **state)
{
	(void)state;
	PERMITTED(MUNMAP, 12 * P, 0, 0, 0, 0);
	PERMITTED(MUNMAP, 12 * P + 8, P, 0, 0, 0);
	PERMITTED(MUNMAP, 12 * P, -1ull, 0, 0, 0);
	PERMITTED(MUNMAP, 12 * P, TASK, 0, 0, 0);
	PERMITTED(MUNMAP, TASK - P, P + 1, 0, 0, 0);
	GUARDED(MUNMAP, 0, TASK, 0, 0, 0);
	GUARDED(MUNMAP, 12 * P, TASK - 12 * P, 0, 0, 0);
}

static void test_mprotect_and_mseal(void **state)
{
	(void)state;
	for (int op = VM_OP_MPROTECT; op <= VM_OP_MSEAL; op++) {
		assert_int_equal(ask(op, 12 * P + 1, P, 0, 0, 0), VM_PERMITTED);
		assert_int_equal(ask(op, 12 * P, 0, 0, 0, 0), VM_PERMITTED);
		assert_int_equal(ask(op, 12 * P, -1ull, 0, 0, 0), VM_PERMITTED);
		assert_int_equal(ask(op, 12 * P, -12 * P, 0, 0, 0), VM_PERMITTED);
		/* Not against TASK_SIZE: what is mapped before it is changed. */
		assert_int_equal(ask(op, 12 * P, -13 * P, 0, 0, 0), VM_WITHHELD_GUARD);
		assert_int_equal(ask(op, 12 * P, TASK, 0, 0, 0), VM_WITHHELD_GUARD);
	}
}

/* The vdso is pages 12 and 13 of the guard, vvar 14 to 17: but for them, nothing of it is to be
 * had. */
static void test_special(void **state)
{
	struct vm_layout with = layout;
	const struct {
		int op;
		uint64_t start, pages;
		enum vm_withheld said;
	} cases[] = {
		{ VM_OP_MPROTECT, 12, 2, VM_PERMITTED },
		{ VM_OP_MPROTECT, 13, 1, VM_PERMITTED },
		{ VM_OP_MPROTECT, 14, 4, VM_PERMITTED },
		{ VM_OP_MSEAL, 12, 2, VM_PERMITTED },
		{ VM_OP_MUNMAP, 12, 1, VM_PERMITTED },
		{ VM_OP_MUNMAP, 15, 3, VM_PERMITTED },
		{ VM_OP_MUNMAP, 12, 2, VM_WITHHELD_GUARD },
		{ VM_OP_MUNMAP, 14, 4, VM_WITHHELD_GUARD },
		{ VM_OP_MUNMAP, 13, 2, VM_WITHHELD_GUARD },
		{ VM_OP_MPROTECT, 12, 3, VM_WITHHELD_GUARD },
		{ VM_OP_MPROTECT, 11, 2, VM_WITHHELD_GUARD },
		{ VM_OP_MSEAL, 17, 2, VM_WITHHELD_GUARD },
		{ VM_OP_MADVISE, 12, 1, VM_WITHHELD_GUARD },
		{ VM_OP_MLOCK, 12, 1, VM_WITHHELD_GUARD },
		{ VM_OP_READ, 12, 1, VM_WITHHELD_GUARD },
	};

	(void)state;
	with.vdso = (struct vm_range){ 12 * P, 14 * P };
	with.vvar = (struct vm_range){ 14 * P, 18 * P };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct vm_syscall sc = { (uint8_t)cases[i].op,
					       { cases[i].start * P, cases[i].pages * P } };

		assert_int_equal(vm_call_withheld(&sc, &with, guards, 2), cases[i].said);
	}
}

static void test_mremap_source(void **state)
{
	(void)state;
	GUARDED(MREMAP, 12 * P, P, 2 * P, MREMAP_MAYMOVE, 0);
	GUARDED(MREMAP, 9 * P, 2 * P, P, 0, 0);
	GUARDED(MREMAP, 9 * P, 2 * P, P, MOVE, 40 * P);
	PERMITTED(MREMAP, 9 * P, P, 8 * P, MREMAP_MAYMOVE, 0); /* growth takes a hole */
	/* old_len 0 maps the object behind the page a second time; so does one that rounds to 0. */
	GUARDED(MREMAP, 12 * P, 0, P, MREMAP_MAYMOVE, 0);
	GUARDED(MREMAP, 12 * P, -1ull, P, MREMAP_MAYMOVE, 0);
	PERMITTED(MREMAP, 20 * P, 0, P, MREMAP_MAYMOVE, 0);
	/* Refused at once: unaligned, no new length or one that rounds to 0. */
	PERMITTED(MREMAP, 12 * P + 1, P, P, MREMAP_MAYMOVE, 0);
	PERMITTED(MREMAP, 12 * P, P, 0, MREMAP_MAYMOVE, 0);
	PERMITTED(MREMAP, 12 * P, P, -1ull, MREMAP_MAYMOVE, 0);
	/* Growth of a source that wraps is EFAULT. */
	PERMITTED(MREMAP, 40 * P, -8 * P, -4 * P, 0, 0);
}

/*
 * 6.12 checks a shrink in place only where it unmaps [addr + new_len, addr + old_len): sums that
 * both wrap give a proper range again.
 */
static void test_mremap_shrink_that_wraps(void **state)
{
	(void)state;
	GUARDED(MREMAP, 40 * P, -21 * P, -30 * P, 0, 0);     /* unmaps pages 10..18 */
	GUARDED(MREMAP, 40 * P, -30 * P + 1, -31 * P, 0, 0); /* unmaps pages 9 and 10 */
	PERMITTED(MREMAP, 40 * P, -30 * P, -31 * P, 0, 0);   /* unmaps page 9 */
	PERMITTED(MREMAP, 40 * P, -10 * P, -20 * P, 0, 0);   /* unmaps pages 20..29 */
	PERMITTED(MREMAP, 40 * P, -10 * P, P, 0, 0);	     /* the tail itself wraps: EINVAL */
}

static void test_mremap_destination(void **state)
{
	(void)state;
	GUARDED(MREMAP, 40 * P, P, P, MOVE, 12 * P);
	GUARDED(MREMAP, 40 * P, P, 2 * P, MOVE, 9 * P);
	GUARDED(MREMAP, 40 * P, P, P + 1, MOVE, 9 * P);
	GUARDED(MREMAP, 40 * P, P, P, MOVE | MREMAP_DONTUNMAP, 12 * P);
	PERMITTED(MREMAP, 40 * P, 4 * P, P, MOVE, 9 * P); /* the new length counts */
	/* Without MREMAP_FIXED the destination is a hint or nothing. */
	PERMITTED(MREMAP, 40 * P, P, P, MREMAP_MAYMOVE, 12 * P);
	PERMITTED(MREMAP, 40 * P, P, P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 12 * P);
	/* A refused destination: nothing happens to the source either. */
	PERMITTED(MREMAP, 12 * P, P, P, MOVE, 12 * P + 1);
	PERMITTED(MREMAP, 12 * P, P, 2 * P, MOVE, TASK - P);
	PERMITTED(MREMAP, 12 * P, P, -2 * P, MOVE, 40 * P);
	/* 6.12 unmaps the destination before it finds that the source wraps. */
	GUARDED(MREMAP, 40 * P, -P, P, MOVE, 12 * P);
}

static void test_touch(void **state)
{
	(void)state;
	/* Pages that the bytes overlap, from the start of the first to the end of the last. */
	GUARDED(READ, 10 * P - 1, 2, 0, 0, 0);
	PERMITTED(READ, 10 * P - 2, 2, 0, 0, 0);
	GUARDED(WRITE, 20 * P - 1, 1, 0, 0, 0);
	PERMITTED(FILL, 12 * P, 0, 0, 0, 0);
	/* At TASK_SIZE and above it faults, wherever the range would go on. */
	PERMITTED(READ, TASK, P, 0, 0, 0);
	PERMITTED(WRITE, -P, 14 * P, 0, 0, 0);
	GUARDED(FILL, TASK - P, 2 * P, 0, 0, 0);
	GUARDED(FILL, TASK - P, 1ull << 63, 0, 0, 0);
	GUARDED(FILL, TASK - P, UINT64_MAX, 0, 0, 0);
}

static void test_touch_of_too_much(void **state)
{
	const uint64_t most = VM_TOUCH_MAX_PAGES * P, at = 1000 * P;

	(void)state;
	for (int op = VM_OP_READ; op <= VM_OP_FILL; op++) {
		assert_int_equal(ask(op, at, most, 0, 0, 0), VM_PERMITTED);
		assert_int_equal(ask(op, at, most + 1, 0, 0, 0), VM_WITHHELD_MEMORY);
		assert_int_equal(ask(op, at + 1, most, 0, 0, 0), VM_WITHHELD_MEMORY);
		assert_int_equal(ask(op, at + 1, most - 1, 0, 0, 0), VM_PERMITTED);
	}
	TOO_MUCH(READ, TASK, UINT64_MAX, 0, 0, 0);
	TOO_MUCH(READ, TASK + 1, UINT64_MAX, 0, 0, 0);
	PERMITTED(MMAP, at, most + 1, 3, FIXED_PRIVATE, 0);
}

/* The start is rounded down; what wraps or is empty is refused or nothing; all is never withheld.
 */
static void test_locks(void **state)
{
	(void)state;
	GUARDED(MLOCK, 9 * P + 1, P, 0, 0, 0);
	GUARDED(MLOCK, 9 * P - 1, P + 2, 0, 0, 0);
	PERMITTED(MLOCK, 9 * P - 1, P + 1, 0, 0, 0);
	GUARDED(MUNLOCK, 19 * P + 1, 1, 0, 0, 0);
	PERMITTED(MLOCK, 10 * P, 0, 0, 0, 0);
	PERMITTED(MLOCK, 10 * P, UINT64_MAX, 0, 0, 0);
	PERMITTED(MUNLOCK, 10 * P, UINT64_MAX - P, 0, 0, 0);
	TOO_MUCH(MLOCK, 30 * P, 257 * P, 0, 0, 0);
	PERMITTED(MLOCK, 30 * P, 256 * P, 0, 0, 0);
	PERMITTED(MLOCK, 30 * P, VM_LOCK_MAX + 1, 0, 0, 0);
	TOO_MUCH(MLOCK2, 30 * P, VM_LOCK_MAX, 0, 0, 0);
	PERMITTED(MLOCK2, 30 * P, VM_LOCK_MAX, 1, 0, 0);
	TOO_MUCH(MMAP, 30 * P, 257 * P, 1, FIXED_PRIVATE | 0x2000, 0);
	PERMITTED(MMAP, 30 * P, 257 * P, 0, FIXED_PRIVATE | 0x2000, 0);
	PERMITTED(MLOCKALL, 7, 0, 0, 0, 0);
	PERMITTED(MUNLOCKALL, 0, 0, 0, 0, 0);
}

static void test_policies(void **state)
{
	(void)state;
	check_edges(VM_OP_MBIND, 2, 0);
	check_edges(VM_OP_HOME_NODE, 0, 0);
	GUARDED(MBIND, 0, TASK + P, 0, 0, 0);
	PERMITTED(MBIND, 9 * P + 1, 4 * P, 0, 0, 0);
}

/* Key 0 is the executor's, too. */
static void test_keys(void **state)
{
	(void)state;
	GUARDED(PKEY_FREE, 0, 0, 0, 0, 0);
	GUARDED(PKEY_FREE, 1ull << 32, 0, 0, 0, 0);
	PERMITTED(PKEY_FREE, 1, 0, 0, 0, 0);
	PERMITTED(PKEY_ALLOC, 0, 0, 0, 0, 0);
}

/* Whatever the values: whole pages, in order, and a second range for a move only. */
static void test_footprint_is_proper(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (unsigned int n = 0; n < 100000; n++) {
		struct vm_range range[2] = { { 0, 0 }, { 0, 0 } };
		struct vm_syscall sc = { (uint8_t)(n % VM_OP_COUNT), { 0 } };

		for (unsigned int i = 0; i < VM_CALL_MAX_ARGS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sc.arg[i] = x & 1 ? x >> (x >> 58) : (x >> 50) * P;
		}
		vm_call_desc(sc.op)->footprint(&sc, &layout, range);
		for (unsigned int i = 0; i < 2; i++) {
			assert_true(range[i].start <= range[i].end);
			assert_int_equal(range[i].start % P, 0);
			assert_int_equal(range[i].end % P, 0);
		}
		/* One range for all but a move. */
		assert_true(sc.op == VM_OP_MREMAP || range[1].start == range[1].end);
	}
}

static void test_madvise(void **state)
{
	const struct vm_syscall poison = { VM_OP_MADVISE, { 0, P, MADV_HWPOISON } };
	const struct vm_syscall cold = { VM_OP_MADVISE, { 0, P, MADV_COLD } };

	(void)state;
	PERMITTED(MADVISE, 9 * P + 1, 4 * P, MADV_DONTNEED, 0, 0);
	PERMITTED(MADVISE, 0, (uint64_t)-1, MADV_DONTNEED, 0, 0);
	GUARDED(MADVISE, 0, TASK + P, MADV_NORMAL, 0, 0);
	/* what takes memory or time for each page */
	PERMITTED(MADVISE, 20 * P, 256 * P, MADV_POPULATE_WRITE, 0, 0);
	TOO_MUCH(MADVISE, 20 * P, 257 * P, MADV_POPULATE_WRITE, 0, 0);
	TOO_MUCH(PROCESS_MADVISE, 20 * P, 257 * P, MADV_POPULATE_READ, 0, 0);
	TOO_MUCH(MADVISE, 20 * P, 1ull << 30, MADV_GUARD_INSTALL, 0, 0);
	PERMITTED(MADVISE, 20 * P, 1ull << 30, MADV_GUARD_REMOVE, 0, 0);
	PERMITTED(MADVISE, 20 * P, 4ull << 20, MADV_COLLAPSE, 0, 0);
	TOO_MUCH(MADVISE, 20 * P, (4ull << 20) + 1, MADV_COLLAPSE, 0, 0);
	TOO_MUCH(MADVISE, 20 * P, 1ull << 30, MADV_MERGEABLE, 0, 0);
	PERMITTED(MADVISE, 20 * P, 1ull << 40, MADV_DONTNEED, 0, 0);
	/* only the low 32 bits are the advice */
	TOO_MUCH(MADVISE, 20 * P, 257 * P, 1ull << 32 | MADV_POPULATE_WRITE, 0, 0);
	assert_true(vm_call_harmful(&poison, &layout, UINT64_MAX));
	assert_false(vm_call_harmful(&poison, &layout, 0));
	assert_false(vm_call_harmful(&cold, &layout, UINT64_MAX));
}

/* With CAP_IPC_LOCK no limit bounds what is locked, so what may be mapped is bounded. */
static void test_unlimited_locks(void **state)
{
	const uint64_t lock = 1ull << 14;
	struct vm_syscall sc = { .op = VM_OP_MMAP, .arg = { 20 * P, 256 * P } };

	(void)state;
	assert_false(vm_call_harmful(&sc, &layout, lock));
	sc.arg[1]++;
	assert_true(vm_call_harmful(&sc, &layout, lock));
	assert_false(vm_call_harmful(&sc, &layout, ~lock & ~(1ull << 21)));
	sc = (struct vm_syscall){ .op = VM_OP_MREMAP, .arg = { 0, P, 257 * P } };
	assert_true(vm_call_harmful(&sc, &layout, lock));
	sc.arg[2] = 256 * P;
	assert_false(vm_call_harmful(&sc, &layout, lock));
	sc = (struct vm_syscall){ .op = VM_OP_BRK, .arg = { layout.brk_base + 257 * P } };
	assert_true(vm_call_harmful(&sc, &layout, lock));
	sc.arg[0] -= P;
	assert_false(vm_call_harmful(&sc, &layout, lock));
	sc.arg[0] = 0;
	assert_false(vm_call_harmful(&sc, &layout, lock));
	/* what is mapped may be as long as it likes, and be given back */
	sc = (struct vm_syscall){ .op = VM_OP_MUNMAP, .arg = { 0, 1ull << 40 } };
	assert_false(vm_call_harmful(&sc, &layout, lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_no_guard_permits),
		cmocka_unit_test(test_mmap),
		cmocka_unit_test(test_munmap),
		cmocka_unit_test(test_mprotect_and_mseal),
		cmocka_unit_test(test_special),
		cmocka_unit_test(test_mremap_source),
		cmocka_unit_test(test_mremap_shrink_that_wraps),
		cmocka_unit_test(test_mremap_destination),
		cmocka_unit_test(test_madvise),
		cmocka_unit_test(test_touch),
		cmocka_unit_test(test_touch_of_too_much),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_footprint_is_proper),
		cmocka_unit_test(test_unlimited_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
