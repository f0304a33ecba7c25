/* SPDX-License-Identifier: MIT */
/* A script's expectations against traces made by hand: each word met and unmet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/trace_builder.h"

static struct vm_script script;

/* Check a script against the trace; its calls are the trace's. What is unmet, as text. */
static const char *unmet(struct trace_builder *t, const char *profile, const char *text)
{
	static char buf[1024];
	struct vm_text out = { .buf = buf, .cap = sizeof(buf) };
	struct vm_parse_error err;
	int n, lines = 0;

	buf[0] = 0;
	if (vm_text_parse(text, strlen(text), &script, &err))
		fail_msg("line %u: %s", err.line, err.message);
	tb_trace(t)->prog = script.prog;
	tb_judge(t, profile, VM_CONTRACT_EXACT);
	n = vm_expect_check(&script, tb_trace(t), tb_judgement(t), vm_profile_by_name(profile),
			    &out);
	for (const char *p = buf; *p; p++)
		lines += *p == '\n';
	assert_int_equal(n, lines);
	return buf;
}

#define UNMET(t, profile, text, want) assert_string_equal(unmet(t, profile, text), want)

static struct trace_builder *done(const char *before, const char *call, int64_t result,
				  const char *after)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, before);
	tb_call(t, call, result, after);
	tb_end(t, "same");
	return t;
}

static void test_results(void **state)
{
	struct trace_builder *t = done("p0+4 rw", "munmap p0+4", 0, "");

	(void)state;
	UNMET(t, "6.18", "munmap p0+4 => ok\n", "");
	UNMET(t, "6.18", "munmap p0+4\n", "");
	UNMET(t, "6.18", "\n\nmunmap p0+4 => EPERM\n", "line 3: expected EPERM, got 0\n");
	UNMET(t, "6.18", "munmap p0+4 => withheld\n", "line 1: expected withheld, got 0\n");
	UNMET(t, "6.18", "munmap p0+4 => SIGSEGV\n", "line 1: expected SIGSEGV, got 0\n");
	tb_close(t);
	t = done("p0+4 rw sealed", "munmap p0+4", -EPERM, "same");
	UNMET(t, "6.18", "munmap p0+4 => EPERM\n", "");
	UNMET(t, "6.18", "munmap p0+4 => EINVAL\n", "line 1: expected EINVAL, got EPERM\n");
	UNMET(t, "6.18", "munmap p0+4 => ok\n", "line 1: expected ok, got EPERM\n");
	tb_last(t)[-1].status = VM_STATUS_WITHHELD;
	tb_last(t)[-1].result = VM_WITHHELD_GUARD;
	UNMET(t, "6.18", "munmap p0+4 => withheld\n", "");
	UNMET(t, "6.18", "munmap p0+4 => EPERM\n",
	      "line 1: expected EPERM, got withheld (executor's memory)\n");
	tb_close(t);
}

static void test_signals(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "p0+1 r");
	tb_fault(t, "read p0+2", 1, SIGSEGV, SEGV_MAPERR, "same");
	tb_end(t, "same");
	UNMET(t, "6.18", "read p0+2 => SIGSEGV\n", "");
	UNMET(t, "6.18", "read p0+2 => SIGBUS\n",
	      "line 1: expected SIGBUS, got SIGSEGV/MAPERR at p1\n");
	UNMET(t, "6.18", "read p0+2 => ok\n", "line 1: expected ok, got SIGSEGV/MAPERR at p1\n");
	tb_close(t);
}

static void test_changes(void **state)
{
	struct trace_builder *t = done("p0+4 rw", "munmap p0+4", 0, "");

	(void)state;
	UNMET(t, "6.18", "munmap p0+4 => ok, changed\n", "");
	UNMET(t, "6.18", "munmap p0+4 => untouched\n",
	      "line 1: expected untouched, but pages changed\n");
	UNMET(t, "6.18", "munmap p0+4 => deviation\n",
	      "line 1: expected a deviation, there is none\n");
	UNMET(t, "6.18", "munmap p0+4 => note\n", "line 1: expected a note, there is none\n");
	tb_close(t);
	t = done("p0+4 rw sealed", "munmap p0+4", -EPERM, "same");
	UNMET(t, "6.18", "munmap p0+4 => EPERM, untouched\n", "");
	UNMET(t, "6.18", "munmap p0+4 => EPERM, changed\n",
	      "line 1: expected changed, but no page changed\n");
	tb_close(t);
	t = done("p0+4 rw sealed", "munmap p0+4", -EPERM, "-");
	UNMET(t, "6.18", "munmap p0+4 => EPERM, untouched\n",
	      "line 1: expected untouched, not observed\n");
	tb_close(t);
	t = done("p0+4 rw | p4+2 r sealed", "mprotect p0+6 r", -EPERM, "p0+4 r ac | p4+2 r sealed");
	UNMET(t, "6.18", "mprotect p0+6 r => EPERM, note, changed\n", "");
	tb_close(t);
	t = done("p0+4 rw", "munmap p0+4", 0, "");
	tb_trace(t)->nevents = 1;
	UNMET(t, "6.18", "munmap p0+4 => ok\n", "line 1: the call was never made\n");
	tb_close(t);
}

