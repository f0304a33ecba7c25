/* SPDX-License-Identifier: MIT */
/* Address spaces as rows of pages, one row a step, under one ruler. */
#ifndef VM_CLI_DRAW_H
#define VM_CLI_DRAW_H

#include "harness/trace/trace.h"

struct cli_span {
	uint64_t start, end; /* one VMA, as far as is known */
	uint8_t prot;	     /* VM_MODE_R | W | X */
	bool sealed;
};

struct cli_row {
	struct cli_span *span; /* sorted */
	size_t n;
	char label[192]; /* the call and its result */
};

/* Starts zeroed, but for width. */
struct cli_drawing {
	struct cli_row *row;
	size_t n;
	unsigned int width;	      /* columns that a line may have */
	uint64_t name[VM_NAME_SLOTS]; /* addresses that are called a..o; 0: none */
};

/*
 * Where a snapshot did not look at VmFlags, take those of the VMA that was there before: seals do
 * not go away. `before` is what was made of the snapshot before this.
 */
void cli_carry_flags(struct vm_vma *vma, size_t n, const struct vm_vma *before, size_t nbefore);

/* Add a row with room for n spans, zeroed; NULL without memory. */
struct cli_row *cli_draw_row(struct cli_drawing *d, size_t n);

/* Print to stdout, each line after `prefix`; false without memory. */
bool cli_draw(const struct cli_drawing *d, const struct vm_layout *layout, const char *prefix);

void cli_draw_free(struct cli_drawing *d);

#endif
