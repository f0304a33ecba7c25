/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail_nth.h"

/* A call with more allocations than these fills or populates: page after page of the same. */
#define MOST	     64
#define MOST_TOUCHES 8

#define MAX_TITLES 32

/* What a program shows when nothing fails. */
struct plain {
	size_t n;
	char title[MAX_TITLES][VM_TITLE_MAX];
	bool made[VM_PROGRAM_MAX_CALLS];
};

struct walk {
	struct cli_fail_nth *f;
	struct cli_run *r;
	struct cli_printer *p;
	const char *name;
	enum vm_fail_on fail_on;
	struct vm_program prog;
	struct plain plain;
	struct cli_walk *out;
};

int cli_fail_nth_parse(struct cli_fail_nth *f, const char *text)
{
	uint64_t n;

	f->on = true;
	f->first = 1;
	f->last = MOST;
	if (!strcmp(text, "all"))
		return 0;
	if (cli_number("fail-nth", text, 1, UINT16_MAX, &n))
		return -1;
	f->first = f->last = (unsigned int)n;
	return 0;
}

static void remember(struct plain *plain, const struct cli_run *r)
{
	const struct vm_judgement *j = &r->judgement;

	for (uint32_t i = 0; i < j->nverdicts && plain->n < MAX_TITLES; i++)
		memcpy(plain->title[plain->n++], j->verdict[i].title, VM_TITLE_MAX);
	for (uint32_t i = 0; i < r->trace.nevents; i++) {
		const struct vm_event *e = &r->trace.event[i];

		if (e->kind == VM_EVENT_CALL && e->status != VM_STATUS_WITHHELD)
			plain->made[e->call] = true;
	}
}

static bool is_plain(const struct plain *plain, const char *title)
{
	for (size_t i = 0; i < plain->n; i++)
		if (!strcmp(plain->title[i], title))
			return true;
	return false;
}

static bool event_of(const struct vm_trace *t, unsigned int call, uint32_t *event)
{
	for (uint32_t i = 0; i < t->nevents; i++) {
		*event = i;
		if (t->event[i].kind == VM_EVENT_CALL && t->event[i].call == call)
			return true;
	}
	return false;
}

/* A violation of another event that comes from the failed allocation. */
static const struct vm_verdict *later(const struct walk *w, uint32_t event)
{
	const struct vm_judgement *j = &w->r->judgement;

	for (uint32_t i = 0; i < j->nverdicts; i++)
		if (j->verdict[i].event != event && j->verdict[i].severity == VM_VIOLATION &&
		    !is_plain(&w->plain, j->verdict[i].title))
			return &j->verdict[i];
	return NULL;
}

static void judge(struct walk *w, uint32_t event, const struct vm_verdict *after, unsigned int call,
		  unsigned int nth)
{
	const struct vm_judgement *j = &w->r->judgement;
	const struct vm_event *e = &w->r->trace.event[event];
	enum cli_exit status = CLI_CONFORMS;
	const struct vm_verdict *worst = after;

	for (uint32_t i = 0; i < j->nverdicts; i++)
		if (j->verdict[i].event == event &&
		    (!worst || j->verdict[i].severity > worst->severity))
			worst = &j->verdict[i];
	if (!worst ||
	    (worst->severity < VM_VIOLATION && !strstr(worst->title, VM_ALLOCATION_FAILED)))
		return;
	if (worst->severity >= w->p->mention) {
		char site[VM_SITE_NAME_MAX];

		vm_site_name(e->site, site);
		vm_text_add(&w->p->text, "%s: %s (call %u, allocation %u: %s)\n",
			    vm_severity_name(worst->severity), worst->title, call + 1, nth, site);
		if (worst->severity >= w->p->explain)
			vm_explain_verdict(&w->r->trace, worst, &w->p->text);
		cli_print_text(w->p);
	}
	if (!strcmp(worst->invariant, "survival"))
		status = CLI_CRASHED;
	else if ((w->fail_on == VM_FAIL_VIOLATION && worst->severity == VM_VIOLATION) ||
		 (w->fail_on == VM_FAIL_DEVIATION && worst->severity >= VM_DEVIATION))
		status = CLI_FOUND;
	if (status != CLI_CONFORMS && w->out->status == CLI_CONFORMS)
		snprintf(w->out->reason, sizeof(w->out->reason), "%s: %s (call %u, allocation %u)",
			 vm_severity_name(worst->severity), worst->title, call + 1, nth);
	w->out->status = cli_worse(w->out->status, status);
}

