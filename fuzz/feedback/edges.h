/* SPDX-License-Identifier: MIT */
/*
 * What kcov told of a run as ids of the feedback map: for each kind of call, each pair of
 * instrumented points that followed each other. Pure.
 */
#ifndef VM_EDGES_H
#define VM_EDGES_H

#include "fuzz/feedback/feedback.h"

#define VM_MAX_EDGE_IDS 8192 /* of one run */

/* Which ids the run at hand has had; starts zeroed, kept from run to run. */
struct vm_edge_seen {
	uint32_t run;
	uint32_t at[VM_EDGE_MAP];
};

/*
 * The id of an edge, from VM_FEATURE_MAP to below VM_MAP_SIZE. One that comes from outside of
 * `places` counts as the first of its call.
 */
uint32_t vm_edge_id(uint8_t op, const struct vm_edge *edge, const struct vm_places *places);

/*
 * The ids of a run, each once, with the index in the program of the first call that had it: at most
 * VM_MAX_EDGE_IDS. Points outside of `places` are left out, and calls with a violation: a bug is
 * not to pull a campaign towards itself. Returns their number.
 */
uint32_t vm_edge_ids(const struct vm_trace *trace, const struct vm_judgement *j,
		     const struct vm_places *places, struct vm_edge_seen *seen, uint32_t *id,
		     uint8_t *call);

#endif
