/* SPDX-License-Identifier: MIT */
/* The ways of making programs that are compared, and a search for the planted faults by one. */
#ifndef VM_GUIDANCE_ARMS_H
#define VM_GUIDANCE_ARMS_H

#include "tests/bench/guidance/faults.h"

enum vm_arm {
	VM_ARM_BYTES,	  /* random bytes, decoded */
	VM_ARM_GENERATOR, /* vm_generate() alone */
	VM_ARM_FEEDBACK,  /* the random engine's schedule: what has new features is kept */
	VM_ARM_LIBFUZZER, /* libFuzzer's choice, the same mutator and features */
	VM_ARM_AFL,	  /* AFL++'s */
	VM_ARM_COUNT
};

const char *vm_arm_name(enum vm_arm arm);

struct vm_search {
	/* Programs until a fault was found, by fault; 0: not within the budget. */
	uint64_t found[VM_FAULTS_TOTAL];
	uint64_t programs, calls;
	uint32_t features; /* seen by all of them */
	size_t kept;
};

/*
 * Search until each fault below `wanted` is found, or `budget` programs were run. Ends the process
 * if the kernel shows a violation without a fault: then the figures would mean nothing.
 */
void vm_search_run(enum vm_arm arm, uint64_t seed, uint64_t budget, uint32_t from, uint32_t to,
		   struct vm_search *out);

#endif
