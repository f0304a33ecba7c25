/* SPDX-License-Identifier: MIT */
/* What the kernel compares arguments with comes back as other arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fuzz/campaign/wishes.h"
#include "oracle/model.h"

#define PC   0xffffffff81234567ull
#define PAGE 4096ull

static struct vm_trace trace;
static struct vm_operand operand[VM_MAX_OPERANDS];
static struct vm_mutator mutator;

static void parse(const char *text, struct vm_program *prog)
{
	static struct vm_script script;
	struct vm_parse_error err;

	assert_int_equal(vm_text_parse(text, strlen(text), &script, &err), 0);
	*prog = script.prog;
}

/* A trace of one call that was made, with comparisons. */
static uint32_t find(const char *text, const struct vm_compare *compare, uint32_t n)
{
	static const uint64_t names[VM_NAME_SLOTS];
	struct vm_event *e = &trace.event[0];

	parse(text, &trace.prog);
	trace.info.layout = mutator.layout;
	trace.nevents = 1;
	*e = (struct vm_event){ .kind = VM_EVENT_CALL };
	e->sc = vm_call_resolve(&trace.prog.call[0], &mutator.layout, names);
	e->cover = (struct vm_cover){ .ncompares = n, .compare = compare };
	return vm_operands_find(&trace, operand);
}

static int setup(void **state)
{
	static struct vm_target_info info;

	(void)state;
	vm_model_default_info(&info);
	return vm_mutator_init(&mutator, &info, vm_profile_by_name("6.18"), 1);
}

static int teardown(void **state)
{
	(void)state;
	vm_mutator_free(&mutator);
	return 0;
}

static bool has(uint32_t n, uint8_t arg, uint64_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (operand[i].arg == arg && operand[i].value == value)
			return true;
	return false;
}

static void test_as_it_is(void **state)
{
	const struct vm_compare c[] = { { 3 * PAGE, 5 * PAGE, PC, 8, 0 } };
	uint32_t n = find("munmap p0+3\n", c, 1);

	(void)state;
	assert_int_equal(n, 1);
	assert_true(has(n, 1, 5 * PAGE));
	/* The other way round, too. */
	n = find("munmap p0+5\n", c, 1);
	assert_true(has(n, 1, 3 * PAGE));
	assert_int_equal(find("munmap p0+7\n", c, 1), 0);
}

static void test_as_pages_and_as_an_end(void **state)
{
	uint64_t p0 = mutator.layout.arena_base;
	const struct vm_compare pages = { 3, 512, PC, 8, 0 };
	const struct vm_compare end = { p0 + 3 * PAGE, p0 + 9 * PAGE, PC, 8, 0 };
	uint32_t n = find("munmap p0+3\n", &pages, 1);

	(void)state;
	assert_true(has(n, 1, 512 * PAGE));
	n = find("munmap p0+3\n", &end, 1);
	assert_true(has(n, 1, 9 * PAGE));
}

static void test_a_part_of_it(void **state)
{
	/* mremap's flags as 32 bits, against a constant. */
	const struct vm_compare c = { 7, 1, PC, 4, 1 };
	uint32_t n = find("mremap p0+1 to 2 pages maymove\n", &c, 1);

	(void)state;
	assert_true(n >= 1);
	assert_true(has(n, 3, 7) || has(n, 4, 7));
}

static void test_what_says_nothing(void **state)
{
	const struct vm_compare c[] = {
		{ 3 * PAGE, 0xffff888012345000, PC, 8, 0 }, /* a kernel address */
		{ 0, 77, PC, 8, 0 },			    /* any zero */
		{ 3 * PAGE, 3 * PAGE, PC, 8, 0 },
	};
	uint32_t n = find("munmap p0+3\n", c, 3);

	(void)state;
	assert_int_equal(n, 0);
}

static void test_each_once_and_not_too_many(void **state)
{
	static struct vm_compare many[200];

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		many[i] = (struct vm_compare){ 3 * PAGE, (i / 2 + 10) * PAGE, PC + i, 8, 0 };
	assert_int_equal(find("munmap p0+3\n", many, 20), 10);
	assert_int_equal(find("munmap p0+3\n", many, 200), VM_MAX_OPERANDS);
}

