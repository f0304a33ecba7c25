/* SPDX-License-Identifier: MIT */
#include "cli/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/findings.h"
#include "oracle/rules/rule.h"

#define TEXT_MAX (256 * 1024)

static bool open_text(struct vm_text *t)
{
	t->buf = calloc(1, TEXT_MAX);
	t->cap = TEXT_MAX;
	t->len = 0;
	return t->buf;
}

static void clear_text(struct vm_text *t)
{
	t->len = 0;
	t->buf[0] = '\0';
}

bool cli_record_open(struct cli_record *r)
{
	bool verdicts = open_text(&r->verdicts), causes = open_text(&r->causes);
	bool all = open_text(&r->details) && verdicts && causes;

	if (!all)
		cli_error("out of memory");
	return all;
}

void cli_record_close(struct cli_record *r)
{
	free(r->verdicts.buf);
	free(r->causes.buf);
	free(r->details.buf);
	vm_check_free(&r->report);
}

/* Is `line` one of the lines of a text? */
static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	while (*text) {
		size_t this = strcspn(text, "\n");

		if (this == len && !memcmp(text, line, len))
			return true;
		text += this + (text[this] == '\n');
	}
	return false;
}

static void collect_causes(struct cli_record *r, const struct cli_run *run)
{
	char line[160];

	for (uint32_t i = 0; i < run->trace.nevents; i++) {
		const struct vm_event *e = &run->trace.event[i];
		const char *cause = run->judgement.call[i].cause;

		if (e->kind != VM_EVENT_CALL || !cause || e->status == VM_STATUS_WITHHELD)
			continue;
		snprintf(line, sizeof(line), "%s: %s", vm_rule_name(e->sc.op), cause);
		if (!has_line(r->causes.buf, line))
			vm_text_add(&r->causes, "%s\n", line);
	}
}

void cli_record_judged(struct cli_record *r, const struct cli_run *run, const char *unmet)
{
	const struct vm_judgement *j = &run->judgement;

	clear_text(&r->verdicts);
	clear_text(&r->causes);
	clear_text(&r->details);
	for (uint32_t i = 0; i < j->nverdicts; i++) {
		const struct vm_verdict *v = &j->verdict[i];

		vm_text_add(&r->verdicts, "%s: %s\n", vm_severity_name(v->severity), v->title);
		if (v->severity >= VM_DEVIATION)
			vm_explain_verdict(&run->trace, v, &r->details);
	}
	vm_text_add(&r->details, "%s", unmet);
	collect_causes(r, run);
}

bool cli_record_add(struct cli_record *r, const struct cli_test *test, const char *doc,
		    enum vm_check_result result, const char *reason, const char *unmet, uint64_t ms)
{
	bool ran = result == VM_CHECK_PASS || result == VM_CHECK_FAIL;
	struct vm_check_case c = { .result = result,
				   .ms = ms,
				   .name = test->name,
				   .path = test->path,
				   .doc = doc,
				   .reason = reason,
				   .verdicts = ran ? r->verdicts.buf : "",
				   .unmet = ran ? unmet : "",
				   .causes = ran ? r->causes.buf : "",
				   .details = ran ? r->details.buf : "" };

	if (!vm_check_add(&r->report, &c))
		return true;
	cli_error("out of memory");
	return false;
}

static bool write_file(const char *path, char *text)
{
	char err[512] = "out of memory";
	bool ok = text && !vm_file_write(path, text, strlen(text), err, sizeof(err));

	if (!ok)
		cli_error("%s", err);
	free(text);
	return ok;
}

bool cli_record_write(struct cli_record *r, const struct cli_run *run, enum cli_exit status)
{
	const struct vm_target_info *info = vm_target_info(run->target);
	struct vm_check_report *report = &r->report;
	bool ok = true;

	vm_target_name(info, r->kernel, sizeof(r->kernel));
	report->target = run->spec;
	report->kernel = r->kernel;
	report->kernel_version = info->version;
	report->profile = run->profile->name;
	report->profile_why = run->why;
	report->contract = vm_contract_name(run->contract);
	report->inject = info->inject;
	report->exit_status = status;
	if (r->junit)
		ok = write_file(r->junit, vm_check_junit(report));
	if (r->json)
		ok &= write_file(r->json, vm_check_json(report));
	return ok;
}
