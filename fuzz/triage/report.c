/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/triage/report.h"

#define MAX_LINES 600 /* of one report; what comes then is not of it */

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* `... in NAME+0x1/0x2`, `... at FILE:12 NAME+0x1/0x2`, or `at NAME:12` as maple trees say it. */
static void find_place(struct vm_building *b, const char *text)
{
	const char *p = text, *name;
	size_t n;

	while ((p = strchr(p, ' '))) {
		p++;
		if (!b->at.symbol[0] && vm_place_parse(p, &b->at))
			break;
	}
	if (b->header->kind == VM_REPORT_MAPLE) {
		p = strstr(text, " at ");
		if (p && sscanf(p, " at %63[A-Za-z0-9_]:", b->at.symbol) != 1)
			b->at.symbol[0] = '\0';
		return;
	}
	name = strstr(text, " at ");
	p = name ? name : strstr(text, " in ");
	if (!p)
		p = strchr(text, ':') ? strchr(text, ':') - 3 : NULL;
	if (!p || p < text)
		return;
	p += 4;
	while (*p == ' ')
		p++;
	n = strcspn(p, ": ");
	if (p[n] == ':' && memchr(p, '/', n) && memchr(p, '.', n) && n < sizeof(b->file)) {
		memcpy(b->file, p, n);
		b->file[n] = '\0';
	}
}

static void take_message(struct vm_building *b, const struct vm_header *h, const char *message)
{
	const char *end;

	/* `BUG kmalloc-64 (Not tainted): Poison overwritten`, `... type:MM_ANONPAGES val:3` */
	if ((h->kind == VM_REPORT_SLAB && h->role == VM_HEAD) || h->kind == VM_REPORT_BAD_MM)
		message = h->has ? strstr(message, h->has) + strlen(h->has) : message;
	end = h->until ? strstr(message, h->until) : NULL;
	/* `addition on 0`: a fixed text. */
	if (h->kind == VM_REPORT_REFCOUNT) {
		snprintf(b->message, sizeof(b->message), "%.*s", (int)strcspn(message, ";."),
			 message);
		return;
	}
	vm_line_strip(message, end ? (size_t)(end - message) : strlen(message), b->message,
		      sizeof(b->message));
}

static void set_header(struct vm_building *b, const struct vm_header *h, const char *text,
		       const char *message)
{
	b->header = h;
	take_message(b, h, message);
	find_place(b, text);
	if (starts(text, "Unable to handle") || starts(text, "Internal error: "))
		b->report.arm64 = true;
}

void vm_building_begin(struct vm_building *b, const struct vm_header *h, const char *text,
		       const char *message)
{
	memset(b, 0, sizeof(*b));
	b->active = true;
	b->headed = h->role != VM_LEAD;
	b->oops = h->role == VM_OOPS;
	b->report.kind = h->kind;
	b->report.severity = h->severity;
	set_header(b, h, text, message);
	b->ended = h->end == VM_END_LINE;
}

/* A panic that was decided elsewhere, for what had gone wrong before. */
static bool is_consequence(const char *reason)
{
	static const char *const reasons[] = {
		"Fatal exception",
		"panic_on_warn",
		"Oops",
		"softlockup",
		"hung_task",
		"Hard LOCKUP",
		"RCU Stall",
		"Attempted to kill init",
		"Attempted to kill the idle",
		"corrupted stack end",
		"stack guard page",
		"kernel stack overflow",
		"KASAN",
		"KFENCE",
		"UBSAN",
		"System is deadlocked",
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strstr(reason, reasons[i]))
			return true;
	}
	return false;
}

bool vm_building_continues(const struct vm_building *b, const struct vm_header *h,
			   const char *message)
{
	bool body = b->report.pc.symbol[0] || b->tracing || b->traced;

	if (!b->active)
		return false;
	switch (h->role) {
	case VM_PANIC:
		return b->report.severity > VM_REPORT_INFO && is_consequence(message);
	case VM_OOPS:
		if (h->kind == VM_REPORT_OOM)
			return b->report.kind == VM_REPORT_OOM;
		return !b->ended && !b->oops && !body && b->header->end == VM_END_TRACE;
	case VM_LEAD:
		return !b->ended && !b->headed;
	default:
		/* Since 6.12, SLUB ends what it has to say with a warning. */
		if (b->report.kind == VM_REPORT_SLAB && h->kind == VM_REPORT_WARNING)
			return !b->ended && !body;
		return !b->ended && !b->headed && !body;
	}
}

