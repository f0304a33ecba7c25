/* SPDX-License-Identifier: MIT */
/*
 * The instrumented points of chosen code of a kernel: each call to __sanitizer_cov_trace_pc() that
 * its vmlinux has there, found by disassembly, with the basic block around it. What kcov tells is
 * where such a call returns to.
 */
#ifndef VM_COVER_POINTS_H
#define VM_COVER_POINTS_H

#include "fuzz/feedback/edges.h"
#include "fuzz/triage/vmlinux.h"

/* The files that matter here, where nobody says which. */
#define VM_COVER_FILES "mm/mremap.c,mm/mseal.c,mm/vma.c,mm/mmap.c,mm/mprotect.c,mm/madvise.c"

struct vm_point {
	uint64_t pc;	       /* as kcov tells it */
	uint32_t function;     /* index */
	struct vm_range block; /* the basic block that the call is in */
};

struct vm_cover_function {
	struct vm_function code;  /* of the symbol table */
	char name[VM_SYMBOL_MAX]; /* without .cold, .isra.0 and the like: parts of one share it */
	uint32_t file;		  /* index */
	uint32_t first, npoints;
	uint32_t nblocks; /* basic blocks, instrumented or not */
};

struct vm_points {
	char **file; /* as asked for; one, "", where functions were asked for */
	uint32_t nfiles;
	struct vm_cover_function *function; /* by file, then by address; those without points too */
	uint32_t nfunctions;
	struct vm_point *point; /* by function, then by address */
	uint32_t npoints;
};

/*
 * Find the points of `functions` (names with commas between them), or, if that is NULL, of `files`
 * (the same). 0, or -1 with one line in err: no such file or function, nothing instrumented, a
 * vmlinux without kcov or (for files) without DWARF. Starts zeroed.
 */
int vm_points_find(struct vm_points *p, struct vm_vmlinux *v, const char *functions,
		   const char *files, char *err, size_t errlen);
void vm_points_free(struct vm_points *p);

/* The point of a kcov address; NULL if it is none. */
const struct vm_point *vm_points_at(const struct vm_points *p, uint64_t pc);

/* Where the functions lie, for what limits a campaign's edges. 0 or -1 without memory. */
int vm_points_places(const struct vm_points *p, struct vm_places *places);

#endif
