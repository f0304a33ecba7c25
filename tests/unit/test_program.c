/* SPDX-License-Identifier: MIT */
/* Programs as bytes, their normal form, and what they mean on a target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/program/call_table.h"
#include "harness/program/program.h"

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static const struct vm_layout layout = {
	.page_size = 4096,
	.pmd_size = 2ull << 20,
	.pud_size = 1ull << 30,
	.task_size = (1ull << 47) - 4096,
	.arena_base = 0x100000000000,
	.arena_size = 4ull << 30,
};

/* encode(p) decodes to p, is canonical, and needs no more room than promised. */
static void check_round_trip(const struct vm_program *prog)
{
	static struct vm_program again;
	uint8_t bytes[VM_BYTES_MAX], second[VM_BYTES_MAX];
	size_t len = vm_program_encode(prog, bytes, sizeof(bytes));

	assert_true(len >= 4);
	vm_program_decode(bytes, len, &again);
	assert_true(vm_program_equal(prog, &again));
	assert_int_equal(vm_program_encode(&again, second, sizeof(second)), len);
	assert_memory_equal(bytes, second, len);
}

static void assert_decodes_to(const uint8_t *bytes, size_t len, const char *text)
{
	struct vm_program prog;
	char printed[4096];

	vm_program_decode(bytes, len, &prog);
	vm_text_print(&prog, printed, sizeof(printed));
	assert_string_equal(printed, text);
}
#define ASSERT_DECODES(text, ...)                                                                  \
	assert_decodes_to((const uint8_t[]){ __VA_ARGS__ },                                        \
			  sizeof((const uint8_t[]){ __VA_ARGS__ }), text)

/*
 * What bytes of version 1 mean, for ever. When this fails after a change of the table, the change
 * broke stored corpora: give it a new VM_BYTES_VERSION instead (docs/program-format.md).
 */
static void test_version_1_keeps_its_meaning(void **state)
{
	(void)state;
	ASSERT_DECODES("mmap p3+4 rw anon private\n", 1, 0, 0, 0, 0, 0, 3, 0, 4, 3, 0x0b, 0);
	ASSERT_DECODES("let b = mmap any+1 none shared\n", 1, 0, 0, 0, 0, 2, 0x90, 0, 1, 0, 4, 0);
	ASSERT_DECODES("munmap a[-1]+8\n", 1, 0, 0, 0, 1, 0, 0x81, 0x7f, 8);
	ASSERT_DECODES("mremap p1+2 -> p16[5b]+3 maymove|fixed|dontunmap\n", 1, 0, 0, 0, 2, 0, 1, 0,
		       2, 3, 7, 16, 0x82, 5, 0);
	ASSERT_DECODES("mprotect task[-1]+1 r|0x1000000\n", 1, 0, 0, 0, 3, 0, 0x91, 0x7f, 1, 0x81,
		       0, 0, 0, 1);
	ASSERT_DECODES("mseal p2+1 0x9\n", 1, 0, 0, 0, 4, 0, 2, 0, 1, 0x80, 9, 0, 0, 0);
	ASSERT_DECODES("read p1+1\nwrite p1+1\nfill p1+1\n", 1, 0, 0, 0, 5, 0, 1, 0, 1, 6, 0, 1, 0,
		       1, 7, 0, 1, 0, 1);
	ASSERT_DECODES("observe maps\nmunmap p0+0\n", 1, 1, 0, 0, 1);
	ASSERT_DECODES("observe end\n", 1, 0xf2, 9, 9);
	/* All parts of a quantity, narrow and wide. */
	ASSERT_DECODES("munmap p0+-1task+5pud-6pmd+300-2b\n", 1, 0, 0, 0, 1, 0, 0, 0, 0x9f, 0x2c, 1,
		       0xfe, 0xff, 0xfa, 5, 0xff);
	ASSERT_DECODES("munmap null[0x1122334455667788b]+65536\n", 1, 0, 0, 0, 1, 0, 0x90, 0xa2,
		       0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xa1, 0, 0, 1, 0);
	ASSERT_DECODES("munmap p0+1task-200pud+300pmd\n", 1, 0, 0, 0, 1, 0, 0, 0, 0xbc, 0x2c, 1,
		       0x38, 0xff, 1);
}

