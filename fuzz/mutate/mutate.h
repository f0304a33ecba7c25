/* SPDX-License-Identifier: MIT */
/*
 * The mutator: new programs from nothing and from others. It aims: a model of the address space
 * (oracle/model.h) follows the calls before the place of a change, and arguments are chosen by what
 * is mapped there. Same seed, same sequence of calls to it: same programs.
 */
#ifndef VM_MUTATE_H
#define VM_MUTATE_H

#include "fuzz/mutate/rng.h"
#include "oracle/model.h"

#define VM_RECENT 16

/* A range in run-time values; start and start + len may lie anywhere, len may wrap. */
struct vm_span {
	uint64_t start, len;
};

struct vm_mutator {
	struct vm_rng rng;
	struct vm_model *model;
	struct vm_layout layout;
	uint64_t mmap_min_addr;
	uint64_t total_pages, rlimit_memlock, rlimit_stack; /* as in vm_target_info */
	/* Ranges that the calls before had, the latest VM_RECENT of nrecent. */
	struct vm_span recent[VM_RECENT];
	uint32_t nrecent;
	uint16_t used;	/* name slots of the program at work, as bits */
	char done[128]; /* what the last vm_mutate() did: "insert mremap, aim munmap" */
};

/* 0, or -1 without memory. `info` and `profile` must outlive the mutator. */
int vm_mutator_init(struct vm_mutator *m, const struct vm_target_info *info,
		    const struct vm_profile *profile, uint64_t seed);
void vm_mutator_free(struct vm_mutator *m);

/* A program from nothing: 2 to 64 calls, mostly more than 30. */
void vm_generate(struct vm_mutator *m, struct vm_program *prog);

/*
 * Change a program by one to a few steps: insert, delete, swap, duplicate, splice with `other` (may
 * be NULL), aim or tweak arguments; or go on from it. The result has at least one call and is
 * normalised.
 */
void vm_mutate(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other);

/*
 * A mutant for an engine that chooses for itself what is mutated: as vm_mutate(), but every second
 * one is from nothing (docs/guidance.md: what has led to something is not all there is).
 */
void vm_mutate_or_generate(struct vm_mutator *m, struct vm_program *prog,
			   const struct vm_program *other);

/*
 * Go on from where the first `head` calls of a program lead to (all, if it has fewer): a few aimed
 * calls in the place of the rest. Normalised.
 */
void vm_go_on(struct vm_mutator *m, struct vm_program *prog, unsigned int head);

/* A head of `prog`, then a tail of `other`; normalised. */
void vm_crossover(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other);

/* Take call i out, and what depends on its name with it: a use of it becomes an arena page. */
void vm_program_drop(struct vm_program *prog, unsigned int i);

#endif
