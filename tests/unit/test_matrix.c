/* SPDX-License-Identifier: MIT */
/* Titles by kernel: where they come and go, how they are sorted, and verdicts that are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fuzz/matrix/store.h"

static const char *const labels[] = { "6.1", "6.12", "6.16", "6.17", "7.2" };

#define NKERNELS (sizeof(labels) / sizeof(labels[0]))

static void begin(struct vm_matrix *m)
{
	assert_int_equal(vm_matrix_begin(m, NKERNELS), 0);
	for (size_t i = 0; i < NKERNELS; i++) {
		snprintf(m->kernel[i].label, sizeof(m->kernel[i].label), "%s", labels[i]);
		snprintf(m->kernel[i].name, sizeof(m->kernel[i].name), "debian-%s", labels[i]);
	}
}

/* One letter a kernel, as vm_matrix_letter() has them. */
static void add_row(struct vm_matrix *m, const char *title, const char *letters)
{
	for (size_t i = 0; i < NKERNELS; i++) {
		if (letters[i] != '.')
			assert_int_equal(
				vm_matrix_add(m, i, title,
					      letters[i] == 'D' ? VM_DEVIATION : VM_VIOLATION,
					      letters[i] == 'K', "a/b"),
				0);
	}
}

static void test_spans(void **state)
{
	static const struct {
		const char *letters, *span;
	} cases[] = {
		{ "DDDDD", "on all" },
		{ "DDD..", "up to 6.16, gone in 6.17" },
		{ "D....", "up to 6.1, gone in 6.12" },
		{ "..DDD", "from 6.16" },
		{ "....D", "in 7.2" },
		{ ".DD..", "6.12 to 6.16, gone in 6.17" },
		{ ".D...", "in 6.12 alone, gone in 6.16" },
		{ "D.D.D", "up to 6.1, gone in 6.12; in 6.16 alone, gone in 6.17; in 7.2" },
	};
	char span[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vm_matrix m;

		begin(&m);
		add_row(&m, "t", cases[i].letters);
		vm_matrix_span(&m, &m.title[0], span, sizeof(span));
		assert_string_equal(span, cases[i].span);
		vm_matrix_free(&m);
	}
}

/* A kernel that was not run is neither with nor without a title. */
static void test_not_run(void **state)
{
	struct vm_matrix m;
	char span[256];

	(void)state;
	begin(&m);
	add_row(&m, "t", "D.D..");
	strcpy(m.kernel[1].error, "no guest");
	vm_matrix_span(&m, &m.title[0], span, sizeof(span));
	assert_string_equal(span, "up to 6.16, gone in 6.17");
	assert_int_equal(vm_matrix_letter(&m, &m.title[0], 1), ' ');
	vm_matrix_free(&m);
}