static void test_profiles(void **state)
{
	const char *call = "mremap p0+4 -> p16+6 maymove|fixed";
	const char *text = "mremap p0+4 -> p16+6 maymove|fixed => 6.12: EFAULT, deviation; "
			   "!6.12: EFAULT, untouched\n";
	struct trace_builder *t =
		done("p0+2 rw | p2+2 r | p16+6 rw", call, -EFAULT, "p0+2 rw | p2+2 r");

	(void)state;
	UNMET(t, "6.12", text, "");
	UNMET(t, "6.18", text, "line 1: expected untouched, but pages changed\n");
	tb_close(t);
	t = done("p0+2 rw | p2+2 r | p16+6 rw", call, -EFAULT, "same");
	UNMET(t, "6.18", text, "");
	UNMET(t, "6.12", text, "line 1: expected a deviation, there is none\n");
	UNMET(t, "6.18",
	      "mremap p0+4 -> p16+6 maymove|fixed\nexpect 6.12: p16+6 unmapped\n"
	      "expect 6.18: p16+6 r\n",
	      "expect after call 1: p16 has other protection\n");
	/* this version and older ones, newer ones */
	text = "mremap p0+4 -> p16+6 maymove|fixed => <=6.12: EFAULT, untouched; "
	       ">6.12: EFAULT, changed\n";
	UNMET(t, "6.1", text, "");
	UNMET(t, "6.12", text, "");
	UNMET(t, "6.18", text, "line 1: expected changed, but no page changed\n");
	UNMET(t, "generic", text, "");
	tb_close(t);
}

static void test_pages(void **state)
{
	static const struct {
		const char *words, *wrong;
	} checks[] = {
		{ "p0+4 rw private unsealed mapped", NULL },
		{ "p4+2 r shared sealed", NULL },
		{ "p6+2 unmapped", NULL },
		{ "p8+1 none", NULL },
		{ "p9+1 zero", NULL },
		{ "p3+2 rw", "p4 has other protection" },
		{ "p3+2 private", "p4 is shared" },
		{ "p0+5 shared", "p0 is private" },
		{ "p3+2 sealed", "p3 is not sealed" },
		{ "p3+2 unsealed", "p4 is sealed" },
		{ "p5+2 mapped", "p6 is not mapped" },
		{ "p7+2 unmapped", "p8 is mapped" },
		{ "p5+2 r", "p6 is not mapped" },
		{ "p0+4 vmas 1", NULL },
		{ "p3+2 vmas 2", NULL },
		{ "p0+10 vmas 4", NULL }, /* over the hole */
		{ "p6+2 vmas 0", NULL },
		{ "p0+10 mapped vmas 4", "p6 is not mapped" },
		{ "p0+4 has rd has wr lacks ex lacks sl", NULL },
		{ "p4+2 has sl has ms lacks wr", NULL },
		{ "p3+2 lacks sl", "p4 has a VmFlag that it should lack" },
		{ "p3+2 has wr", "p4 lacks a VmFlag" },
		{ "p4+2 has xx", "p4 is to have a VmFlag that there is not" },
	};
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "");
	tb_call(t, "munmap p20+1", 0, "p0+4 rw | p4+2 r shared sealed | p8+1 none | p9+1 rw");
	tb_end(t, "same");
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		char text[128], want[128] = "";

		snprintf(text, sizeof(text), "munmap p20+1\nexpect %s\n", checks[i].words);
		if (checks[i].wrong)
			snprintf(want, sizeof(want), "expect after call 1: %s\n", checks[i].wrong);
		UNMET(t, "6.18", text, want);
	}
	UNMET(t, "6.18", "munmap p20+1\nexpect p0+10 vmas 3\n",
	      "expect after call 1: 4 VMAs, not 3\n");
	UNMET(t, "6.18", "munmap p20+1\nexpect p4+1 zero\n",
	      "expect after call 1: p4 is not present: read it first to see its bytes\n");
	((struct vm_vma *)tb_last(t)->after.vma)[0].flags_known = 0;
	UNMET(t, "6.18", "munmap p20+1\nexpect p0+4 unsealed\n",
	      "expect after call 1: p0 was not looked at for a seal\n");
	tb_close(t);
}

