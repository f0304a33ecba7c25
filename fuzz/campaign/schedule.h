/* SPDX-License-Identifier: MIT */
/*
 * Which program comes next: what is kept of those that ran, and which of it is changed how often.
 * No I/O; the same programs and features in, the same choices out.
 */
#ifndef VM_SCHEDULE_H
#define VM_SCHEDULE_H

#include "fuzz/campaign/corpus.h"
#include "fuzz/mutate/mutate.h"
#include "fuzz/feedback/feedback.h"

struct vm_schedule {
	struct vm_corpus corpus;
	uint32_t nknown;
	uint32_t known[VM_MAP_SIZE];  /* features seen so far, in order of appearance */
	uint32_t hits[VM_MAP_SIZE];   /* programs that had the feature */
	uint32_t holder[VM_MAP_SIZE]; /* 1 + the kept program that stands for it; 0: none */
	uint8_t head[VM_MAP_SIZE];    /* calls of it until the feature shows */
};

/* NULL without memory. */
struct vm_schedule *vm_schedule_new(void);
void vm_schedule_free(struct vm_schedule *s);

/* The next program: a mutant of one that is kept, or one from nothing. */
void vm_schedule_next(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog);

/*
 * A program ran and had these features, each by that call of it; `keep` it for mutation, since one
 * was new. 0, or -1 without memory.
 */
int vm_schedule_ran(struct vm_schedule *s, const struct vm_program *prog, const uint32_t *feature,
		    const uint8_t *call, uint32_t n, bool keep);

#endif
