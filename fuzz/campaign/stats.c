/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/stats.h"
#include "fuzz/triage/watch.h"

uint64_t vm_clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct vm_stats *vm_stats_open(const char *out, bool fresh, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];
	struct vm_stats *s;

	vm_path(path, "%s/stats.bin", out);
	/* A new file, so that an engine left over from an earlier run writes into its own. */
	if (fresh)
		unlink(path);
	s = vm_file_map(path, sizeof(*s), err, errlen);
	if (!s)
		return NULL;
	if (fresh) {
		s->magic = VM_STATS_MAGIC;
		s->layout = VM_STATS_LAYOUT;
		s->start_ms = vm_clock_ms();
		s->last_new_ms = s->start_ms;
	} else if (s->magic != VM_STATS_MAGIC || s->layout != VM_STATS_LAYOUT) {
		snprintf(err, errlen, "%s is not of this version; start again with `vmafuzz fuzz`",
			 path);
		vm_stats_close(s);
		return NULL;
	}
	return s;
}

void vm_stats_close(struct vm_stats *s)
{
	if (s)
		munmap(s, sizeof(*s));
}

/* Fill in a slot that this process has claimed. */
static void fill(struct vm_title *t, const char *title, enum vm_severity severity)
{
	t->severity = (uint8_t)severity;
	snprintf(t->title, sizeof(t->title), "%s", title);
	vm_title_slug(title, t->slug);
	atomic_store(&t->state, VM_TITLE_PENDING);
}

/* Wait, not for ever, until another process has filled in its slot. */
static void wait_filled(struct vm_title *t)
{
	for (int i = 0; i < 1000 && atomic_load(&t->state) == VM_TITLE_CLAIMED; i++)
		sched_yield();
}

struct vm_title *vm_stats_title(struct vm_stats *s, const char *title, enum vm_severity severity,
				bool *fresh)
{
	*fresh = false;
	for (int i = 0; i < VM_MAX_TITLES; i++) {
		struct vm_title *t = &s->title[i];
		uint32_t free_slot = VM_TITLE_FREE;

		if (atomic_compare_exchange_strong(&t->state, &free_slot, VM_TITLE_CLAIMED)) {
			fill(t, title, severity);
			*fresh = true;
			return t;
		}
		wait_filled(t);
		if (!strncmp(t->title, title, sizeof(t->title) - 1))
			return t;
	}
	atomic_fetch_add(&s->titles_lost, 1);
	return NULL;
}

static uint32_t cell_hash(uint8_t op, int error, const char *cause)
{
	uint32_t hash = (op * 251u + (uint32_t)error) * 2654435761u;
	size_t len = strnlen(cause, VM_CELL_CAUSE - 1);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)cause[i]) * 16777619u;
	return hash ^ hash >> 16;
}

void vm_stats_call(struct vm_stats *s, uint8_t op, int error, const char *cause)
{
	uint32_t slot;

	cause = cause ? cause : "";
	slot = cell_hash(op, error, cause);
	for (unsigned int i = 0; i < VM_MAX_CELLS; i++) {
		struct vm_cell *c = &s->cell[(slot + i) % VM_MAX_CELLS];
		uint32_t state = atomic_load_explicit(&c->state, memory_order_acquire);

		if (!state && atomic_compare_exchange_strong(&c->state, &state, 1)) {
			c->op = op;
			c->error = (int16_t)error;
			snprintf(c->cause, sizeof(c->cause), "%s", cause);
			atomic_store_explicit(&c->state, 2, memory_order_release);
			state = 2;
		}
		/* being filled in by another right now: then what it counts may get two slots */
		if (state == 2 && c->op == op && c->error == error &&
		    !strncmp(c->cause, cause, sizeof(c->cause) - 1)) {
			atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed);
			return;
		}
	}
}

unsigned int vm_stats_titles(const struct vm_stats *s, enum vm_severity severity)
{
	unsigned int n = 0;

	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &s->title[i];

		n += atomic_load(&t->state) == VM_TITLE_CONFIRMED && t->severity == severity;
	}
	return n;
}

unsigned int vm_stats_reports(const struct vm_stats *s)
{
	unsigned int n = 0;

	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &s->title[i];
		uint32_t state = atomic_load(&t->state);

		n += (state == VM_TITLE_CONFIRMED || state == VM_TITLE_PENDING) &&
		     !strncmp(t->title, VM_REPORT_PREFIX, strlen(VM_REPORT_PREFIX));
	}
	return n;
}

const char *vm_title_folder(enum vm_title_state state)
{
	switch (state) {
	case VM_TITLE_CONFIRMED:
		return "findings";
	case VM_TITLE_FLAKY:
		return "flaky";
	default:
		return "pending";
	}
}

void vm_title_slug(const char *title, char slug[VM_SLUG_MAX])
{
	const size_t room = VM_SLUG_MAX - 10; /* for a hash and the NUL */
	uint32_t hash = 2166136261u;
	size_t n = 0;

	for (const char *p = title; *p; p++) {
		hash = (hash ^ (uint8_t)*p) * 16777619u;
		if (n >= room)
			continue;
		if (isalnum((unsigned char)*p))
			slug[n++] = (char)tolower((unsigned char)*p);
		else if (n && slug[n - 1] != '-')
			slug[n++] = '-';
	}
	while (n && slug[n - 1] == '-')
		n--;
	/* Titles that differ in punctuation or in their tail must not share a folder. */
	snprintf(slug + n, VM_SLUG_MAX - n, "%s%04x", n ? "-" : "", (hash ^ (hash >> 16)) & 0xffff);
}
