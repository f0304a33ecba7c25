/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/crash.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/triage/watch.h"

#define TRIES 2

void vm_crash_remember(struct vm_session *s, const struct vm_program *prog)
{
	if (s->watch.fd >= 0)
		s->recent.prog[s->nsent++ % VM_BATCH] = *prog;
}

struct vm_batch *vm_crash_batch(const struct vm_session *s)
{
	struct vm_batch *b;

	if (s->watch.fd < 0)
		return NULL;
	b = malloc(sizeof(*b));
	if (!b)
		return NULL;
	b->n = s->nsent < VM_BATCH ? (unsigned int)s->nsent : VM_BATCH;
	for (unsigned int i = 0; i < b->n; i++)
		b->prog[i] = s->recent.prog[(s->nsent - b->n + i) % VM_BATCH];
	return b;
}

int vm_crash_recover(struct vm_session *s, bool died, enum vm_report_severity least, char *err,
		     size_t errlen)
{
	if (died || !s->watch.n || vm_watch_worst(&s->watch) < least)
		return 0;
	atomic_fetch_add(&s->stats->executor_restarts, 1);
	return vm_target_reboot(s->target, err, errlen);
}

/* Take the panics out of the last look. */
static void hold_panics(struct vm_session *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->watch.n; i++) {
		const struct vm_report *r = &s->watch.report[i];

		if (r->severity < VM_REPORT_DEAD)
			s->watch.report[n++] = *r;
		else if (s->nheld < VM_HELD)
			s->held[s->nheld++] = *r;
	}
	s->watch.n = n;
}

/* Put the panic back that this death is of: the oldest, or with other engines the last. */
static void release_panic(struct vm_session *s)
{
	unsigned int at = s->opt->jobs > 1 ? s->nheld - 1 : 0;

	if (!s->nheld)
		return;
	if (s->watch.n < VM_WATCH_REPORTS)
		s->watch.report[s->watch.n++] = s->held[at];
	s->nheld -= at + 1;
	memmove(s->held, s->held + at + 1, s->nheld * sizeof(s->held[0]));
}

void vm_crash_look(struct vm_session *s, bool died)
{
	vm_watch_look(&s->watch);
	hold_panics(s);
	if (died)
		release_panic(s);
}

static int put(const struct vm_session *s, const struct vm_title *title, const char *name,
	       const void *bytes, size_t len, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];

	vm_path(path, "%s/pending/%s/%s", s->opt->out, title->slug, name);
	return vm_file_write(path, bytes, len, err, errlen);
}

static int put_console(struct vm_session *s, const struct vm_title *title,
		       const struct vm_report *r, char *err, size_t errlen)
{
	size_t len;
	char *text = vm_watch_excerpt(&s->watch, r, &len);
	int ret;

	if (!text) {
		snprintf(err, errlen, "cannot read the guest's console");
		return -1;
	}
	ret = put(s, title, "console.txt", text, len, err, errlen);
	free(text);
	return ret;
}

static int put_batch(struct vm_session *s, const struct vm_title *title,
		     const struct vm_batch *batch, char *err, size_t errlen)
{
	uint8_t bytes[VM_BYTES_MAX];
	char name[32];
	int ret = 0;

	for (unsigned int i = 0; batch && i < batch->n && !ret; i++) {
		size_t n = vm_program_encode(&batch->prog[i], bytes, sizeof(bytes));

		snprintf(name, sizeof(name), "batch-%02u.bin", i);
		ret = put(s, title, name, bytes, n, err, errlen);
	}
	return ret;
}

int vm_crash_files(struct vm_session *s, const struct vm_pending *p, const struct vm_report *r,
		   char *err, size_t errlen)
{
	size_t len = strlen(p->reproduced);

	if (put_console(s, p->title, r, err, errlen) ||
	    put_batch(s, p->title, p->batch, err, errlen))
		return -1;
	return len ? put(s, p->title, "reproduced.txt", p->reproduced, len, err, errlen) : 0;
}

/* In a guest where nothing has happened yet: WARN_ON_ONCE() is silent the second time. */
static int alone(struct vm_session *s, const struct vm_pending *p, unsigned int *shown, char *err,
		 size_t errlen)
{
	const struct vm_verdict *v;

	*shown = 0;
	for (int i = 0; i < TRIES; i++) {
		int ret = vm_target_reboot(s->target, err, errlen);

		if (!ret)
			ret = p->stall ? vm_session_shows_late(s, &p->prog, p->title, err, errlen)
				       : vm_session_shows(s, &p->prog, p->title, &v, err, errlen);
		if (ret < 0)
			return -1;
		*shown += (unsigned int)ret;
	}
	return 0;
}

/*
 * All of the batch, in its order, in one guest: the number of the program that shows it, with its
 * verdict on s->trace, or 0.
 */
static int together(struct vm_session *s, const struct vm_pending *p, unsigned int *at,
		    const struct vm_verdict **v, char *err, size_t errlen)
{
	*at = 0;
	if (vm_target_reboot(s->target, err, errlen))
		return -1;
	for (unsigned int i = 0; i < p->batch->n; i++) {
		int ret = vm_session_shows(s, &p->batch->prog[i], p->title, v, err, errlen);

		if (ret < 0)
			return -1;
		if (ret) {
			*at = i + 1;
			return 0;
		}
	}
	return 0;
}

static void tell(struct vm_pending *p, unsigned int shown, unsigned int batches)
{
	const size_t room = sizeof(p->reproduced);
	int n = snprintf(p->reproduced, room, "the program alone, in a fresh guest: %u of %d\n",
			 shown, TRIES);

	if (!shown && p->batch)
		snprintf(p->reproduced + n, room - (size_t)n,
			 "with the programs before it (%u in all), in a fresh guest: %u of %d\n",
			 p->batch->n, batches, TRIES);
}

/*
 * Which of the batch is it, and does that one need the others? A guest that is sent programs ahead
 * may be with the next one when the report is seen. Returns as vm_crash_repeat().
 */
static int search(struct vm_session *s, struct vm_pending *p, unsigned int *shown, char *err,
		  size_t errlen)
{
	const struct vm_verdict *v;
	unsigned int at, again;

	if (together(s, p, &at, &v, err, errlen))
		return -1;
	if (!at) {
		tell(p, 0, 0);
		return !p->stall;
	}
	p->prog = p->batch->prog[at - 1];
	p->batch->n = at;
	if (alone(s, p, shown, err, errlen))
		return -1;
	if (*shown)
		return 1;
	if (together(s, p, &again, &v, err, errlen))
		return -1;
	tell(p, 0, 1 + (again != 0));
	if (again &&
	    (vm_finding_write(&s->context, p->title, &p->prog, NULL, &s->trace, v, err, errlen) ||
	     vm_crash_files(s, p, vm_watch_report_of(&s->watch, v), err, errlen)))
		return -1;
	return 1;
}

int vm_crash_repeat(struct vm_session *s, struct vm_pending *p, bool *by_itself, char *err,
		    size_t errlen)
{
	unsigned int shown;
	int ret = 1;

	if (alone(s, p, &shown, err, errlen))
		return -1;
	if (!shown && p->batch)
		ret = search(s, p, &shown, err, errlen);
	else if (!shown)
		ret = !p->stall;
	if (ret < 0)
		return -1;
	*by_itself = shown > 0;
	if (shown || !p->reproduced[0])
		tell(p, shown, 0);
	if (put(s, p->title, "reproduced.txt", p->reproduced, strlen(p->reproduced), err, errlen))
		return -1;
	return ret;
}
