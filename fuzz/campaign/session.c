/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/crash.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/guests.h"
#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/prepare.h"
#include "fuzz/campaign/session_state.h"

/* What the kernel goes through counts, and what an earlier run in this folder reached is known. */
static int open_cover(struct vm_session *s, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];

	s->run_flags = VM_RUN_COVER;
	vm_path(path, "%s/pcs", s->opt->out);
	if (!access(path, F_OK) && vm_pcs_load(&s->pcs, path, err, errlen))
		return -1;
	if (vm_places_load(s->opt->out, &s->places, err, errlen))
		return -1;
	vm_target_limit(s->target, &s->places);
	return 0;
}

struct vm_session *vm_session_open(const struct vm_options *opt, bool keep_corpus, char *err,
				   size_t errlen)
{
	struct vm_target_options topt = vm_options_of_target(opt);
	struct vm_session *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, errlen, "no memory for a session");
		return NULL;
	}
	s->opt = opt;
	s->watch.fd = -1;
	s->keep_corpus = keep_corpus;
	s->scratch = vm_judge_scratch_new();
	if (!s->scratch)
		snprintf(err, errlen, "no memory for the oracle");
	else
		s->stats = vm_stats_open(opt->out, false, err, errlen);
	if (s->stats)
		s->in_flight = vm_in_flight_open(opt->out, err, errlen);
	if (s->in_flight)
		s->target = vm_target_open(opt->target, &topt, err, errlen);
	if (!s->target || vm_watch_open(&s->watch, vm_target_console(s->target), err, errlen)) {
		vm_session_close(s);
		return NULL;
	}
	if (vm_target_info(s->target)->features & VM_HAS_KCOV && open_cover(s, err, errlen)) {
		vm_session_close(s);
		return NULL;
	}
	s->profile = vm_options_profile(opt, vm_target_info(s->target));
	s->contract = vm_profile_contract(s->profile, opt->contract);
	s->context = (struct vm_finding_context){
		.out = opt->out,
		.profile = s->profile,
		.contract = s->contract,
		.seed = opt->seed,
		.inject = opt->inject,
	};
	return s;
}

void vm_session_close(struct vm_session *s)
{
	if (!s)
		return;
	vm_watch_close(&s->watch);
	for (uint32_t i = 0; i < s->npending; i++)
		free(s->pending[i].batch);
	if (s->target)
		vm_target_close(s->target);
	vm_in_flight_close(s->in_flight, s->opt->out);
	vm_stats_close(s->stats);
	vm_judge_scratch_free(s->scratch);
	vm_trace_free(&s->trace);
	vm_places_free(&s->places);
	vm_pcs_free(&s->pcs);
	free(s);
}

const struct vm_target_info *vm_session_info(const struct vm_session *s)
{
	return vm_target_info(s->target);
}

const struct vm_profile *vm_session_profile(const struct vm_session *s)
{
	return s->profile;
}

struct vm_stats *vm_session_stats(struct vm_session *s)
{
	return s->stats;
}

static int submit(struct vm_session *s, const struct vm_program *prog, uint32_t id, bool ask,
		  char *err, size_t errlen)
{
	vm_in_flight_put(s->in_flight, id, prog, s->opt->sync);
	vm_crash_remember(s, prog);
	s->flying[id % VM_TARGET_MAX_INFLIGHT] = prog;
	s->asked[id % VM_TARGET_MAX_INFLIGHT] = ask;
	return vm_target_submit(s->target, prog, id, ask ? VM_RUN_COMPARE : s->run_flags, err,
				errlen);
}

int vm_session_submit(struct vm_session *s, const struct vm_program *prog, uint32_t id, char *err,
		      size_t errlen)
{
	return submit(s, prog, id, false, err, errlen);
}

int vm_session_ask(struct vm_session *s, const struct vm_program *prog, uint32_t id, char *err,
		   size_t errlen)
{
	return submit(s, prog, id, true, err, errlen);
}

