/* SPDX-License-Identifier: MIT */
/*
 * Rules of msync, mincore, remap_file_pages, name, mdwe and brk, without a kernel:
 * above all what this machine's kernel cannot show.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "oracle/model.h"
#include "oracle/rules/rule.h"
#include "oracle/state/process.h"

#define P    4096ull
#define BASE (1ull << 45)
#define RW   (VM_MODE_R | VM_MODE_W)
#define LO   VM_BIT(VM_FLAG_LO)

struct place {
	struct vm_target_info info;
	struct vm_state state, work, after;
	struct vm_objects objects;
	struct vm_outcomes out;
	const struct vm_snapshot *seen;
};

static struct place *place;

static int set_up(void **state)
{
	(void)state;
	place = calloc(1, sizeof(*place));
	vm_model_default_info(&place->info);
	vm_objects_name(&place->objects, VM_OBJECT_PAGES * P);
	place->state.process = vm_process_fresh(&place->info);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vm_objects_free(&place->objects);
	free(place);
	return 0;
}

/* Map pages [from, from + n) of the arena, or of the heap if at is its base. */
static void map_at(uint64_t at, uint64_t from, uint64_t n, bool shared, uint32_t object,
		   uint64_t flags)
{
	struct vm_effect e = { .n = 1,
			       .step = { { .kind = VM_STEP_MAP,
					   .prot = RW,
					   .shared = shared,
					   .start = at + from * P,
					   .end = at + (from + n) * P,
					   .object = object,
					   .flags = VM_MAY_ALL | flags } } };

	vm_effect_apply(&e, 0, &place->state, &place->objects, P);
}

static void map(uint64_t from, uint64_t n, uint64_t flags)
{
	map_at(BASE, from, n, false, VM_NO_OBJECT, flags);
}

static void run(uint8_t op, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	struct vm_syscall sc = { op, { a0, a1, a2, a3 } };
	struct vm_rule r = { .s = &place->state,
			     .sc = &sc,
			     .info = &place->info,
			     .p = vm_profile_by_name("6.18"),
			     .seen = place->seen,
			     .work = &place->work,
			     .objects = &place->objects,
			     .out = &place->out };

	vm_outcomes(&r);
	assert_false(place->out.silent);
}

static void assert_errno(uint32_t i, int err)
{
	assert_true(i < place->out.n);
	assert_int_equal(place->out.o[i].kind, VM_RESULT_ERRNO);
	assert_int_equal(place->out.o[i].value, err);
}

static void assert_value(uint32_t i, int64_t value)
{
	assert_int_equal(place->out.n, i + 1);
	assert_int_equal(place->out.o[i].kind, VM_RESULT_VALUE);
	assert_int_equal(place->out.o[i].value, value);
}

/* The state after outcome i. */
static const struct vm_state *after(uint32_t i)
{
	vm_state_copy(&place->after, &place->state);
	vm_effect_apply(&place->out.o[i].effect, 0, &place->after, &place->objects, P);
	return &place->after;
}

static void test_msync_locked(void **state)
{
	(void)state;
	map(0, 2, 0);
	map(4, 2, LO);
	run(VM_OP_MSYNC, BASE, 2 * P, MS_INVALIDATE, 0);
	assert_value(0, 0);
	run(VM_OP_MSYNC, BASE + 4 * P, P, MS_INVALIDATE, 0);
	assert_errno(0, EBUSY);
	/* EBUSY behind a hole wins; plain MS_ASYNC stops at the hole; without the flag nobody asks
	 */
	run(VM_OP_MSYNC, BASE, 6 * P, MS_INVALIDATE | MS_ASYNC, 0);
	assert_errno(0, EBUSY);
	assert_int_equal(place->out.n, 1);
	run(VM_OP_MSYNC, BASE, 6 * P, MS_ASYNC, 0);
	assert_errno(0, ENOMEM);
	run(VM_OP_MSYNC, BASE + 4 * P, P, MS_SYNC, 0);
	assert_value(0, 0);
	place->state.area[1].flags_maybe = LO;
	run(VM_OP_MSYNC, BASE + 4 * P, P, MS_INVALIDATE, 0);
	assert_errno(0, EBUSY);
	assert_value(1, 0);
}

static void test_mincore_bits(void **state)
{
	static const struct vm_page page[] = { { .addr = BASE + P }, { .addr = BASE + 8 * P } };
	struct vm_snapshot seen = { .npage = 2, .page = page };

	(void)state;
	map(0, 4, 0);
	map_at(BASE, 8, 2, true, place->objects.named[VM_OBJECT_M0], 0);
	run(VM_OP_MINCORE, BASE, 4 * P, 0, 0);
	assert_int_equal(place->out.o[0].kind, VM_RESULT_BITS);
	/* nothing was looked at: only that there are no more pages is known */
	assert_int_equal(place->out.o[0].len & 0xff, 0xf0);
	place->seen = &seen;
	run(VM_OP_MINCORE, BASE, 4 * P, 0, 0);
	assert_int_equal(place->out.o[0].len & 0xff, 0xff);
	assert_int_equal(place->out.o[0].value, 2);
	run(VM_OP_MINCORE, BASE + 8 * P, 2 * P, 0, 0);
	assert_int_equal(place->out.o[0].len & 3, 1);
	assert_int_equal(place->out.o[0].value & 3, 1);
	place->info.features |= VM_HAS_SWAP;
	run(VM_OP_MINCORE, BASE, 4 * P, 0, 0);
	assert_int_equal(place->out.o[0].len & 0xf, 0xd);
	run(VM_OP_MINCORE, BASE, 5 * P, VM_MINCORE_READ_ONLY, 0);
	assert_errno(0, EFAULT);
	run(VM_OP_MINCORE, BASE, 5 * P, 0, 0);
	assert_errno(0, ENOMEM);
}

