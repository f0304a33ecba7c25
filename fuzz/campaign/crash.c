/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/crash.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/triage/watch.h"

#define ALONE_TRIES 2

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

	for (int i = 0; i < ALONE_TRIES; i++) {
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

/* All of the batch, in its order, in one guest: the number of the program that shows it, or 0. */
static int together(struct vm_session *s, const struct vm_pending *p, unsigned int *at, char *err,
		    size_t errlen)
{
	const struct vm_verdict *v;

	*at = 0;
	if (vm_target_reboot(s->target, err, errlen))
		return -1;
	for (unsigned int i = 0; i < p->batch->n; i++) {
		int ret = vm_session_shows(s, &p->batch->prog[i], p->title, &v, err, errlen);

		if (ret < 0)
			return -1;
		if (ret) {
			*at = i + 1;
			return 0;
		}
	}
	return 0;
}

int vm_crash_repeat(struct vm_session *s, struct vm_pending *p, bool *by_itself, char *err,
		    size_t errlen)
{
	const size_t room = sizeof(p->reproduced);
	unsigned int shown = 0, at = 0;
	int n;

	if (alone(s, p, &shown, err, errlen))
		return -1;
	n = snprintf(p->reproduced, room, "the program alone, in a fresh guest: %u of %d\n", shown,
		     ALONE_TRIES);
	if (!shown && p->batch) {
		if (together(s, p, &at, err, errlen))
			return -1;
		n += snprintf(
			p->reproduced + n, room - (size_t)n,
			at ? "the batch of %u programs, in a fresh guest: 1 of 1, at number %u\n"
			   : "the batch of %u programs, in a fresh guest: 0 of 1\n",
			p->batch->n, at);
	}
	*by_itself = shown > 0;
	if (put(s, p->title, "reproduced.txt", p->reproduced, (size_t)n, err, errlen))
		return -1;
	return shown || at || !p->stall;
}