/* 1: an allocation failed; 0: the call has no nth one; -1 as cli_fail_nth_walk(). */
static int fail_one(struct walk *w, unsigned int call, unsigned int nth, char *err, size_t errlen)
{
	const struct vm_verdict *after;
	uint32_t event;
	char where[160];
	int ret;

	w->prog.call[call].fail_nth = (uint16_t)nth;
	ret = cli_run_program(w->r, &w->prog, err, errlen);
	w->prog.call[call].fail_nth = 0;
	if (ret <= 0) {
		snprintf(w->out->reason, sizeof(w->out->reason), "call %u, allocation %u: %s",
			 call + 1, nth, err);
		w->out->status = cli_worse(w->out->status, CLI_FAILED);
		return ret;
	}
	if (!event_of(&w->r->trace, call, &event) || !w->r->trace.event[event].injected)
		return 0;
	w->out->failed++;
	after = later(w, event);
	snprintf(where, sizeof(where), "%s, call %u, allocation %u", w->name, call + 1, nth);
	judge(w, event, after, call, nth);
	if (vm_sites_add(&w->f->sites, &w->r->trace, &w->r->judgement, event, after, where))
		return 1;
	snprintf(err, errlen, "out of memory");
	return -1;
}

static bool is_touch(uint8_t op)
{
	return op == VM_OP_READ || op == VM_OP_WRITE || op == VM_OP_FILL;
}

static int walk_call(struct walk *w, unsigned int call, char *err, size_t errlen)
{
	bool few = w->f->first != w->f->last && is_touch(w->prog.call[call].op);
	unsigned int last = few ? MOST_TOUCHES : w->f->last;
	int more = 1;

	for (unsigned int nth = w->f->first; more == 1 && nth <= last; nth++)
		more = fail_one(w, call, nth, err, errlen);
	if (more == 1)
		w->f->cut++;
	w->f->calls++;
	return more < 0 ? -1 : 0;
}

int cli_fail_nth_walk(struct cli_fail_nth *f, struct cli_run *r, struct cli_printer *p,
		      const struct vm_program *prog, const char *name, enum vm_fail_on fail_on,
		      struct cli_walk *w, char *err, size_t errlen)
{
	struct walk walk = {
		.f = f, .r = r, .p = p, .name = name, .fail_on = fail_on, .prog = *prog, .out = w
	};
	int ret;

	*w = (struct cli_walk){ .status = CLI_CONFORMS };
	for (unsigned int i = 0; i < prog->ncalls; i++)
		walk.prog.call[i].fail_nth = 0;
	ret = cli_run_program(r, &walk.prog, err, errlen);
	if (ret <= 0) {
		snprintf(w->reason, sizeof(w->reason), "%s", err);
		w->status = CLI_FAILED;
		return ret;
	}
	remember(&walk.plain, r);
	for (unsigned int i = 0; i < prog->ncalls; i++)
		if (walk.plain.made[i] && walk_call(&walk, i, err, errlen))
			return -1;
	f->failed += w->failed;
	return 0;
}

void cli_fail_nth_print(struct cli_fail_nth *f)
{
	printf("# %llu allocations failed in %llu calls; %llu calls have more than were failed\n",
	       (unsigned long long)f->failed, (unsigned long long)f->calls,
	       (unsigned long long)f->cut);
	vm_sites_sort(&f->sites);
	for (size_t i = 0; i < f->sites.n; i++) {
		const struct vm_alloc_site *s = &f->sites.site[i];

		printf("# site %s: %s:", vm_call_desc(s->op)->name, s->name);
		for (unsigned int t = 0; t < VM_TAKEN_COUNT; t++)
			if (s->taken[t])
				printf(" %s %llu,", vm_taken_name((enum vm_taken)t),
				       (unsigned long long)s->taken[t]);
		printf(s->title[0] ? " %s (%s)\n" : "%s%s\n", s->title, s->where);
	}
}
