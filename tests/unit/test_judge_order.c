/* SPDX-License-Identifier: MIT */
/* Verdicts over several calls: resync, late losses, survival, views, notes, known bugs, profiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/trace_builder.h"

#define MMF	"maymove|fixed"
#define PROBED	VM_PROBED_BEHAVIOUR
#define NEW_WAY (PROBED | VM_PROBE_DEST_KEPT | VM_PROBE_MULTI_MOVE | VM_PROBE_DU_ROUNDED)

static struct trace_builder *started(const char *layout)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, layout);
	return t;
}

static void judged(struct trace_builder *t, const char *text)
{
	EXACT(t, "6.18", text);
	tb_close(t);
}

/* After a violation what was seen is believed: nothing is said twice. */
static void test_resync(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p8+4 r");

	(void)state;
	tb_call(t, "munmap p0+4", 0, "same");
	tb_call(t, "mprotect p0+4 r", 0, "p0+4 r ac | p8+4 r");
	tb_call(t, "munmap p0+4", 0, "");
	tb_call(t, "mprotect p8+4 rw", -ENOMEM, "same");
	tb_end(t, "same");
	judged(t, "1 violation success: munmap: success, but range is still mapped; "
		  "3 violation bystander: munmap: bystander lost");
	/* a seal that was lost is gone */
	t = started("p0+4 rw sealed");
	tb_call(t, "read p0+1", 1, "p0+4 rw");
	tb_call(t, "munmap p0+4", 0, "");
	tb_end(t, "same");
	judged(t, "1 violation sealed: read: sealed page seal lost");
	/* a deviation too */
	t = started("p0+2 rw | p2+2 r | p16+6 rw");
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, -EFAULT, "p0+2 rw | p2+2 r");
	tb_call(t, "read p16+1", 0, "same");
	tb_last(t)->status = VM_STATUS_FAULTED;
	tb_last(t)->signo = 11;
	tb_last(t)->sigcode = 1;
	tb_end(t, "same");
	EXACT(t, "6.12",
	      "1 deviation failure: mremap: destination lost on EFAULT (source crosses a VMA)");
	tb_close(t);
}

static void test_only_the_end_observed(void **state)
{
	struct trace_builder *t = started("-");

	(void)state;
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "munmap p1+1", 0, "-");
	tb_call(t, "mmap any+4 r anon private", (int64_t)ARENA(30), "-");
	tb_end(t, "p0+1 rw | p2+2 rw | p30+4 r");
	EXACT(t, "6.18", "");
	assert_int_equal(tb_judgement(t)->call[1].changed, 2);
	tb_close(t);
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "munmap p1+1", 0, "-");
	tb_end(t, "p0+1 rw | p3+1 rw");
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_string_equal(tb_judgement(t)->verdict[0].expected, "the effects of events 1 to 3");
	assert_string_equal(tb_judgement(t)->verdict[0].observed, "; p2+1 lost");
	judged(t, "3 violation success: late: pages lost between looks");
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_end(t, "p0+5 rw");
	judged(t, "2 violation success: late: pages mapped between looks");
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_end(t, "p0+4 r");
	judged(t, "2 violation success: late: pages changed between looks");
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "mseal p0+4", 0, "-");
	tb_end(t, "p0+4 rw");
	judged(t, "3 violation success: late: seal lost between looks");
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_end(t, "p0+4 rw sealed");
	judged(t, "2 violation success: late: pages sealed between looks");
	/* bytes are judged late as well, once */
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "fill p0+1", 1, "-");
	tb_end(t, "p0+4 rw");
	judged(t, "3 violation content: program: content of a page lost");
	t = started("-");
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "fill p0+1", 1, "-");
	tb_end(t, "p0+3 rw");
	judged(t, "3 violation success: late: pages lost between looks");
}

/* Results are judged without a look; a result that cannot be leaves nothing to believe. */
static void test_unobserved_result(void **state)
{
	struct trace_builder *t = started("-");

	(void)state;
	tb_call(t, "mmap p0+4 rw anon private", (int64_t)ARENA(0), "-");
	tb_call(t, "munmap p0+4", -EINVAL, "-");
	tb_call(t, "munmap p0[1b]+4", 0, "-");
	tb_end(t, "p77+1 x");
	EXACT(t, "6.18", "2 violation errno: munmap: EINVAL instead of success");
	assert_int_equal(tb_judgement(t)->call[3].strictness, VM_SILENT);
	assert_int_equal(tb_judgement(t)->call[1].strictness, VM_EXACT);
	tb_close(t);
	/* two effects for one result: belief is lost until the next look, which is taken as it is
	 */
	t = tb_open("6.18.44");
	tb_trace(t)->info.max_map_count = 5;
	tb_start(t, "p0+1 r | p1+1 rw");
	tb_call(t, "mprotect p0+4 w", -ENOMEM, "-");
	tb_call(t, "munmap p0+4", 7, "-");
	tb_end(t, "p50+2 rx");
	judged(t, "");
}