static void test_every_byte_means_something(void **state)
{
	(void)state;
	/* Versions 0 and above the newest read as the newest. */
	ASSERT_DECODES("munmap p0+1\n", 0, 0, 0, 0, 1, 0, 0, 0, 1);
	ASSERT_DECODES("munmap p0+1\n", 255, 0, 0, 0, 1, 0, 0, 0, 1);
	/* Opcodes beyond the table wrap; reserved control bits and undefined flag words are
	 * ignored. */
	ASSERT_DECODES("munmap p0+1\n", 1, 0, 0, 0, 9, 0x60, 0, 0, 1);
	ASSERT_DECODES("mmap p0+1 r anon private noreplace\n", 1, 0, 0, 0, 0xf8, 0, 0, 0, 1, 1,
		       0x73, 77);
	ASSERT_DECODES("mseal p0+1\n", 1, 0, 0, 0, 4, 0, 0, 0, 1, 0x7f);
	/* Illegal bits of mmap's flags are dropped, its own may come either way. */
	ASSERT_DECODES("mmap p0+1 none private\n", 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x80, 0x12, 0x80,
		       0, 0, 0);
	ASSERT_DECODES("mremap p0+1 -> p1+1 maymove|0x8\n", 1, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0x80, 9,
		       0, 0, 0, 1);
	/* let on a call that returns no address; slot 0 and unknown bases. */
	ASSERT_DECODES("munmap null+1\n", 1, 0, 0, 0, 1, 5, 0x80, 0, 1);
	ASSERT_DECODES("munmap p18+1\n", 1, 0, 0, 0, 1, 0, 0x92, 0, 1);
	ASSERT_DECODES("munmap p19+1\n", 1, 0, 0, 0, 1, 0, 0x93, 0, 1);
	ASSERT_DECODES("munmap vdso+1\n", 2, 0, 0, 0, 1, 0, 0x93, 0, 1);
	ASSERT_DECODES("munmap vvar[2]+1\n", 2, 0, 0, 0, 1, 0, 0x94, 2, 1);
	ASSERT_DECODES("munmap p21+1\n", 2, 0, 0, 0, 1, 0, 0x95, 0, 1);
	ASSERT_DECODES("munmap p127+1\n", 1, 0, 0, 0, 1, 0, 0xff, 0, 1);
	/* fail-nth, and an extension of 2 bytes that is skipped. */
	ASSERT_DECODES("munmap p1+1 fail-nth 258\n", 1, 0, 0, 0, 1, 0x90, 2, 1, 2, 9, 9, 1, 0, 1);
	ASSERT_DECODES("munmap p1+1\n", 1, 0, 0, 0, 1, 0x10, 0, 0, 1, 0, 1);
	/* An extension longer than the input, and input that ends inside a call. */
	ASSERT_DECODES("munmap p0+0\n", 1, 0, 0, 0, 1, 0x80, 200, 1, 2);
	ASSERT_DECODES("munmap p5+256\n", 1, 0, 0, 0, 1, 0, 5, 0, 0x81, 0, 1);
	ASSERT_DECODES("munmap p5+1\n", 1, 0, 0, 0, 1, 0, 5, 0, 0x81, 1);
	ASSERT_DECODES("", 1, 0, 0);
	/* Two bits say what is observed, modulo 3. */
	ASSERT_DECODES("observe maps\n", 1, 5, 0, 0);
	ASSERT_DECODES("", 1, 3, 0, 0);
}

/* A word by its number, any other number behind 0x80; numbers beyond the words wrap. */
static void test_preamble_bytes(void **state)
{
	(void)state;
	/* Version 1 has none. */
	ASSERT_DECODES("munmap p0+1\n", 1, 0, 1, 0, 1, 0, 0, 0, 1);
	ASSERT_DECODES("rlimit as +4 pages\nmunmap p0+1\n", 2, 0, 1, 0, 0, 4, 1, 0, 0, 0, 1);
	/* Any order, the last of several, numbers brought into range; words wrap. */
	ASSERT_DECODES("rlimit as -1 page\nrlimit memlock 2pmd\ncap keep sys_admin\n", 2, 0, 4, 0,
		       5, 7, 0, 9, 16, 0x7f, 2, 0x84, 2);
	ASSERT_DECODES("sysctl max_map_count -3\nsysctl overcommit_memory 2\n", 2, 0, 2, 0, 8, 5, 7,
		       0x7d);
	ASSERT_DECODES("fault page_min_order 3\n", 2, 0, 1, 0, 15, 0x7f);
	/* A count that cannot be is none; words that are missing are not there. */
	ASSERT_DECODES("munmap p0+1\n", 2, 0, 17, 0, 1, 0, 0, 0, 1);
	ASSERT_DECODES("munmap p0+1\n", 2, 0, 255, 0, 1, 0, 0, 0, 1);
	ASSERT_DECODES("rlimit data +0 pages\n", 2, 0, 9, 0, 1);
}

