/* SPDX-License-Identifier: MIT */
/* The inside of a session, for session.c and confirm.c. */
#ifndef VM_SESSION_STATE_H
#define VM_SESSION_STATE_H

#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/pcs.h"
#include "fuzz/campaign/session.h"
#include "fuzz/triage/watch.h"

#define VM_BATCH     32 /* programs that are kept with a report of the kernel's */
#define VM_HELD	     4
#define VM_MAX_TRIES 3 /* replays that a title is given before it stays flaky */

/* A finding that waits for its replay. */
struct vm_pending {
	struct vm_title *title;
	struct vm_program prog;
	bool report;		/* of the kernel's, on its console */
	bool stall;		/* in a guest: counts only if it repeats alone, given more time */
	struct vm_batch *batch; /* of a report: the programs before it, or NULL */
	char reproduced[256];	/* of a report: how often it did; "" before that was tried */
};

struct vm_session {
	const struct vm_options *opt;
	bool keep_corpus;
	struct vm_target *target;
	const struct vm_profile *profile;
	enum vm_contract contract;
	struct vm_finding_context context;
	struct vm_judge_scratch *scratch;
	struct vm_stats *stats;
	struct vm_in_flight *in_flight;
	const struct vm_program *flying[VM_TARGET_MAX_INFLIGHT];
	bool asked[VM_TARGET_MAX_INFLIGHT]; /* sent by vm_session_ask() */
	struct vm_pending pending[VM_MAX_PENDING];
	uint32_t npending;
	uint32_t run_flags; /* VM_RUN_COVER where there is kcov */
	struct vm_places places;
	struct vm_pcs pcs;
	struct vm_edge_seen edges;
	struct vm_judgement judgement;
	struct vm_trace trace;
	struct vm_watch watch; /* of the guest's console */
	struct {
		struct vm_program prog[VM_BATCH];
	} recent; /* what was sent last, where there is a console */
	uint64_t nsent;
	struct vm_report held[VM_HELD]; /* panics that wait for the notice of a death */
	unsigned int nheld;
};

struct vm_batch;

/*
 * Judge s->trace into s->judgement. `died`: the executor ended while it ran the program, of which
 * the oracle has nothing to see; this adds the verdict.
 */
void vm_session_judge(struct vm_session *s, bool died);

/* Store a verdict's finding as pending if nobody has; 0, or -1 with err. */
int vm_session_store(struct vm_session *s, const struct vm_program *prog,
		     const struct vm_verdict *v, char *err, size_t errlen);

/*
 * Run a program in a fresh child: 1 and the verdict (in s->judgement, on s->trace) if it shows the
 * title, 0 if not, -1 with err. A guest with a report on its console is started again.
 */
int vm_session_shows(struct vm_session *s, const struct vm_program *prog,
		     const struct vm_title *title, const struct vm_verdict **v, char *err,
		     size_t errlen);

/* The same with ten times the time limit, for what may only have been too slow; 1, 0 or -1. */
int vm_session_shows_late(struct vm_session *s, const struct vm_program *prog,
			  const struct vm_title *title, char *err, size_t errlen);

#endif