static void test_survival(void **state)
{
	struct trace_builder *t = started("p0+4 rw");

	(void)state;
	tb_call(t, "munmap p0+4", 0, "-");
	tb_last(t)->status = VM_STATUS_RUNNING;
	tb_trace(t)->exit = VM_EXIT_SIGNAL;
	tb_trace(t)->exit_value = 9;
	EXACT(t, "6.18", "1 violation survival: munmap: process killed by signal 9");
	tb_trace(t)->exit = VM_EXIT_TIMEOUT;
	EXACT(t, "6.18", "1 violation survival: munmap: process did not end in time");
	tb_trace(t)->exit = VM_EXIT_STUCK;
	EXACT(t, "6.18", "1 violation survival: munmap: process cannot be killed");
	/* these say something of the executor, not of the kernel */
	tb_trace(t)->exit = VM_EXIT_STATUS;
	EXACT(t, "6.18", "");
	tb_trace(t)->exit = VM_EXIT_LOG_FULL;
	EXACT(t, "6.18", "");
	tb_close(t);
	t = tb_open("6.18.44");
	tb_trace(t)->exit = VM_EXIT_SIGNAL;
	tb_trace(t)->exit_value = 11;
	judged(t, "0 violation survival: program: process killed by signal 11");
}

static void test_views(void **state)
{
	struct trace_builder *t = started("p0+4 rw");
	struct vm_vma *v;

	(void)state;
	tb_call(t, "read p0+4", 4, "p0+4 rw");
	v = (struct vm_vma *)tb_last(t)->after.vma;
	v->flags ^= 2;
	EXACT(t, "6.18",
	      "1 violation views agree: views: VmFlags and the rights in smaps disagree");
	assert_int_equal(tb_judgement(t)->verdict[0].start, ARENA(0));
	assert_int_equal(tb_judgement(t)->verdict[0].end, ARENA(4));
	v->flags ^= 2 | 1 << 7;
	EXACT(t, "6.18",
	      "1 violation views agree: views: VmFlags and the rights in smaps disagree");
	v->flags_known = 0;
	EXACT(t, "6.18", "");
	tb_close(t);
}

#define NO_CALL                                                                                    \
	"2 violation views agree: views: the layout changed without a call, or maps and "          \
	"PROCMAP_QUERY disagree"

static void test_change_without_a_call(void **state)
{
	static const char *const other[] = {
		"p0+4 rw",	   "p0+4 rw | p8+5 r",		 "p0+4 rw | p9+4 r",
		"p0+4 r | p8+4 r", "p0+4 rw | p8+4 r | p16+1 r", ""
	};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct trace_builder *t = started("p0+4 rw | p8+4 r");

		tb_call(t, "read p0+4", 4, "same");
		tb_end(t, other[i]);
		judged(t, NO_CALL);
	}
}

static void test_own_memory(void **state)
{
	struct trace_builder *t = started("p0+4 rw");
	struct vm_target_info *info = &tb_trace(t)->info;
	struct vm_vma seen[2] = {
		{ .start = PAGE * 100, .end = PAGE * 110, .mode = VM_MODE_R },
		{ .start = PAGE * 900, .end = PAGE * 910, .mode = 3, .kind = VM_KIND_STACK },
	};

	(void)state;
	memcpy(info->own, seen, sizeof(seen));
	info->nown = 2;
	tb_call(t, "read p0+4", 4, "same");
	tb_end(t, "same");
	tb_last(t)->after.mask |= VM_SEEN_OWN;
	tb_last(t)->after.own = seen;
	tb_last(t)->after.nown = 2;
	EXACT(t, "6.18", "");
	/* a stack may grow down, and nothing else */
	seen[1].start -= PAGE;
	EXACT(t, "6.18", "");
	seen[1].start += 2 * PAGE;
	EXACT(t, "6.18", "2 violation views agree: program: the executor's own memory changed");
	seen[1].start -= PAGE;
	seen[0].start -= PAGE;
	EXACT(t, "6.18", "2 violation views agree: program: the executor's own memory changed");
	seen[0].start += PAGE;
	tb_last(t)->after.nown = 1;
	EXACT(t, "6.18", "2 violation views agree: program: the executor's own memory changed");
	tb_last(t)->after.mask &= ~VM_SEEN_OWN;
	judged(t, "");
}

