/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's comparisons suggest: programs to be asked about, and then the same ones with an
 * argument changed to what it was compared with. No I/O; random choices are the mutator's.
 */
#ifndef VM_WISHES_H
#define VM_WISHES_H

#include "fuzz/mutate/operand.h"

#define VM_WISHES	 256 /* the oldest is lost */
#define VM_QUESTIONS	 32
#define VM_WISHES_OF_ONE 24 /* of one program, chosen at random */

struct vm_wish {
	struct vm_program prog;
	struct vm_operand operand;
};

/* Starts zeroed. */
struct vm_wishes {
	uint64_t asked, nquestions; /* taken, put; the difference is at most VM_QUESTIONS */
	uint64_t used, nwishes;
	struct vm_program question[VM_QUESTIONS];
	struct vm_wish wish[VM_WISHES];
};

/* A program that had something new: worth a question. */
void vm_wishes_note(struct vm_wishes *w, const struct vm_program *prog);

/* The answer to a question. */
void vm_wishes_answer(struct vm_wishes *w, struct vm_rng *rng, const struct vm_program *prog,
		      const struct vm_operand *operand, uint32_t n);

/* What comes next of these, if anything: a program, and whether it is a question. */
bool vm_wishes_next(struct vm_wishes *w, struct vm_mutator *m, struct vm_program *prog, bool *ask);

#endif
