/* SPDX-License-Identifier: MIT */
/* Traces and verdicts for people, on stdout. */
#ifndef VM_CLI_PRINT_H
#define VM_CLI_PRINT_H

#include <stdio.h>

#include "fuzz/triage/watch.h"

struct cli_printer {
	const char *prefix;	  /* of every line */
	bool calls;		  /* every call, and the address space where it changed */
	bool states;		  /* ... also where it did not */
	enum vm_severity explain; /* verdicts from this severity on are explained, ... */
	enum vm_severity mention; /* ... from this on are a line */
	struct vm_text text;	  /* what is being put together */
	char *last;		  /* the picture printed last */
	struct vm_vma *vma;	  /* of the last picture, with flags carried; room for two */
	uint32_t nvma;
};

/* All to be set by the caller but what is below `mention`. False, and said, without memory. */
bool cli_printer_open(struct cli_printer *p);
void cli_printer_close(struct cli_printer *p);

/* The trace call by call with its verdicts, each after the call that it is on. */
void cli_print_trace(struct cli_printer *p, const struct vm_trace *trace,
		     const struct vm_judgement *j);

/* Print p->text with the prefix before each line, and clear it. */
void cli_print_text(struct cli_printer *p);

/* The part of a guest's console that each report of the last look takes up. */
void cli_print_reports(const struct cli_printer *p, const struct vm_watch *w);

/* Of a program that was not run: which word of its preamble the target could not give. */
const char *cli_skip_text(const struct vm_trace *trace, char *buf, size_t cap);

/* "killed by signal 11"; NULL for a child that ran to its end. */
const char *cli_exit_text(const struct vm_trace *trace, char *buf, size_t cap);

#endif
