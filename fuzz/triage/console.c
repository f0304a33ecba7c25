/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz/triage/report.h"

#define LINE_MAX_KEPT 2048
#define CALLERS	      8
#define LINGER_LINES  100 /* after its end, a report waits so long for a panic */

/* The lines of one caller: a task or a processor, or all if the console does not say which. */
struct caller {
	char name[VM_CALLER_MAX];
	bool used;
	uint64_t touched; /* line number, to reuse the oldest */
	struct vm_building open;
	unsigned int lingered;
	uint64_t lead, lead_line; /* where lines that only lead to a report began */
	bool leading;
	struct caller *into; /* it prints a part of that caller's report */
};

struct vm_console {
	uint64_t offset; /* of the next byte */
	uint64_t line_begin, line_number;
	char line[LINE_MAX_KEPT];
	size_t len; /* kept of the unfinished line */
	bool broken;
	struct caller caller[CALLERS];
	struct vm_report *queue;
	size_t nqueue, cap, taken;
	uint64_t lost;
	uint64_t kaslr;
	bool kaslr_known;
};

struct vm_console *vm_console_new(uint64_t offset)
{
	struct vm_console *c = calloc(1, sizeof(*c));

	if (c)
		c->offset = c->line_begin = offset;
	return c;
}

void vm_console_free(struct vm_console *c)
{
	if (c)
		free(c->queue);
	free(c);
}

static void put(struct vm_console *c, const struct vm_report *r)
{
	size_t at;

	if (c->nqueue == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 8;
		struct vm_report *more = realloc(c->queue, cap * sizeof(*more));

		if (!more) {
			c->lost++;
			return;
		}
		c->queue = more;
		c->cap = cap;
	}
	for (at = c->nqueue; at > c->taken && c->queue[at - 1].begin > r->begin; at--)
		c->queue[at] = c->queue[at - 1];
	c->queue[at] = *r;
	c->nqueue++;
}

static void close_report(struct vm_console *c, struct caller *who)
{
	struct vm_building *b = &who->open;

	if (!b->active)
		return;
	b->active = false;
	for (int i = 0; i < CALLERS; i++) {
		if (c->caller[i].into == who)
			c->caller[i].into = NULL;
	}
	if (vm_building_finish(b))
		put(c, &b->report);
}

static struct caller *find_caller(struct vm_console *c, const char *name)
{
	struct caller *oldest = &c->caller[0];

	for (int i = 0; i < CALLERS; i++) {
		struct caller *who = &c->caller[i];

		if (who->used && !strcmp(who->name, name)) {
			who->touched = c->line_number;
			return who;
		}
		if (!who->used || (oldest->used && who->touched < oldest->touched))
			oldest = who;
	}
	close_report(c, oldest);
	memset(oldest, 0, sizeof(*oldest));
	oldest->used = true;
	oldest->touched = c->line_number;
	strcpy(oldest->name, name);
	return oldest;
}

static void open_report(struct vm_console *c, struct caller *who, const struct vm_header *h,
			const char *text, const char *message)
{
	struct vm_building *b = &who->open;

	close_report(c, who);
	vm_building_begin(b, h, text, message);
	b->report.after = c->broken;
	b->report.begin = who->leading ? who->lead : c->line_begin;
	b->report.line = who->leading ? who->lead_line : c->line_number;
	who->lingered = 0;
}

static void header_line(struct vm_console *c, struct caller *who, const struct vm_header *h,
			const char *text, const char *message)
{
	struct vm_building *b = &who->open;

	if (vm_building_continues(b, h, message))
		vm_building_merge(b, h, text, message);
	else
		open_report(c, who, h, text, message);
	b->report.end = c->offset;
	if (b->report.severity >= VM_REPORT_BROKEN)
		c->broken = true;
}