/* Since 6.12 a refused call may leave VMAs split, which changes no page. */
static void test_split_is_a_note(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p4+4 r sealed");

	(void)state;
	tb_call(t, "munmap p2+4", -EPERM, "p0+2 rw | p2+2 rw | p4+4 r sealed");
	tb_call(t, "mremap p0+4 to 5 pages 0", -EFAULT, "same");
	tb_end(t, "same");
	EXACT(t, "6.12", "1 note failure: munmap: split left behind on EPERM");
	EXACT(t, "6.18", "1 note failure: munmap: split left behind on EPERM");
	assert_int_equal(tb_judgement(t)->worst, VM_NOTE);
	assert_int_equal(tb_judgement(t)->call[1].changed, 0);
	tb_close(t);
}

static void test_partial_mprotect_is_a_note(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p4+4 r sealed");
	const char *note = "1 note failure: mprotect: partly applied on EPERM "
			   "(sealed page in the range)";

	(void)state;
	tb_call(t, "mprotect p0+8 r", -EPERM, "p0+4 r ac | p4+4 r sealed");
	tb_end(t, "same");
	EXACT(t, "6.12", note);
	EXACT(t, "6.18", note);
	JUDGED(t, "6.18", DOCUMENTED, note);
	JUDGED(t, "6.18", STRICT,
	       "1 violation failure: mprotect: partly applied on EPERM "
	       "(sealed page in the range)");
	tb_close(t);
}

/* Outside the exact contract another loss within the call's own ranges is a deviation. */
static void test_own_ranges(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p16+4 r | p30+1 r");

	(void)state;
	tb_call(t, "mremap p0[1b]+4 -> p16+4 " MMF, -EINVAL, "p0+4 rw | p16+1 r | p30+1 r");
	tb_end(t, "same");
	EXACT(t, "6.18", "1 violation bystander: mremap: bystander lost on EINVAL");
	tb_close(t);
	t = started("p0+4 rw | p16+4 r | p30+1 r");
	tb_call(t, "mremap p0+4 -> p16+4 " MMF "|0x8", -EINVAL, "p0+4 rw | p16+1 r | p30+1 r");
	tb_end(t, "same");
	EXACT(t, "6.18", "1 violation failure: mremap: destination lost on EINVAL (unknown flags)");
	JUDGED(t, "6.18", DOCUMENTED,
	       "1 deviation failure: mremap: destination lost on EINVAL (unknown flags)");
	assert_int_equal(tb_judgement(t)->call[1].changed, 1);
	JUDGED(t, "6.18", STRICT,
	       "1 violation failure: mremap: destination lost on EINVAL (unknown flags)");
	tb_close(t);
	t = started("p0+4 rw | p16+4 r sealed | p30+1 r");
	tb_call(t, "mremap p0+4 -> p16+4 " MMF "|0x8", -EINVAL, "p0+4 rw | p30+1 r");
	tb_end(t, "same");
	JUDGED(t, "6.18", DOCUMENTED, "1 violation sealed: mremap: sealed page lost on EINVAL");
	tb_close(t);
}

/* Documents do not order checks: any errno that applies is right. */
static void test_any_errno_that_applies(void **state)
{
	struct trace_builder *t = started("p0+4 rw sealed");

	(void)state;
	tb_call(t, "mremap p0+4 -> p2+4 " MMF, -EPERM, "same");
	tb_call(t, "mremap p0+4 -> p2+4 " MMF, -EINVAL, "same");
	tb_end(t, "same");
	JUDGED(t, "6.12", DOCUMENTED, "");
	JUDGED(t, "6.12", STRICT, "");
	EXACT(t, "6.12", "2 violation errno: mremap: EINVAL instead of EPERM (source is sealed)");
	EXACT(t, "6.18",
	      "1 violation errno: mremap: EPERM instead of EINVAL "
	      "(source and destination overlap)");
	tb_close(t);
}

static void test_withheld(void **state)
{
	struct trace_builder *t = started("p0+4 rw");

	(void)state;
	tb_call(t, "munmap p0+4", VM_WITHHELD_GUARD, "same");
	tb_last(t)->status = VM_STATUS_WITHHELD;
	tb_end(t, "same");
	EXACT(t, "6.18", "");
	assert_string_equal(tb_judgement(t)->call[1].cause, "withheld");
	tb_close(t);
}

