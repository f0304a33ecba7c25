/* SPDX-License-Identifier: MIT */
/* Differences between two address spaces, page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "oracle/judge/compare.h"
#include "tests/unit/oracle_text.h"

static struct vm_state before, after;
static struct vm_objects o;
static struct vm_run a[VM_STATE_MAX_AREAS], b[VM_STATE_MAX_AREAS];
static struct vm_diffs d;

static const char *text_of_diffs(void)
{
	static const char *const names[] = { "lost",	"appeared", "prot",   "sharing",
					     "backing", "unsealed", "sealed", "flags" };
	static char buf[1024];
	struct vm_text t = { .buf = buf, .cap = sizeof(buf) };

	buf[0] = 0;
	for (uint32_t i = 0; i < d.n; i++)
		vm_text_add(&t, "%sp%lld+%lld %s %x %x", i ? "; " : "",
			    (long long)((d.d[i].start - ARENA(0)) / PAGE),
			    (long long)((d.d[i].end - d.d[i].start) / PAGE), names[d.d[i].kind],
			    d.d[i].was, d.d[i].is);
	return buf;
}

/* Two beliefs, compared by object. */
static void differ(const char *x, const char *y, const char *text)
{
	uint32_t na, nb;

	vm_objects_reset(&o);
	state_of_text(x, &before, &o);
	state_of_text(y, &after, &o);
	na = vm_runs_of_state(&before, &o, true, a);
	nb = vm_runs_of_state(&after, &o, true, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), text);
	assert_false(d.more);
}

static void test_equal(void **state)
{
	(void)state;
	differ("", "", "");
	differ("p0+4 rw o0@0", "p0+4 rw o0@0", "");
	/* boundaries do not count */
	differ("p0+4 rw o0@0", "p0+1 rw o0@0 | p1+3 rw o0@1", "");
	differ("p0+4 r shared o0@0 ~ p4+4 r shared o0@4", "p0+8 r shared o0@0", "");
	/* the executor's own memory is not compared */
	differ("p0+4 rw own o0@0 | p8+1 r o1@0", "p8+1 r o1@0 | p20+1 r own", "");
}

static void test_lost_and_appeared(void **state)
{
	(void)state;
	differ("p0+4 rw o0@0", "", "p0+4 lost 3 0");
	differ("", "p0+4 rx o0@0", "p0+4 appeared 0 5");
	differ("p0+4 rw o0@0", "p1+2 rw o0@1", "p0+1 lost 3 0; p3+1 lost 3 0");
	differ("p1+2 rw o0@1", "p0+4 rw o0@0", "p0+1 appeared 0 3; p3+1 appeared 0 3");
	differ("p0+2 r o0@0 | p4+2 r o1@0", "p2+2 r o2@0",
	       "p0+2 lost 1 0; p2+2 appeared 0 1; p4+2 lost 1 0");
	/* equal neighbours are one difference */
	differ("p0+2 r o0@0 | p2+2 r o1@0 | p4+2 rw", "", "p0+4 lost 1 0; p4+2 lost 3 0");
}

static void test_attributes(void **state)
{
	(void)state;
	differ("p0+4 rw o0@0", "p0+2 rw o0@0 | p2+2 r o0@2", "p2+2 prot 3 1");
	differ("p0+4 r o0@0", "p0+4 r shared o1@0", "p0+4 sharing 1 9");
	differ("p0+4 r o0@0", "p0+4 r o1@0", "p0+4 backing 1 1");
	differ("p0+4 r o0@0", "p0+4 r o0@1", "p0+4 backing 1 1");
	differ("p0+4 r shared o0@0", "p0+2 r shared o0@0 | p2+2 r shared o0@0", "p2+2 backing 9 9");
	differ("p0+4 r sealed o0@0", "p0+4 r o0@0", "p0+4 unsealed 1 1");
	differ("p0+4 r o0@0", "p0+4 r sealed o0@0", "p0+4 sealed 1 1");
	/* the unknown is never different, nor equal enough to hide the rest */
	differ("p0+4 r sealed? o0@0", "p0+4 r sealed o0@0", "");
	differ("p0+4 r sealed o0@0", "p0+4 r sealed? o0@0", "");
	differ("p0+4 r sealed? o0@0", "p0+4 rw sealed o0@0", "p0+4 prot 1 3");
	/* of several differences the gravest is told */
	differ("p0+4 r sealed o0@0", "p0+4 rw shared o1@0", "p0+4 prot 1 b");
	differ("p0+4 r sealed o0@0", "p0+4 r shared o1@0", "p0+4 sharing 1 9");
}

