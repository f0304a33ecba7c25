/* SPDX-License-Identifier: MIT */
/* The results of a check as JSON, read back with jansson, and as JUnit XML, read back here. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "fuzz/report/check.h"
#include "fuzz/report/xml.h"

/* All that must be escaped, and what XML cannot say: a control character, broken UTF-8, U+FFFE. */
#define NASTY "a<b>&\"c'\t]]>\x01\xc3\xa4\xff\xed\xa0\x80\xef\xbf\xbe\xc0\x80\xf0\x9f\x98\x80\n"
#define PLAIN                                                                                      \
	"a<b>&\"c'\t]]>?\xc3\xa4?????"                                                             \
	"????\xf0\x9f\x98\x80\n"

static struct vm_check_report report;

static int make_report(void **state)
{
	static const struct vm_check_case tests[] = {
		{ VM_CHECK_PASS, 1500, "mmap/fits", "c/fits.vma", "It fits.", "",
		  "note: mmap: split left behind on EPERM\n", "", "mmap: length is 0\nmmap: b\n",
		  "" },
		{ VM_CHECK_FAIL, 2, "a/b/lost", "c/lost.vma", NASTY, "violation: \"<lost>\"",
		  "violation: \"<lost>\"\n", "line 1: expected ok, got EPERM\n", "", NASTY },
		{ VM_CHECK_ERROR, 0, "alone", "", "", "the executor died", "", "", "", "" },
		{ VM_CHECK_SKIP, 0, "mseal/x", "c/x.vma", "d", "kernel has no mseal", "", "", "",
		  "" },
	};

	(void)state;
	report = (struct vm_check_report){ .target = "exec:a 'b' <c> & \"d\"",
					   .kernel = "Linux 6.18",
					   .kernel_version = "#1",
					   .profile = "6.18",
					   .profile_why = "release",
					   .contract = "exact",
					   .inject = "",
					   .exit_status = 3 };
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (vm_check_add(&report, &tests[i]))
			return -1;
	return 0;
}

static int free_report(void **state)
{
	(void)state;
	vm_check_free(&report);
	return 0;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text)
		fail_msg("no text %s", key);
	return text;
}

static void assert_count(const json_t *o, const char *key, int want)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	assert_int_equal(json_integer_value(json_object_get(o, key)), want);
}

static void test_json(void **state)
{
	char *text = vm_check_json(&report);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error), *tests, *test;

	(void)state;
	if (!root)
		fail_msg("%d:%d: %s", error.line, error.column, error.text);
	assert_string_equal(text_of(root, "target"), report.target);
	assert_string_equal(text_of(root, "contract"), "exact");
	assert_count(root, "exit_status", 3);
	assert_count(root, "pass", 1);
	assert_count(root, "fail", 1);
	assert_count(root, "error", 1);
	assert_count(root, "skip", 1);
	tests = json_object_get(root, "tests");
	assert_int_equal(json_array_size(tests), 4);
	test = json_array_get(tests, 0);
	assert_string_equal(text_of(test, "name"), "mmap/fits");
	assert_string_equal(text_of(test, "file"), "c/fits.vma");
	assert_string_equal(text_of(test, "result"), "pass");
	assert_count(test, "milliseconds", 1500);
	assert_int_equal(json_array_size(json_object_get(test, "causes")), 2);
	assert_string_equal(json_string_value(json_array_get(json_object_get(test, "causes"), 1)),
			    "mmap: b");
	assert_int_equal(json_array_size(json_object_get(test, "unmet")), 0);
	test = json_array_get(tests, 1);
	assert_string_equal(text_of(test, "result"), "fail");
	assert_string_equal(text_of(test, "reason"), "violation: \"<lost>\"");
	assert_string_equal(json_string_value(json_array_get(json_object_get(test, "unmet"), 0)),
			    "line 1: expected ok, got EPERM");
	/* not UTF-8 as a whole: its bytes above ASCII are replaced */
	assert_non_null(strstr(text_of(test, "description"), "a<b>&\"c'\t]]>\x01??"));
	assert_string_equal(text_of(json_array_get(tests, 2), "result"), "error");
	assert_string_equal(text_of(json_array_get(tests, 3), "result"), "skip");
	json_decref(root);
	free(text);
}

/*
 * A reader of the XML that is written here: elements, attributes in double quotes, text, the five
 * names of entities and decimal ones. What it reads comes out as lines: `<name`, `name=value`,
 * `text:...`, `>` where an element ends. It fails on anything else.
 */
struct reader {
	const char *at;
	char *out;
	size_t len, cap;
};

static void put(struct reader *r, char c)
{
	if (r->len + 1 >= r->cap)
		fail_msg("too long");
	r->out[r->len++] = c;
	r->out[r->len] = '\0';
}

static void put_text(struct reader *r, const char *text)
{
	while (*text)
		put(r, *text++);
}