bool vm_session_asks(const struct vm_session *s)
{
	return s->run_flags & VM_RUN_COVER;
}

/* As vm_cell.error says; other ends than these have a cell of success. */
static int error_of(const struct vm_event *e)
{
	if (e->status == VM_STATUS_FAULTED)
		return -e->signo;
	return vm_event_errno(e);
}

static void count_run(struct vm_session *s, const struct vm_trace *trace,
		      const struct vm_judgement *j)
{
	struct vm_stats *st = s->stats;
	uint64_t calls = 0, withheld = 0;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind != VM_EVENT_CALL)
			continue;
		if (e->status == VM_STATUS_WITHHELD) {
			withheld++;
			continue;
		}
		calls++;
		if (e->sc.op < VM_OP_COUNT && j->call[i].strictness <= VM_SILENT)
			atomic_fetch_add_explicit(&st->strictness[e->sc.op][j->call[i].strictness],
						  1, memory_order_relaxed);
		if (e->sc.op < VM_OP_COUNT)
			vm_stats_call(st, e->sc.op, error_of(e), j->call[i].cause);
	}
	atomic_fetch_add_explicit(&st->programs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->calls, calls, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->withheld, withheld, memory_order_relaxed);
	if (trace->exit == VM_EXIT_STUCK)
		atomic_fetch_add(&st->stuck, 1);
	else if (trace->exit == VM_EXIT_TIMEOUT)
		atomic_fetch_add(&st->timeouts, 1);
	else if (trace->exit == VM_EXIT_SKIPPED)
		atomic_fetch_add(&st->skipped, 1);
	else if (trace->exit != VM_EXIT_DONE)
		atomic_fetch_add(&st->died, 1);
}

/* Did it take too long? A guest on a busy machine starves. */
static bool is_late(const struct vm_trace *t)
{
	return t->exit == VM_EXIT_TIMEOUT || t->exit == VM_EXIT_STUCK;
}

/* A place among the pending ones; NULL if all are taken. */
static struct vm_pending *pend(struct vm_session *s, struct vm_title *t,
			       const struct vm_program *prog, const struct vm_report *r)
{
	struct vm_pending *p;

	if (s->npending == VM_MAX_PENDING)
		return NULL;
	p = &s->pending[s->npending++];
	p->title = t;
	p->prog = *prog;
	p->report = r != NULL;
	p->stall = s->watch.fd >= 0 && (r ? r->severity == VM_REPORT_STALLED : is_late(&s->trace));
	p->batch = r ? vm_crash_batch(s) : NULL;
	return p;
}

int vm_session_store(struct vm_session *s, const struct vm_program *prog,
		     const struct vm_verdict *v, char *err, size_t errlen)
{
	const struct vm_report *r = vm_watch_report_of(&s->watch, v);
	struct vm_pending *p;
	uint32_t flaky = VM_TITLE_FLAKY;
	struct vm_title *t;
	bool fresh;

	t = vm_stats_title(s->stats, v->title, v->severity, &fresh);
	if (!t)
		return 0;
	atomic_fetch_add(&t->count, 1);
	/* A title that an earlier run in this folder took for less, under another contract. */
	if (v->severity > t->severity)
		t->severity = v->severity;
	/* What a replay did not show may be shown by the next program that has it. */
	if (!fresh && atomic_load(&t->tries) < VM_MAX_TRIES)
		fresh = atomic_compare_exchange_strong(&t->state, &flaky, VM_TITLE_PENDING);
	if (!fresh)
		return 0;
	p = pend(s, t, prog, r);
	if (!p) {
		atomic_store(&t->state, VM_TITLE_FLAKY);
		return 0;
	}
	if (vm_finding_write(&s->context, t, prog, NULL, &s->trace, v, err, errlen))
		return -1;
	return r ? vm_crash_files(s, p, r, err, errlen) : 0;
}