static void test_order(void **state)
{
	static const char *const want[] = { "z new", "b known", "a meant", "c meant" };
	struct vm_matrix m;

	(void)state;
	begin(&m);
	add_row(&m, "c meant", "D....");
	add_row(&m, "z new", "..KV.");
	add_row(&m, "b known", "DK...");
	add_row(&m, "a meant", "....D");
	vm_matrix_sort(&m);
	assert_int_equal(m.ntitles, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(m.title[i].title, want[i]);
	assert_false(vm_matrix_explained(&m, &m.title[0]));
	assert_true(vm_matrix_explained(&m, &m.title[1]));
	assert_int_equal(vm_matrix_letter(&m, &m.title[1], 0), 'D');
	assert_int_equal(vm_matrix_letter(&m, &m.title[1], 1), 'K');
	assert_int_equal(vm_matrix_letter(&m, &m.title[1], 2), '.');
	vm_matrix_free(&m);
}

/* One program of two that give a title knows a bug, the other does not. */
static void test_worst_cell(void **state)
{
	struct vm_matrix m;

	(void)state;
	begin(&m);
	vm_matrix_add(&m, 0, "t", VM_VIOLATION, true, "a");
	assert_int_equal(vm_matrix_letter(&m, &m.title[0], 0), 'K');
	vm_matrix_add(&m, 0, "t", VM_VIOLATION, false, "b");
	assert_int_equal(vm_matrix_letter(&m, &m.title[0], 0), 'V');
	vm_matrix_add(&m, 0, "t", VM_VIOLATION, true, "c");
	assert_int_equal(vm_matrix_letter(&m, &m.title[0], 0), 'V');
	assert_int_equal(m.title[0].cell[0].programs, 3);
	assert_string_equal(m.title[0].program, "a");
	vm_matrix_free(&m);
}

static char folder[] = "/tmp/vmafuzz-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/vmafuzz-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/k.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void put_some(struct vm_matrix_store *s)
{
	struct vm_judgement *j = calloc(1, sizeof(*j));

	assert_non_null(j);
	j->nverdicts = 3;
	j->verdict[0] = (struct vm_verdict){ .severity = VM_DEVIATION, .title = "lost" };
	j->verdict[1] = (struct vm_verdict){ .severity = VM_NOTE, .title = "a note" };
	j->verdict[2] = (struct vm_verdict){ .severity = VM_VIOLATION, .title = "lost" };
	assert_int_equal(vm_matrix_store_put(s, "01", j, false, NULL), 0);
	j->nverdicts = 0;
	assert_int_equal(vm_matrix_store_put(s, "02", j, true, NULL), 0);
	assert_int_equal(vm_matrix_store_put(s, "03", NULL, false, "no mseal"), 0);
	free(j);
}

static void test_store(void **state)
{
	struct vm_matrix_kernel k = { .release = "6.12.1", .profile = "6.12", .boot_ms = 7 };
	struct vm_matrix_store *s = vm_matrix_store_open(path, "stamp 1");
	char err[256];
	struct vm_matrix m;

	(void)state;
	put_some(s);
	assert_int_equal(vm_matrix_store_set_kernel(s, &k), 0);
	assert_int_equal(vm_matrix_store_save(s, err, sizeof(err)), 0);
	vm_matrix_store_close(s);

	s = vm_matrix_store_open(path, "stamp 1");
	assert_true(vm_matrix_store_has(s, "01"));
	assert_false(vm_matrix_store_has(s, "04"));
	assert_true(vm_matrix_store_gave(s, "01", "lost"));
	assert_false(vm_matrix_store_gave(s, "01", "a note"));
	begin(&m);
	assert_int_equal(vm_matrix_store_add(s, "01", &m, 1, "x"), 1);
	assert_int_equal(vm_matrix_store_add(s, "02", &m, 1, "y"), 1);
	assert_int_equal(vm_matrix_store_add(s, "03", &m, 1, "z"), 1);
	assert_int_equal(vm_matrix_store_add(s, "04", &m, 1, "w"), 0);
	vm_matrix_store_kernel(s, &m.kernel[1]);
	assert_int_equal(m.kernel[1].programs, 2);
	assert_int_equal(m.kernel[1].skipped, 1);
	assert_int_equal(m.kernel[1].boot_ms, 7);
	assert_string_equal(m.kernel[1].release, "6.12.1");
	assert_int_equal(m.ntitles, 2);
	assert_string_equal(m.title[0].title, "lost");
	assert_int_equal(m.title[0].cell[1].severity, VM_VIOLATION);
	assert_int_equal(m.title[0].cell[1].programs, 1);
	vm_matrix_free(&m);
	vm_matrix_store_close(s);
}

/* Another kernel, build or way of judging: nothing that is kept holds. */
static void test_stamp(void **state)
{
	struct vm_matrix_store *s = vm_matrix_store_open(path, "stamp 1");
	char err[256];

	(void)state;
	put_some(s);
	assert_int_equal(vm_matrix_store_save(s, err, sizeof(err)), 0);
	vm_matrix_store_close(s);
	s = vm_matrix_store_open(path, "stamp 2");
	assert_false(vm_matrix_store_has(s, "01"));
	vm_matrix_store_close(s);
}

static void test_key(void **state)
{
	struct vm_program a = { .ncalls = 1 }, b = { .ncalls = 1 };
	char x[VM_PROGRAM_KEY], y[VM_PROGRAM_KEY];

	(void)state;
	a.call[0].op = VM_OP_MUNMAP;
	b.call[0].op = VM_OP_MSEAL;
	vm_program_normalise(&a);
	vm_program_normalise(&b);
	vm_matrix_program_key(&a, x);
	vm_matrix_program_key(&b, y);
	assert_int_equal(strlen(x), 16);
	assert_string_not_equal(x, y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_not_run),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_worst_cell),
		cmocka_unit_test_setup_teardown(test_store, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_stamp, make_folder, remove_folder),
		cmocka_unit_test(test_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
