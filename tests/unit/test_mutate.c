/* SPDX-License-Identifier: MIT */
/* The mutator: repeatable, always normalised, and it hits what it aims at. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "fuzz/mutate/aim.h"
#include "harness/program/call_table.h"

static struct vm_target_info info;

static void start(struct vm_mutator *m, uint64_t seed)
{
	vm_model_default_info(&info);
	assert_int_equal(vm_mutator_init(m, &info, vm_profile_by_name("6.18"), seed), 0);
}

/* What the engines rely on: it can be written as bytes and comes back the same. */
static void assert_sound(const struct vm_program *prog)
{
	uint8_t bytes[VM_BYTES_MAX];
	struct vm_program back;
	size_t n = vm_program_encode(prog, bytes, sizeof(bytes));

	assert_int_not_equal(n, 0);
	assert_in_range(prog->ncalls, 1, VM_PROGRAM_MAX_CALLS);
	vm_program_decode(bytes, n, &back);
	assert_true(vm_program_equal(prog, &back));
}

static void test_rng_bounds(void **state)
{
	const uint8_t weight[] = { 0, 3, 0, 1, 0 };
	unsigned int hits[5] = { 0 };
	struct vm_rng r;

	(void)state;
	vm_rng_seed(&r, 0);
	for (int i = 0; i < 4000; i++) {
		int64_t v = vm_rng_range(&r, -3, 3);

		assert_true(v >= -3 && v <= 3);
		assert_true(vm_rng_below(&r, 7) < 7);
		hits[vm_rng_weighted(&r, weight, 5)]++;
	}
	assert_int_equal(vm_rng_below(&r, 0), 0);
	assert_int_equal(hits[0] + hits[2] + hits[4], 0);
	assert_in_range(hits[1], 2700, 3300);
	assert_in_range(hits[3], 700, 1300);
}

static void test_generated_programs_are_sound(void **state)
{
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	start(&m, 1);
	for (int i = 0; i < 2000; i++) {
		vm_generate(&m, &prog);
		assert_sound(&prog);
	}
	vm_mutator_free(&m);
}

/* Every kind of memory that mmap can make is made often, at offsets that the object has and has
 * not. */
static void test_generated_mappings(void **state)
{
	unsigned int shared[VM_OBJECT_COUNT] = { 0 }, private[VM_OBJECT_COUNT] = { 0 };
	unsigned int mmaps = 0, odd_offset = 0;
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	start(&m, 11);
	for (int i = 0; i < 2000; i++) {
		vm_generate(&m, &prog);
		for (unsigned int k = 0; k < prog.ncalls; k++) {
			const union vm_arg *arg = prog.call[k].arg;
			uint64_t flags = arg[3].bits;
			uint64_t object = flags & MAP_ANONYMOUS ? VM_OBJECT_NONE : arg[4].bits;

			if (prog.call[k].op != VM_OP_MMAP)
				continue;
			mmaps++;
			shared[object] += (flags & MAP_TYPE) == MAP_SHARED;
			private[object] += (flags & MAP_TYPE) == MAP_PRIVATE;
			odd_offset += object && (arg[5].len.bytes || arg[5].len.pages < 0);
		}
	}
	for (unsigned int object = 0; object <= VM_OBJECT_R0; object++) {
		assert_true(shared[object] > mmaps / 100);
		assert_true(private[object] > mmaps / 100);
	}
	assert_true(odd_offset > 20);
	vm_mutator_free(&m);
}

/* Scenes lead to where they are meant to, on both sides of it. */
static void test_scenes(void **state)
{
	unsigned int fork_refused = 0, locked = 0, too_much = 0, beyond = 0, negative = 0;
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	start(&m, 12);
	for (int i = 0; i < 600; i++) {
		memset(&prog, 0, sizeof(prog));
		vm_model_reset(m.model);
		vm_scene(&m, &prog);
		assert_sound(&prog);
		vm_model_reset(m.model);
		for (unsigned int k = 0; k < prog.ncalls; k++) {
			int error = vm_result_errno(vm_model_step(m.model, &prog.call[k], k));

			fork_refused += prog.call[k].op == VM_OP_FORK && error == ENOMEM;
			locked += prog.call[k].op == VM_OP_MLOCK2 && !error;
			too_much += prog.call[k].op == VM_OP_MLOCK2 && error == ENOMEM;
			beyond += prog.call[k].op == VM_OP_MADVISE && error == EFBIG;
			negative += prog.call[k].op == VM_OP_MADVISE && error == EINVAL;
		}
	}
	assert_true(fork_refused > 50);
	assert_true(locked > 100);
	assert_true(too_much > 5);
	assert_true(beyond > 20);
	assert_true(negative > 20);
	vm_mutator_free(&m);
}

