/* SPDX-License-Identifier: MIT */
/* One function taken apart by Capstone: its basic blocks, and where it calls something. */
#ifndef VM_COVER_BLOCKS_H
#define VM_COVER_BLOCKS_H

#include "fuzz/triage/vmlinux.h"

struct vm_traced_call {
	uint64_t after; /* where it returns to */
	struct vm_range block;
};

struct vm_blocks {
	struct vm_traced_call *call; /* by address */
	uint32_t ncalls;
	uint32_t nblocks;
};

/*
 * Read the machine code of `f` and find its calls to `callee`. A block begins where the function
 * does, where a jump in it leads, and behind a jump, a return or a trap; calls do not end one. 0,
 * or -1 with one line in err.
 */
int vm_blocks_read(struct vm_blocks *b, struct vm_vmlinux *v, const struct vm_function *f,
		   uint64_t callee, char *err, size_t errlen);
void vm_blocks_free(struct vm_blocks *b);

/* The instructions of a range as text, one a line: address, bytes not shown. malloc()ed or NULL. */
char *vm_blocks_text(struct vm_vmlinux *v, const struct vm_range *range);

#endif
