/* SPDX-License-Identifier: MIT */
/*
 * The oracle run forward without a kernel: belief after each call of a program, as if the likeliest
 * outcome of its rule happened. For generators that want to aim, and for pictures of programs.
 */
#ifndef VM_MODEL_H
#define VM_MODEL_H

#include "harness/trace/trace.h"
#include "oracle/profiles/profile.h"

struct vm_model;

/* A run of pages that is one VMA as far as the model knows. */
struct vm_model_area {
	uint64_t start, end;
	uint8_t prot; /* VM_MODE_R | W | X */
	bool shared, sealed;
	bool begins;	/* a VMA certainly begins at start */
	uint64_t flags; /* VmFlags that it has for certain, as vm_area.flags */
};

/* NULL if memory ran out. info is copied. */
struct vm_model *vm_model_new(const struct vm_target_info *info, const struct vm_profile *profile);
void vm_model_free(struct vm_model *m);

/* Back to the address space before the first call. */
void vm_model_reset(struct vm_model *m);

/* The same for a program that may have a preamble; it holds until the next start. */
void vm_model_start(struct vm_model *m, const struct vm_program *prog);

/*
 * One call further. The first outcome of the rule happens; addresses that a kernel would choose are
 * invented: free, and the same for the same program. A call that the executor would withhold does
 * nothing. Returns the invented result (-errno, value, or pages touched before a fault).
 */
int64_t vm_model_step(struct vm_model *m, const struct vm_call *call, unsigned int index);

/* The run-time form of the call of the last step. */
const struct vm_syscall *vm_model_made(const struct vm_model *m);

/* What is mapped now, without the executor's own memory. Valid until the next step. */
size_t vm_model_areas(struct vm_model *m, const struct vm_model_area **areas);

/* An address in program form: pN[...], a name plus offset, or null[...]. */
struct vm_addr vm_model_addr(const struct vm_model *m, uint64_t value);

/* A length or offset in pages and bytes. */
struct vm_quantity vm_model_quantity(const struct vm_model *m, uint64_t value);

const struct vm_target_info *vm_model_info(const struct vm_model *m);

/* A plausible x86-64 target, for work without an executor (show, tests). */
void vm_model_default_info(struct vm_target_info *info);

#endif
