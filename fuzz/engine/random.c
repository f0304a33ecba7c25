/* SPDX-License-Identifier: MIT */
/*
 * The plain engine: picks from a corpus, mutates, keeps what has new features. Programs are sent
 * ahead; results are used in the order of their programs, however they come back, so that seed and
 * number alone decide what is run.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/schedule.h"
#include "fuzz/campaign/session.h"
#include "fuzz/campaign/wishes.h"
#include "fuzz/engine/engine.h"
#include "fuzz/mutate/mutate.h"

#define DEPTH	     8	   /* programs in flight */
#define IMPORT_EVERY 20000 /* programs between looks at what other jobs have found */

struct slot {
	struct vm_program prog;
	struct vm_result result;
	bool seed; /* kept, whatever it shows */
	bool ask;  /* a question: what does the kernel compare its arguments with? */
	bool arrived;
};

struct random {
	const struct vm_options *opt;
	struct vm_session *session;
	struct vm_mutator mutator;
	struct vm_schedule *schedule;
	struct vm_wishes *wishes;
	struct vm_corpus seeds;
	size_t next_seed;
	struct slot slot[DEPTH];
	uint64_t sent, arrived, used; /* used <= arrived <= sent */
	uint64_t limit;		      /* programs of this job; 0: no limit */
	char *err;
	size_t errlen;
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void make(struct random *r, struct slot *s)
{
	s->arrived = false;
	s->ask = false;
	s->seed = r->next_seed < r->seeds.n;
	if (s->seed) {
		vm_corpus_get(&r->seeds, r->next_seed++, &s->prog);
		return;
	}
	if (!vm_wishes_next(r->wishes, &r->mutator, &s->prog, &s->ask))
		vm_schedule_next(r->schedule, &r->mutator, &s->prog);
}

static int send_one(struct random *r)
{
	struct slot *s = &r->slot[r->sent % DEPTH];

	make(r, s);
	if (s->ask ? vm_session_ask(r->session, &s->prog, (uint32_t)r->sent, r->err, r->errlen)
		   : vm_session_submit(r->session, &s->prog, (uint32_t)r->sent, r->err, r->errlen))
		return -1;
	r->sent++;
	return 0;
}

static int receive_one(struct random *r)
{
	struct vm_result result;
	struct slot *s;

	if (vm_session_wait(r->session, &result, r->err, r->errlen))
		return -1;
	s = &r->slot[result.id % DEPTH];
	s->result = result;
	s->arrived = true;
	r->arrived++;
	return 0;
}

/* Use the oldest result; it has arrived. */
static int use_one(struct random *r)
{
	struct slot *s = &r->slot[r->used % DEPTH];
	int fresh = vm_session_absorb(r->session, &s->prog, &s->result, r->err, r->errlen);

	if (fresh < 0)
		return -1;
	r->used++;
	if (s->ask)
		vm_wishes_answer(r->wishes, &r->mutator.rng, &s->prog, s->result.operand,
				 s->result.noperands);
	else if (fresh && vm_session_asks(r->session))
		vm_wishes_note(r->wishes, &s->prog);
	if (!vm_schedule_ran(r->schedule, &s->prog, s->result.feature, s->result.feature_call,
			     s->result.nfeatures, fresh || s->seed))
		return 0;
	snprintf(r->err, r->errlen, "no memory for the corpus");
	return -1;
}

/* Replay what was found, with nothing else in flight. */
static int confirm(struct random *r)
{
	bool violation = false;

	if (!vm_session_pending(r->session))
		return 0;
	while (r->arrived < r->sent) {
		if (receive_one(r))
			return -1;
	}
	return vm_session_confirm(r->session, &violation, r->err, r->errlen);
}

static bool is_known(const struct random *r, const struct vm_program *prog)
{
	const struct vm_corpus *c = &r->schedule->corpus;
	uint8_t bytes[VM_BYTES_MAX];
	size_t len = vm_program_encode(prog, bytes, sizeof(bytes));

	for (size_t i = 0; i < c->n; i++)
		if (c->entry[i].len == len && !memcmp(c->entry[i].bytes, bytes, len))
			return true;
	return false;
}

/* What other jobs have written since is run here too, like seeds: so its features are known. */
static int import(struct random *r)
{
	struct vm_corpus found = { 0 };
	struct vm_program prog;
	char path[VM_PATH_MAX];
	int ret;

	if (r->opt->jobs < 2 || r->sent % IMPORT_EVERY)
		return 0;
	vm_path(path, "%s/corpus", r->opt->out);
	ret = vm_corpus_load(&found, path, r->err, r->errlen);
	for (size_t i = 0; i < found.n && !ret; i++) {
		vm_corpus_get(&found, i, &prog);
		if (!is_known(r, &prog))
			ret = vm_corpus_add(&r->seeds, &prog);
	}
	vm_corpus_free(&found);
	return ret;
}

static bool finished(const struct random *r)
{
	return stop || (r->limit && r->sent >= r->limit);
}

static int loop(struct random *r)
{
	while (!finished(r) || r->used < r->sent) {
		if (!finished(r) && r->sent - r->used < DEPTH) {
			if (send_one(r) || import(r))
				return -1;
			continue;
		}
		while (!r->slot[r->used % DEPTH].arrived) {
			if (receive_one(r))
				return -1;
		}
		if (use_one(r) || confirm(r))
			return -1;
	}
	return 0;
}

static int prepare(struct random *r)
{
	const struct vm_options *opt = r->opt;
	char path[VM_PATH_MAX];

	r->session = vm_session_open(opt, true, r->err, r->errlen);
	if (!r->session)
		return -1;
	r->schedule = vm_schedule_new();
	r->wishes = calloc(1, sizeof(*r->wishes));
	if (!r->schedule || !r->wishes ||
	    vm_mutator_init(&r->mutator, vm_session_info(r->session),
			    vm_session_profile(r->session), opt->seed + opt->job)) {
		snprintf(r->err, r->errlen, "no memory for the corpus");
		return -1;
	}
	vm_path(path, "%s/seeds", opt->out);
	if (vm_corpus_load(&r->seeds, path, r->err, r->errlen))
		return -1;
	if (opt->programs) {
		uint64_t share = opt->programs / opt->jobs;

		r->limit = share + (opt->job < opt->programs % opt->jobs);
		if (!r->limit)
			stop = 1;
	}
	return 0;
}

int vm_engine_random(const struct vm_options *opt)
{
	struct sigaction sa = { .sa_handler = on_signal };
	char err[512] = "";
	struct random *r = calloc(1, sizeof(*r));
	int ret = -1;

	if (!r) {
		vm_engine_complain(opt, "no memory for the engine");
		return VM_ENGINE_BROKEN;
	}
	sigaction(SIGTERM, &sa, NULL);
	r->opt = opt;
	r->err = err;
	r->errlen = sizeof(err);
	if (!prepare(r))
		ret = loop(r);
	if (ret)
		vm_engine_complain(opt, err);
	vm_session_close(r->session);
	vm_mutator_free(&r->mutator);
	vm_corpus_free(&r->seeds);
	vm_schedule_free(r->schedule);
	free(r->wishes);
	free(r);
	return ret ? VM_ENGINE_BROKEN : VM_ENGINE_DONE;
}