void vm_building_merge(struct vm_building *b, const struct vm_header *h, const char *text,
		       const char *message)
{
	if (h->severity > b->report.severity)
		b->report.severity = h->severity;
	if (starts(text, "Internal error: "))
		b->report.arm64 = true;
	b->oops |= h->role == VM_OOPS;
	/* A first line that follows a dump has the title, one that follows a check's does not. */
	if (!b->headed && h->role == VM_HEAD) {
		if (b->header->title)
			find_place(b, text);
		else
			set_header(b, h, text, message);
	}
	b->headed |= h->role != VM_LEAD;
	b->ended = h->role == VM_OOPS && h->end == VM_END_LINE;
}

static void add_frame(struct vm_building *b, const struct vm_place *p)
{
	struct vm_report *r = &b->report;
	bool stalled = r->severity == VM_REPORT_STALLED;

	if (r->nframes < VM_REPORT_FRAMES && !(stalled && b->in_irq))
		r->frame[r->nframes++] = *p;
}

/* A line of a call trace; false if the trace has ended. */
static bool trace_line(struct vm_building *b, const char *text)
{
	struct vm_place p;

	text += strspn(text, " ");
	if (*text == '<') {
		if (starts(text, "</TASK>"))
			return false;
		if (starts(text, "<IRQ>") || starts(text, "</IRQ>"))
			b->in_irq = text[1] != '/';
		/* `[<ffffffff8108a1b2>] name+0x12/0x34`, up to 4.x; `<TASK>`, `<NMI>` */
		return true;
	}
	if (*text == '[' && text[1] == '<')
		text += strcspn(text, " "), text += strspn(text, " ");
	if (starts(text, "? "))
		return true;
	/* The registers of what an interrupt came in between: `RIP: `, `R10: `. */
	if ((text[0] == 'R' && text[1] && text[2] && text[3] == ':') || starts(text, "Code: "))
		return true;
	if (!vm_place_parse(text, &p))
		return starts(text, "0x") || starts(text, "entry_SYSCALL");
	add_frame(b, &p);
	return true;
}

static void take_pc(struct vm_building *b, const char *text)
{
	struct vm_place p;
	const char *at;

	b->code_follows = false;
	/* In a call trace they are those of what an interrupt came in between. */
	if (b->report.nframes)
		return;
	if (starts(text, "pc : ")) {
		b->report.arm64 = true;
		at = text + 5;
	} else {
		/* `RIP: 0010:NAME`; 0033 is user space. */
		at = text + strlen("RIP: 0010:");
		b->code_follows = starts(text, "RIP: 0010:");
		if (!b->code_follows)
			return;
	}
	b->code_follows = true;
	if (b->report.pc.symbol[0] || b->report.pc_address)
		return;
	if (vm_place_parse(at, &p))
		b->report.pc = p;
	else
		b->report.pc_address = strtoull(at, NULL, 16);
}

static void take_code(struct vm_building *b, const char *text)
{
	text += strlen("Code: ");
	if (!b->code_follows || b->report.code[0] || strspn(text, "0123456789abcdef(<") < 2)
		return;
	snprintf(b->report.code, sizeof(b->report.code), "%s", text);
}

/* ` #0: ffffffff82a0 (name){+.+.}-{3:3}, at: FUNCTION+0x1/0x2` */
static void take_held_lock(struct vm_building *b, const char *text)
{
	const char *at = strstr(text, ", at: ");

	if (at && b->report.kind == VM_REPORT_LOCKDEP)
		(void)vm_place_parse(at + strlen(", at: "), &b->held);
}