static bool title_before(const struct vm_judgement *j, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(j->verdict[i].title, j->verdict[n].title))
			return true;
	}
	return false;
}

/* What kcov told of the run, as edges or as operands. */
static int digest_cover(struct vm_session *s, uint32_t slot, struct vm_result *result, char *err,
			size_t errlen)
{
	uint32_t n = result->nfeatures;

	result->noperands = 0;
	if (s->asked[slot])
		result->noperands = vm_operands_find(&s->trace, result->operand);
	if (s->asked[slot] || !(s->run_flags & VM_RUN_COVER))
		return 0;
	result->nfeatures += vm_edge_ids(&s->trace, &s->judgement, &s->places, &s->edges,
					 result->feature + n, result->feature_call + n);
	return vm_pcs_note(&s->pcs, s->opt->out, &s->trace, err, errlen);
}

/* Judge s->trace, a run of the program in a slot, and store what it shows. */
static int digest(struct vm_session *s, uint32_t slot, struct vm_result *result, char *err,
		  size_t errlen)
{
	const struct vm_program *prog = s->flying[slot];
	const struct vm_judgement *j = &s->judgement;

	vm_session_judge(s, result->executor_died);
	count_run(s, &s->trace, j);
	result->nfeatures = j->nfeatures;
	memcpy(result->feature, j->feature, j->nfeatures * sizeof(j->feature[0]));
	memcpy(result->feature_call, j->feature_call, j->nfeatures);
	if (digest_cover(s, slot, result, err, errlen))
		return -1;
	for (uint32_t i = 0; i < j->nverdicts; i++) {
		const struct vm_verdict *v = &j->verdict[i];

		if (v->severity == VM_NOTE)
			atomic_fetch_add_explicit(&s->stats->notes, 1, memory_order_relaxed);
		if (v->severity < VM_DEVIATION || title_before(j, i))
			continue;
		if (vm_session_store(s, prog, v, err, errlen))
			return -1;
	}
	return 0;
}

int vm_session_wait(struct vm_session *s, struct vm_result *result, char *err, size_t errlen)
{
	int ret = vm_target_wait(s->target, &result->id, &s->trace, err, errlen);

	if (ret < 0)
		return -1;
	result->executor_died = ret == 0;
	result->new_violation = false;
	if (ret == 0) {
		atomic_fetch_add(&s->stats->executor_restarts, 1);
		fprintf(stderr, "vmafuzz: %s\n", err);
	}
	vm_crash_look(s, ret == 0);
	if (digest(s, result->id % VM_TARGET_MAX_INFLIGHT, result, err, errlen))
		return -1;
	/* Only now: what it has shown is on the disk. */
	vm_in_flight_drop(s->in_flight, result->id);
	return vm_crash_recover(s, ret == 0, VM_REPORT_BROKEN, err, errlen);
}

int vm_session_absorb(struct vm_session *s, const struct vm_program *prog,
		      const struct vm_result *result, char *err, size_t errlen)
{
	uint32_t fresh = vm_feedback_add(&s->stats->feedback, result->feature, result->nfeatures);

	if (!fresh)
		return 0;
	atomic_store_explicit(&s->stats->last_new_ms, vm_clock_ms(), memory_order_relaxed);
	if (s->keep_corpus) {
		bool made;

		if (vm_corpus_save(s->opt->out, prog, &made, err, errlen))
			return -1;
	}
	return (int)fresh;
}

bool vm_session_pending(const struct vm_session *s)
{
	return s->npending > 0;
}

int vm_session_run(struct vm_session *s, const struct vm_program *prog, struct vm_result *result,
		   char *err, size_t errlen)
{
	bool violation = false;

	if (vm_session_submit(s, prog, 0, err, errlen) || vm_session_wait(s, result, err, errlen) ||
	    vm_session_absorb(s, prog, result, err, errlen) < 0 ||
	    vm_session_confirm(s, &violation, err, errlen))
		return -1;
	result->new_violation = violation;
	return 0;
}