static void test_snapshot(void **state)
{
	const struct vm_vma vma[] = {
		{ .start = ARENA(0), .end = ARENA(2), .mode = VM_MODE_R },
		{ .start = ARENA(2),
		  .end = ARENA(4),
		  .mode = VM_MODE_R | VM_MODE_S,
		  .offset = 3 * PAGE,
		  .inode = 2,
		  .dev = 1,
		  .flags_known = 1,
		  .flags = VM_MAY_ALL },
		{ .start = ARENA(4),
		  .end = ARENA(5),
		  .mode = VM_MODE_R,
		  .flags_known = 1,
		  .flags = VM_MAY_ALL | 1ull << VM_FLAG_SL },
	};
	const struct vm_snapshot snap = { .nvma = 3, .vma = vma };
	struct vm_target_info info = { 0 };
	uint32_t na, nb;

	(void)state;
	vm_objects_reset(&o);
	state_of_text("p0+2 r sealed o0@5 | p2+2 r shared sealed o1@3 | p4+1 r sealed o2@0",
		      &before, &o);
	na = vm_runs_of_state(&before, &o, false, a);
	/* a seal that is not in VmFlags is absent only where this kernel shows seals */
	nb = vm_runs_of_snapshot(&snap, &info, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "");
	info.features = VM_HAS_SMAPS_SEAL;
	nb = vm_runs_of_snapshot(&snap, &info, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p2+2 unsealed 9 9");
	/* inode and offset tell shared objects apart, once they were seen */
	before.area[1].sealed = VM_NO;
	o.object[1].inode = 7;
	na = vm_runs_of_state(&before, &o, false, a);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p2+2 backing 9 9");
	o.object[1].identified = false;
	na = vm_runs_of_state(&before, &o, false, a);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "");
	before.area[1].off = 0;
	na = vm_runs_of_state(&before, &o, false, a);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p2+2 backing 9 9");
	o.object[1].identified = true;
	o.object[1].inode = 2;
	o.object[1].dev = 9;
	before.area[1].off = 3 * PAGE;
	na = vm_runs_of_state(&before, &o, false, a);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p2+2 backing 9 9");
}

/* 6.1 shows no lf: it may be there or not. */
static void test_flags_not_shown(void **state)
{
	struct vm_vma vma[] = { { .start = ARENA(0),
				  .end = ARENA(2),
				  .mode = VM_MODE_R,
				  .flags_known = 1,
				  .flags = VM_MAY_ALL | VM_BIT(VM_FLAG_LO) } };
	const struct vm_snapshot snap = { .nvma = 1, .vma = vma };
	struct vm_target_info info = { 0 };
	uint32_t na, nb;

	(void)state;
	vm_objects_reset(&o);
	state_of_text("p0+2 r lf", &before, &o);
	na = vm_runs_of_state(&before, &o, false, a);
	nb = vm_runs_of_snapshot(&snap, &info, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p0+2 flags 1 1");
	info.features = VM_SMAPS_LACKS_LF;
	nb = vm_runs_of_snapshot(&snap, &info, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "");
	vma[0].flags = VM_MAY_ALL;
	nb = vm_runs_of_snapshot(&snap, &info, b);
	vm_compare(a, na, b, nb, &d);
	assert_string_equal(text_of_diffs(), "p0+2 flags 1 1");
}

static void test_more_than_fit(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * VM_MAX_DIFFS; i++) {
		a[i] = (struct vm_run){ .start = ARENA(2 * i), .end = ARENA(2 * i + 1) };
		b[i] = a[i];
	}
	vm_compare(a, VM_MAX_DIFFS, b, 0, &d);
	assert_int_equal(d.n, VM_MAX_DIFFS);
	assert_false(d.more);
	vm_compare(a, VM_MAX_DIFFS + 1, b, 0, &d);
	assert_int_equal(d.n, VM_MAX_DIFFS);
	assert_true(d.more);
	vm_compare(a, 2 * VM_MAX_DIFFS, b, 2 * VM_MAX_DIFFS, &d);
	assert_int_equal(d.n, 0);
	assert_false(d.more);
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
		cmocka_unit_test(test_equal),		cmocka_unit_test(test_lost_and_appeared),
		cmocka_unit_test(test_attributes),	cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_flags_not_shown), cmocka_unit_test(test_more_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, close_objects);
}