/* Rarer memory, and the calls that treat it apart. */
static void test_generated_memory(void **state)
{
	unsigned int mmaps = 0, droppable = 0, locked = 0, refused = 0;
	unsigned int growing = 0, down = 0, huge = 0, reserved = 0;
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	start(&m, 12);
	for (int i = 0; i < 2000; i++) {
		vm_generate(&m, &prog);
		for (unsigned int k = 0; k < prog.ncalls; k++) {
			const struct vm_call *c = &prog.call[k];
			uint64_t flags = c->arg[3].bits;
			bool is = (flags & MAP_TYPE) == VM_MAP_DROPPABLE;

			mmaps += c->op == VM_OP_MMAP;
			droppable += c->op == VM_OP_MMAP && is;
			locked += c->op == VM_OP_MMAP && is && flags & MAP_LOCKED;
			refused += c->op == VM_OP_MADVISE && c->arg[2].bits == MADV_KEEPONFORK;
			is = c->op == VM_OP_MMAP && flags & MAP_HUGETLB;
			huge += is;
			reserved += is && !(flags & MAP_NORESERVE);
			growing += c->op == VM_OP_MMAP && flags & MAP_GROWSDOWN;
			down += c->op == VM_OP_MPROTECT && c->arg[2].bits & PROT_GROWSDOWN;
		}
	}
	assert_true(droppable > mmaps / 50);
	assert_true(locked > droppable / 20);
	assert_true(refused > 50);
	assert_true(growing > mmaps / 50);
	assert_true(down > 100);
	assert_true(huge > mmaps / 50);
	assert_true(reserved > huge / 20);
	vm_mutator_free(&m);
}

static void test_mutants_are_sound(void **state)
{
	struct vm_mutator m;
	struct vm_program prog, other;

	(void)state;
	start(&m, 2);
	vm_generate(&m, &prog);
	for (int i = 0; i < 3000; i++) {
		if (i % 10 == 0)
			vm_generate(&m, &other);
		vm_mutate(&m, &prog, i % 2 ? &other : NULL);
		assert_sound(&prog);
		assert_true(strlen(m.done) < sizeof(m.done));
	}
	vm_mutator_free(&m);
}

static void test_edges_of_size(void **state)
{
	struct vm_mutator m;
	struct vm_program none = { 0 }, full = { 0 }, prog;

	(void)state;
	start(&m, 3);
	full.ncalls = VM_PROGRAM_MAX_CALLS;
	vm_program_normalise(&full);
	for (int i = 0; i < 500; i++) {
		prog = full;
		vm_mutate(&m, &prog, &full);
		assert_sound(&prog);
		prog = none;
		vm_mutate(&m, &prog, &none);
		assert_sound(&prog);
		prog = full;
		vm_crossover(&m, &prog, &full);
		assert_sound(&prog);
		prog = none;
		vm_crossover(&m, &prog, &none);
		assert_sound(&prog);
	}
	vm_mutator_free(&m);
}

/* A number that stands for everything that a mutator made with this seed. */
static uint64_t fingerprint(uint64_t seed)
{
	uint64_t h = 14695981039346656037ull;
	uint8_t bytes[VM_BYTES_MAX];
	struct vm_program prog;
	struct vm_mutator m;

	start(&m, seed);
	vm_generate(&m, &prog);
	for (int i = 0; i < 300; i++) {
		size_t n;

		vm_mutate(&m, &prog, NULL);
		n = vm_program_encode(&prog, bytes, sizeof(bytes));
		for (size_t k = 0; k < n; k++)
			h = (h ^ bytes[k]) * 1099511628211ull;
	}
	vm_mutator_free(&m);
	return h;
}

static void test_same_seed_same_programs(void **state)
{
	(void)state;
	assert_true(fingerprint(5) == fingerprint(5));
	assert_true(fingerprint(5) != fingerprint(6));
}

/* ---- aims ---- */

enum goal {
	EXACTLY_A_VMA,
	BEYOND_ITS_END,
	ACROSS_A_BORDER,
	HOLE_BESIDE,
	HALF_SEALED_DESTINATION,
	FIXED_ONTO_MAPPED,
	HUGE_ONTO_MAPPED,
	OVERLAP,
	OLD_LEN_0_OF_SHARED,
	DONTUNMAP,
	CHOSEN_ADDRESS_USED,
	MISALIGNED,
	WRAPPING,
	GOALS
};