/* The processor that a stall is about prints its own state, as a caller of its own. */
static struct caller *reporter_of(struct vm_console *c, struct caller *who, const char *text)
{
	if (who->into)
		return who->into;
	if (who->open.active || strncmp(text, "NMI backtrace for cpu", 21))
		return who;
	for (int i = 0; i < CALLERS; i++) {
		struct vm_building *b = &c->caller[i].open;

		if (b->active && !b->ended && b->report.severity == VM_REPORT_STALLED)
			return who->into = &c->caller[i];
	}
	return who;
}

static void other_line(struct vm_console *c, struct caller *who, const char *text)
{
	struct caller *to = reporter_of(c, who, text);
	struct vm_building *b = &to->open;

	if (b->active && !b->ended) {
		if (vm_building_line(b, text))
			b->report.end = c->offset;
	} else if (b->active && ++to->lingered > LINGER_LINES) {
		close_report(c, to);
	}
}

/* Remember where lines begin that only make sense together with a first line behind them. */
static void note_lead(struct vm_console *c, struct caller *who, const char *text)
{
	bool leads = vm_header_leads(text);

	if (leads && !who->leading) {
		who->lead = c->line_begin;
		who->lead_line = c->line_number;
	}
	who->leading = leads || (who->leading && !*text);
}

/* `Kernel Offset: 0xb000000 from 0xffffffff81000000 (...)`, or `Kernel Offset: disabled` */
static void note_kaslr(struct vm_console *c, const char *text)
{
	static const char label[] = "Kernel Offset: ";

	if (strncmp(text, label, sizeof(label) - 1))
		return;
	text += sizeof(label) - 1;
	c->kaslr = strncmp(text, "0x", 2) ? 0 : strtoull(text, NULL, 16);
	c->kaslr_known = true;
}

/* A new kernel: what the last one did wrong is over. */
static bool is_boot(const char *text)
{
	return !strncmp(text, "Linux version ", 14) || !strncmp(text, "== vmafuzz: ", 12);
}

static void boot(struct vm_console *c)
{
	for (int i = 0; i < CALLERS; i++)
		close_report(c, &c->caller[i]);
	c->broken = c->kaslr_known = false;
}

static void end_line(struct vm_console *c)
{
	const struct vm_header *h;
	const char *message;
	struct vm_line l;
	struct caller *who;

	c->line[c->len] = '\0';
	c->line_number++;
	vm_line_parse(c->line, &l);
	if (is_boot(l.text))
		boot(c);
	who = find_caller(c, l.caller);
	h = vm_header_find(l.text, &message);
	note_kaslr(c, l.text);
	if (h) {
		header_line(c, who, h, l.text, message);
		who->leading = false;
	} else {
		other_line(c, who, l.text);
		note_lead(c, who, l.text);
	}
	c->len = 0;
	c->line_begin = c->offset;
}

void vm_console_feed(struct vm_console *c, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		c->offset++;
		if (bytes[i] == '\n')
			end_line(c);
		else if (c->len + 1 < sizeof(c->line))
			c->line[c->len++] = bytes[i] ? bytes[i] : '?';
	}
}

void vm_console_settle(struct vm_console *c)
{
	if (c->len)
		end_line(c);
	for (int i = 0; i < CALLERS; i++)
		close_report(c, &c->caller[i]);
}

bool vm_console_unsettled(const struct vm_console *c)
{
	for (int i = 0; i < CALLERS; i++) {
		if (c->caller[i].open.active && !c->caller[i].open.ended)
			return true;
	}
	return c->len > 0;
}

bool vm_console_next(struct vm_console *c, struct vm_report *r)
{
	if (c->taken == c->nqueue) {
		c->taken = c->nqueue = 0;
		return false;
	}
	*r = c->queue[c->taken++];
	return true;
}

uint64_t vm_console_lost(const struct vm_console *c)
{
	return c->lost;
}

bool vm_console_kaslr(const struct vm_console *c, uint64_t *offset)
{
	*offset = c->kaslr;
	return c->kaslr_known;
}
