/* SPDX-License-Identifier: MIT */
/* The inside of a session, for session.c and confirm.c. */
#ifndef VM_SESSION_STATE_H
#define VM_SESSION_STATE_H

#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/pcs.h"
#include "fuzz/campaign/session.h"

#define VM_MAX_TRIES 3 /* replays that a title is given before it stays flaky */

/* A finding that waits for its replay. */
struct vm_pending {
	struct vm_title *title;
	struct vm_program prog;
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
};

/*
 * Judge s->trace into s->judgement. `died`: the executor ended while it ran the program, of which
 * the oracle has nothing to see; this adds the verdict.
 */
void vm_session_judge(struct vm_session *s, bool died);

#endif
