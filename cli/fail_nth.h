/* SPDX-License-Identifier: MIT */
/* `vmafuzz check --fail-nth`: each allocation inside of each call of a program fails once. */
#ifndef VM_CLI_FAIL_NTH_H
#define VM_CLI_FAIL_NTH_H

#include "cli/print.h"
#include "cli/run.h"
#include "fuzz/report/sites.h"

struct cli_fail_nth {
	bool on;
	unsigned int first, last; /* which allocations of a call */
	struct vm_alloc_sites sites;
	uint64_t failed; /* allocations */
	uint64_t calls;	 /* that were walked to their last allocation */
	uint64_t cut;	 /* that have more allocations than were made to fail */
};

/* `all` or a number; 0, or -1 and said. */
int cli_fail_nth_parse(struct cli_fail_nth *f, const char *text);

/* What is said of one program. */
struct cli_walk {
	uint64_t failed;      /* allocations */
	enum cli_exit status; /* the worst */
	char reason[256];     /* why it is not CLI_CONFORMS */
};

/*
 * Walk a program: run it as it is, then, for each call that was made, once for each of its
 * allocations, which fails. Verdicts go to `p` as lines. 0; -1 if the target is gone, or without
 * memory (err).
 */
int cli_fail_nth_walk(struct cli_fail_nth *f, struct cli_run *r, struct cli_printer *p,
		      const struct vm_program *prog, const char *name, enum vm_fail_on fail_on,
		      struct cli_walk *w, char *err, size_t errlen);

/* `# site ...` lines on stdout. */
void cli_fail_nth_print(struct cli_fail_nth *f);

#endif
