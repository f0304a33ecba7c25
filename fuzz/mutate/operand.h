/* SPDX-License-Identifier: MIT */
/*
 * What the kernel compared an argument with (kcov's comparisons), as another value for it: a
 * program whose length was compared with a limit comes again with just that limit.
 */
#ifndef VM_OPERAND_H
#define VM_OPERAND_H

#include "fuzz/mutate/mutate.h"

#define VM_MAX_OPERANDS 64

/* Another value for one argument of one call of a program. */
struct vm_operand {
	uint8_t call, arg; /* indices */
	uint64_t value;
};

/*
 * Other values for the arguments of a run with comparisons (VM_RUN_COMPARE), each once, at most
 * VM_MAX_OPERANDS. An argument is recognised as it is, as a number of pages, and with its length as
 * the end of a range. Returns their number.
 */
uint32_t vm_operands_find(const struct vm_trace *trace, struct vm_operand *operand);

/* Put the value into the program in the way in which programs say such values; normalised. */
void vm_operand_use(struct vm_mutator *m, struct vm_program *prog, const struct vm_operand *o);

#endif
