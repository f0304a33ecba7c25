/* SPDX-License-Identifier: MIT */
/*
 * What was done before to a range of addresses, for features: its last few changes, the latest in
 * the low digit. It stays with an address that is unmapped, and goes along with memory that moves.
 */
#ifndef VM_JUDGE_PAST_H
#define VM_JUDGE_PAST_H

#include "oracle/state/effect.h"

#define VM_PAST_BITS                                                                               \
	4 /* of one change; 8 of them are kept, with room for features to look further */
#define VM_PAST_MAX 256

struct vm_past_range {
	uint64_t start, end;
	uint32_t changes;
};

/* Sorted. */
struct vm_past {
	uint32_t n;
	struct vm_past_range range[VM_PAST_MAX];
};

void vm_past_clear(struct vm_past *p);

/* The last `n` changes at an address; 0 where nothing was done. */
uint32_t vm_past_at(const struct vm_past *p, uint64_t addr, unsigned int n);

/* An effect happened; `chosen` as in vm_effect_apply(). More ranges than fit are forgotten. */
void vm_past_add(struct vm_past *p, const struct vm_effect *e, uint64_t chosen);

#endif
