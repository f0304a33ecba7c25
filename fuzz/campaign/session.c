/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/prepare.h"
#include "fuzz/campaign/session.h"

struct pending {
	struct vm_title *title;
	struct vm_program prog;
};

struct vm_session {
	const struct vm_options *opt;
	bool keep_corpus;
	struct vm_target *target;
	const struct vm_profile *profile;
	enum vm_contract contract;
	struct vm_judge_scratch *scratch;
	struct vm_stats *stats;
	struct vm_in_flight *in_flight;
	const struct vm_program *flying[VM_TARGET_MAX_INFLIGHT];
	struct pending pending[VM_MAX_PENDING];
	uint32_t npending;
	struct vm_judgement judgement;
	struct vm_trace trace;
};

struct vm_session *vm_session_open(const struct vm_options *opt, bool keep_corpus, char *err,
				   size_t errlen)
{
	struct vm_target_options topt = {
		.executor = opt->executor,
		.inject = opt->inject,
		.timeout_ms = opt->timeout_ms,
		.privileged = opt->privileged,
	};
	struct vm_session *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, errlen, "no memory for a session");
		return NULL;
	}
	s->opt = opt;
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
	if (!s->target) {
		vm_session_close(s);
		return NULL;
	}
	s->profile = vm_options_profile(opt, vm_target_info(s->target));
	s->contract = vm_profile_contract(s->profile, opt->contract);
	return s;
}

void vm_session_close(struct vm_session *s)
{
	if (!s)
		return;
	if (s->target)
		vm_target_close(s->target);
	vm_in_flight_close(s->in_flight, s->opt->out);
	vm_stats_close(s->stats);
	vm_judge_scratch_free(s->scratch);
	vm_trace_free(&s->trace);
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

int vm_session_submit(struct vm_session *s, const struct vm_program *prog, uint32_t id, char *err,
		      size_t errlen)
{
	vm_in_flight_put(s->in_flight, id, prog, s->opt->sync);
	s->flying[id % VM_TARGET_MAX_INFLIGHT] = prog;
	return vm_target_submit(s->target, prog, id, 0, err, errlen);
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
	}
	atomic_fetch_add_explicit(&st->programs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->calls, calls, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->withheld, withheld, memory_order_relaxed);
	if (trace->exit == VM_EXIT_STUCK)
		atomic_fetch_add(&st->stuck, 1);
	else if (trace->exit == VM_EXIT_TIMEOUT)
		atomic_fetch_add(&st->timeouts, 1);
	else if (trace->exit != VM_EXIT_DONE)
		atomic_fetch_add(&st->died, 1);
}

#define MAX_TRIES 3

/* Store the verdict's finding as pending if nobody has; 0 or -1 with err. */
static int store(struct vm_session *s, const struct vm_program *prog, const struct vm_verdict *v,
		 char *err, size_t errlen)
{
	struct vm_finding_context ctx = {
		.out = s->opt->out,
		.profile = s->profile,
		.contract = s->contract,
		.seed = s->opt->seed,
		.inject = s->opt->inject,
	};
	uint32_t flaky = VM_TITLE_FLAKY;
	struct vm_title *t;
	bool fresh;

	t = vm_stats_title(s->stats, v->title, v->severity, &fresh);
	if (!t)
		return 0;
	atomic_fetch_add(&t->count, 1);
	/* What a replay did not show may be shown by the next program that has it. */
	if (!fresh && atomic_load(&t->tries) < MAX_TRIES)
		fresh = atomic_compare_exchange_strong(&t->state, &flaky, VM_TITLE_PENDING);
	if (!fresh)
		return 0;
	if (s->npending == VM_MAX_PENDING) {
		atomic_store(&t->state, VM_TITLE_FLAKY);
		return 0;
	}
	s->pending[s->npending].title = t;
	s->pending[s->npending].prog = *prog;
	s->npending++;
	return vm_finding_write(&ctx, t, prog, &s->trace, v, err, errlen);
}

static bool title_before(const struct vm_judgement *j, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(j->verdict[i].title, j->verdict[n].title))
			return true;
	}
	return false;
}

static void judge(struct vm_session *s)
{
	struct vm_judge_options jopt = { .profile = s->profile, .contract = s->contract };

	vm_judge(&s->trace, &jopt, s->scratch, &s->judgement);
}

/* Judge s->trace, a run of `prog`, and store what it shows. */
static int digest(struct vm_session *s, const struct vm_program *prog, struct vm_result *result,
		  char *err, size_t errlen)
{
	const struct vm_judgement *j = &s->judgement;

	judge(s);
	count_run(s, &s->trace, j);
	result->nfeatures = j->nfeatures;
	memcpy(result->feature, j->feature, j->nfeatures * sizeof(j->feature[0]));
	for (uint32_t i = 0; i < j->nverdicts; i++) {
		const struct vm_verdict *v = &j->verdict[i];

		if (v->severity == VM_NOTE)
			atomic_fetch_add_explicit(&s->stats->notes, 1, memory_order_relaxed);
		if (v->severity < VM_DEVIATION || title_before(j, i))
			continue;
		if (store(s, prog, v, err, errlen))
			return -1;
	}
	return 0;
}

int vm_session_wait(struct vm_session *s, struct vm_result *result, char *err, size_t errlen)
{
	int ret = vm_target_wait(s->target, &result->id, &s->trace, err, errlen);

	if (ret < 0)
		return -1;
	vm_in_flight_drop(s->in_flight, result->id);
	result->executor_died = ret == 0;
	result->new_violation = false;
	if (ret == 0)
		atomic_fetch_add(&s->stats->executor_restarts, 1);
	return digest(s, s->flying[result->id % VM_TARGET_MAX_INFLIGHT], result, err, errlen);
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

/* Does a fresh run of the program show the title again? 1, 0, or -1 with err. */
static int shows_again(struct vm_session *s, const struct pending *p, char *err, size_t errlen)
{
	int ret;

	vm_in_flight_put(s->in_flight, 0, &p->prog, s->opt->sync);
	ret = vm_target_run(s->target, &p->prog, 0, &s->trace, err, errlen);
	if (ret < 0)
		return -1;
	vm_in_flight_drop(s->in_flight, 0);
	atomic_fetch_add(&s->stats->replays, 1);
	if (ret == 0)
		atomic_fetch_add(&s->stats->executor_restarts, 1);
	judge(s);
	for (uint32_t i = 0; i < s->judgement.nverdicts; i++) {
		if (!strcmp(s->judgement.verdict[i].title, p->title->title))
			return 1;
	}
	return 0;
}

int vm_session_confirm(struct vm_session *s, bool *new_violation, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < s->npending; i++) {
		struct vm_title *t = s->pending[i].title;
		int again = shows_again(s, &s->pending[i], err, errlen);

		if (again < 0 || vm_finding_settle(s->opt->out, t, again, err, errlen))
			return -1;
		if (!again)
			atomic_fetch_add(&t->tries, 1);
		atomic_store(&t->state, again ? VM_TITLE_CONFIRMED : VM_TITLE_FLAKY);
		if (again && t->severity == VM_VIOLATION)
			*new_violation = true;
	}
	s->npending = 0;
	return 0;
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
