/* SPDX-License-Identifier: MIT */
/* Results of `vmafuzz check` for files: --junit, --json. */
#ifndef VM_CLI_RECORD_H
#define VM_CLI_RECORD_H

#include "cli/load.h"
#include "cli/run.h"
#include "cli/suite.h"
#include "fuzz/report/check.h"

struct cli_record {
	const char *junit, *json; /* files to write, or NULL */
	struct vm_check_report report;
	struct vm_text verdicts, causes,
		details; /* of the last program: see struct vm_check_case */
	char kernel[256];
};

/* Starts zeroed but for junit and json. False, and said, without memory. */
bool cli_record_open(struct cli_record *r);
void cli_record_close(struct cli_record *r);

/*
 * Collect what is to be said of the program that `run` has just run and judged: its verdicts,
 * explained from a deviation up, and the causes that the rules found. `unmet` are lines.
 */
void cli_record_judged(struct cli_record *r, const struct cli_run *run, const char *unmet);

/* Take up a program, with what was collected last if it was run. False, and said, without memory.
 */
bool cli_record_add(struct cli_record *r, const struct cli_test *test, const char *doc,
		    enum vm_check_result result, const char *reason, const char *unmet,
		    uint64_t ms);

/* Write the files; `status` is the exit status. False, and said, if one cannot be written. */
bool cli_record_write(struct cli_record *r, const struct cli_run *run, enum cli_exit status);

#endif