static void test_bytes(void **state)
{
	const char *text = "fill p0+2\nmremap p0+4 -> p16+4 maymove|fixed\n";
	struct trace_builder *t = tb_open("6.18.44");
	char with[256];

	(void)state;
	tb_start(t, "p0+4 rw");
	tb_call(t, "fill p0+2", 2, "p0+4 rw");
	tb_filled(t, 0, 0, 0);
	tb_filled(t, 1, 0, 1);
	tb_call(t, "mremap p0+4 -> p16+4 maymove|fixed", (int64_t)ARENA(16), "p16+4 rw");
	tb_filled(t, 16, 0, 0);
	tb_filled(t, 17, 0, 1);
	tb_bytes(t, 18, 0, 0);
	tb_bytes(t, 19, 0, 9);
	tb_end(t, "same");
	snprintf(with, sizeof(with), "%sexpect p16+2 rw from p0\nexpect p18+1 zero\n", text);
	UNMET(t, "6.18", with, "");
	snprintf(with, sizeof(with), "%sexpect p17+1 from p0\n", text);
	UNMET(t, "6.18", with, "expect after call 2: p17 has other bytes\n");
	snprintf(with, sizeof(with), "%sexpect p17+1 zero\n", text);
	UNMET(t, "6.18", with, "expect after call 2: p17 is not zero\n");
	snprintf(with, sizeof(with), "%sexpect p18+1 from p2\n", text);
	UNMET(t, "6.18", with, "expect after call 2: p18 has no fill to compare with\n");
	snprintf(with, sizeof(with), "%sexpect p19+1 zero\n", text);
	UNMET(t, "6.18", with, "expect after call 2: p19 is not zero\n");
	/* between the calls */
	UNMET(t, "6.18",
	      "fill p0+2\nexpect p0+2 from p0\nmremap p0+4 -> p16+4 maymove|fixed\n"
	      "expect p0+4 unmapped\n",
	      "");
	UNMET(t, "6.18", "expect p0+1 from p0\nfill p0+2\nmremap p0+4 -> p16+4 maymove|fixed\n",
	      "expect after call 0: p0 has no fill to compare with\n");
	tb_close(t);
}

/* Names are those of the calls before. */
static void test_names(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "");
	tb_call(t, "mmap any+4 r anon private", (int64_t)ARENA(40), "p40+4 r");
	tb_call(t, "mmap any+4 r anon private", -ENOMEM, "same");
	tb_end(t, "same");
	UNMET(t, "6.18",
	      "let a = mmap any+4 r anon private\nexpect a+4 r\n"
	      "let b = mmap any+4 r anon private\nexpect b+1 unmapped\nexpect a[4]+1 unmapped\n",
	      "");
	UNMET(t, "6.18",
	      "let a = mmap any+4 r anon private\nlet b = mmap any+4 r anon private\n"
	      "expect a[3]+2 r\n",
	      "expect after call 2: p44 is not mapped\n");
	tb_close(t);
}

static void test_unobserved(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "-");
	tb_call(t, "mmap p0+4 r anon private", (int64_t)ARENA(0), "-");
	UNMET(t, "6.18", "mmap p0+4 r anon private\nexpect p0+4 r\n",
	      "expect after call 1: nothing was observed\n");
	/* the last look serves for what stands after the last call */
	tb_end(t, "p0+4 r");
	UNMET(t, "6.18", "mmap p0+4 r anon private\nexpect p0+4 r\n", "");
	UNMET(t, "6.18", "expect p0+4 unmapped\nmmap p0+4 r anon private\n",
	      "expect after call 0: nothing was observed\n");
	tb_last(t)->after.mask &= ~VM_SEEN_CONTENTS;
	UNMET(t, "6.18", "mmap p0+4 r anon private\nexpect p0+4 zero\n",
	      "expect after call 1: p0 has unobserved bytes\n");
	tb_close(t);
}

/* A line in front of an `end` is about the last look of its own child, not of a later one. */
static void test_children(void **state)
{
	static const char *const seen[] = { "p0+1 r", "p0+1 rw" };
	struct trace_builder *t = tb_open("6.18.44");

	(void)state;
	tb_start(t, "p0+1 rwx");
	for (unsigned int child = 0; child < 2; child++) {
		tb_call(t, "fork", 0, "-");
		tb_last(t)->space = 1;
		tb_end(t, seen[child]);
		tb_last(t)->space = 1;
		tb_call(t, "end", 0, "p0+1 rwx");
	}
	tb_end(t, "same");
	UNMET(t, "6.18", "fork\nexpect p0 r\nend\nfork\nexpect p0 rw\nend\nexpect p0 rwx\n", "");
	UNMET(t, "6.18", "fork\nexpect p0 rw\nend\nfork\nexpect p0 r\nend\n",
	      "expect after call 1: p0 has other protection\n"
	      "expect after call 3: p0 has other protection\n");
	tb_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),	 cmocka_unit_test(test_signals),
		cmocka_unit_test(test_changes),	 cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_pages),	 cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_unobserved),
		cmocka_unit_test(test_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