/* Text up to `end`, unescaped; line ends as "\n". */
static void read_text(struct reader *r, char end)
{
	static const struct {
		const char *name;
		char c;
	} entity[] = { { "&amp;", '&' },  { "&lt;", '<' },   { "&gt;", '>' }, { "&quot;", '"' },
		       { "&#10;", '\n' }, { "&#13;", '\r' }, { "&#9;", '\t' } };

	while (*r->at != end) {
		size_t i = 0, n = sizeof(entity) / sizeof(entity[0]);
		char c = *r->at;

		if (!c || c == '<' || (end == '"' && (c == '\n' || c == '\t')) ||
		    ((unsigned char)c < 0x20 && c != '\n' && c != '\t') ||
		    (c == '>' && r->at[-1] == ']'))
			fail_msg("not allowed here: %.20s", r->at);
		if (c != '&') {
			put(r, c);
			r->at++;
			continue;
		}
		while (i < n && strncmp(r->at, entity[i].name, strlen(entity[i].name)) != 0)
			i++;
		if (i == n)
			fail_msg("not an entity: %.20s", r->at);
		put(r, entity[i].c);
		r->at += strlen(entity[i].name);
	}
}

static bool read_word(struct reader *r, const char *what)
{
	if (strncmp(r->at, what, strlen(what)) != 0)
		return false;
	r->at += strlen(what);
	return true;
}

static void read_attributes(struct reader *r)
{
	while (read_word(r, " ")) {
		size_t len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz");

		if (!len || strncmp(r->at + len, "=\"", 2) != 0)
			fail_msg("not an attribute: %.20s", r->at);
		while (len--)
			put(r, *r->at++);
		r->at += 2;
		put(r, '=');
		read_text(r, '"');
		put(r, '\n');
		r->at++;
	}
}

/* One element, from its `<` on. */
static void read_element(struct reader *r)
{
	char name[32], end[40];
	size_t len;

	if (!read_word(r, "<"))
		fail_msg("not an element: %.20s", r->at);
	len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz-");
	snprintf(name, sizeof(name), "%.*s", (int)len, r->at);
	snprintf(end, sizeof(end), "</%s>", name);
	r->at += len;
	put(r, '<');
	put_text(r, name);
	put(r, '\n');
	read_attributes(r);
	if (!read_word(r, "/>")) {
		if (!read_word(r, ">"))
			fail_msg("not the end of a tag: %.20s", r->at);
		while (!read_word(r, end)) {
			if (*r->at == '<') {
				read_element(r);
			} else if (r->at[strspn(r->at, " \t\n")] == '<') {
				r->at += strspn(r->at, " \t\n");
			} else {
				put_text(r, "text:");
				read_text(r, '<');
			}
		}
	}
	put_text(r, ">\n");
}

static void test_junit(void **state)
{
	char *text = vm_check_junit(&report), out[8192];
	struct reader r = { text, out, 0, sizeof(out) };
	static const char counts[] = "tests=4\nfailures=1\nerrors=1\nskipped=1\ntime=1.502\n";
	char want[256];

	(void)state;
	assert_true(read_word(&r, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
	read_element(&r);
	assert_string_equal(r.at, "\n");
	snprintf(want, sizeof(want),
		 "<testsuites\nname=vmafuzz check\n%s<testsuite\nname=vmafuzz "
		 "check\n%s<properties\n",
		 counts, counts);
	assert_int_equal(strncmp(out, want, strlen(want)), 0);
	assert_non_null(strstr(out, "name=target\nvalue=exec:a 'b' <c> & \"d\"\n>\n"));
	assert_non_null(strstr(out, "<testcase\nclassname=mmap\nname=fits\nfile=c/fits.vma\n"
				    "time=1.500\n<system-out\ntext:It fits.\n"
				    "note: mmap: split left behind on EPERM\n>\n>\n"));
	assert_non_null(strstr(out, "<testcase\nclassname=a/b\nname=lost\nfile=c/lost.vma\n"
				    "time=0.002\n<failure\nmessage=violation: \"<lost>\"\n"
				    "type=conformance\ntext:" PLAIN ">\n<system-out\ntext:" PLAIN));
	assert_non_null(strstr(out, "classname=vmafuzz\nname=alone\nfile=\ntime=0.000\n<error\n"
				    "message=the executor died\ntype=incomplete\n>\n"));
	assert_non_null(strstr(out, "<skipped\nmessage=kernel has no mseal\n>\n"));
	free(text);
}

static void test_attribute(void **state)
{
	char buf[256] = "";
	FILE *to = fmemopen(buf, sizeof(buf), "w");

	(void)state;
	vm_xml_attribute(to, "a\nb\tc\rd\"e'<>&\xc3");
	fclose(to);
	assert_string_equal(buf, "a&#10;b&#9;c&#13;d&quot;e'&lt;&gt;&amp;?");
}

static void test_empty(void **state)
{
	struct vm_check_report none = report;
	char *text, out[4096];
	struct reader r = { NULL, out, 0, sizeof(out) };

	(void)state;
	none.n = 0;
	r.at = text = vm_check_junit(&none);
	assert_true(read_word(&r, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
	read_element(&r);
	assert_non_null(strstr(out, "tests=0\nfailures=0\nerrors=0\nskipped=0\ntime=0.000\n"));
	assert_null(strstr(out, "<testcase"));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_junit),
		cmocka_unit_test(test_attribute),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, make_report, free_report);
}
