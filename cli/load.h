/* SPDX-License-Identifier: MIT */
/* Program files, told apart by their content. */
#ifndef VM_CLI_LOAD_H
#define VM_CLI_LOAD_H

#include <limits.h>

#include "harness/trace/trace.h"

enum cli_kind {
	CLI_KIND_TEXT,	/* .vma */
	CLI_KIND_BYTES, /* the format of engines */
	CLI_KIND_TRACE,
};

struct cli_program {
	enum cli_kind kind;
	char path[PATH_MAX];	 /* the file that was read */
	struct vm_script script; /* bytes and traces: without expectations */
};

/*
 * Load a program: .vma text, program bytes, the program of a trace, or a finding's folder (its
 * program.vma). 0, or -1 with one line in err; a parse error is `FILE:LINE:COLUMN: what`.
 */
int cli_load(const char *path, struct cli_program *p, char *err, size_t errlen);

/*
 * Load a trace: a file, or a finding's folder (its trace.bin). 0, or -1 with one line in err.
 * *trace as vm_trace_load().
 */
int cli_load_trace(const char *path, struct vm_trace *trace, char *err, size_t errlen);

#endif