static void test_preamble_value(void **state)
{
	struct vm_program p = { 0 };
	struct vm_quantity q = { .pages = 4 }, less = { .pages = -4 }, huge = { .task = 127 };

	(void)state;
	vm_preamble_set(&p.preamble, VM_PREAMBLE_AS, &q);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_MEMLOCK, &q);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_MAX_MAP_COUNT, &less);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_DATA, &less);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_AS, 0x10000, &layout), 0x14000);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_MEMLOCK, 9, &layout), 0x4000);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_MAX_MAP_COUNT, 9, &layout), 5);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_MAX_MAP_COUNT, 3, &layout), 0);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_DATA, 0x5000, &layout), 0x1000);
	assert_int_equal(vm_preamble_value(&p.preamble, VM_PREAMBLE_DATA, 0x3000, &layout), 0);
	vm_preamble_set(&p.preamble, VM_PREAMBLE_AS, &huge);
	assert_true(vm_preamble_value(&p.preamble, VM_PREAMBLE_AS, 1ull << 46, &layout) ==
		    127 * layout.task_size + (1ull << 46));
	vm_preamble_clear(&p.preamble, VM_PREAMBLE_AS);
	assert_false(vm_preamble_has(&p.preamble, VM_PREAMBLE_AS));
	assert_true(vm_preamble_has(&p.preamble, VM_PREAMBLE_DATA));
}

static void test_choice(void **state)
{
	(void)state;
	ASSERT_DECODES("madvise p2+4 dontneed\n", 2, 0, 0, 0, VM_OP_MADVISE, 0, 2, 0, 4, 4);
	ASSERT_DECODES("madvise p2+4 guard_remove\n", 2, 0, 0, 0, VM_OP_MADVISE, 0, 2, 0, 4, 26);
	ASSERT_DECODES("madvise p2+4 normal\n", 2, 0, 0, 0, VM_OP_MADVISE, 0, 2, 0, 4, 27);
	ASSERT_DECODES("madvise p2+4 0xfffffffe\n", 2, 0, 0, 0, VM_OP_MADVISE, 0, 2, 0, 4, 0xff,
		       0xfe, 0xff, 0xff, 0xff);
	ASSERT_DECODES("madvise p2+4 free\n", 2, 0, 0, 0, VM_OP_MADVISE, 0, 2, 0, 4, 0x80, 8);
	ASSERT_DECODES("process_madvise p1+1 cold 0x1\n", 2, 0, 0, 0, VM_OP_PROCESS_MADVISE, 0, 1,
		       0, 1, 17, 0x80, 1);
}

static void test_empty_input_is_no_call(void **state)
{
	struct vm_program prog;

	(void)state;
	memset(&prog, 0xff, sizeof(prog));
	vm_program_decode(NULL, 0, &prog);
	assert_int_equal(prog.ncalls, 0);
	assert_int_equal(prog.observe, VM_OBSERVE_FULL);
	check_round_trip(&prog);
}

static void test_decoding_stops_after_64_calls(void **state)
{
	uint8_t bytes[4 + 5 * 80] = { 1 };
	struct vm_program prog;

	(void)state;
	for (size_t i = 4; i < sizeof(bytes); i += 5)
		bytes[i] = VM_OP_MUNMAP;
	vm_program_decode(bytes, sizeof(bytes), &prog);
	assert_int_equal(prog.ncalls, VM_PROGRAM_MAX_CALLS);
}

static void test_random_bytes_round_trip(void **state)
{
	uint8_t bytes[96];
	struct vm_program prog;
	uint64_t seed = 1;

	(void)state;
	for (unsigned int n = 0; n < 1000000; n++) {
		size_t len = next_random(&seed) % sizeof(bytes);

		for (size_t i = 0; i < sizeof(bytes); i += 8) {
			uint64_t r = next_random(&seed);

			memcpy(bytes + i, &r, 8);
		}
		vm_program_decode(bytes, len, &prog);
		check_round_trip(&prog);
	}
}

/* A cut of canonical bytes keeps the calls before the cut. */
static void test_truncation_keeps_what_came_before(void **state)
{
	uint8_t bytes[200], canonical[VM_BYTES_MAX];
	struct vm_program whole, cut;
	uint64_t seed = 2;

	(void)state;
	for (unsigned int n = 0; n < 200; n++) {
		size_t len;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)next_random(&seed);
		vm_program_decode(bytes, sizeof(bytes), &whole);
		len = vm_program_encode(&whole, canonical, sizeof(canonical));
		for (size_t l = 4; l <= len; l++) {
			uint8_t *exact = malloc(l); /* so that a sanitizer sees a read beyond it */

			assert_non_null(exact);
			memcpy(exact, canonical, l);
			vm_program_decode(exact, l, &cut);
			free(exact);
			assert_true(cut.ncalls <= whole.ncalls);
			if (cut.ncalls)
				cut.ncalls--; /* the last one may be cut in two */
			for (unsigned int i = 0; i < cut.ncalls; i++) {
				char a[256], b[256];

				vm_text_print_call(&whole.call[i], a, sizeof(a));
				vm_text_print_call(&cut.call[i], b, sizeof(b));
				assert_string_equal(a, b);
			}
		}
	}
}

