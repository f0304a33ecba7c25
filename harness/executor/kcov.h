/* SPDX-License-Identifier: MIT */
/*
 * kcov: what the kernel itself goes through in one call. Where /sys/kernel/debug/kcov can be opened
 * the executor maps two buffers of it once, before it gives up root: one for the child that runs a
 * program, one for a child that this forks. They are VMAs like its other ones, so the guard keeps
 * programs away from them. A task is traced from vm_kcov_start() to its end; children are not.
 */
#ifndef VM_KCOV_H
#define VM_KCOV_H

#include "harness/trace/trace.h"

struct vm_executor;

#define VM_KCOV_WORDS 32768u /* of one buffer: points, or a quarter as many comparisons */
#define VM_KCOV_SLOTS 16384u /* a power of two, above 2 * VM_MAX_EDGES */

enum vm_kcov_who { VM_KCOV_PROGRAM, VM_KCOV_FORKED, VM_KCOV_BUFFERS };

struct vm_kcov {
	int fd[VM_KCOV_BUFFERS];
	uint64_t *buffer[VM_KCOV_BUFFERS]; /* NULL: there is no kcov */
	struct vm_range range[VM_MAX_PLACES];
	struct vm_places places; /* what counts in the program at hand; in range[] */
};

/* In the area: what was told of one call, and where each is in a hash table. */
struct vm_kcov_call {
	uint32_t busy;
	struct vm_edge edge[VM_MAX_EDGES];
	struct vm_compare compare[VM_MAX_COMPARES];
	uint16_t slot[VM_KCOV_SLOTS]; /* 1 + index; all 0 between calls */
};

/* Open kcov, as root; nothing happens where it cannot be. */
void vm_kcov_open(struct vm_kcov *k);

/* Map the buffers. Sets VM_HAS_KCOV. */
void vm_kcov_map(struct vm_kcov *k, struct vm_target_info *info);

/* Trace this process from now on: points, or what is compared. False if the kernel cannot. */
bool vm_kcov_start(const struct vm_kcov *k, enum vm_kcov_who who, bool compares);

/* Forget what was traced so far. */
static inline void vm_kcov_reset(const struct vm_kcov *k, enum vm_kcov_who who)
{
	__atomic_store_n(k->buffer[who], 0, __ATOMIC_RELAXED);
}

/* How much was traced since then: entries, which stay as they are whatever follows. */
static inline uint64_t vm_kcov_count(const struct vm_kcov *k, enum vm_kcov_who who)
{
	return __atomic_load_n(k->buffer[who], __ATOMIC_RELAXED);
}

/* The first `n` entries as a cover whose arrays are those of `call`, until the next one. */
void vm_kcov_edges(const struct vm_kcov *k, enum vm_kcov_who who, uint64_t n,
		   struct vm_kcov_call *call, struct vm_cover *cover);
void vm_kcov_compares(const struct vm_kcov *k, enum vm_kcov_who who, uint64_t n,
		      struct vm_kcov_call *call, struct vm_cover *cover);

#endif
