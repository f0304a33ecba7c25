/* SPDX-License-Identifier: MIT */
/* Which titles the same programs gave on which kernels. */
#ifndef VM_MATRIX_H
#define VM_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "oracle/verdict.h"

/* A column. */
struct vm_matrix_kernel {
	char name[96];	  /* debian-6.12.117 */
	char label[32];	  /* in tables: 6.12.117 */
	char release[96]; /* as the kernel says it */
	char version[80]; /* of the package, or "" */
	char profile[32]; /* judged by */
	char contract[32];
	char error[256];	  /* why it could not be run, or "" */
	uint32_t programs;	  /* run or known from before */
	uint32_t skipped;	  /* it cannot run them */
	uint32_t fresh;		  /* run now */
	uint32_t boot_ms, run_ms; /* of the fresh ones */
};

/* What one title is on one kernel. */
struct vm_matrix_cell {
	uint32_t programs; /* that gave it; 0: none did */
	uint8_t severity;  /* the worst, enum vm_severity */
	bool known;	   /* a known bug, each time */
};

/* A row. */
struct vm_matrix_title {
	char title[VM_TITLE_MAX];
	char program[128];	     /* the first that gave it */
	struct vm_matrix_cell *cell; /* by kernel */
};

struct vm_matrix {
	struct vm_matrix_kernel *kernel; /* oldest first, as they were added */
	size_t nkernels;
	struct vm_matrix_title *title; /* after vm_matrix_sort(): worst first */
	size_t ntitles;
};

/* Begin with room for so many kernels. 0, or -1 without memory. */
int vm_matrix_begin(struct vm_matrix *m, size_t nkernels);
void vm_matrix_free(struct vm_matrix *m);

/* A program gave a verdict on the kernel of that index. 0, or -1 without memory. */
int vm_matrix_add(struct vm_matrix *m, size_t kernel, const char *title, uint8_t severity,
		  bool known, const char *program);

/* Sort titles: not explained, known bugs, deviations; then by name. */
void vm_matrix_sort(struct vm_matrix *m);

/*
 * Is it explained on each kernel: a deviation that the rules know, or a known bug? False: somebody
 * has to look.
 */
bool vm_matrix_explained(const struct vm_matrix *m, const struct vm_matrix_title *t);

/*
 * Where it is, for people: "on all", "up to 6.16.12, gone in 6.17.8", "from 6.15.3", "6.16.3 to
 * 6.17.13, gone in 6.18.5"; several such where it comes back. Kernels that were not run count as
 * neither.
 */
void vm_matrix_span(const struct vm_matrix *m, const struct vm_matrix_title *t, char *text,
		    size_t cap);

/* The letter of a cell: V violation, K known bug, D deviation, `.` nothing, ` ` not run. */
char vm_matrix_letter(const struct vm_matrix *m, const struct vm_matrix_title *t, size_t kernel);

/* fuzz/matrix/print.c: for a terminal; a page in markdown, `command` is what made it. */
void vm_matrix_print(const struct vm_matrix *m, FILE *to);
void vm_matrix_page(const struct vm_matrix *m, const char *command, FILE *to);

/* All of it, malloc()ed; NULL without memory. */
char *vm_matrix_json(const struct vm_matrix *m);

#endif