static struct vm_quantity widest(void)
{
	return (struct vm_quantity){ INT64_MIN, INT32_MIN, INT16_MIN, INT16_MIN, INT8_MIN };
}

static void test_longest_program_fits(void **state)
{
	struct vm_program prog = { .ncalls = VM_PROGRAM_MAX_CALLS };
	uint8_t bytes[VM_BYTES_MAX];
	size_t len;

	(void)state;
	for (unsigned int i = 0; i < VM_PROGRAM_MAX_CALLS; i++) {
		struct vm_call *call = &prog.call[i];

		call->op = VM_OP_MREMAP;
		call->let = 15;
		call->fail_nth = UINT16_MAX;
		call->arg[0].addr = (struct vm_addr){ VM_BASE_NAME, 15, widest() };
		call->arg[1].len = call->arg[2].len = widest();
		call->arg[3].bits = UINT32_MAX;
		call->arg[4].addr = (struct vm_addr){ VM_BASE_TASK, 0, widest() };
	}
	check_round_trip(&prog);
	len = vm_program_encode(&prog, bytes, sizeof(bytes));
	assert_int_equal(vm_program_encode(&prog, bytes, len), len);
	assert_int_equal(vm_program_encode(&prog, bytes, len - 1), 0);
	assert_int_equal(vm_program_encode(&prog, NULL, 0), 0);
}

/* Whatever a mutator leaves in a program, normalised it can be encoded, and stays what it is. */
static void test_normalise_random_structs(void **state)
{
	static struct vm_program prog, twice;
	uint64_t seed = 3;

	(void)state;
	for (unsigned int n = 0; n < 2000; n++) {
		uint8_t *raw = (uint8_t *)&prog;

		for (size_t i = 0; i + 8 <= sizeof(prog); i += 8) {
			uint64_t r = next_random(&seed);

			memcpy(raw + i, &r, 8);
		}
		vm_program_normalise(&prog);
		check_round_trip(&prog);
		twice = prog;
		vm_program_normalise(&twice);
		assert_true(vm_program_equal(&prog, &twice));
	}
}

static void test_normalise_clears_what_a_row_does_not_use(void **state)
{
	static const struct vm_call zero;
	struct vm_program prog = { .ncalls = 1 };

	(void)state;
	prog.call[0].op = VM_OP_MUNMAP;
	prog.call[0].let = 3;
	prog.call[0].arg[2].bits = 7;
	prog.call[1].op = VM_OP_FILL;
	vm_program_normalise(&prog);
	assert_int_equal(prog.call[0].let, 0);
	assert_int_equal(prog.call[0].arg[2].bits, 0);
	assert_memory_equal(&prog.call[1], &zero, sizeof(zero));

	prog.call[0].op = VM_OP_MMAP;
	prog.call[0].arg[0].addr = (struct vm_addr){ VM_BASE_NAME, 16, { 0 } };
	prog.call[0].arg[3].bits = 0xffffffffffffull;
	prog.call[0].arg[4].bits = 1;
	vm_program_normalise(&prog);
	assert_int_equal(prog.call[0].arg[0].addr.base, VM_BASE_NULL);
	assert_int_equal(prog.call[0].arg[0].addr.index, 0);
	assert_int_equal(prog.call[0].arg[3].bits, 0xfff7ffff);
	assert_int_equal(prog.call[0].arg[4].bits, 1);
}

static void test_equal_sees_every_field(void **state)
{
	uint8_t bytes[128], other[VM_BYTES_MAX], mine[VM_BYTES_MAX];
	struct vm_program a, b;
	uint64_t seed = 4;

	(void)state;
	/* Two programs are equal if and only if their canonical bytes are. */
	for (unsigned int n = 0; n < 20000; n++) {
		size_t la, lb;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)next_random(&seed);
		vm_program_decode(bytes, sizeof(bytes), &a);
		bytes[next_random(&seed) % sizeof(bytes)] ^=
			(uint8_t)(1u << next_random(&seed) % 8);
		vm_program_decode(bytes, sizeof(bytes), &b);
		la = vm_program_encode(&a, mine, sizeof(mine));
		lb = vm_program_encode(&b, other, sizeof(other));
		assert_int_equal(vm_program_equal(&a, &b), la == lb && !memcmp(mine, other, la));
	}
}

