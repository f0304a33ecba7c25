/* SPDX-License-Identifier: MIT */
/*
 * OUT/pcs: the instrumented points of the kernel that a campaign has reached, one a line, in hex,
 * in no order; engine processes append to it, so a point may be there more than once. `vmafuzz
 * cover` reads it. OUT/places: the ranges that edges are taken from, two hex numbers a line.
 */
#ifndef VM_PCS_H
#define VM_PCS_H

#include "fuzz/feedback/edges.h"

/* A set of addresses; starts zeroed. */
struct vm_pcs {
	uint64_t *slot; /* open addressing; 0: free */
	size_t cap, n;
};

/* 1 if it is new, 0 if not, -1 without memory. Address 0 is never new. */
int vm_pcs_add(struct vm_pcs *pcs, uint64_t pc);
bool vm_pcs_have(const struct vm_pcs *pcs, uint64_t pc);
void vm_pcs_free(struct vm_pcs *pcs);

/* Add what OUT/pcs (or another such file) has; 0, or -1 with one line in err. */
int vm_pcs_load(struct vm_pcs *pcs, const char *path, char *err, size_t errlen);

/* The points of a run that are new become lines of OUT/pcs. 0, or -1 with err. */
int vm_pcs_note(struct vm_pcs *pcs, const char *out, const struct vm_trace *trace, char *err,
		size_t errlen);

/* Write OUT/places, or remove it if there is no limit; read it again (none: no limit). */
int vm_places_save(const char *out, const struct vm_places *places, char *err, size_t errlen);
int vm_places_load(const char *out, struct vm_places *places, char *err, size_t errlen);
void vm_places_free(struct vm_places *places);

#endif