static const char *const goal_name[GOALS] = {
	"exactly a VMA",
	"one page beyond its end",
	"source across a border",
	"a hole beside a VMA",
	"a destination half sealed",
	"a fixed move onto a mapping",
	"huge growth onto a mapping",
	"destination overlaps source",
	"old_len 0 of shared memory",
	"MREMAP_DONTUNMAP",
	"an address that the kernel chose",
	"not aligned",
	"wrapping",
};

/* How much of [start, end) is mapped, and sealed, in bytes; borders inside it. */
struct cover {
	uint64_t mapped, sealed;
	unsigned int vmas;
};

static struct cover cover(const struct vm_model_area *a, size_t n, uint64_t start, uint64_t end)
{
	struct cover c = { 0 };

	for (size_t i = 0; i < n; i++) {
		uint64_t lo = a[i].start > start ? a[i].start : start;
		uint64_t hi = a[i].end < end ? a[i].end : end;

		if (lo >= hi)
			continue;
		c.mapped += hi - lo;
		c.sealed += a[i].sealed ? hi - lo : 0;
		c.vmas++;
	}
	return c;
}

static void look_at_range(const struct vm_model_area *a, size_t n, uint64_t start, uint64_t len,
			  unsigned int *hits)
{
	for (size_t i = 0; i < n; i++) {
		hits[EXACTLY_A_VMA] += a[i].start == start && a[i].end == start + len;
		hits[BEYOND_ITS_END] += a[i].start == start && a[i].end + 4096 == start + len;
		hits[HOLE_BESIDE] += a[i].end == start && len && start + len > start &&
				     !cover(a, n, start, start + len).mapped;
	}
	hits[MISALIGNED] += start % 4096 != 0;
	hits[WRAPPING] += start + len < start;
}

static void look_at_mremap(const struct vm_model_area *a, size_t n, const struct vm_syscall *sc,
			   unsigned int *hits)
{
	uint64_t old = sc->arg[0], old_len = sc->arg[1], len = sc->arg[2], new = sc->arg[4];
	struct cover src = cover(a, n, old, old + old_len), dst = cover(a, n, new, new + len);
	bool fixed = sc->arg[3] & MREMAP_FIXED;

	hits[ACROSS_A_BORDER] += src.vmas > 1;
	hits[DONTUNMAP] += (sc->arg[3] & MREMAP_DONTUNMAP) != 0;
	for (size_t i = 0; i < n; i++)
		hits[OLD_LEN_0_OF_SHARED] += !old_len && a[i].shared && a[i].start == old;
	if (!fixed || new % 4096 || new + len < new)
		return;
	hits[FIXED_ONTO_MAPPED] += src.vmas == 1 && dst.mapped == len;
	hits[HUGE_ONTO_MAPPED] += src.mapped == old_len && src.vmas == 1 && dst.mapped &&
				  len >= 64 * info.layout.pud_size;
	hits[HALF_SEALED_DESTINATION] += dst.sealed && dst.sealed < len;
	hits[OVERLAP] += old_len && new < old + old_len &&old < new + len;
}

static void look(struct vm_model *model, const struct vm_call *call, unsigned int *hits)
{
	const struct vm_call_desc *desc = vm_call_desc(call->op);
	const struct vm_model_area *a;
	uint64_t names[VM_NAME_SLOTS] = { 0 };
	size_t n = vm_model_areas(model, &a);
	struct vm_syscall sc;

	for (unsigned int i = 0; i < desc->nargs; i++)
		hits[CHOSEN_ADDRESS_USED] +=
			desc->arg[i].kind == VM_ARG_ADDR && call->arg[i].addr.base == VM_BASE_NAME;
	/* Where names are is the model's secret: calls without them are enough to look at. */
	sc = vm_call_resolve(call, &info.layout, names);
	if (call->arg[0].addr.base == VM_BASE_NAME)
		return;
	look_at_range(a, n, sc.arg[0], sc.arg[1], hits);
	if (call->op == VM_OP_MREMAP && call->arg[4].addr.base != VM_BASE_NAME)
		look_at_mremap(a, n, &sc, hits);
}