/* A call that was not made changes nothing. */
static void test_withheld_changes(void **state)
{
	struct trace_builder *t = started("p0+4 rw");

	(void)state;
	tb_call(t, "munmap p0+4", VM_WITHHELD_GUARD, "p0+3 rw");
	tb_last(t)->status = VM_STATUS_WITHHELD;
	tb_end(t, "same");
	EXACT(t, "6.18", "1 violation success: late: pages lost between looks");
	tb_close(t);
}

/* Where seals do not show, one that was set is carried. */
static void test_seals_not_shown(void **state)
{
	struct trace_builder *t = tb_open("6.12.117");

	(void)state;
	tb_trace(t)->info.features &= ~VM_HAS_SMAPS_SEAL;
	tb_start(t, "p0+4 rw");
	tb_call(t, "mseal p0+2", 0, "p0+2 rw | p2+2 rw");
	tb_call(t, "munmap p0+2", -EPERM, "same");
	tb_call(t, "munmap p0+2", 0, "p2+2 rw");
	tb_end(t, "same");
	EXACT(t, "6.12", "3 violation sealed: munmap: sealed page lost");
	tb_close(t);
}

/* On a machine of its own a program gives back what it was charged; known losses are named. */
static void test_committed(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p120+1 r");

	(void)state;
	tb_call(t, "mremap p0+4 -> p120+1 " MMF, 0x200000078000, "p120+1 rw o0@0");
	tb_end(t, "same");
	tb_trace(t)->committed = 3;
	EXACT(t, "6.18", "");
	tb_trace(t)->committed_known = true;
	EXACT(t, "6.18",
	      "2 violation views agree: totals: Committed_AS has grown over a program (a shrink is "
	      "charged as growth)");
	strcpy(tb_trace(t)->info.release, "7.3.4");
	EXACT(t, "6.18", "2 violation views agree: totals: Committed_AS has grown over a program");
	tb_trace(t)->committed = -1;
	EXACT(t, "6.18", "2 violation views agree: totals: Committed_AS has shrunk over a program");
	tb_trace(t)->committed = 0;
	EXACT(t, "6.18", "");
	/* what ended otherwise may have left something behind */
	tb_trace(t)->committed = 1;
	tb_trace(t)->exit = VM_EXIT_STATUS;
	EXACT(t, "6.18", "");
	tb_close(t);
}

/* A known bug of this version is named, and stays a violation. */
static void test_known_bug(void **state)
{
	const char *text = "1 violation failure: mremap: destination and source tail lost on "
			   "ENOMEM (a shrink is charged as growth)";
	struct trace_builder *t = started("p0+100 rw | p120+1 r");

	(void)state;
	tb_trace(t)->info.total_pages = 10;
	tb_call(t, "mremap p0+100 -> p120+1 " MMF, -ENOMEM, "p0+1 rw");
	tb_end(t, "same");
	EXACT(t, "6.18", text);
	assert_non_null(tb_judgement(t)->verdict[0].known);
	assert_non_null(strstr(tb_judgement(t)->verdict[0].known, "vrm_calc_charge()"));
	/* older and newer releases do not have it, nor has a shrink that is small enough */
	for (int i = 0; i < 2; i++) {
		strcpy(tb_trace(t)->info.release, i ? "6.12.117" : "7.3.4");
		EXACT(t, "6.18",
		      "1 violation failure: mremap: destination and source tail lost on ENOMEM "
		      "(not an expected errno)");
		assert_null(tb_judgement(t)->verdict[0].known);
	}
	strcpy(tb_trace(t)->info.release, "6.17.1");
	tb_trace(t)->info.total_pages = 99;
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_null(tb_judgement(t)->verdict[0].known);
	tb_trace(t)->info.total_pages = 98;
	EXACT(t, "6.18", text);
	tb_close(t);
}

/* Ranges that touch are told apart, though what changed is one run of pages. */
static void test_adjacent_ranges(void **state)
{
	struct trace_builder *t = started("p0+2 rw | p2+6 r | p8+4 r");

	(void)state;
	tb_call(t, "mremap p0+8 -> p8+4 " MMF, -EFAULT, "p0+2 rw | p2+2 r");
	tb_end(t, "same");
	EXACT(t, "6.12",
	      "1 deviation failure: mremap: destination and source tail lost on EFAULT "
	      "(source crosses a VMA)");
	EXACT(t, "6.18",
	      "1 violation failure: mremap: destination and source tail lost on EFAULT "
	      "(source crosses a VMA)");
	tb_close(t);
	/* what lies beside is a bystander, and only that */
	t = started("p0+4 rw");
	tb_call(t, "munmap p0+2", 0, "p3+1 rw");
	tb_end(t, "same");
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_int_equal(tb_judgement(t)->verdict[0].start, ARENA(2));
	assert_int_equal(tb_judgement(t)->verdict[0].end, ARENA(3));
	judged(t, "1 violation bystander: munmap: bystander lost");
}

