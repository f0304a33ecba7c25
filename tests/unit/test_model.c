/* SPDX-License-Identifier: MIT */
/* The model: what a program would do, call by call, and addresses in program form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "oracle/model.h"
#include "tests/unit/oracle_text.h"

static struct vm_script script;
static struct vm_model *m;

static int open_model(void **state)
{
	struct vm_target_info info;

	(void)state;
	vm_model_default_info(&info);
	m = vm_model_new(&info, vm_profile_by_name("6.18"));
	return m ? 0 : -1;
}

static int close_model(void **state)
{
	(void)state;
	vm_model_free(m);
	vm_model_free(NULL);
	return 0;
}

/* Run a program from the start; the last result. */
static int64_t run(const char *text)
{
	struct vm_parse_error err;
	int64_t result = 0;

	vm_model_reset(m);
	if (vm_text_parse(text, strlen(text), &script, &err))
		fail_msg("%s", err.message);
	for (unsigned int i = 0; i < script.prog.ncalls; i++)
		result = vm_model_step(m, &script.prog.call[i], i);
	return result;
}

static const char *areas(void)
{
	static char buf[512];
	struct vm_text t = { .buf = buf, .cap = sizeof(buf) };
	const struct vm_model_area *a;
	size_t n = vm_model_areas(m, &a);

	buf[0] = 0;
	for (size_t i = 0; i < n; i++, a++) {
		vm_text_add(&t, i ? a->begins ? " | " : " ? " : "");
		vm_explain_addr(a->start, vm_model_info(m), &t);
		vm_text_add(&t, "+%llu %x%s%s", (unsigned long long)((a->end - a->start) / PAGE),
			    a->prot, a->shared ? " shared" : "", a->sealed ? " sealed" : "");
	}
	return buf;
}

static void test_steps(void **state)
{
	(void)state;
	assert_int_equal(run("mmap p0+4 rw anon private\n"), ARENA(0));
	assert_string_equal(areas(), "p0+4 3");
	assert_int_equal(run("mmap p0+4 rw anon private\nmunmap p1+1\nmprotect p2+1 r\n"), 0);
	assert_string_equal(areas(), "p0+1 3 | p2+1 1 | p3+1 3");
	assert_int_equal(run("mmap p0+4 rx anon shared\nmseal p0+2\nmunmap p0+4\n"), -EPERM);
	assert_string_equal(areas(), "p0+2 5 shared sealed | p2+2 5 shared");
	assert_int_equal(run("mmap p0+4 rw anon private\nfill p2+4\n"), 2);
	assert_int_equal(run("mmap p0+4 rw anon private\nmmap p4+4 rw anon private\n"), ARENA(4));
	assert_string_equal(areas(), "p0+4 3 ? p4+4 3");
	/* growth is the same VMA */
	assert_int_equal(run("mmap p0+4 rw anon private\nmremap p0+4 to 6 pages 0\n"), ARENA(0));
	assert_string_equal(areas(), "p0+6 3");
	assert_int_equal(run("mmap p0+1 r anon private\nmmap p4+2 rw anon private\n"
			     "mremap p4+2 to 4 pages 0\nmmap p9+1 r anon private\n"),
			 ARENA(9));
	assert_string_equal(areas(), "p0+1 1 | p4+4 3 | p9+1 1");
	vm_model_reset(m);
	assert_string_equal(areas(), "");
}

/* Invented addresses: free, page aligned, the same each time; names hold them. */
static void test_invented_addresses(void **state)
{
	const char *text =
		"let a = mmap any+4 rw anon private\nlet b = mmap any+4 r anon private\n";
	uint64_t first = (uint64_t)run(text);
	const struct vm_model_area *a;

	(void)state;
	assert_int_equal(run(text), first);
	assert_int_equal(vm_model_areas(m, &a), 2);
	assert_int_equal(a[0].start, first);
	assert_int_equal(a[0].end, first + 4 * PAGE);
	assert_int_equal(a[1].end - a[1].start, 4 * PAGE);
	assert_true(a[0].end <= a[1].start && a[1].end <= TASK_SIZE);
	assert_int_equal(a[0].prot, VM_MODE_R);
	assert_int_equal(first % PAGE, 0);
	assert_int_equal(run("let a = mmap any+4 rw anon private\nmunmap a+4\n"), 0);
	assert_string_equal(areas(), "");
	/* a hole between is used where it is long enough */
	assert_int_equal(
		run("let a = mmap any+4 rw anon private\nlet b = mmap any+4 r anon private\n"
		    "munmap a+4\nlet c = mmap any+2 r anon private\n"),
		first + 6 * PAGE);
	/* a call that fails leaves no address behind: null */
	assert_int_equal(run("let a = mmap p0+0 rw anon private\nmunmap a+1\n"), 0);
}

