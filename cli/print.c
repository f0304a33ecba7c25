/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/draw.h"
#include "cli/print.h"
#include "fuzz/report/sites.h"

#define TEXT_MAX ((size_t)256 << 10)

bool cli_printer_open(struct cli_printer *p)
{
	p->text = (struct vm_text){ .buf = malloc(TEXT_MAX), .cap = TEXT_MAX };
	p->last = calloc(1, TEXT_MAX);
	p->vma = calloc(2 * VM_SNAPSHOT_MAX_VMAS, sizeof(*p->vma));
	if (p->text.buf && p->last && p->vma) {
		p->text.buf[0] = '\0';
		return true;
	}
	cli_error("out of memory");
	cli_printer_close(p);
	return false;
}

void cli_printer_close(struct cli_printer *p)
{
	free(p->text.buf);
	free(p->last);
	free(p->vma);
	p->text.buf = p->last = NULL;
	p->vma = NULL;
}

void cli_print_text(struct cli_printer *p)
{
	const char *line = p->text.buf;

	while (*line) {
		size_t n = strcspn(line, "\n");

		printf("%s%.*s\n", p->prefix, (int)n, line);
		line += n + (line[n] == '\n');
	}
	p->text.len = 0;
	p->text.buf[0] = '\0';
}

const char *cli_skip_text(const struct vm_trace *trace, char *buf, size_t cap)
{
	uint32_t word = (uint32_t)trace->exit_value;
	char line[96];

	if (word >= VM_PREAMBLE_COUNT || !vm_preamble_has(&trace->prog.preamble, word)) {
		snprintf(buf, cap, "not run: what its preamble asks for cannot be had there");
		return buf;
	}
	vm_text_print_preamble(&trace->prog.preamble, word, line, sizeof(line));
	snprintf(buf, cap, "not run: '%s' cannot be had there", line);
	return buf;
}

const char *cli_exit_text(const struct vm_trace *trace, char *buf, size_t cap)
{
	switch (trace->exit) {
	case VM_EXIT_DONE:
		return NULL;
	case VM_EXIT_SIGNAL:
		snprintf(buf, cap, "the child was killed by signal %d", trace->exit_value);
		break;
	case VM_EXIT_STATUS:
		if (trace->nevents)
			snprintf(buf, cap, "the child ended too early with status %d",
				 trace->exit_value);
		else
			snprintf(buf, cap, "nothing was seen of the program");
		break;
	case VM_EXIT_TIMEOUT:
		snprintf(buf, cap, "the child did not end in time and was killed");
		break;
	case VM_EXIT_STUCK:
		snprintf(buf, cap, "the child cannot be killed");
		break;
	case VM_EXIT_SKIPPED:
		cli_skip_text(trace, buf, cap);
		break;
	default:
		snprintf(buf, cap, "the log was full: the rest of the program was not seen");
		break;
	}
	return buf;
}

/* The snapshot with VmFlags where they are known from before. */
static struct vm_snapshot carried(struct cli_printer *p, const struct vm_snapshot *seen)
{
	struct vm_vma *before = p->vma + VM_SNAPSHOT_MAX_VMAS;
	struct vm_snapshot s = *seen;

	memcpy(before, p->vma, p->nvma * sizeof(*before));
	if (s.nvma)
		memcpy(p->vma, s.vma, s.nvma * sizeof(*p->vma));
	cli_carry_flags(p->vma, s.nvma, before, p->nvma);
	p->nvma = s.nvma;
	s.vma = p->vma;
	return s;
}

/* The address space after an event, if it is to be shown. */
static void print_state(struct cli_printer *p, const struct vm_trace *trace,
			const struct vm_event *e)
{
	struct vm_snapshot s;

	if (!(e->after.mask & VM_SEEN_MAPS) || e->after.nvma > VM_SNAPSHOT_MAX_VMAS)
		return;
	s = carried(p, &e->after);
	vm_explain_snapshot(&s, &trace->info, NULL, &p->text);
	if (!p->states && !strcmp(p->text.buf, p->last)) {
		p->text.len = 0;
		p->text.buf[0] = '\0';
		return;
	}
	memcpy(p->last, p->text.buf, p->text.cap);
	cli_print_text(p);
}

/* What became of the allocation that was to fail. */
static void print_failed(struct cli_printer *p, const struct vm_trace *trace,
			 const struct vm_event *e)
{
	char name[VM_SITE_NAME_MAX];

	if (!trace->prog.call[e->call].fail_nth)
		return;
	vm_site_name(e->site, name);
	if (e->injected)
		vm_text_add(&p->text, " (failed: %s)", name);
	else if (trace->info.features & VM_HAS_FAIL_NTH)
		vm_text_add(&p->text, " (it has fewer allocations)");
	else
		vm_text_add(&p->text, " (no allocation can be made to fail here)");
}

static void print_call(struct cli_printer *p, const struct vm_trace *trace,
		       const struct vm_event *e)
{
	char call[256];

	vm_text_print_call(&trace->prog.call[e->call], call, sizeof(call));
	vm_text_add(&p->text, "%2u  %-44s = ", e->call + 1, call);
	vm_explain_result(e, &trace->info, &p->text);
	print_failed(p, trace, e);
	vm_text_add(&p->text, "\n");
	cli_print_text(p);
}

static void print_verdict(struct cli_printer *p, const struct vm_trace *trace,
			  const struct vm_verdict *v)
{
	if (v->severity >= p->explain)
		vm_explain_verdict(trace, v, &p->text);
	else if (v->severity >= p->mention)
		vm_text_add(&p->text, "%s: %s\n", vm_severity_name(v->severity), v->title);
	cli_print_text(p);
}

static void print_verdicts(struct cli_printer *p, const struct vm_trace *trace,
			   const struct vm_judgement *j, uint32_t event)
{
	for (uint32_t i = 0; i < j->nverdicts; i++) {
		if (j->verdict[i].event == event)
			print_verdict(p, trace, &j->verdict[i]);
	}
}

/* The layout before the first call is empty but for what is the executor's. */
static bool starts_empty(const struct vm_event *e)
{
	return e->kind == VM_EVENT_START && !e->after.nvma;
}

void cli_print_trace(struct cli_printer *p, const struct vm_trace *trace,
		     const struct vm_judgement *j)
{
	char text[128];

	p->last[0] = '\0';
	p->nvma = 0;
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (p->calls && e->kind == VM_EVENT_CALL)
			print_call(p, trace, e);
		if (p->calls && !starts_empty(e))
			print_state(p, trace, e);
		print_verdicts(p, trace, j, i);
	}
	if (!trace->nevents)
		print_verdicts(p, trace, j, 0);
	if (cli_exit_text(trace, text, sizeof(text))) {
		vm_text_add(&p->text, "%s\n", text);
		cli_print_text(p);
	}
}

/* One line, without what could steer a terminal. */
static void print_plain(const char *prefix, const char *line, size_t len)
{
	printf("%s  | ", prefix);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c != '\r')
			putchar((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c);
	}
	putchar('\n');
}

void cli_print_reports(const struct cli_printer *p, const struct vm_watch *w)
{
	for (unsigned int i = 0; i < w->n; i++) {
		size_t len, n;
		char *text = vm_watch_excerpt(w, &w->report[i], &len);

		printf("%son the console: %s\n", p->prefix, w->report[i].title);
		for (const char *at = text; text && at < text + len; at += n + 1) {
			n = strcspn(at, "\n");
			print_plain(p->prefix, at, n);
		}
		free(text);
	}
}
