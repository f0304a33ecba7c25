/* SPDX-License-Identifier: MIT */
/*
 * JUnit XML, in the form that Jenkins, GitLab and GitHub actions read: one suite, one testcase a
 * program, its folder as class.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/report/check.h"
#include "fuzz/report/xml.h"

static void attribute(FILE *to, const char *name, const char *text)
{
	fprintf(to, " %s=\"", name);
	vm_xml_attribute(to, text);
	fputc('"', to);
}

static void seconds(FILE *to, uint64_t ms)
{
	fprintf(to, " time=\"%llu.%03llu\"", (unsigned long long)(ms / 1000),
		(unsigned long long)(ms % 1000));
}

static void counts(FILE *to, const struct vm_check_report *r)
{
	uint64_t ms = 0;

	for (size_t i = 0; i < r->n; i++)
		ms += r->test[i].ms;
	fprintf(to, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", r->n,
		vm_check_count(r, VM_CHECK_FAIL), vm_check_count(r, VM_CHECK_ERROR),
		vm_check_count(r, VM_CHECK_SKIP));
	seconds(to, ms);
}

static void property(FILE *to, const char *name, const char *value)
{
	fputs("\t\t\t<property", to);
	attribute(to, "name", name);
	attribute(to, "value", value);
	fputs("/>\n", to);
}

static void properties(FILE *to, const struct vm_check_report *r)
{
	fputs("\t\t<properties>\n", to);
	property(to, "target", r->target);
	property(to, "kernel", r->kernel);
	property(to, "kernel_version", r->kernel_version);
	property(to, "profile", r->profile);
	property(to, "profile_why", r->profile_why);
	property(to, "contract", r->contract);
	property(to, "inject", r->inject);
	fputs("\t\t</properties>\n", to);
}

/* <failure>, <error>, <skipped>: why a program did not pass. */
static void outcome(FILE *to, const struct vm_check_case *c)
{
	static const char *const element[VM_CHECK_RESULTS] = {
		[VM_CHECK_FAIL] = "failure",
		[VM_CHECK_ERROR] = "error",
		[VM_CHECK_SKIP] = "skipped",
	};

	fprintf(to, "\t\t\t<%s", element[c->result]);
	attribute(to, "message", c->reason);
	if (c->result == VM_CHECK_SKIP) {
		fputs("/>\n", to);
		return;
	}
	attribute(to, "type", c->result == VM_CHECK_ERROR ? "incomplete" : "conformance");
	fputc('>', to);
	vm_xml_content(to, c->details);
	fprintf(to, "</%s>\n", element[c->result]);
}

static void testcase(FILE *to, const struct vm_check_case *c)
{
	const char *slash = strrchr(c->name, '/');
	char folder[256] = "vmafuzz";

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - c->name), c->name);
	fputs("\t\t<testcase", to);
	attribute(to, "classname", folder);
	attribute(to, "name", slash ? slash + 1 : c->name);
	attribute(to, "file", c->path);
	seconds(to, c->ms);
	fputs(">\n", to);
	if (c->result != VM_CHECK_PASS)
		outcome(to, c);
	fputs("\t\t\t<system-out>", to);
	vm_xml_content(to, c->doc);
	fputc('\n', to);
	vm_xml_content(to, c->verdicts);
	fputs("</system-out>\n\t\t</testcase>\n", to);
}

char *vm_check_junit(const struct vm_check_report *r)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int bad;

	if (!to)
		return NULL;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"vmafuzz check\"", to);
	counts(to, r);
	fputs(">\n\t<testsuite name=\"vmafuzz check\"", to);
	counts(to, r);
	fputs(">\n", to);
	properties(to, r);
	for (size_t i = 0; i < r->n; i++)
		testcase(to, &r->test[i]);
	fputs("\t</testsuite>\n</testsuites>\n", to);
	bad = ferror(to);
	bad |= fclose(to);
	if (!bad)
		return text;
	free(text);
	return NULL;
}