static void test_regressed(void **state)
{
	struct trace_builder *t = started("p0+2 rw | p2+2 r | p16+6 rw");
	const char *lost = "1 violation failure: mremap: destination lost on EFAULT "
			   "(source crosses a VMA)";

	(void)state;
	tb_call(t, "mremap p0+4 -> p16+6 " MMF, -EFAULT, "p0+2 rw | p2+2 r");
	tb_end(t, "same");
	EXACT(t, NULL, lost);
	tb_trace(t)->info.features |= NEW_WAY;
	EXACT(t, NULL, lost);
	tb_trace(t)->info.features = PROBED;
	EXACT(t, NULL,
	      "1 violation failure: mremap: destination lost on EFAULT (source crosses a VMA); "
	      "2 violation profile: kernel: regressed to 6.12 (mremap probes)");
	/* an older release that behaves like a newer one is held to that */
	strcpy(tb_trace(t)->info.release, "6.12.117");
	EXACT(t, NULL,
	      "1 deviation failure: mremap: destination lost on EFAULT (source crosses a VMA)");
	tb_trace(t)->info.features = NEW_WAY;
	EXACT(t, NULL, lost);
	/* a release without a profile is never judged exactly */
	strcpy(tb_trace(t)->info.release, "5.10.1");
	EXACT(t, NULL,
	      "1 deviation failure: mremap: destination lost on EFAULT (source crosses a VMA)");
	tb_close(t);
}

/* More verdicts than fit: counted in what is worst, not written. */
static void test_many_verdicts(void **state)
{
	struct trace_builder *t = started("p0+4 rw");

	(void)state;
	for (int i = 0; i < VM_PROGRAM_MAX_CALLS; i++)
		tb_call(t, "read p0+4", 3, "same");
	tb_end(t, "p0+4 r");
	tb_trace(t)->exit = VM_EXIT_SIGNAL;
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_int_equal(tb_judgement(t)->nverdicts, VM_MAX_VERDICTS);
	assert_int_equal(tb_judgement(t)->worst, VM_VIOLATION);
	assert_true(tb_judgement(t)->nfeatures <= VM_MAX_FEATURES);
	tb_close(t);
}

static void test_features(void **state)
{
	struct trace_builder *t = started("p0+4 rw | p4+4 r");
	uint32_t first[VM_MAX_FEATURES];
	uint32_t n;

	(void)state;
	tb_call(t, "munmap p1+1", 0, "p0+1 rw | p2+2 rw | p4+4 r");
	tb_end(t, "same");
	EXACT(t, "6.18", "");
	n = tb_judgement(t)->nfeatures;
	memcpy(first, tb_judgement(t)->feature, sizeof(first));
	assert_true(n > 0);
	/* the same again, and another relation of the range to the VMAs */
	EXACT(t, "6.18", "");
	assert_int_equal(tb_judgement(t)->nfeatures, n);
	assert_memory_equal(tb_judgement(t)->feature, first, n * sizeof(first[0]));
	tb_close(t);
	t = started("p0+4 rw | p4+4 r");
	tb_call(t, "munmap p2+4", 0, "p0+2 rw | p6+2 r");
	tb_end(t, "same");
	EXACT(t, "6.18", "");
	assert_int_equal(tb_judgement(t)->feature[0], first[0]);
	assert_int_not_equal(tb_judgement(t)->feature[1], first[1]);
	tb_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resync),
		cmocka_unit_test(test_only_the_end_observed),
		cmocka_unit_test(test_unobserved_result),
		cmocka_unit_test(test_survival),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_change_without_a_call),
		cmocka_unit_test(test_own_memory),
		cmocka_unit_test(test_split_is_a_note),
		cmocka_unit_test(test_partial_mprotect_is_a_note),
		cmocka_unit_test(test_own_ranges),
		cmocka_unit_test(test_any_errno_that_applies),
		cmocka_unit_test(test_withheld),
		cmocka_unit_test(test_withheld_changes),
		cmocka_unit_test(test_seals_not_shown),
		cmocka_unit_test(test_committed),
		cmocka_unit_test(test_known_bug),
		cmocka_unit_test(test_adjacent_ranges),
		cmocka_unit_test(test_regressed),
		cmocka_unit_test(test_many_verdicts),
		cmocka_unit_test(test_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
