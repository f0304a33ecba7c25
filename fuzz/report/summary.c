/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdatomic.h>

#include "fuzz/campaign/findings.h"
#include "fuzz/report/status.h"
#include "fuzz/report/summary.h"
#include "harness/program/call_table.h"

static void print_numbers(FILE *to, const struct vm_campaign *c, const struct vm_outcome *o)
{
	const struct vm_stats *s = c->stats;
	uint64_t ms = o->ms ? o->ms : 1, programs = atomic_load(&s->programs);
	uint64_t calls = atomic_load(&s->calls);
	char rate[24], call_rate[24];

	vm_short_number(programs * 1000 / ms, rate);
	vm_short_number(calls * 1000 / ms, call_rate);
	fprintf(to,
		"  %" PRIu64 " programs (%s/s), %" PRIu64 " calls (%s/s), %" PRIu64
		" withheld; corpus %" PRIu64 ", features %u\n",
		programs, rate, calls, call_rate, atomic_load(&s->withheld),
		atomic_load(&s->corpus), atomic_load(&s->feedback.count));
	fprintf(to,
		"  children: %" PRIu64 " died, %" PRIu64 " timed out, %" PRIu64
		" stuck; restarts: executor %" PRIu64 ", engine %" PRIu64 "\n",
		atomic_load(&s->died), atomic_load(&s->timeouts), atomic_load(&s->stuck),
		atomic_load(&s->executor_restarts), atomic_load(&s->engine_restarts));
	if (c->info.features & VM_HAS_KCOV)
		fprintf(to,
			"  kcov: %u of the features are edges of the kernel; points in %s/pcs\n",
			atomic_load(&s->feedback.edges), c->opt.out);
	if (atomic_load(&s->skipped))
		fprintf(to, "  %" PRIu64 " programs not run: their preamble cannot be had there\n",
			atomic_load(&s->skipped));
	if (o->afl_stability[0])
		fprintf(to, "  AFL++: stability %s, %" PRIu64 " crashes in %s/afl\n",
			o->afl_stability, o->afl_crashes, c->opt.out);
}

static void print_rules(FILE *to, const struct vm_stats *s)
{
	fprintf(to, "\n  %-10s %12s %12s %12s   how sure the rule was, calls\n", "rule", "exact",
		"one of some", "silent");
	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		const _Atomic uint64_t *n = s->strictness[op];
		uint64_t exact = atomic_load(&n[VM_EXACT]), set = atomic_load(&n[VM_SET_VALUED]);
		uint64_t silent = atomic_load(&n[VM_SILENT]);

		if (exact + set + silent)
			fprintf(to, "  %-10s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n",
				vm_call_desc((uint8_t)op)->name, exact, set, silent);
	}
}

/* The titles of one severity, confirmed or not; returns how many. */
static unsigned int print_titles(FILE *to, const struct vm_campaign *c, enum vm_severity severity,
				 bool confirmed)
{
	unsigned int n = 0;

	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &c->stats->title[i];
		uint32_t state = atomic_load(&t->state);

		if (state <= VM_TITLE_CLAIMED || t->severity != severity ||
		    (state == VM_TITLE_CONFIRMED) != confirmed)
			continue;
		fprintf(to, "  %s%s: %s\n",
			confirmed ? "" : "not seen again in a replay: ", vm_severity_name(severity),
			t->title);
		fprintf(to, "    %" PRIu64 " programs", atomic_load(&t->count));
		if (t->slug[0])
			fprintf(to, "; %s/%s/%s", c->opt.out, vm_title_folder(state), t->slug);
		fprintf(to, "\n");
		n++;
	}
	return n;
}

/* With the first finding as the example: violations come first. */
static void print_how_to_read(FILE *to, const struct vm_campaign *c)
{
	const struct vm_title *first = NULL;

	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &c->stats->title[i];

		if (atomic_load(&t->state) == VM_TITLE_CONFIRMED && t->slug[0] &&
		    (!first || t->severity > first->severity))
			first = t;
	}
	if (!first)
		return;
	fprintf(to, "\n  read it:   %s/findings/%s/explanation.txt\n", c->opt.out, first->slug);
	fprintf(to, "  replay it: vmafuzz replay %s/findings/%s/program.vma\n", c->opt.out,
		first->slug);
}

static void print_result(FILE *to, const struct vm_outcome *o, unsigned int violations,
			 unsigned int deviations)
{
	const char *what = o->status == 0   ? "conforms"
			   : o->status == 1 ? "found something that counts"
			   : o->status == 2 ? "the kernel crashed or hung"
					    : "incomplete";

	fprintf(to, "\n%s: %u violations, %u deviations (exit status %d)\n", what, violations,
		deviations, o->status);
}

void vm_summary_print(FILE *to, const struct vm_campaign *c, const struct vm_outcome *o)
{
	unsigned int violations, deviations;
	char kernel[256];

	vm_target_name(&c->info, kernel, sizeof(kernel));
	fprintf(to,
		"\n%s on %s (%s), profile %s, contract %s, %" PRIu64 ".%" PRIu64 " s, seed %" PRIu64
		"\n",
		o->engine, c->opt.target, kernel, c->profile->name, vm_contract_name(c->contract),
		o->ms / 1000, o->ms % 1000 / 100, c->opt.seed);
	print_numbers(to, c, o);
	print_rules(to, c->stats);
	fprintf(to, "\n");
	violations = print_titles(to, c, VM_VIOLATION, true);
	deviations = print_titles(to, c, VM_DEVIATION, true);
	print_titles(to, c, VM_VIOLATION, false);
	print_titles(to, c, VM_DEVIATION, false);
	if (violations + deviations)
		print_how_to_read(to, c);
	else
		fprintf(to, "  nothing found\n");
	if (atomic_load(&c->stats->titles_lost))
		fprintf(to, "  more than %d titles: some findings were not stored\n",
			VM_MAX_TITLES);
	print_result(to, o, violations, deviations);
}
