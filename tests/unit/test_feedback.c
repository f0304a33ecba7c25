/* SPDX-License-Identifier: MIT */
/* The feedback map, and the shared numbers and titles of a campaign. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/stats.h"

static void test_only_new_features_count(void **state)
{
	const uint32_t first[] = { 1, 7, 7, 65535 }, second[] = { 7, 8, 1 };
	struct vm_feedback *map = calloc(1, sizeof(*map));

	(void)state;
	assert_non_null(map);
	assert_int_equal(vm_feedback_add(map, first, 4), 3);
	assert_int_equal(vm_feedback_add(map, first, 4), 0);
	assert_int_equal(vm_feedback_add(map, second, 3), 1);
	assert_int_equal(vm_feedback_add(map, NULL, 0), 0);
	assert_int_equal(map->count, 4);
	free(map);
}

/* AFL++ buckets counters: how often a feature shows must not look like a new path. */
static void test_counters_do_not_count(void **state)
{
	static uint8_t map[VM_MAP_SIZE];
	const uint32_t f[] = { 3, 3, 3, 65535 };
	unsigned int sum = 0;

	(void)state;
	map[9] = 5;
	vm_feedback_write(map, f, 4);
	vm_feedback_write(map, f, 4);
	for (size_t i = 0; i < sizeof(map); i++)
		sum += map[i];
	assert_int_equal(map[3], 1);
	assert_int_equal(map[65535], 1);
	assert_int_equal(map[9], 5);
	assert_int_equal(sum, 7);
}

static void test_slugs(void **state)
{
	char a[VM_SLUG_MAX], b[VM_SLUG_MAX], title[VM_TITLE_MAX];

	(void)state;
	vm_title_slug("mremap: destination lost on EFAULT (source crosses a VMA)", a);
	assert_int_equal(strncmp(a, "mremap-destination-lost-on-efault-source-crosses-a-vma-", 55),
			 0);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(a));
	/* Titles that differ in what a file name cannot show, or beyond where it ends. */
	vm_title_slug("mmap: a/b", a);
	vm_title_slug("mmap: a b", b);
	assert_string_not_equal(a, b);
	memset(title, 'x', sizeof(title) - 1);
	title[sizeof(title) - 1] = '\0';
	vm_title_slug(title, a);
	title[sizeof(title) - 2] = 'y';
	vm_title_slug(title, b);
	assert_string_not_equal(a, b);
	assert_true(strlen(a) < VM_SLUG_MAX);
	vm_title_slug("../..", a);
	assert_null(strchr(a, '/'));
	assert_null(strchr(a, '.'));
}

static void make_folder(char out[32])
{
	strcpy(out, "/tmp/vmafuzz-test-XXXXXX");
	assert_non_null(mkdtemp(out));
}

static void test_a_title_is_fresh_once(void **state)
{
	char out[32], err[256];
	struct vm_title *t, *again;
	struct vm_stats *s;
	bool fresh;

	(void)state;
	make_folder(out);
	s = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(s);
	t = vm_stats_title(s, "mseal: lost", VM_VIOLATION, &fresh);
	assert_true(fresh);
	assert_int_equal(t->state, VM_TITLE_PENDING);
	assert_int_equal(vm_stats_titles(s, VM_VIOLATION), 0);
	again = vm_stats_title(s, "mseal: lost", VM_VIOLATION, &fresh);
	assert_ptr_equal(t, again);
	assert_false(fresh);
	again = vm_stats_title(s, "mseal: los", VM_VIOLATION, &fresh);
	assert_ptr_not_equal(t, again);
	assert_true(fresh);
	t->state = VM_TITLE_CONFIRMED;
	assert_int_equal(vm_stats_titles(s, VM_VIOLATION), 1);
	assert_int_equal(vm_stats_titles(s, VM_DEVIATION), 0);
	vm_stats_close(s);
	vm_folder_remove(out);
}

/* Two processes, many titles, one table: every title has one slot and was fresh in one process. */
static void test_titles_of_two_processes(void **state)
{
	char out[32], err[256], title[32];
	struct vm_stats *s;
	pid_t pid;
	int status;
	bool fresh;

	(void)state;
	make_folder(out);
	s = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(s);
	pid = fork();
	assert_true(pid >= 0);
	for (int i = 0; i < 100; i++) {
		struct vm_title *t;

		snprintf(title, sizeof(title), "title %d", pid ? i : 99 - i);
		t = vm_stats_title(s, title, VM_DEVIATION, &fresh);
		if (t && fresh)
			t->count++;
	}
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < VM_MAX_TITLES; i++)
		assert_int_equal(s->title[i].count, i < 100);
	assert_int_equal(s->titles_lost, 0);
	vm_stats_close(s);
	vm_folder_remove(out);
}

static void test_a_full_table_says_so(void **state)
{
	char out[32], err[256], title[32];
	struct vm_stats *s;
	bool fresh;

	(void)state;
	make_folder(out);
	s = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(s);
	for (int i = 0; i < VM_MAX_TITLES; i++) {
		snprintf(title, sizeof(title), "title %d", i);
		assert_non_null(vm_stats_title(s, title, VM_DEVIATION, &fresh));
	}
	assert_null(vm_stats_title(s, "one more", VM_DEVIATION, &fresh));
	assert_int_equal(s->titles_lost, 1);
	assert_non_null(vm_stats_title(s, "title 5", VM_DEVIATION, &fresh));
	vm_stats_close(s);
	vm_folder_remove(out);
}

/* Engines see the supervisor's numbers; a new run starts at 0; another version is refused. */
static void test_the_file_is_shared(void **state)
{
	char out[32], err[256];
	struct vm_stats *a, *b;

	(void)state;
	make_folder(out);
	a = vm_stats_open(out, true, err, sizeof(err));
	b = vm_stats_open(out, false, err, sizeof(err));
	assert_non_null(a);
	assert_non_null(b);
	b->programs = 5;
	assert_int_equal(a->programs, 5);
	vm_stats_close(b);
	b = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(b);
	assert_int_equal(b->programs, 0);
	b->layout++;
	assert_null(vm_stats_open(out, false, err, sizeof(err)));
	assert_non_null(strstr(err, "stats.bin"));
	vm_stats_close(a);
	vm_stats_close(b);
	vm_folder_remove(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_new_features_count),
		cmocka_unit_test(test_counters_do_not_count),
		cmocka_unit_test(test_slugs),
		cmocka_unit_test(test_a_title_is_fresh_once),
		cmocka_unit_test(test_titles_of_two_processes),
		cmocka_unit_test(test_a_full_table_says_so),
		cmocka_unit_test(test_the_file_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
