/* SPDX-License-Identifier: MIT */
/* stats.json, read back with the library that wrote it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/report/summary.h"
#include "oracle/model.h"

static char out[32];
static char err[512];
static struct vm_campaign campaign;
static struct vm_outcome outcome;

static int make_campaign(void **state)
{
	(void)state;
	strcpy(out, "/tmp/vmafuzz-test-XXXXXX");
	if (!mkdtemp(out))
		return -1;
	campaign = (struct vm_campaign){ .profile = vm_profile_by_name("6.18"),
					 .contract = VM_CONTRACT_STRICT };
	vm_options_default(&campaign.opt);
	campaign.opt.target = "local";
	campaign.opt.out = out;
	vm_model_default_info(&campaign.info);
	campaign.stats = vm_stats_open(out, true, err, sizeof(err));
	outcome = (struct vm_outcome){ .engine = "random", .status = 1 };
	return campaign.stats ? 0 : -1;
}

static int remove_campaign(void **state)
{
	(void)state;
	vm_stats_close(campaign.stats);
	vm_folder_remove(out);
	return 0;
}

static json_t *store_and_load(void)
{
	char path[VM_PATH_MAX];
	json_error_t error;
	json_t *root;

	if (vm_summary_store(&campaign, &outcome, err, sizeof(err)))
		fail_msg("%s", err);
	vm_path(path, "%s/stats.json", out);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fail_msg("%s:%d:%d: %s", path, error.line, error.column, error.text);
	return root;
}

static void assert_number(const json_t *object, const char *key, json_int_t n)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is no integer", key);
	assert_int_equal(json_integer_value(value), n);
}

static void assert_text(const json_t *object, const char *key, const char *text)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		fail_msg("%s is no string", key);
	assert_string_equal(json_string_value(value), text);
}

static void test_campaign_and_numbers(void **state)
{
	json_t *root, *rule;

	(void)state;
	campaign.opt.seed = INT64_MAX;
	campaign.stats->programs = 123456789012;
	campaign.stats->timeouts = 3;
	campaign.stats->strictness[VM_OP_MREMAP][VM_SET_VALUED] = 7;
	outcome.finished = true;
	root = store_and_load();
	assert_text(root, "engine", "random");
	assert_text(root, "profile", "6.18");
	assert_text(root, "contract", "strict");
	assert_number(root, "seed", INT64_MAX);
	assert_number(root, "programs", 123456789012);
	assert_number(root, "children_timed_out", 3);
	assert_number(root, "exit_status", 1);
	assert_true(json_is_true(json_object_get(root, "finished")));
	assert_int_equal(json_object_size(json_object_get(root, "strictness")), VM_OP_COUNT);
	rule = json_object_get(json_object_get(root, "strictness"), "mremap");
	assert_number(rule, "set", 7);
	assert_number(rule, "exact", 0);
	assert_int_equal(json_array_size(json_object_get(root, "titles")), 0);
	assert_null(json_object_get(root, "afl_stability"));
	json_decref(root);
}

static void test_calls_by_cause(void **state)
{
	static const char cause[] = "hole in the range";
	json_t *root, *calls;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		vm_stats_call(campaign.stats, VM_OP_MREMAP, EFAULT, cause);
	vm_stats_call(campaign.stats, VM_OP_MREMAP, ENOMEM, cause);
	vm_stats_call(campaign.stats, VM_OP_MUNMAP, 0, NULL);
	vm_stats_call(campaign.stats, VM_OP_READ, -SIGBUS, NULL);
	root = store_and_load();
	calls = json_object_get(root, "calls_by_cause");
	assert_int_equal(json_array_size(calls), 4);
	for (i = 0; i < 4; i++) {
		const json_t *one = json_array_get(calls, i);
		const char *call = json_string_value(json_object_get(one, "call"));
		const char *result = json_string_value(json_object_get(one, "result"));

		if (strcmp(call, "mremap")) {
			assert_text(one, "cause", "");
			assert_string_equal(result, strcmp(call, "read") ? "success" : "SIGBUS");
		} else {
			assert_text(one, "cause", cause);
		}
		assert_number(one, "count", strcmp(result, "EFAULT") ? 1 : 3);
	}
	json_decref(root);
}

/* More kinds of calls than there are cells: what is there goes on being counted. */
static void test_calls_without_room(void **state)
{
	json_t *root, *calls;

	(void)state;
	for (int error = 0; error < VM_MAX_CELLS + 5; error++)
		vm_stats_call(campaign.stats, VM_OP_MREMAP, error, "full");
	vm_stats_call(campaign.stats, VM_OP_MREMAP, 0, "full");
	root = store_and_load();
	calls = json_object_get(root, "calls_by_cause");
	assert_int_equal(json_array_size(calls), VM_MAX_CELLS);
	for (size_t i = 0; i < VM_MAX_CELLS; i++) {
		const json_t *one = json_array_get(calls, i);
		const char *result = json_string_value(json_object_get(one, "result"));

		assert_number(one, "count", strcmp(result, "success") ? 1 : 2);
	}
	json_decref(root);
}

