/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz/report/status.h"

#define LIVE_MS	 1000
#define PLAIN_MS 10000

void vm_short_number(uint64_t n, char buf[24])
{
	if (n < 10000)
		snprintf(buf, 24, "%" PRIu64, n);
	else if (n < 1000000)
		snprintf(buf, 24, "%" PRIu64 "k", n / 1000);
	else
		snprintf(buf, 24, "%.1fM", (double)n / 1e6);
}

static void duration(uint64_t seconds, char buf[32])
{
	uint64_t h = seconds / 3600, min = seconds / 60 % 60, s = seconds % 60;

	if (h)
		snprintf(buf, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, h, min, s);
	else
		snprintf(buf, 32, "%02" PRIu64 ":%02" PRIu64, min, s);
}

void vm_status_init(struct vm_status *st, FILE *to, const char *engine,
		    const struct vm_stats *stats)
{
	*st = (struct vm_status){
		.to = to,
		.engine = engine,
		.terminal = isatty(fileno(to)),
		.shown_ms = vm_clock_ms(),
	};
	for (int i = 0; i < VM_MAX_TITLES; i++)
		st->announced[i] = stats->title[i].state == VM_TITLE_CONFIRMED;
}

static void announce(struct vm_status *st, const char *out, const struct vm_stats *stats)
{
	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &stats->title[i];

		if (st->announced[i] || atomic_load(&t->state) != VM_TITLE_CONFIRMED)
			continue;
		st->announced[i] = true;
		vm_status_end(st);
		fprintf(st->to, "new %s: %s\n  %s/findings/%s\n", vm_severity_name(t->severity),
			t->title, out, t->slug);
	}
}

static void line(struct vm_status *st, const struct vm_stats *s, uint64_t now)
{
	uint64_t ms = now - st->shown_ms ?: 1;
	uint64_t programs = atomic_load(&s->programs), calls = atomic_load(&s->calls);
	char rate[24], call_rate[24], time[32], text[256];
	struct winsize w;

	vm_short_number((programs - st->programs) * 1000 / ms, rate);
	vm_short_number((calls - st->calls) * 1000 / ms, call_rate);
	duration((now - s->start_ms) / 1000, time);
	snprintf(text, sizeof(text),
		 "%s %s  %s programs/s  %s calls/s  corpus %" PRIu64
		 "  features %u  deviations %u  "
		 "violations %u  last new %" PRIu64 "s ago",
		 time, st->engine, rate, call_rate, atomic_load(&s->corpus),
		 atomic_load(&s->feedback.count), vm_stats_titles(s, VM_DEVIATION),
		 vm_stats_titles(s, VM_VIOLATION), (now - atomic_load(&s->last_new_ms)) / 1000);
	if (!st->terminal) {
		fprintf(st->to, "%s\n", text);
	} else {
		if (!ioctl(fileno(st->to), TIOCGWINSZ, &w) && w.ws_col > 1 &&
		    w.ws_col <= strlen(text))
			text[w.ws_col - 1] = '\0';
		fprintf(st->to, "\r\033[K%s", text);
	}
	fflush(st->to);
	st->shown_ms = now;
	st->programs = programs;
	st->calls = calls;
}

void vm_status_tick(struct vm_status *st, const char *out, const struct vm_stats *stats)
{
	uint64_t now = vm_clock_ms();

	announce(st, out, stats);
	if (now - st->shown_ms >= (st->terminal ? LIVE_MS : PLAIN_MS))
		line(st, stats, now);
}

void vm_status_end(struct vm_status *st)
{
	if (st->terminal)
		fprintf(st->to, "\r\033[K");
}