static void test_remap_locked(void **state)
{
	const struct vm_state *s;

	(void)state;
	map_at(BASE, 0, 2, true, place->objects.named[VM_OBJECT_M0],
	       LO | VM_BIT(VM_FLAG_NR) | VM_BIT(VM_FLAG_SR));
	place->info.rlimit_memlock = 3 * P;
	run(VM_OP_REMAP_FILE_PAGES, BASE, P, 0, 4 * P);
	assert_value(0, 0);
	s = after(0);
	/* locked as before; other flags are lost */
	assert_int_equal(s->area[0].flags, VM_MAY_ALL | LO);
	assert_int_equal(s->area[0].off, 4 * P);
	assert_int_equal(s->area[1].off, P);
	assert_int_equal(s->area[1].begins, VM_YES);
	/* what is mapped anew is counted before what it replaces is not */
	place->info.rlimit_memlock = 2 * P;
	run(VM_OP_REMAP_FILE_PAGES, BASE, P, 0, 4 * P);
	assert_errno(0, EAGAIN);
	assert_int_equal(place->out.n, 1);
}

/* mlockall(MCL_FUTURE): the heap is locked too. */
static void test_brk_locked(void **state)
{
	uint64_t heap = place->info.layout.brk_base;

	(void)state;
	place->state.process.brk = heap;
	place->state.locks.def_flags = LO;
	place->info.rlimit_memlock = 2 * P;
	run(VM_OP_BRK, heap + 2 * P, 0, 0, 0);
	assert_value(0, (int64_t)(heap + 2 * P));
	assert_int_equal(after(0)->area[0].flags, VM_MAY_ALL | LO);
	run(VM_OP_BRK, heap + 3 * P, 0, 0, 0);
	assert_value(0, (int64_t)heap);
}

static void test_name_where_there_are_names(void **state)
{
	const struct vm_state *s;

	(void)state;
	map(0, 4, 0);
	map_at(BASE, 8, 2, true, place->objects.named[VM_OBJECT_F0], 0);
	place->info.features |= VM_HAS_ANON_NAME;
	run(VM_OP_NAME, BASE + P, P, VM_NAME_ONE, 0);
	assert_value(0, 0);
	s = after(0);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->area[1].name, VM_NAME_ONE);
	assert_int_equal(s->area[1].begins, VM_YES);
	assert_int_equal(s->area[2].begins, VM_YES);
	run(VM_OP_NAME, BASE + 2 * P, 4 * P, VM_NAME_TWO, 0);
	assert_errno(0, ENOMEM);
	s = after(0);
	assert_int_equal(s->area[s->n - 2].name, VM_NAME_TWO);
	run(VM_OP_NAME, BASE, P, VM_NAME_ILLEGAL, 0);
	assert_errno(0, EINVAL);
	/* on tmpfs the file has no link and can be named; elsewhere it cannot */
	run(VM_OP_NAME, BASE + 8 * P, P, VM_NAME_ONE, 0);
	assert_errno(0, EBADF);
	assert_value(1, 0);
}

static void test_mdwe(void **state)
{
	struct vm_syscall sc = { VM_OP_MDWE, { VM_MDWE_REFUSE } };

	(void)state;
	map(0, 2, 0);
	run(VM_OP_MPROTECT, BASE, P, PROT_EXEC, 0);
	assert_value(0, 0);
	vm_process_after(&place->state.process, &sc, -EPERM);
	assert_int_equal(place->state.process.mdwe, 0);
	vm_process_after(&place->state.process, &sc, 0);
	run(VM_OP_MPROTECT, BASE, P, PROT_EXEC, 0);
	assert_errno(0, EACCES);
	run(VM_OP_MDWE, 0, 0, 0, 0);
	assert_errno(0, EPERM);
	run(VM_OP_MDWE, VM_MDWE_REFUSE, 0, 0, 0);
	assert_value(0, 0);
}

static void test_brk(void **state)
{
	uint64_t heap = place->info.layout.brk_base;

	(void)state;
	run(VM_OP_BRK, heap + 4 * P, 0, 0, 0);
	assert_value(0, (int64_t)(heap + 4 * P));
	assert_int_equal(after(0)->area[0].end, heap + 4 * P);
	assert_int_equal(after(0)->area[0].account, VM_YES);
	/* one page stays free below a mapping, 256 more below one that grows down */
	map_at(heap, 8, 1, false, VM_NO_OBJECT, 0);
	run(VM_OP_BRK, heap + 7 * P, 0, 0, 0);
	assert_value(0, (int64_t)(heap + 7 * P));
	run(VM_OP_BRK, heap + 7 * P + 1, 0, 0, 0);
	assert_value(0, (int64_t)heap);
	place->state.area[0].flags |= VM_BIT(VM_FLAG_GD);
	run(VM_OP_BRK, heap + P, 0, 0, 0);
	assert_value(0, (int64_t)heap);
	vm_state_unmap(&place->state, heap, heap + 16 * P);
	run(VM_OP_BRK, heap + (place->info.total_pages + 1) * P, 0, 0, 0);
	assert_value(0, (int64_t)heap);
	assert_string_equal(place->out.o[0].cause->text, "commit limit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_msync_locked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mincore_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_remap_locked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_name_where_there_are_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mdwe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_brk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_brk_locked, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
