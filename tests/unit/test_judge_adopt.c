/* SPDX-License-Identifier: MIT */
/* What is seen becomes belief: boundaries, objects, seals, the executor's own memory; features. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/trace_builder.h"

#define MMF "maymove|fixed"

static struct trace_builder *started(const char *layout)
{
	struct trace_builder *t = tb_open("6.18.44");

	tb_start(t, layout);
	return t;
}

static void judged(struct trace_builder *t, const char *text)
{
	tb_end(t, "same");
	EXACT(t, "6.18", text);
	tb_close(t);
}

/* Whether VMAs merged is seen, and decides what the next call may say. */
static void test_boundaries(void **state)
{
	struct trace_builder *t;

	(void)state;
	for (int merged = 0; merged < 2; merged++) {
		for (int grown = 0; grown < 2; grown++) {
			t = started("p0+4 rw");
			tb_call(t, "mprotect p2+1 r", 0, "p0+2 rw | p2+1 r ac | p3+1 rw");
			tb_call(t, "mprotect p2+1 rw", 0,
				merged ? "p0+4 rw" : "p0+2 rw | p2+1 rw | p3+1 rw");
			tb_call(t, "mremap p0+4 to 6 pages 0", grown ? (int64_t)ARENA(0) : -EFAULT,
				grown	 ? "p0+6 rw"
				: merged ? "p0+4 rw"
					 : "p0+2 rw | p2+1 rw | p3+1 rw");
			if (merged == grown) {
				judged(t, "");
				continue;
			}
			tb_end(t, "same");
			tb_judge(t, "6.18", VM_CONTRACT_EXACT);
			assert_int_equal(tb_judgement(t)->nverdicts, 1);
			assert_int_equal(tb_judgement(t)->verdict[0].event, 3);
			tb_close(t);
		}
	}
}

static void test_shared_objects(void **state)
{
	struct trace_builder *t = started("");
	struct vm_vma *v;

	(void)state;
	tb_call(t, "mmap p0+4 rw anon shared", (int64_t)ARENA(0), "p0+4 rw shared o1@0");
	tb_call(t, "mprotect p2+1 r", 0,
		"p0+2 rw shared o1@0 | p2+1 r shared o1@2 | p3+1 rw shared o1@3");
	tb_call(t, "mremap p2+1 -> p16+1 " MMF, (int64_t)ARENA(16),
		"p0+2 rw shared o1@0 | p3+1 rw shared o1@3 | p16+1 r shared o1@2");
	judged(t, "");
	/* another inode, another device, another offset */
	t = started("");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "read p0+2", 2, "p0+2 rw shared o2@0");
	judged(t, "2 violation success: read: success, but range has other backing");
	t = started("");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "read p0+2", 2, "p0+2 rw shared o1@0");
	v = (struct vm_vma *)tb_last(t)->after.vma;
	v->dev++;
	judged(t, "2 violation success: read: success, but range has other backing");
	t = started("");
	tb_call(t, "mmap p0+2 rw anon shared", (int64_t)ARENA(0), "p0+2 rw shared o1@0");
	tb_call(t, "read p0+2", 2, "p0+2 rw shared o1@1");
	judged(t, "2 violation success: read: success, but range has other backing");
	/* private anonymous memory has no inode */
	t = started("p0+2 rw");
	tb_call(t, "read p0+2", 2, "p0+2 rw");
	v = (struct vm_vma *)tb_last(t)->after.vma;
	v->inode = 5;
	judged(t, "1 violation success: read: success, but range has other backing");
}

/* Mappings of one object that were there at the start alias. */
static void test_shared_at_the_start(void **state)
{
	const char *layout = "p0+2 rw shared o1@0 | p8+2 rw shared o1@1 | p12+1 rw shared o2@0";
	struct trace_builder *t;

	(void)state;
	for (int broken = 0; broken < 2; broken++) {
		t = started(layout);
		tb_call(t, "fill p1+1", 1, layout);
		tb_filled(t, 1, 0, 0);
		tb_filled(t, 8, broken ? 7 : 0, 0);
		tb_bytes(t, 12, 77, 0);
		EXACT(t, "6.18",
		      broken ? "1 violation content: fill: content of bystander changed" : "");
		tb_close(t);
	}
}

