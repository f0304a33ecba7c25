/* SPDX-License-Identifier: MIT */
/* Running and judging one program after the other, and what exit status that gives. */
#ifndef VM_CLI_RUN_H
#define VM_CLI_RUN_H

#include "cli/cli.h"
#include "fuzz/campaign/options.h"
#include "fuzz/triage/watch.h"

struct cli_run {
	struct vm_target *target; /* NULL: only judging */
	const char *spec;
	const char *pinned;	 /* --profile, or NULL */
	enum vm_contract wanted; /* --contract */
	const struct vm_profile *profile;
	enum vm_contract contract; /* in force */
	char why[256];		   /* why this profile */
	bool regressed;		   /* the target behaves older than its release: */
	char regression[VM_TITLE_MAX];
	struct vm_judge_scratch *scratch;
	struct vm_trace trace;	       /* the last one */
	struct vm_judgement judgement; /* on it */
	struct vm_watch watch;	       /* the guest's console */
	enum vm_report_severity
		fresh;	   /* the guest is started again after a report as bad as this */
	uint64_t nreports; /* on the console since the start */
	char first_report[VM_REPORT_TITLE]; /* the title of the first */
};

/* Start the target that `t` describes. NULL, and said. */
struct cli_run *cli_run_open(const struct cli_target *t);

/* The same without a target, to judge traces. NULL, and said. */
struct cli_run *cli_judge_open(const struct cli_target *t);

void cli_run_close(struct cli_run *r);

/*
 * Run a program; r->trace and r->judgement are about it, reports on the console included. 1; 0 if
 * the executor died of it and was started again (err says how); -1 if it cannot be started again
 * (err). A program that was too slow in a guest, or made it stall, is run again alone in a fresh
 * one with ten times the time: what that shows counts.
 */
int cli_run_program(struct cli_run *r, const struct vm_program *prog, char *err, size_t errlen);

/* Does the target have a console, and so reports of its kernel? */
bool cli_run_has_console(const struct cli_run *r);

/* Look at what the console says since; cli_run_program() does. */
void cli_run_look(struct cli_run *r);

/* End the guest and start it again; 0, or -1 with err. */
int cli_run_reboot(struct cli_run *r, char *err, size_t errlen);

/* Judge r->trace. */
void cli_run_judge(struct cli_run *r);

/* "Linux 6.18.44 x86_64, profile 6.18 (why), contract exact" and the injected fault. */
void cli_run_describe(const struct cli_run *r, const struct vm_target_info *info, char *buf,
		      size_t cap);

/*
 * The exit status that a judgement gives: CLI_CRASHED for a verdict on survival; CLI_FOUND for a
 * verdict that counts; CLI_FAILED for a trace that is not whole.
 */
enum cli_exit cli_status_of(const struct vm_judgement *j, const struct vm_trace *trace,
			    enum vm_fail_on fail_on);

/* The graver of two: crashed, found, failed, conforms. */
enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b);

/* The word of --fail-on; 0, or -1 and said. */
int cli_fail_on(const char *word, enum vm_fail_on *f);

#endif
