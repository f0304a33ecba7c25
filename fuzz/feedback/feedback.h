/* SPDX-License-Identifier: MIT */
/*
 * The one feedback map: a byte for each feature id, set once the feature was seen. It may lie in
 * memory that several engine processes share. Engines with maps of their own (AFL++, libFuzzer) get
 * the features of one run by vm_feedback_write().
 */
#ifndef VM_FEEDBACK_H
#define VM_FEEDBACK_H

#include "oracle/oracle.h"

struct vm_feedback {
	_Atomic uint8_t seen[VM_FEATURE_MAP];
	_Atomic uint32_t count; /* of bytes that are set */
};

/* Add the features of one run; returns how many of them were not seen before. */
uint32_t vm_feedback_add(struct vm_feedback *map, const uint16_t *feature, uint32_t n);

/*
 * Write the features of one run as counters of an engine: each feature's byte of `map`
 * (VM_FEATURE_MAP bytes) becomes 1, however often the run had it, so that the same program always
 * gives the same map. Nothing is cleared.
 */
void vm_feedback_write(uint8_t *map, const uint16_t *feature, uint32_t n);

#endif