static void test_executor_memory(void **state)
{
	struct trace_builder *t = tb_open("6.18.44");
	struct vm_target_info *info = &tb_trace(t)->info;

	(void)state;
	info->own[0] = (struct vm_vma){ .start = 0x400000, .end = 0x500000, .mode = VM_MODE_R };
	info->own[1] = (struct vm_vma){ .start = ARENA(50), .end = ARENA(52), .mode = 3 };
	info->own[2] = (struct vm_vma){ .start = UINT64_MAX - 2 * PAGE + 1,
					.end = UINT64_MAX - PAGE + 1,
					.kind = VM_KIND_VSYSCALL };
	info->nown = 3;
	tb_start(t, "p0+4 rw | p60+1 r");
	tb_call(t, "read p0+1", 1, "same");
	tb_call(t, "mmap p51+2 r anon private noreplace", -EEXIST, "same");
	tb_call(t, "mmap null[0x450000b]+1 r anon private noreplace", -EEXIST, "same");
	tb_call(t, "mmap any+2 r anon private", (int64_t)ARENA(50), "same");
	judged(t, "4 violation errno: mmap: wrong value returned");
}

/* Where nothing shows seals, those set before the first look may be anywhere. */
static void test_unknown_seals(void **state)
{
	struct trace_builder *t;

	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		t = tb_open("6.18.44");
		tb_trace(t)->info.features &= ~VM_HAS_SMAPS_SEAL;
		tb_start(t, "p0+4 rw");
		tb_call(t, "munmap p0+4", refused ? -EPERM : 0, refused ? "same" : "");
		tb_end(t, "same");
		EXACT(t, "6.18", "");
		assert_int_equal(tb_judgement(t)->call[1].strictness, VM_SET_VALUED);
		tb_close(t);
	}
}

/* A move of several VMAs that fails part-way leaves those before moved. */
static void test_partly_moved(void **state)
{
	struct trace_builder *t = started("p0+2 rw | p2+2 r sealed | p16+1 x");

	(void)state;
	tb_call(t, "mremap p0+4 -> p16+4 " MMF, -EPERM, "p2+2 r sealed | p16+2 rw");
	tb_end(t, "same");
	EXACT(t, "6.18",
	      "1 deviation failure: mremap: source partly moved on EPERM (source is sealed)");
	JUDGED(t, "6.18", STRICT,
	       "1 violation failure: mremap: source partly moved on EPERM (source is sealed)");
	tb_close(t);
}

/* Documented: what any version does, in any order of checks. */
static void test_union_of_versions(void **state)
{
	struct trace_builder *t = started("p0+2 rw | p2+2 r | p16+4 x");

	(void)state;
	tb_call(t, "mremap p0+4 -> p16+4 " MMF, (int64_t)ARENA(16), "p16+2 rw | p18+2 r");
	tb_end(t, "same");
	JUDGED(t, "6.12", DOCUMENTED, "");
	EXACT(t, "6.18", "");
	EXACT(t, "6.12",
	      "1 violation errno: mremap: success instead of EFAULT "
	      "(source crosses a VMA)");
	tb_close(t);
	/* each version has errors of its own */
	t = started("p8+4 rw");
	tb_call(t, "mremap p8+4 to 1task+1b maymove", -ENOMEM, "same");
	tb_call(t, "mremap p8+4 to 1task+1b maymove", -EINVAL, "same");
	tb_end(t, "same");
	JUDGED(t, "6.18", DOCUMENTED, "");
	EXACT(t, "6.12",
	      "2 violation errno: mremap: EINVAL instead of ENOMEM "
	      "(new length beyond TASK_SIZE)");
	tb_close(t);
	t = started("p0+4 rw sealed");
	tb_call(t, "mremap p0+4 -> p2+4 " MMF "|0x8", -EPERM, "same");
	tb_end(t, "same");
	JUDGED(t, "6.12", DOCUMENTED, "");
	EXACT(t, "6.12", "1 violation errno: mremap: EPERM instead of EINVAL (unknown flags)");
	tb_close(t);
}

