/* SPDX-License-Identifier: MIT */
/* mbind and set_mempolicy_home_node, also where there is no NUMA, or more than one node. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/trace_builder.h"

static struct bench *with_node(const char *state)
{
	struct bench *b = bench_open(state);

	b->info.features |= VM_HAS_NUMA | VM_HAS_ONE_NODE;
	return b;
}

/* The last outcome of a call happens. */
static void happens(struct bench *b, const char *call)
{
	bench_ask(b, "6.18", false, call);
	assert_false(b->out.silent);
	vm_effect_apply(&b->out.o[b->out.n - 1].effect, 0, &b->state, &b->objects, PAGE);
}

static const struct vm_area *area(const struct bench *b, unsigned int page)
{
	return vm_state_at(&b->state, ARENA(page));
}

static void test_no_numa(void **state)
{
	struct bench *b = bench_open("p0+2 rw");

	(void)state;
	BOTH_SAY(b, "mbind p0+2 0x7 0 0", "ENOSYS (kernel without NUMA)");
	BOTH_SAY(b, "set_mempolicy_home_node p0[1b]+2 0", "ENOSYS (kernel without NUMA)");
	bench_close(b);
}

static void test_arguments(void **state)
{
	struct bench *b = with_node("p0+2 rw");

	(void)state;
	BOTH_SAY(b, "mbind p0+2 0x7 badmask 0x8", "EINVAL (unknown policy)");
	BOTH_SAY(b, "mbind p0+2 bind badmask 0x8", "EFAULT (mask of nodes is no user address)");
	BOTH_SAY(b, "mbind p0+2 bind node0 0x8", "EINVAL (unknown flags)");
	BOTH_SAY(b, "mbind p0+2 bind node0 move_all",
		 "EPERM (MPOL_MF_MOVE_ALL needs CAP_SYS_NICE)");
	b->info.cap_effective = 1ull << 23;
	BOTH_SAY(b, "mbind p0+2 bind node0 move_all", "= 0 {policy p0+2}");
	BOTH_SAY(b, "mbind p0+2 bind node1 0", "EINVAL (none of the nodes has memory)");
	BOTH_SAY(b, "mbind p0+2 bind node1 0 relative", "= 0 {policy p0+2}");
	BOTH_SAY(b, "mbind p0+2 bind node0|onemax 0", "EINVAL (policy without nodes)");
	BOTH_SAY(b, "mbind p0+2 preferred badmask|nomask 0", "= 0 {policy p0+2}");
	BOTH_SAY(b, "mbind p0+3 bind node0 0", "EFAULT (hole in the range)");
	BOTH_SAY(b, "mbind p0+3 default 0 0", "= 0 {policy p0+3}");
	BOTH_SAY(b, "mbind p2+3 default 0 0", "EFAULT (hole in the range)");
	bench_close(b);
}

static void test_policies_keep_apart(void **state)
{
	struct bench *b = with_node("p0+6 rw");

	(void)state;
	happens(b, "mbind p2+2 bind node0 0");
	assert_int_equal(area(b, 2)->begins, VM_YES);
	assert_int_equal(area(b, 4)->begins, VM_YES);
	happens(b, "mbind p4+2 bind node0|node1 0"); /* node1 does not count */
	assert_int_equal(area(b, 4)->policy, area(b, 2)->policy);
	assert_int_equal(area(b, 4)->begins, VM_MAYBE);
	happens(b, "mbind p4+2 bind node0|node1 0 static");
	assert_int_equal(area(b, 4)->begins, VM_YES);
	happens(b, "mbind p2+2 bind node0 0 static");
	assert_int_not_equal(area(b, 4)->policy, area(b, 2)->policy);
	happens(b, "mbind p2+2 preferred 0 0");
	happens(b, "mbind p4+2 local 0 0");
	assert_int_equal(area(b, 4)->policy, area(b, 2)->policy);
	happens(b, "mmap p2+1 rw anon private");
	assert_int_equal(area(b, 2)->policy, 0);
	happens(b, "mremap p3+3 -> p32+3 maymove|fixed");
	assert_int_not_equal(area(b, 34)->policy, 0);
	happens(b, "mbind p0+64 default 0 0");
	assert_int_equal(area(b, 33)->policy, 0);
	bench_close(b);
}