static void test_withheld_calls_have_none(void **state)
{
	const struct vm_compare c = { 3 * PAGE, 5 * PAGE, PC, 8, 0 };

	(void)state;
	assert_int_equal(find("munmap p0+3\n", &c, 1), 1);
	trace.event[0].status = VM_STATUS_WITHHELD;
	assert_int_equal(vm_operands_find(&trace, operand), 0);
}

static void assert_becomes(const char *before, struct vm_operand o, const char *after)
{
	struct vm_program prog, want;
	uint8_t bytes[VM_BYTES_MAX];

	parse(before, &prog);
	parse(after, &want);
	vm_operand_use(&mutator, &prog, &o);
	assert_true(vm_program_equal(&prog, &want));
	assert_true(vm_program_encode(&prog, bytes, sizeof(bytes)) > 0);
}

static void test_put_into_a_program(void **state)
{
	uint64_t p0 = mutator.layout.arena_base;

	(void)state;
	assert_becomes("munmap p0+3\n", (struct vm_operand){ 0, 1, 5 * PAGE }, "munmap p0+5\n");
	assert_becomes("munmap p0+3\nmunmap p1+1\n", (struct vm_operand){ 1, 0, p0 + 9 * PAGE },
		       "munmap p0+3\nmunmap p9+1\n");
	assert_becomes("mprotect p0+3 rw\n", (struct vm_operand){ 0, 2, 1 }, "mprotect p0+3 r\n");
	/* What is not there leaves the program as it is. */
	assert_becomes("munmap p0+3\n", (struct vm_operand){ 7, 1, 5 }, "munmap p0+3\n");
	assert_becomes("munmap p0+3\n", (struct vm_operand){ 0, 5, 5 }, "munmap p0+3\n");
}

/* ---- which program comes when ---- */

static void test_questions_then_wishes(void **state)
{
	struct vm_wishes *w = calloc(1, sizeof(*w));
	const struct vm_operand o[] = { { 0, 1, 5 * PAGE }, { 0, 1, 6 * PAGE } };
	struct vm_program prog, got;
	unsigned int asked = 0, used = 0;
	struct vm_rng before = mutator.rng;
	bool ask;

	(void)state;
	assert_non_null(w);
	/* Nothing to ask: nothing is chosen either, so that seeds mean what they did. */
	assert_false(vm_wishes_next(w, &mutator, &got, &ask));
	assert_memory_equal(&before, &mutator.rng, sizeof(before));
	parse("munmap p0+3\n", &prog);
	vm_wishes_note(w, &prog);
	for (int i = 0; i < 200; i++)
		if (vm_wishes_next(w, &mutator, &got, &ask)) {
			assert_true(ask);
			assert_true(vm_program_equal(&got, &prog));
			asked++;
		}
	assert_int_equal(asked, 1);
	vm_wishes_answer(w, &mutator.rng, &prog, o, 2);
	for (int i = 0; i < 200; i++)
		if (vm_wishes_next(w, &mutator, &got, &ask)) {
			assert_false(ask);
			assert_false(vm_program_equal(&got, &prog));
			used++;
		}
	assert_int_equal(used, 2);
	free(w);
}

static void test_the_oldest_is_lost(void **state)
{
	struct vm_wishes *w = calloc(1, sizeof(*w));
	struct vm_operand o[VM_MAX_OPERANDS] = { { 0 } };
	struct vm_program prog = { .ncalls = 1 }, got;
	unsigned int asked = 0, used = 0;
	bool ask;

	(void)state;
	assert_non_null(w);
	for (int i = 0; i < 3 * VM_QUESTIONS; i++)
		vm_wishes_note(w, &prog);
	for (int i = 0; i < 50; i++)
		vm_wishes_answer(w, &mutator.rng, &prog, o, VM_MAX_OPERANDS);
	for (int i = 0; i < 5000; i++)
		if (vm_wishes_next(w, &mutator, &got, &ask)) {
			asked += ask;
			used += !ask;
		}
	assert_int_equal(asked, VM_QUESTIONS);
	assert_int_equal(used, VM_WISHES);
	free(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_as_it_is),
		TEST(test_as_pages_and_as_an_end),
		TEST(test_a_part_of_it),
		TEST(test_what_says_nothing),
		TEST(test_each_once_and_not_too_many),
		TEST(test_withheld_calls_have_none),
		TEST(test_put_into_a_program),
		TEST(test_questions_then_wishes),
		TEST(test_the_oldest_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