static void take_details(struct vm_building *b, const char *text)
{
	struct vm_report *r = &b->report;

	if (starts(text, "RIP: 00") || starts(text, "pc : "))
		take_pc(b, text);
	else if (starts(text, "Code: "))
		take_code(b, text);
	else if (starts(text, " #"))
		take_held_lock(b, text);
	else if (r->kind == VM_REPORT_KASAN && starts(text, "Write of size"))
		strcpy(b->access, " write");
	else if (r->kind == VM_REPORT_KASAN && starts(text, "Read of size"))
		strcpy(b->access, " read");
}

/* KASAN finds the shadow of a NULL pointer missing, and x86 says that as a protection fault. */
static void reconsider(struct vm_building *b, const char *text)
{
	static const struct vm_header null_row = {
		.text = "",
		.kind = VM_REPORT_NULL,
		.title = "NULL dereference in %f",
		.severity = VM_REPORT_BROKEN,
		.role = VM_OOPS,
		.end = VM_END_TRACE,
	};

	if (b->report.kind != VM_REPORT_PROTECTION || !starts(text, "KASAN: null-ptr-deref"))
		return;
	b->header = &null_row;
	b->report.kind = VM_REPORT_NULL;
}

static bool ends_here(const struct vm_building *b, const char *text)
{
	switch (b->header->end) {
	case VM_END_RULE:
		return starts(text, "======") && b->traced;
	case VM_END_TRACE:
		return starts(text, "---[ end ");
	case VM_END_STACK:
		return b->traced && !b->tracing;
	default:
		return starts(text, "---[ end Kernel panic");
	}
}

bool vm_building_line(struct vm_building *b, const char *text)
{
	if (b->ended)
		return false;
	if (++b->lines > MAX_LINES) {
		b->ended = true;
		return false;
	}
	if (b->tracing && !trace_line(b, text)) {
		b->tracing = false;
		b->traced = true;
		if (ends_here(b, text)) {
			b->ended = true;
			return b->header->end != VM_END_STACK || starts(text, " </TASK>");
		}
	} else if (!b->traced && (starts(text, "Call Trace:") || starts(text, "Call trace:"))) {
		b->tracing = true;
	}
	reconsider(b, text);
	take_details(b, text);
	if (ends_here(b, text))
		b->ended = true;
	return true;
}

/* The first of the places that says something, else the first. */
static const struct vm_place *choose(const struct vm_building *b)
{
	const struct vm_report *r = &b->report;
	const struct vm_place *candidate[VM_REPORT_FRAMES + 3], *any = NULL;
	unsigned int n = 0;

	candidate[n++] = &b->at;
	candidate[n++] = &r->pc;
	for (unsigned int i = 0; i < r->nframes; i++)
		candidate[n++] = &r->frame[i];
	candidate[n++] = &b->held;
	for (unsigned int i = 0; i < n; i++) {
		if (!candidate[i]->symbol[0])
			continue;
		if (!vm_frame_is_generic(candidate[i]->symbol))
			return candidate[i];
		if (!any)
			any = candidate[i];
	}
	return any;
}

static void make_title(struct vm_building *b)
{
	const char *format = b->header->title, *function = b->report.function;
	char *out = b->report.title;
	size_t at = 0, room = sizeof(b->report.title);

	while (*format && at + 1 < room) {
		const char *put = NULL;

		if (starts(format, " in %f")) {
			if (*function)
				at += (size_t)snprintf(out + at, room - at, " in %s", function);
			else if (b->file[0])
				at += (size_t)snprintf(out + at, room - at, " at %s", b->file);
			format += strlen(" in %f");
		} else if (starts(format, "%m") || starts(format, "%a")) {
			put = format[1] == 'm' ? b->message : b->access;
			at += (size_t)snprintf(out + at, room - at, "%s", put);
			format += 2;
		} else {
			out[at++] = *format++;
		}
	}
	out[at < room ? at : room - 1] = '\0';
}

bool vm_building_finish(struct vm_building *b)
{
	const struct vm_place *place = choose(b);

	if (!b->header->title)
		return false;
	if (place)
		memcpy(b->report.function, place->symbol, sizeof(b->report.function));
	make_title(b);
	return true;
}