/* Every aim is hit, and not only once in a blue moon: at least 20 times in 3000 programs. */
static void test_aims_are_hit(void **state)
{
	unsigned int hits[GOALS] = { 0 };
	struct vm_program prog;
	struct vm_mutator m;
	struct vm_model *model;

	(void)state;
	start(&m, 7);
	model = vm_model_new(&info, vm_profile_by_name("6.18"));
	assert_non_null(model);
	for (int i = 0; i < 3000; i++) {
		vm_generate(&m, &prog);
		vm_model_reset(model);
		for (unsigned int k = 0; k < prog.ncalls; k++) {
			look(model, &prog.call[k], hits);
			vm_model_step(model, &prog.call[k], k);
		}
	}
	for (int g = 0; g < GOALS; g++) {
		if (hits[g] < 20)
			fail_msg("%s: hit %u times only", goal_name[g], hits[g]);
	}
	vm_model_free(model);
	vm_mutator_free(&m);
}

/* ---- values ---- */

static void test_values_are_written_exactly(void **state)
{
	const uint64_t names[VM_NAME_SLOTS] = { 0 };
	struct vm_mutator m;

	(void)state;
	start(&m, 8);
	for (int i = 0; i < 20000; i++) {
		uint64_t value = vm_rng_next(&m.rng) >> vm_rng_below(&m.rng, 64);
		struct vm_quantity q;
		struct vm_addr addr;

		if (i % 4 == 0)
			value = info.layout.task_size + (uint64_t)vm_rng_range(&m.rng, -9999, 9999);
		else if (i % 4 == 1)
			value = info.layout.arena_base + vm_rng_below(&m.rng, 1 << 30);
		q = vm_quantity_from(&info.layout, value);
		assert_true(vm_quantity_value(&q, &info.layout) == value);
		addr = vm_addr_from(&m, value);
		assert_true(vm_addr_value(&addr, &info.layout, names) == value);
	}
	vm_mutator_free(&m);
}

/* Does a call use a name that no call before it gives? */
static bool uses_unknown_name(const struct vm_program *prog)
{
	unsigned int known = 0;

	for (unsigned int i = 0; i < prog->ncalls; i++) {
		const struct vm_call_desc *desc = vm_call_desc(prog->call[i].op);

		for (unsigned int k = 0; k < desc->nargs; k++) {
			const struct vm_addr *a = &prog->call[i].arg[k].addr;

			if (desc->arg[k].kind == VM_ARG_ADDR && a->base == VM_BASE_NAME &&
			    !(known & (1u << a->index)))
				return true;
		}
		known |= 1u << prog->call[i].let;
	}
	return false;
}

static void test_drop_leaves_no_unknown_name(void **state)
{
	unsigned int with_names = 0;
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	start(&m, 9);
	for (int i = 0; i < 500; i++) {
		vm_generate(&m, &prog);
		while (prog.ncalls > 1) {
			uint8_t n = prog.ncalls;
			unsigned int at = vm_rng_below(&m.rng, n);

			with_names += prog.call[at].let != 0;
			vm_program_drop(&prog, at);
			assert_int_equal(prog.ncalls, n - 1);
			assert_sound(&prog);
			assert_false(uses_unknown_name(&prog));
		}
	}
	assert_true(with_names > 100);
	vm_mutator_free(&m);
}

/* A target that cannot let allocations fail is not asked to; one that can, now and then. */
static void test_failing_allocations(void **state)
{
	struct vm_mutator m;
	struct vm_program prog;

	(void)state;
	for (int can = 0; can < 2; can++) {
		unsigned int failing = 0;

		vm_model_default_info(&info);
		info.features =
			can ? info.features | VM_HAS_FAIL_NTH : info.features & ~VM_HAS_FAIL_NTH;
		assert_int_equal(vm_mutator_init(&m, &info, vm_profile_by_name("6.18"), 3), 0);
		for (int i = 0; i < 500; i++) {
			vm_generate(&m, &prog);
			for (unsigned int k = 0; k < prog.ncalls; k++)
				failing += prog.call[k].fail_nth != 0;
		}
		if (can)
			assert_in_range(failing, 10, 70);
		else
			assert_int_equal(failing, 0);
		vm_mutator_free(&m);
	}
	vm_model_default_info(&info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_rng_bounds),
		cmocka_unit_test(test_generated_programs_are_sound),
		cmocka_unit_test(test_generated_mappings),
		cmocka_unit_test(test_scenes),
		cmocka_unit_test(test_generated_memory),
		cmocka_unit_test(test_mutants_are_sound),
		cmocka_unit_test(test_edges_of_size),
		cmocka_unit_test(test_same_seed_same_programs),
		cmocka_unit_test(test_aims_are_hit),
		cmocka_unit_test(test_values_are_written_exactly),
		cmocka_unit_test(test_drop_leaves_no_unknown_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
