/* SPDX-License-Identifier: MIT */
/*
 * Which of the points were reached, by what is measured ("here") and by what it is compared with
 * ("there"), and why the others are thought not to be. All points count, the excused too.
 */
#ifndef VM_COVER_REACH_H
#define VM_COVER_REACH_H

#include <stdio.h>

#include "fuzz/campaign/pcs.h"
#include "fuzz/cover/points.h"

#define VM_COVER_SOURCE 112

struct vm_reached {
	bool here, there;
	char source[VM_COVER_SOURCE]; /* `mm/mremap.c:701`, or "" */
	const char *excuse;	      /* or NULL */
};

/* A function with all its parts. */
struct vm_cover_row {
	const char *name;
	uint32_t file;
	uint32_t npoints, here, there;
	uint32_t excused; /* of those not reached here */
};

struct vm_reach {
	struct vm_vmlinux *v; /* the caller's */
	struct vm_points points;
	struct vm_reached *at;	  /* by point */
	struct vm_cover_row *row; /* by file, then by address; only those with points */
	uint32_t nrows;
	char *excuses; /* the text that vm_reached.excuse points into */
	bool compared;
};

/* Find the points as vm_points_find() does, none reached. Starts zeroed; 0, or -1 with err. */
int vm_reach_open(struct vm_reach *r, struct vm_vmlinux *v, const char *functions,
		  const char *files, char *err, size_t errlen);
void vm_reach_close(struct vm_reach *r);

/*
 * Mark what was reached. -1 with one line in err if an address lies in a function but is no point
 * of it: then the vmlinux is not that of the kernel that ran.
 */
int vm_reach_mark(struct vm_reach *r, const struct vm_pcs *pcs, bool there, char *err,
		  size_t errlen);

/*
 * Read why points are not reached: lines of a place and a reason. A place is `mm/vma.c:120`,
 * `mm/vma.c:120-131` or a function's name; lines that begin with # and empty ones say nothing. 0,
 * or -1 with one line in err, also where a place has no point: excuses are to be kept up to date.
 */
int vm_reach_excuse(struct vm_reach *r, const char *path, char *err, size_t errlen);

/* Count: sets row and nrows. 0 or -1 without memory. */
int vm_reach_count(struct vm_reach *r);

/* The sum of the rows of a file, or of all for UINT32_MAX. */
struct vm_cover_row vm_reach_sum(const struct vm_reach *r, uint32_t file);

/* ---- as text, JSON, a page; all malloc()ed or NULL without memory ---- */

/* A table by function; `missing`: then each point not reached, with its code. */
void vm_reach_print(FILE *to, const struct vm_reach *r, bool missing);
char *vm_reach_json(const struct vm_reach *r);
char *vm_reach_html(const struct vm_reach *r, const char *title);

#endif
