/* SPDX-License-Identifier: MIT */
/*
 * Protection keys without a processor that has any: pkey_alloc, pkey_free, pkey_mprotect, and what
 * keys do to touches, locks, madvise and PROT_EXEC alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/oracle_text.h"

static struct bench *with_keys(const char *state)
{
	struct bench *b = bench_open(state);

	b->info.features |= VM_HAS_PKU;
	b->state.process = vm_process_fresh(&b->info);
	return b;
}

/* The first outcome of a call happens. */
static void happens(struct bench *b, const char *call)
{
	struct vm_syscall sc = syscall_of_text(call, &b->info.layout);
	const struct vm_outcome *o = &b->out.o[0];

	bench_ask(b, "6.18", false, call);
	assert_false(b->out.silent);
	vm_effect_apply(&o->effect, 0, &b->state, &b->objects, PAGE);
	vm_process_after(&b->state.process, &sc, o->kind == VM_RESULT_ERRNO ? -o->value : o->value);
}

static uint64_t key_at(const struct bench *b, unsigned int page)
{
	return (vm_state_at(&b->state, ARENA(page))->flags & VM_KEY_FLAGS) >> VM_FLAG_K0;
}

static void test_no_keys(void **state)
{
	struct bench *b = bench_open("p0+2 rw");

	(void)state;
	BOTH_SAY(b, "pkey_alloc 0", "ENOSPC (the processor has no protection keys)");
	BOTH_SAY(b, "pkey_alloc 0x1", "EINVAL (flags are not 0)");
	BOTH_SAY(b, "pkey_alloc 0 0x4", "EINVAL (unknown rights)");
	BOTH_SAY(b, "pkey_free 0", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_free nokey", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_mprotect p0+1 r 0", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_mprotect p0+1 r nokey", "= 0 {protect p0+1 r} documented");
	bench_close(b);
}

static void test_allocating(void **state)
{
	struct bench *b = with_keys("p0+2 rw");

	(void)state;
	BOTH_SAY(b, "pkey_mprotect p0+1 r 0", "= 0 {protect p0+1 r} documented");
	BOTH_SAY(b, "pkey_mprotect p0+1 r 0x1", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_alloc 0", "= 1");
	happens(b, "pkey_alloc 0");
	BOTH_SAY(b, "pkey_alloc 0 noaccess|nowrite", "= 2");
	BOTH_SAY(b, "pkey_free 0x1", "= 0");
	BOTH_SAY(b, "pkey_free 0x2", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_free 0x10", "EINVAL (key is not allocated)");
	for (int i = 2; i < 16; i++)
		happens(b, "pkey_alloc 0");
	BOTH_SAY(b, "pkey_alloc 0", "ENOSPC (all protection keys are in use)");
	happens(b, "pkey_free 0x7");
	BOTH_SAY(b, "pkey_alloc 0", "= 7");
	bench_close(b);
}

static void test_keys_of_mappings(void **state)
{
	struct bench *b = with_keys("p0+4 rw");

	(void)state;
	happens(b, "pkey_alloc 0 nowrite");
	happens(b, "pkey_alloc 0 noaccess");
	happens(b, "pkey_mprotect p1+1 rw 0x1");
	assert_int_equal(key_at(b, 0), 0);
	assert_int_equal(key_at(b, 1), 1);
	assert_int_equal(vm_state_at(&b->state, ARENA(2))->begins, VM_YES);
	happens(b, "mprotect p0+4 rw"); /* keys stay */
	happens(b, "pkey_free 0x1");	/* ... and rights */
	assert_int_equal(key_at(b, 1), 1);
	BOTH_SAY(b, "read p0+2", "= 2");
	BOTH_SAY(b, "write p0+2",
		 "SIGSEGV/4 after 1 (protection key does not allow it) "
		 "{write p0+1} documented");
	happens(b, "pkey_mprotect p1+1 none 0x2");
	/* before the rights of the mapping */
	BOTH_SAY(b, "read p1+1", "SIGSEGV/4 after 0 (protection key does not allow it)");
	happens(b, "pkey_mprotect p1+1 r 0");
	BOTH_SAY(b, "write p1+1", "SIGSEGV/2 after 0 (protection does not allow it)");
	bench_close(b);
}

static void test_what_keys_deny(void **state)
{
	struct bench *b = with_keys("p0+1 rw | p2+1 rw sealed | p4+1 r shared");

	(void)state;
	happens(b, "pkey_alloc 0 nowrite");
	happens(b, "pkey_mprotect p0+1 rw 0x1");
	happens(b, "pkey_mprotect p4+1 r 0x1");
	b->state.area[1].flags |= VM_BIT(VM_FLAG_K0);
	/* private memory that can be written is populated by writing */
	BOTH_SAY(b, "mlock p0+1", "ENOMEM (memory that cannot be accessed) {lock p0+1 lo}");
	BOTH_SAY(b, "mlock p4+1", "= 0 {lock p4+1 lo, copy p4+1}");
	BOTH_SAY(b, "madvise p0+1 populate_write", "EINVAL (protection key does not allow it)");
	BOTH_SAY(b, "madvise p0+1 populate_read", "= 0");
	/* a sealed page that cannot be written cannot be discarded */
	BOTH_SAY(b, "madvise p2+1 dontneed", "EPERM (sealed page in the range)");
	b->state.process.keys.rights[1] = VM_KEY_NO_ACCESS;
	BOTH_SAY(b, "mlock p4+1", "ENOMEM (memory that cannot be accessed) {lock p4+1 lo}");
	b->state.process.keys.rights[1] = 0;
	BOTH_SAY(b, "madvise p2+1 dontneed", "= 0 {drop p2+1} documented");
	bench_close(b);
}

/* PROT_EXEC alone takes a key that nobody else can have, and keeps it. */
static void test_exec_alone(void **state)
{
	struct bench *b = with_keys("p0+4 rw | p8+1 rw");

	(void)state;
	happens(b, "pkey_alloc 0");
	happens(b, "mprotect p0+1 x");
	assert_int_equal(key_at(b, 0), 2);
	BOTH_SAY(b, "read p0+1", "SIGSEGV/4 after 0 (protection key does not allow it)");
	BOTH_SAY(b, "pkey_mprotect p8+1 r 0x2", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_free 0x2", "EINVAL (key is not allocated)");
	BOTH_SAY(b, "pkey_alloc 0", "= 3");
	BOTH_SAY(b, "mlock p0+1", "ENOMEM (memory that cannot be accessed) {lock p0+1 lo}");
	happens(b, "mprotect p0+1 rx"); /* it goes with it */
	assert_int_equal(key_at(b, 0), 0);
	happens(b, "mmap p4+2 x anon private");
	assert_int_equal(key_at(b, 4), 2);
	happens(b, "pkey_mprotect p2+1 x 0x1"); /* a key that is asked for is not overridden */
	assert_int_equal(key_at(b, 2), 1);
	happens(b, "mprotect p2+1 r");
	assert_int_equal(key_at(b, 2), 1);
	bench_close(b);
}

/* A call that fails late has taken the key all the same; one that fails early has not. */
static void test_exec_key_stays(void **state)
{
	struct bench *b = with_keys("p0+1 rw | p1+1 rw sealed");

	(void)state;
	happens(b, "mprotect p4+1 x");
	assert_int_equal(b->state.process.keys.exec, 0);
	happens(b, "mmap p0+0 x anon private");
	assert_int_equal(b->state.process.keys.exec, 0);
	happens(b, "mprotect p1+1 x");
	assert_int_equal(b->state.process.keys.exec, 1);
	bench_close(b);
	b = with_keys("p1+1 rw sealed");
	happens(b, "mmap p1+1 x anon private");
	assert_int_equal(b->state.process.keys.exec, 1);
	/* where none is free, memory is made without */
	b->state.process.keys.exec = 0;
	b->state.process.keys.allocated = 0xffff;
	happens(b, "mmap p4+1 x anon private");
	assert_int_equal(key_at(b, 4), 0);
	BOTH_SAY(b, "read p4+1", "= 1");
	bench_close(b);
}

static void test_doubt(void **state)
{
	struct bench *b = with_keys("p0+1 rw");

	(void)state;
	for (int i = 1; i < 14; i++)
		happens(b, "pkey_alloc 0");
	vm_key_doubt(&b->state.process.keys);
	BOTH_SAY(b, "pkey_alloc 0", "ENOSPC (all protection keys are in use); = 14; = 15");
	happens(b, "mprotect p0+1 x");
	BOTH_SAY(b, "pkey_free 0xe", "EINVAL (key is not allocated)");
	bench_ask(b, "6.18", false, "read p0+1");
	assert_int_equal(b->out.n, 2);
	/* none can be taken unseen once it is known which it is */
	b->state.process.keys.doubt = false;
	b->state.process.keys.exec = 14;
	vm_key_doubt(&b->state.process.keys);
	assert_false(b->state.process.keys.doubt);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_keys),
		cmocka_unit_test(test_allocating),
		cmocka_unit_test(test_keys_of_mappings),
		cmocka_unit_test(test_what_keys_deny),
		cmocka_unit_test(test_exec_alone),
		cmocka_unit_test(test_exec_key_stays),
		cmocka_unit_test(test_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