static void test_titles(void **state)
{
	char folder[VM_PATH_MAX];
	struct vm_title *t;
	json_t *root, *titles;
	bool fresh;

	(void)state;
	t = vm_stats_title(campaign.stats, "mmap: \"odd\"", VM_VIOLATION, &fresh);
	assert_non_null(t);
	t->count = 41;
	t->state = VM_TITLE_CONFIRMED;
	assert_non_null(vm_stats_title(campaign.stats, "munmap: odd", VM_DEVIATION, &fresh));
	strcpy(outcome.afl_stability, "99.87%");
	outcome.afl_crashes = 2;
	root = store_and_load();
	assert_text(root, "afl_stability", "99.87%");
	assert_number(root, "afl_crashes", 2);
	assert_number(root, "violations", 1);
	assert_number(root, "deviations", 0);
	titles = json_object_get(root, "titles");
	assert_int_equal(json_array_size(titles), 2);
	assert_text(json_array_get(titles, 0), "title", "mmap: \"odd\"");
	assert_text(json_array_get(titles, 0), "severity", "violation");
	assert_text(json_array_get(titles, 0), "state", "confirmed");
	assert_number(json_array_get(titles, 0), "programs", 41);
	vm_path(folder, "%s/findings/%s", out, t->slug);
	assert_text(json_array_get(titles, 0), "folder", folder);
	assert_text(json_array_get(titles, 1), "state", "pending");
	json_decref(root);
}

/* What is UTF-8 stays as it is; a target that is not, does not cost the summary. */
static void test_bytes_that_are_no_utf8(void **state)
{
	json_t *root;

	(void)state;
	campaign.opt.target = "exec:./b\xc3\xa4r \"x\\y\"\n\x01";
	root = store_and_load();
	assert_text(root, "target", campaign.opt.target);
	json_decref(root);
	campaign.opt.target = "exec:./b\xe4r";
	root = store_and_load();
	assert_text(root, "target", "exec:./b?r");
	json_decref(root);
}

static void test_a_folder_that_is_gone(void **state)
{
	(void)state;
	campaign.opt.out = "/nowhere/at/all";
	assert_int_equal(vm_summary_store(&campaign, &outcome, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "cannot write /nowhere/at/all/stats.json"));
}

/* `--json` prints what stats.json holds. */
static void test_print_is_the_same(void **state)
{
	json_t *stored, *printed;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	vm_summary_print_json(to, &campaign, &outcome);
	fclose(to);
	assert_int_equal(text[len - 1], '\n');
	printed = json_loads(text, 0, NULL);
	stored = store_and_load();
	assert_non_null(printed);
	assert_true(json_equal(printed, stored));
	json_decref(stored);
	json_decref(printed);
	free(text);
}

#define WITH_CAMPAIGN(test) cmocka_unit_test_setup_teardown(test, make_campaign, remove_campaign)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CAMPAIGN(test_campaign_and_numbers),
		WITH_CAMPAIGN(test_calls_by_cause),
		WITH_CAMPAIGN(test_calls_without_room),
		WITH_CAMPAIGN(test_titles),
		WITH_CAMPAIGN(test_bytes_that_are_no_utf8),
		WITH_CAMPAIGN(test_a_folder_that_is_gone),
		WITH_CAMPAIGN(test_print_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
