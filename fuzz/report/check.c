/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz/report/check.h"
#include "fuzz/report/json.h"

#define NTEXTS 8

/* The texts of a result, to copy and free them alike. */
static void texts_of(struct vm_check_case *test, const char **text[NTEXTS])
{
	const char **all[NTEXTS] = { &test->name,     &test->path,  &test->doc,	   &test->reason,
				     &test->verdicts, &test->unmet, &test->causes, &test->details };

	memcpy(text, all, sizeof(all));
}

static void free_texts(struct vm_check_case *test)
{
	const char **text[NTEXTS];

	texts_of(test, text);
	for (int i = 0; i < NTEXTS; i++)
		free((void *)*text[i]);
}

int vm_check_add(struct vm_check_report *r, const struct vm_check_case *test)
{
	struct vm_check_case copy = *test;
	const char **text[NTEXTS];
	int bad = 0;

	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct vm_check_case *bigger = realloc(r->test, cap * sizeof(*bigger));

		if (!bigger)
			return -1;
		r->test = bigger;
		r->cap = cap;
	}
	texts_of(&copy, text);
	for (int i = 0; i < NTEXTS; i++) {
		*text[i] = strdup(*text[i]);
		bad |= !*text[i];
	}
	if (bad) {
		free_texts(&copy);
		return -1;
	}
	r->test[r->n++] = copy;
	return 0;
}

size_t vm_check_count(const struct vm_check_report *r, enum vm_check_result result)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->test[i].result == result;
	return n;
}

void vm_check_free(struct vm_check_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_texts(&r->test[i]);
	free(r->test);
	r->test = NULL;
	r->n = r->cap = 0;
}

static const char *const result_name[VM_CHECK_RESULTS] = {
	[VM_CHECK_PASS] = "pass",
	[VM_CHECK_FAIL] = "fail",
	[VM_CHECK_ERROR] = "error",
	[VM_CHECK_SKIP] = "skip",
};

static int put_test(json_t *tests, const struct vm_check_case *c)
{
	json_t *test = json_object();
	int bad = json_array_append_new(tests, test);

	if (bad)
		return -1;
	bad = vm_json_text(test, "name", c->name);
	bad |= vm_json_text(test, "file", c->path);
	bad |= vm_json_text(test, "description", c->doc);
	bad |= vm_json_text(test, "result", result_name[c->result]);
	bad |= vm_json_text(test, "reason", c->reason);
	bad |= vm_json_number(test, "milliseconds", c->ms);
	bad |= vm_json_lines(test, "verdicts", c->verdicts);
	bad |= vm_json_lines(test, "unmet", c->unmet);
	bad |= vm_json_lines(test, "causes", c->causes);
	return bad;
}

static int put_head(json_t *root, const struct vm_check_report *r)
{
	int bad;

	bad = vm_json_text(root, "target", r->target);
	bad |= vm_json_text(root, "kernel", r->kernel);
	bad |= vm_json_text(root, "kernel_version", r->kernel_version);
	bad |= vm_json_text(root, "profile", r->profile);
	bad |= vm_json_text(root, "profile_why", r->profile_why);
	bad |= vm_json_text(root, "contract", r->contract);
	bad |= vm_json_text(root, "inject", r->inject);
	bad |= vm_json_number(root, "exit_status", (uint64_t)r->exit_status);
	for (int i = 0; i < VM_CHECK_RESULTS; i++)
		bad |= vm_json_number(root, result_name[i],
				      vm_check_count(r, (enum vm_check_result)i));
	return bad;
}

char *vm_check_json(const struct vm_check_report *r)
{
	json_t *root = json_object(), *tests = json_array();
	int bad = put_head(root, r);

	bad |= json_object_set_new(root, "tests", tests);
	for (size_t i = 0; !bad && i < r->n; i++)
		bad = put_test(tests, &r->test[i]);
	if (!bad)
		return vm_json_dump(root);
	json_decref(root);
	return NULL;
}
