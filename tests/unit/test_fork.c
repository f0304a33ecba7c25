/* SPDX-License-Identifier: MIT */
/* Forked children: what they inherit, what parts ways, and how their traces are judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/trace_builder.h"

static struct vm_state s;
static struct vm_objects o;

static void given(const char *text)
{
	vm_objects_reset(&o);
	state_of_text(text, &s, &o);
}

static void forked(const char *text)
{
	vm_state_fork(&s, &o);
	assert_string_equal(text_of_state(&s), text);
}

static void test_layout(void **state)
{
	(void)state;
	/* shared objects are the same, private ones are copies: one a copy, however many areas */
	given("p0+2 rw o0@0 | p2+1 r sealed o0@2 ~ p3+1 r sealed o1@0 ? p4+1 rw shared o2@0");
	forked("p0+2 rw o3@0 | p2+1 r sealed o3@2 ~ p3+1 r sealed o4@0 ? p4+1 rw shared o2@0");
	given("p0+1 rw own | p4+1 rw");
	forked("p0+1 rw own o0@0 | p4+1 rw o2@0");
}

static void test_exec(void **state)
{
	(void)state;
	given("p0+1 rw own | p1+1 rw sealed | p4+1 r shared o2@0");
	vm_state_exec(&s);
	assert_string_equal(text_of_state(&s), "p0+1 rw own o0@0");
}

static void test_flags(void **state)
{
	(void)state;
	given("p0+2 rw | p2+2 rw ~ p4+2 rw");
	s.area[0].flags |= VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF) | VM_BIT(VM_FLAG_DD);
	s.area[1].flags |= VM_BIT(VM_FLAG_DC);
	forked("p0+2 rw o3@0 | p4+2 rw o4@0");
	assert_int_equal(s.area[0].flags, VM_MAY_ALL | VM_BIT(VM_FLAG_DD));
}

static void test_contents(void **state)
{
	bool zero = false;

	(void)state;
	given("p0+2 rw | p2+2 rw");
	*vm_object_page(&o.object[0], 0) =
		(struct vm_object_page){ .content.head = 7, .known = true, .rest_known = true };
	*vm_object_page(&o.object[1], 0) = o.object[0].page[0];
	s.area[1].flags |= VM_BIT(VM_FLAG_WF);
	vm_state_fork(&s, &o);
	assert_int_equal(vm_object_look(&o, s.area[0].object, VM_NO_OBJECT, 0, &zero)->content.head,
			 7);
	assert_null(vm_object_look(&o, s.area[1].object, VM_NO_OBJECT, 0, &zero));
	assert_true(zero && s.area[1].flags & VM_BIT(VM_FLAG_WF));
	/* the child writes */
	vm_object_page(&o.object[s.area[0].object], 0)->content.head = 8;
	assert_int_equal(o.object[0].page[0].content.head, 7);
}

static void test_rule(void **state)
{
	struct bench *b = bench_open("p0+4 rw | p8+4 r shared o1@0");

	(void)state;
	BOTH_SAY(b, "fork", "= 0 {fork}");
	BOTH_SAY(b, "end", "= 0");
	BOTH_SAY(b, "exec", "= 0 {exec}");
	/* each VMA is charged anew: two that may be one by now */
	b->info.total_pages = 6;
	BOTH_SAY(b, "fork", "= 0 {fork}");
	bench_state(b, "p0+4 rw ? p4+4 rw");
	BOTH_SAY(b, "fork", "ENOMEM (commit limit); = 0 {fork}");
	bench_state(b, "p0+4 rw ~ p4+4 rw");
	BOTH_SAY(b, "fork", "ENOMEM (commit limit)");
	b->state.area[0].flags_maybe = VM_BIT(VM_FLAG_DC);
	BOTH_SAY(b, "fork", "silent: a mapping may be VM_DONTCOPY or VM_WIPEONFORK");
	bench_close(b);
}

/* ---- traces ---- */

/* p0+4 rw, its first page filled, p1 sealed; then a fork whose child sees `layout`. */
static struct trace_builder *child(const char *layout)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, "");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "p0+4 rw");
	tb_call(t, "fill p0+1", 1, "p0+4 rw");
	tb_filled(t, 0, 1, 0);
	tb_call(t, "mseal p1+1", 0, "p0+1 rw | p1+1 rw sealed | p2+2 rw");
	tb_filled(t, 0, 1, 0);
	tb_call(t, "fork", 0, layout);
	tb_last(t)->actor = tb_last(t)->space = 1;
	return t;
}

#define PARENT "p0+1 rw | p1+1 rw sealed | p2+2 rw"

static void in_child(struct trace_builder *t, const char *call, int64_t result, const char *layout)
{
	tb_call(t, call, result, layout);
	tb_last(t)->actor = tb_last(t)->space = 1;
}

static void child_ends(struct trace_builder *t)
{
	tb_end(t, "same");
	tb_last(t)->actor = tb_last(t)->space = 1;
}

static void judged(struct trace_builder *t, const char *text)
{
	EXACT(t, "6.12", text);
	EXACT(t, "6.18", text);
	tb_close(t);
}

static void test_child_is_as_parent(void **state)
{
	struct trace_builder *t = child(PARENT);

	(void)state;
	tb_filled(t, 0, 1, 0);
	judged(t, "");
	t = child("p0+1 rw | p1+1 rw | p2+2 rw");
	tb_filled(t, 0, 1, 0);
	judged(t, "4 violation sealed: fork: sealed page seal lost");
	t = child("p0+1 rw | p1+1 rw sealed | p3+1 rw");
	tb_filled(t, 0, 1, 0);
	judged(t, "4 violation success: fork: success, but child is not mapped");
	t = child(PARENT);
	judged(t, "4 violation content: fork: content of child lost");
}

/* The child fills p0 anew and unmaps p2; its parent is then seen with `layout`. */
static struct trace_builder *joined(const char *layout)
{
	struct trace_builder *t = child(PARENT);

	tb_filled(t, 0, 1, 0);
	in_child(t, "fill p0+1", 1, PARENT);
	tb_filled(t, 0, 4, 0);
	in_child(t, "munmap p2+2", 0, "p0+1 rw | p1+1 rw sealed");
	tb_filled(t, 0, 4, 0);
	child_ends(t);
	tb_call(t, "end", 0, layout);
	return t;
}

static void test_parent_is_left_alone(void **state)
{
	struct trace_builder *t = joined(PARENT);

	(void)state;
	tb_filled(t, 0, 1, 0);
	tb_end(t, "same");
	judged(t, "");
	t = joined("p0+1 rw | p1+1 rw sealed");
	tb_filled(t, 0, 1, 0);
	judged(t, "8 violation bystander: end: bystander lost");
	t = joined(PARENT);
	tb_filled(t, 0, 4, 0);
	judged(t, "8 violation content: end: content of bystander changed");
}

static void test_child_dies(void **state)
{
	struct trace_builder *t = child(PARENT);

	(void)state;
	tb_filled(t, 0, 1, 0);
	in_child(t, "munmap p2+2", 0, "-");
	tb_last(t)->status = VM_STATUS_RUNNING;
	tb_trace(t)->exit = VM_EXIT_SIGNAL;
	tb_trace(t)->exit_value = 9;
	judged(t, "5 violation survival: munmap: process killed by signal 9");
}

static int close_objects(void **state)
{
	(void)state;
	vm_objects_free(&o);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_child_is_as_parent),
		cmocka_unit_test(test_parent_is_left_alone),
		cmocka_unit_test(test_child_dies),
	};

	return cmocka_run_group_tests(tests, NULL, close_objects);
}
