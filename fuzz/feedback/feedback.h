/* SPDX-License-Identifier: MIT */
/*
 * The one feedback map: a byte for each feature id, set once it was seen. Ids below VM_FEATURE_MAP
 * are features of the oracle, those above are edges that kcov told of (edges.h): neither can hide
 * the other. It may lie in memory that several engine processes share. Engines with maps of their
 * own (AFL++, libFuzzer) get the ids of one run by vm_feedback_write().
 */
#ifndef VM_FEEDBACK_H
#define VM_FEEDBACK_H

#include "oracle/oracle.h"

#define VM_EDGE_MAP 65536
#define VM_MAP_SIZE (VM_FEATURE_MAP + VM_EDGE_MAP)

struct vm_feedback {
	_Atomic uint8_t seen[VM_MAP_SIZE];
	_Atomic uint32_t count; /* of bytes that are set */
	_Atomic uint32_t edges; /* of those, edges */
};

/* Add the ids of one run; returns how many of them were not seen before. */
uint32_t vm_feedback_add(struct vm_feedback *map, const uint32_t *feature, uint32_t n);

/*
 * Write the ids of one run as counters of an engine: each one's byte of `map` (VM_MAP_SIZE bytes)
 * becomes 1, however often the run had it, so that the same program always gives the same map.
 * Nothing is cleared.
 */
void vm_feedback_write(uint8_t *map, const uint32_t *feature, uint32_t n);

#endif
