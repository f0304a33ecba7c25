/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/triage/watch.h"

#define TICK_MS	    20
#define QUIET_TICKS 10	/* so long without a byte is the end of a report without one */
#define MAX_TICKS   150 /* a kernel that never stops printing is not waited for */
#define MAX_EXCERPT (256u << 10)

static const char survival[] = "survival";

int vm_watch_open(struct vm_watch *w, const char *path, char *err, size_t errlen)
{
	struct stat st;

	memset(w, 0, sizeof(*w));
	w->fd = -1;
	if (!path)
		return 0;
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (w->fd >= 0 && !fstat(w->fd, &st)) {
		w->offset = (uint64_t)st.st_size;
		w->console = vm_console_new(w->offset);
		if (w->console)
			return 0;
		errno = ENOMEM;
	}
	snprintf(err, errlen, "cannot watch the console %s: %s", path, strerror(errno));
	vm_watch_close(w);
	return -1;
}

void vm_watch_close(struct vm_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	vm_console_free(w->console);
	w->console = NULL;
	w->fd = -1;
}

/* Feed what is new; true if there was something. */
static bool feed(struct vm_watch *w)
{
	char buf[8192];
	bool fresh = false;
	ssize_t n;

	while ((n = pread(w->fd, buf, sizeof(buf), (off_t)w->offset)) > 0) {
		vm_console_feed(w->console, buf, (size_t)n);
		w->offset += (uint64_t)n;
		fresh = true;
	}
	return fresh;
}

static void await_end(struct vm_watch *w)
{
	const struct timespec tick = { .tv_nsec = TICK_MS * 1000000 };
	int quiet = 0;

	for (int i = 0; i < MAX_TICKS && quiet < QUIET_TICKS; i++) {
		if (!vm_console_unsettled(w->console) && quiet)
			break;
		nanosleep(&tick, NULL);
		quiet = feed(w) ? 0 : quiet + 1;
	}
}

static void keep(struct vm_watch *w, const struct vm_report *r)
{
	unsigned int least = 0;

	if (r->severity == VM_REPORT_INFO)
		return;
	if (w->n < VM_WATCH_REPORTS) {
		w->report[w->n++] = *r;
		return;
	}
	for (unsigned int i = 1; i < w->n; i++) {
		if (w->report[i].severity <= w->report[least].severity)
			least = i;
	}
	if (w->report[least].severity < r->severity)
		w->report[least] = *r;
}

unsigned int vm_watch_look(struct vm_watch *w)
{
	struct vm_report r;
	struct stat st;

	w->n = 0;
	if (w->fd < 0 || fstat(w->fd, &st) || (uint64_t)st.st_size <= w->offset)
		return 0;
	feed(w);
	await_end(w);
	vm_console_settle(w->console);
	while (vm_console_next(w->console, &r))
		keep(w, &r);
	return w->n;
}

enum vm_report_severity vm_watch_worst(const struct vm_watch *w)
{
	enum vm_report_severity worst = VM_REPORT_INFO;

	for (unsigned int i = 0; i < w->n; i++) {
		if (w->report[i].severity > worst)
			worst = w->report[i].severity;
	}
	return worst;
}

char *vm_watch_excerpt(const struct vm_watch *w, const struct vm_report *r, size_t *len)
{
	uint64_t size = r->end - r->begin;
	ssize_t n;
	char *text;

	if (size > MAX_EXCERPT)
		size = MAX_EXCERPT;
	text = malloc(size + 1);
	n = text ? pread(w->fd, text, size, (off_t)r->begin) : -1;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*len = (size_t)n;
	return text;
}

void vm_report_verdict(const struct vm_report *r, struct vm_verdict *v)
{
	*v = (struct vm_verdict){
		.severity = VM_VIOLATION,
		.rule = "kernel",
		.invariant = survival,
		.basis = "no program makes a kernel complain on its console (docs/crashes.md)",
	};
	snprintf(v->title, sizeof(v->title), VM_REPORT_PREFIX "%.*s",
		 (int)(sizeof(v->title) - sizeof(VM_REPORT_PREFIX)), r->title);
	snprintf(v->expected, sizeof(v->expected), "a console without a report");
	snprintf(v->observed, sizeof(v->observed), "%s, %s", vm_report_kind_name(r->kind),
		 vm_report_severity_name(r->severity));
}

static void drop_survival(struct vm_judgement *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->nverdicts; i++) {
		if (strcmp(j->verdict[i].invariant, survival))
			j->verdict[n++] = j->verdict[i];
	}
	j->nverdicts = n;
}

void vm_watch_judge(const struct vm_watch *w, struct vm_judgement *j)
{
	if (vm_watch_worst(w) >= VM_REPORT_BROKEN)
		drop_survival(j);
	for (unsigned int i = 0; i < w->n; i++) {
		if (w->report[i].after)
			continue;
		/* A judgement that is full gives way: there is nothing worse than this. */
		if (j->nverdicts == VM_MAX_VERDICTS)
			j->nverdicts--;
		vm_report_verdict(&w->report[i], &j->verdict[j->nverdicts++]);
	}
}

const struct vm_report *vm_watch_report_of(const struct vm_watch *w, const struct vm_verdict *v)
{
	const size_t n = sizeof(VM_REPORT_PREFIX) - 1;

	for (unsigned int i = 0; i < w->n; i++) {
		if (!strncmp(v->title, VM_REPORT_PREFIX, n) &&
		    !strncmp(v->title + n, w->report[i].title, VM_TITLE_MAX - n - 1))
			return &w->report[i];
	}
	return NULL;
}