static void test_strict(void **state)
{
	static const struct vm_page page[] = { { .addr = ARENA(1) } };
	const struct vm_snapshot seen = { .npage = 1, .page = page };
	struct bench *b = with_node("p0+2 rw | p2+2 rw shared");
	struct vm_syscall sc = syscall_of_text("mbind p2+2 local 0 strict", &b->info.layout);
	struct vm_rule r = { .s = &b->state,
			     .sc = &sc,
			     .info = &b->info,
			     .p = vm_profile_by_name("6.18"),
			     .seen = &seen,
			     .work = &b->work,
			     .objects = &b->objects,
			     .out = &b->out };

	(void)state;
	BOTH_SAY(b, "mbind p0+4 bind node0 strict", "= 0 {policy p0+4}");
	BOTH_SAY(b, "mbind p0+4 default 0 strict", "= 0 {policy p0+4}");
	BOTH_SAY(b, "mbind p0+2 local 0 strict",
		 "EIO (a page is on another node); = 0 {policy p0+2}");
	/* with MOVE it is told at the end */
	BOTH_SAY(b, "mbind p0+2 local 0 strict|move",
		 "EIO (a page is on another node) {policy p0+2}; = 0 {policy p0+2}");
	/* where no page was seen there is none */
	vm_outcomes(&r);
	assert_int_equal(b->out.n, 1);
	sc = syscall_of_text("mbind p0+4 local 0 strict", &b->info.layout);
	vm_outcomes(&r);
	assert_int_equal(b->out.n, 2);
	bench_close(b);
}

static void test_home_node(void **state)
{
	struct bench *b = with_node("p0+8 rw");

	(void)state;
	BOTH_SAY(b, "set_mempolicy_home_node p0+8 0", "ENOENT (no policy in the range)");
	happens(b, "mbind p2+2 bind node0 0");
	happens(b, "mbind p6+2 interleave node0 0");
	BOTH_SAY(b, "set_mempolicy_home_node p0+8 0",
		 "EOPNOTSUPP (policy that has no home node) {policy p0+4 keep}");
	BOTH_SAY(b, "set_mempolicy_home_node p0+8 0x1", "EINVAL (node is not there)");
	happens(b, "set_mempolicy_home_node p0+3 0");
	assert_int_equal(area(b, 1)->policy, 0);
	assert_int_equal(area(b, 3)->begins, VM_YES);
	happens(b, "set_mempolicy_home_node p3+1 0");
	assert_int_equal(area(b, 3)->policy, area(b, 2)->policy);
	b->state.area[1].policy = VM_POLICY_UNKNOWN;
	bench_ask(b, "6.18", false, "set_mempolicy_home_node p0+8 0");
	assert_true(b->out.silent);
	bench_close(b);
}

/* What is not known of several nodes: which have memory, and so what is bound to them. */
static void test_several_nodes(void **state)
{
	struct bench *b = bench_open("p0+2 rw");

	(void)state;
	b->info.features |= VM_HAS_NUMA;
	BOTH_SAY(b, "mbind p0+2 bind node0 0",
		 "EINVAL (none of the nodes has memory); = 0 {policy p0+2}");
	happens(b, "mbind p0+1 bind node0 0");
	assert_int_equal(area(b, 0)->policy, VM_POLICY_UNKNOWN);
	assert_int_equal(area(b, 1)->begins, VM_MAYBE);
	BOTH_SAY(b, "mbind p0+2 bind node0 strict",
		 "EINVAL (none of the nodes has memory); EIO (a page is on another node); "
		 "EIO (a page is on another node); "
		 "= 0 {policy p0+2}");
	bench_close(b);
}

/* A policy that was set is missed where the layout shows one VMA; once, then it is not believed. */
static void test_policy_lost(void **state)
{
	struct trace_builder *t = tb_open("6.18.0");

	(void)state;
	tb_trace(t)->info.features |= VM_HAS_NUMA | VM_HAS_ONE_NODE;
	tb_start(t, "");
	tb_call(t, "mmap p0+4 rw anon private", ARENA(0), "p0+4 rw");
	tb_call(t, "mbind p2+2 bind node0 0", 0, "p0+4 rw");
	tb_call(t, "mbind p8+1 bind node0 0", -EFAULT, "same");
	tb_end(t, "p0+4 rw");
	EXACT(t, "6.18",
	      "2 violation success: mbind: success, but range is one VMA with what has another "
	      "policy or name");
	tb_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_numa),	    cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_strict),	    cmocka_unit_test(test_policies_keep_apart),
		cmocka_unit_test(test_home_node),   cmocka_unit_test(test_several_nodes),
		cmocka_unit_test(test_policy_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
