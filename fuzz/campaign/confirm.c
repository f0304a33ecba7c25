/* SPDX-License-Identifier: MIT */
/* Replays of what was found: does a fresh child show it again, and with how few calls? */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/crash.h"
#include "fuzz/mutate/mutate.h"

#define REDUCE_RUNS 150
#define REDUCE_MS   5000  /* programs that hang are slow to replay */
#define GUEST_MS    60000 /* the same where each success costs a boot */
#define MORE_TIME   10	  /* times the time limit */

static const struct vm_verdict executor_died = {
	.severity = VM_VIOLATION,
	.title = "executor: ended while it ran a program",
	.rule = "executor",
	.invariant = "survival",
	.basis = "what a child may do never reaches the executor (harness/executor)",
	.expected = "a trace of the program",
	.observed = "the executor ended, or answered what cannot be read",
};

void vm_session_judge(struct vm_session *s, bool died)
{
	struct vm_judge_options opt = { .profile = s->profile, .contract = s->contract };
	struct vm_judgement *j = &s->judgement;

	vm_judge(&s->trace, &opt, s->scratch, j);
	vm_watch_judge(&s->watch, j);
	if (s->watch.n)
		return;
	if (died && s->trace.exit == VM_EXIT_STATUS && j->nverdicts < VM_MAX_VERDICTS)
		j->verdict[j->nverdicts++] = executor_died;
}

/* A report that came up while something else was looked for is not lost. */
static int store_reports(struct vm_session *s, const struct vm_program *prog,
			 const struct vm_title *title, char *err, size_t errlen)
{
	for (uint32_t i = 0; s->watch.n && i < s->judgement.nverdicts; i++) {
		const struct vm_verdict *v = &s->judgement.verdict[i];

		if (!vm_watch_report_of(&s->watch, v) || !strcmp(v->title, title->title))
			continue;
		if (vm_session_store(s, prog, v, err, errlen))
			return -1;
	}
	return 0;
}

int vm_session_shows(struct vm_session *s, const struct vm_program *prog,
		     const struct vm_title *title, const struct vm_verdict **v, char *err,
		     size_t errlen)
{
	int ret;

	vm_in_flight_put(s->in_flight, 0, prog, s->opt->sync);
	ret = vm_target_run(s->target, prog, 0, &s->trace, err, errlen);
	if (ret < 0)
		return -1;
	vm_in_flight_drop(s->in_flight, 0);
	atomic_fetch_add(&s->stats->replays, 1);
	if (ret == 0)
		atomic_fetch_add(&s->stats->executor_restarts, 1);
	vm_crash_look(s, ret == 0);
	vm_session_judge(s, ret == 0);
	if (store_reports(s, prog, title, err, errlen) ||
	    vm_crash_recover(s, ret == 0, VM_REPORT_STALLED, err, errlen))
		return -1;
	for (uint32_t i = 0; i < s->judgement.nverdicts; i++) {
		*v = &s->judgement.verdict[i];
		if (strcmp((*v)->title, title->title))
			continue;
		if (s->trace.exit == VM_EXIT_STUCK)
			atomic_fetch_add(&s->stats->hung, 1);
		return 1;
	}
	return 0;
}

/* *prog becomes `less` if that shows the title too. 0, or -1 with err. */
static int take_if_it_shows(struct vm_session *s, struct vm_program *prog,
			    const struct vm_program *less, const struct vm_title *title, char *err,
			    size_t errlen)
{
	const struct vm_verdict *v;
	int ret = vm_session_shows(s, less, title, &v, err, errlen);

	if (ret > 0)
		*prog = *less;
	return ret < 0 ? -1 : 0;
}

/* Words of the preamble that are not needed. */
static int reduce_preamble(struct vm_session *s, struct vm_program *prog,
			   const struct vm_title *title, char *err, size_t errlen)
{
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		struct vm_program less = *prog;

		if (!vm_preamble_has(&prog->preamble, word))
			continue;
		vm_preamble_clear(&less.preamble, word);
		if (take_if_it_shows(s, prog, &less, title, err, errlen))
			return -1;
	}
	return 0;
}

/*
 * Take calls out of *prog, from the last to the first, as long as the title shows. Only what showed
 * it is kept. 0, or -1 with err.
 */
static int reduce(struct vm_session *s, struct vm_program *prog, const struct vm_title *title,
		  uint64_t limit_ms, char *err, size_t errlen)
{
	uint64_t begin = vm_clock_ms();
	unsigned int runs = 0, at = prog->ncalls;

	if (reduce_preamble(s, prog, title, err, errlen))
		return -1;

	while (at-- > 0 && prog->ncalls > 1) {
		struct vm_program less = *prog;

		if (++runs > REDUCE_RUNS || vm_clock_ms() - begin > limit_ms)
			break;
		vm_program_drop(&less, at);
		if (take_if_it_shows(s, prog, &less, title, err, errlen))
			return -1;
	}
	return 0;
}

int vm_session_shows_late(struct vm_session *s, const struct vm_program *prog,
			  const struct vm_title *title, char *err, size_t errlen)
{
	const struct vm_verdict *v;
	uint32_t before = vm_target_set_timeout(s->target, 0);
	int ret;

	vm_target_set_timeout(s->target, before * MORE_TIME);
	ret = vm_session_shows(s, prog, title, &v, err, errlen);
	vm_target_set_timeout(s->target, before);
	return ret;
}

/* Does it show again? 1, 0 or -1. */
static int shows_again(struct vm_session *s, struct vm_pending *p, char *err, size_t errlen)
{
	const struct vm_verdict *v;

	return p->stall ? vm_session_shows_late(s, &p->prog, p->title, err, errlen)
			: vm_session_shows(s, &p->prog, p->title, &v, err, errlen);
}

/* Store the shorter program, with the trace of one more run; the longer one stays if that fails. */
static int store_reduced(struct vm_session *s, struct vm_pending *p, const struct vm_program *prog,
			 char *err, size_t errlen)
{
	const struct vm_verdict *v;
	int ret = vm_session_shows(s, prog, p->title, &v, err, errlen);

	if (ret <= 0)
		return ret;
	if (vm_finding_write(&s->context, p->title, prog, &p->prog, &s->trace, v, err, errlen))
		return -1;
	if (!p->report)
		return 0;
	/* The program alone is enough. */
	free(p->batch);
	p->batch = NULL;
	return vm_crash_files(s, p, vm_watch_report_of(&s->watch, v), err, errlen);
}

/* 1 confirmed, 0 not seen again, -1 with err. */
static int confirm(struct vm_session *s, struct vm_pending *p, char *err, size_t errlen)
{
	struct vm_program prog;
	bool alone = true;
	int ret = p->report ? vm_crash_repeat(s, p, &alone, err, errlen)
			    : shows_again(s, p, err, errlen);

	if (ret <= 0 || !alone)
		return ret;
	prog = p->prog;
	if (reduce(s, &prog, p->title, p->report ? GUEST_MS : REDUCE_MS, err, errlen))
		return -1;
	if ((p->report || prog.ncalls < p->prog.ncalls ||
	     prog.preamble.words != p->prog.preamble.words) &&
	    store_reduced(s, p, &prog, err, errlen) < 0)
		return -1;
	return 1;
}

int vm_session_confirm(struct vm_session *s, bool *new_violation, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < s->npending; i++) {
		struct vm_title *t = s->pending[i].title;
		int again = confirm(s, &s->pending[i], err, errlen);

		free(s->pending[i].batch);
		s->pending[i].batch = NULL;
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