static void test_quantity_value(void **state)
{
	struct vm_quantity q = { .bytes = -1, .pages = 4, .pmd = 1, .pud = -1, .task = 1 };

	(void)state;
	assert_int_equal(vm_quantity_value(&q, &layout),
			 layout.task_size - (1ull << 30) + (2ull << 20) + 4 * 4096 - 1);
	q = (struct vm_quantity){ .bytes = INT64_MIN, .pages = -1 };
	assert_int_equal(vm_quantity_value(&q, &layout), 0x7ffffffffffff000ull);
	q = (struct vm_quantity){ .task = -128 };
	assert_int_equal(vm_quantity_value(&q, &layout), 0 - 128 * layout.task_size);
}

static void test_addr_value(void **state)
{
	uint64_t names[VM_NAME_SLOTS] = { 0xdead, 0x7000 };
	struct vm_addr addr = { VM_BASE_ARENA, 127, { .pages = -1 } };

	(void)state;
	assert_int_equal(vm_addr_value(&addr, &layout, names), layout.arena_base + 126 * 4096);
	addr = (struct vm_addr){ VM_BASE_NAME, 1, { .bytes = 8 } };
	assert_int_equal(vm_addr_value(&addr, &layout, names), 0x7008);
	addr.index = 0; /* no name: not names[0] */
	assert_int_equal(vm_addr_value(&addr, &layout, names), 8);
	addr = (struct vm_addr){ VM_BASE_NULL, 0, { .bytes = -1 } };
	assert_int_equal(vm_addr_value(&addr, &layout, names), UINT64_MAX);
	addr = (struct vm_addr){ VM_BASE_TASK, 0, { .pages = 1 } };
	assert_int_equal(vm_addr_value(&addr, &layout, names), 1ull << 47);
}

static void test_resolve_keeps_the_order_of_the_row(void **state)
{
	static const char text[] = "mremap p0+8 -> a[1]+4 maymove|fixed\n";
	static struct vm_script script;
	uint64_t names[VM_NAME_SLOTS] = { 0, 0x5000 };
	struct vm_parse_error err;
	struct vm_syscall sc;

	(void)state;
	assert_int_equal(vm_text_parse(text, strlen(text), &script, &err), 0);
	sc = vm_call_resolve(&script.prog.call[0], &layout, names);
	assert_int_equal(sc.op, VM_OP_MREMAP);
	assert_int_equal(sc.arg[0], layout.arena_base);
	assert_int_equal(sc.arg[1], 8 * 4096);
	assert_int_equal(sc.arg[2], 4 * 4096);
	assert_int_equal(sc.arg[3], 3);
	assert_int_equal(sc.arg[4], 0x6000);
	assert_int_equal(sc.arg[5], 0);
}

static void test_table_rows_are_complete(void **state)
{
	(void)state;
	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		const struct vm_call_desc *desc = vm_call_desc((uint8_t)op);

		assert_int_equal(vm_call_by_name(desc->name, strlen(desc->name)), op);
		assert_non_null(desc->footprint);
		assert_non_null(desc->syntax);
		for (unsigned int i = 0; i < VM_CALL_MAX_ARGS; i++)
			assert_int_equal(desc->arg[i].kind != VM_ARG_NONE, i < desc->nargs);
	}
	assert_int_equal(vm_call_by_name("mmap2", 5), -1);
	assert_int_equal(vm_call_by_name("mma", 3), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_1_keeps_its_meaning),
		cmocka_unit_test(test_every_byte_means_something),
		cmocka_unit_test(test_preamble_bytes),
		cmocka_unit_test(test_preamble_value),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_empty_input_is_no_call),
		cmocka_unit_test(test_decoding_stops_after_64_calls),
		cmocka_unit_test(test_random_bytes_round_trip),
		cmocka_unit_test(test_truncation_keeps_what_came_before),
		cmocka_unit_test(test_longest_program_fits),
		cmocka_unit_test(test_normalise_random_structs),
		cmocka_unit_test(test_normalise_clears_what_a_row_does_not_use),
		cmocka_unit_test(test_equal_sees_every_field),
		cmocka_unit_test(test_quantity_value),
		cmocka_unit_test(test_addr_value),
		cmocka_unit_test(test_resolve_keeps_the_order_of_the_row),
		cmocka_unit_test(test_table_rows_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