static void test_addresses(void **state)
{
	struct vm_addr a;

	(void)state;
	vm_model_reset(m);
	a = vm_model_addr(m, ARENA(5));
	assert_int_equal(a.base, VM_BASE_ARENA);
	assert_int_equal(a.index, 5);
	assert_int_equal(a.off.pages, 0);
	a = vm_model_addr(m, ARENA(300) + 7);
	assert_int_equal(a.index, VM_ARENA_PAGES - 1);
	assert_int_equal(a.off.pages, 300 - 127);
	assert_int_equal(a.off.bytes, 7);
	a = vm_model_addr(m, 3 * PAGE + 1);
	assert_int_equal(a.base, VM_BASE_NULL);
	assert_int_equal(a.off.pages, 3);
	assert_int_equal(a.off.bytes, 1);
	a = vm_model_addr(m, ARENA(0) - PAGE);
	assert_int_equal(a.base, VM_BASE_NULL);
	a = vm_model_addr(m, ARENA(0) + (8ull << 30));
	assert_int_equal(a.base, VM_BASE_NULL);
}

/* What lies shortly above a name is told by it, by the nearest if there are several. */
static void test_named_addresses(void **state)
{
	uint64_t first, second, names[VM_NAME_SLOTS] = { 0 };
	const struct vm_target_info *info = vm_model_info(m);
	struct vm_addr a;

	(void)state;
	first = (uint64_t)run("let a = mmap any+4 rw anon private\n");
	second = (uint64_t)run("let a = mmap any+4 rw anon private\n"
			       "let b = mmap any+8 r anon private\n");
	a = vm_model_addr(m, first + PAGE);
	assert_int_equal(a.base, VM_BASE_NAME);
	assert_int_equal(a.index, 1);
	assert_int_equal(a.off.pages, 1);
	a = vm_model_addr(m, second + 7 * PAGE);
	assert_int_equal(a.index, 2);
	assert_int_equal(a.off.pages, 7);
	names[2] = second;
	assert_int_equal(vm_addr_value(&a, &info->layout, names), second + 7 * PAGE);
	a = vm_model_addr(m, first + info->layout.pmd_size);
	assert_int_equal(a.base, VM_BASE_NULL);
	a = vm_model_addr(m, second - 1);
	assert_int_equal(a.base, VM_BASE_NULL);
}

static void test_quantities(void **state)
{
	static const uint64_t values[] = {
		0,	   1,	       PAGE - 1,   PAGE,       5 * PAGE + 3,  -PAGE,
		-PAGE - 1, UINT64_MAX, 1ull << 43, 1ull << 44, TASK_SIZE + 1, 1ull << 63
	};
	const struct vm_layout *l = &vm_model_info(m)->layout;
	struct vm_quantity q;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		q = vm_model_quantity(m, values[i]);
		assert_int_equal(vm_quantity_value(&q, l), values[i]);
	}
	q = vm_model_quantity(m, 5 * PAGE + 3);
	assert_int_equal(q.pages, 5);
	assert_int_equal(q.bytes, 3);
	q = vm_model_quantity(m, -PAGE);
	assert_int_equal(q.pages, -1);
	assert_int_equal(q.bytes, 0);
	q = vm_model_quantity(m, 1ull << 62);
	assert_int_equal(q.pages, 0);
}

/* The same program on two versions. */
static void test_profile_matters(void **state)
{
	struct vm_model *old = vm_model_new(vm_model_info(m), vm_profile_by_name("6.12"));
	const char *text = "mmap p0+2 rw anon private\nmmap p2+2 r anon private\n"
			   "mremap p0+4 -> p16+4 maymove|fixed\n";

	(void)state;
	assert_non_null(old);
	assert_int_equal(run(text), ARENA(16));
	for (unsigned int i = 0; i < 2; i++)
		vm_model_step(old, &script.prog.call[i], i);
	assert_int_equal(vm_model_step(old, &script.prog.call[2], 2), -EFAULT);
	vm_model_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),	   cmocka_unit_test(test_invented_addresses),
		cmocka_unit_test(test_addresses),  cmocka_unit_test(test_named_addresses),
		cmocka_unit_test(test_quantities), cmocka_unit_test(test_profile_matters),
	};

	return cmocka_run_group_tests(tests, open_model, close_model);
}
