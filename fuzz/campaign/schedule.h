/* SPDX-License-Identifier: MIT */
/*
 * Which program comes next: what is kept of those that ran, which is mutated, how often. Pure but
 * for memory; the same programs in, the same choices out.
 */
#ifndef VM_SCHEDULE_H
#define VM_SCHEDULE_H

#include "fuzz/campaign/corpus.h"
#include "fuzz/mutate/mutate.h"
#include "oracle/oracle.h"

struct vm_schedule {
	struct vm_corpus corpus;
};

void vm_schedule_free(struct vm_schedule *s);

/* The next program: a mutant of one that is kept, or one from nothing. */
void vm_schedule_next(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog);

/* Keep a program; 0, or -1 without memory. */
int vm_schedule_keep(struct vm_schedule *s, const struct vm_program *prog);

#endif
