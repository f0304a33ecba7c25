/* SPDX-License-Identifier: MIT */
/*
 * A kernel played by the oracle's rules: each call does what the first outcome of its rule says,
 * and what an executor would have seen becomes a trace. It has no bugs but those planted in it, so
 * that the way to a bug can be counted in programs, millions of them, without a fork for each.
 */
#ifndef VM_GUIDANCE_KERNEL_H
#define VM_GUIDANCE_KERNEL_H

#include "oracle/oracle.h"
#include "oracle/rules/rule.h"

/* A call that was made, for faults that look back. */
struct vm_past_call {
	struct vm_syscall sc;
	bool made; /* not withheld */
	int64_t result;
};

struct vm_kernel {
	struct vm_target_info given, info; /* info: given, with the preamble of the program */
	const struct vm_profile *profile;
	struct vm_state before, now, work; /* before and after the call at hand */
	struct vm_objects objects;
	struct vm_outcomes outcomes;
	const struct vm_outcome *did; /* the outcome of the call at hand; NULL if withheld */
	uint64_t names[VM_NAME_SLOTS];
	uint32_t ncalls; /* made so far, the one at hand included */
	struct vm_past_call past[VM_PROGRAM_MAX_CALLS];
	bool sealed;	    /* an mseal has succeeded */
	uint32_t tripped;   /* faults whose condition was met, as bits */
	struct vm_vma *vma; /* storage of the trace's snapshots */
	struct vm_page *page;
	size_t nvma, npage;
	struct vm_trace trace;
};

/* A kernel of a profile, as vm_model_default_info() has it; NULL without memory. */
struct vm_kernel *vm_kernel_new(const struct vm_profile *profile);
void vm_kernel_free(struct vm_kernel *k);

/*
 * Run a program from an empty address space; k->trace is the experiment. k->tripped says which
 * faults' conditions were met. `planted` (or -1): the one whose harm is done as well.
 */
void vm_kernel_run(struct vm_kernel *k, const struct vm_program *prog, int planted);

#endif