static void test_ignored_seals(void **state)
{
	static const struct {
		const char *call, *cause;
		uint64_t result;
	} calls[] = {
		{ "munmap p3+2",
		  "munmap: seal ignored, success instead of EPERM "
		  "(sealed page in the range)",
		  0 },
		{ "mmap p3+2 r anon private",
		  "mmap: seal ignored, success instead of EPERM "
		  "(sealed page in the destination)",
		  ARENA(3) },
		{ "mremap p0+2 -> p3+2 " MMF,
		  "mremap: seal ignored, success instead of EPERM "
		  "(destination is sealed)",
		  ARENA(3) },
		{ "mremap p0+5 to 2 pages 0",
		  "mremap: seal ignored, success instead of EPERM "
		  "(source tail is sealed)",
		  ARENA(0) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct trace_builder *t = started("p0+4 rw | p4+2 r sealed");
		char want[128] = "1 violation errno: ";

		tb_call(t, calls[i].call, (int64_t)calls[i].result, "same");
		judged(t, strcat(want, calls[i].cause));
	}
}

/* The pages that a verdict is about are those that are wrong. */
static void test_pages_of_a_verdict(void **state)
{
	struct trace_builder *t = started("p0+4 rw");

	(void)state;
	tb_call(t, "munmap p0+4", 0, "p0+1 rw");
	tb_judge(t, "6.18", VM_CONTRACT_EXACT);
	assert_int_equal(tb_judgement(t)->verdict[0].start, ARENA(0));
	assert_int_equal(tb_judgement(t)->verdict[0].end, ARENA(1));
	assert_string_equal(tb_judgement(t)->verdict[0].invariant, "success");
	tb_close(t);
}

/* A rule that has more outcomes than fit says nothing, and belief starts anew at the next look. */
static void test_silent(void **state)
{
	static char layout[2048];
	struct bench *b;
	struct vm_text text = { .buf = layout, .cap = sizeof(layout) };

	(void)state;
	for (int i = 0; i <= VM_MAX_OUTCOMES; i++)
		vm_text_add(&text, "%sp%d+1 %s sealed?", i ? " | " : "", i, i % 2 ? "rw" : "r");
	b = bench_open(layout);
	BOTH_SAY(b, "mprotect p0+64 r", "silent: more outcomes than fit");
	BOTH_SAY(b, "mprotect p40+1 r",
		 "EPERM (sealed page in the range); = 0 {protect p40+1 r} documented");
	bench_close(b);
}

struct features {
	uint32_t n;
	uint32_t id[VM_MAX_FEATURES];
};

static struct features features_of(const char *before, const char *call, int64_t result,
				   const char *after)
{
	struct trace_builder *t = started(before);
	struct features f;

	tb_call(t, call, result, after);
	tb_end(t, "same");
	EXACT(t, "6.18", "");
	f.n = tb_judgement(t)->nfeatures;
	memcpy(f.id, tb_judgement(t)->feature, sizeof(f.id));
	tb_close(t);
	return f;
}

static bool same_features(struct features a, struct features b)
{
	return a.n == b.n && !memcmp(a.id, b.id, a.n * sizeof(a.id[0]));
}

/* The same shape elsewhere is nothing new; each of these is another. */
static void test_features(void **state)
{
	struct features f[] = {
		features_of("p0+4 r", "mprotect p0+4 r", 0, "same"),
		features_of("p0+6 r", "mprotect p1+4 r", 0, "same"),
		features_of("p0+2 r | p2+2 rx", "mprotect p0+4 rx", 0, "p0+4 rx"),
		features_of("p0+4 r | p6+1 r", "mprotect p0+8 r", -ENOMEM, "same"),
		features_of("p0+4 r", "mprotect p6+1 r", -ENOMEM, "same"),
		features_of("p0+4 r sealed", "mprotect p0+4 r", -EPERM, "same"),
		features_of("p0+4 r shared o1@0", "mprotect p0+4 r", 0, "same"),
		features_of("p0+4 r", "mprotect p0+4 rx", 0, "p0+4 rx"),
		features_of("p0+4 r", "mprotect p0+4 0x8000001", -EINVAL, "same"),
		features_of("p0+4 r", "mseal p0+4", 0, "p0+4 r sealed"),
		features_of("p0+4 r", "munmap p0+4", 0, ""),
		features_of("p0+4 r", "munmap p6+1", 0, "same"),
		features_of("p0+4 r | p6+1 r", "munmap p0+8", 0, ""),
		features_of("p0+2 r | p2+2 rx", "munmap p0+4", 0, ""),
		features_of("p0+4 r", "munmap p1+2", 0, "p0+1 r | p3+1 r"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		for (size_t k = 0; k < i; k++)
			assert_false(same_features(f[i], f[k]));
	assert_true(same_features(f[0], features_of("p40+9 r", "mprotect p40+9 r", 0, "same")));
	assert_true(same_features(f[14],
				  features_of("p40+9 r", "munmap p45+1", 0, "p40+5 r | p46+3 r")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_shared_objects),
		cmocka_unit_test(test_shared_at_the_start),
		cmocka_unit_test(test_executor_memory),
		cmocka_unit_test(test_unknown_seals),
		cmocka_unit_test(test_partly_moved),
		cmocka_unit_test(test_union_of_versions),
		cmocka_unit_test(test_ignored_seals),
		cmocka_unit_test(test_pages_of_a_verdict),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
