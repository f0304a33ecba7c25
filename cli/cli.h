/* SPDX-License-Identifier: MIT */
/*
 * What the commands of `vmafuzz` share: the table of commands, options with their --help, and
 * errors as one line. getopt is used by one command in a process, from main().
 */
#ifndef VM_CLI_H
#define VM_CLI_H

#include "harness/target/target.h"
#include "oracle/oracle.h"

/* Exit status of every command. */
enum cli_exit {
	CLI_CONFORMS = 0,
	CLI_FOUND = 1,	 /* something that counts */
	CLI_CRASHED = 2, /* the kernel crashed or hung */
	CLI_FAILED = 3,	 /* usage, infrastructure, or incomplete */
};

/* Each command gets its own name as argv[0] and returns the exit status. */
int cmd_fuzz(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_judge(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_cover(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_triage(int argc, char **argv);
int cmd_kernel(int argc, char **argv);
int cmd_matrix(int argc, char **argv);

/* One option of a command; a table of them ends with a NULL name. */
struct cli_option {
	const char *name; /* without -- */
	int id;		 /* what cli_next() returns; a printable character is also its short form */
	const char *arg; /* name of its argument in the help, or NULL */
	const char *help;
};

struct cli_command {
	const char *usage; /* "fuzz [options]" */
	const char *about; /* a paragraph, with its line breaks */
	const struct cli_option *options;
};

/* Returned by cli_next() beside option ids. */
#define CLI_END	 -1
#define CLI_HELP -2 /* --help or -h was given, and printed to stdout: return CLI_CONFORMS */
#define CLI_BAD	 -3 /* said in one line on stderr: return CLI_FAILED */

#define CLI_MAX_OPTIONS 40

/*
 * The next option; its argument is in *arg. After CLI_END, argv[optind] is the first operand. -h
 * and
 * --help need no row.
 */
int cli_next(const struct cli_command *cmd, int argc, char **argv, const char **arg);

void cli_print_help(const struct cli_command *cmd);

/* One line on stderr, `vmafuzz COMMAND: ...`. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A whole number (decimal or 0x) from min to max; 0, or -1 and said. `what` is the option's name.
 */
int cli_number(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Seconds: 90, 90s, 5m, 2h, 1d; 0, or -1 and said. */
int cli_seconds(const char *what, const char *text, uint32_t *seconds);

/* ---- options of all commands that run programs or judge them ---- */

struct cli_target {
	const char *spec;    /* NULL was not given: `local` */
	const char *profile; /* NULL: chosen for the target */
	enum vm_contract contract;
	struct vm_target_options opt;
};

enum {
	CLI_OPT_TARGET = 1000,
	CLI_OPT_PROFILE,
	CLI_OPT_CONTRACT,
	CLI_OPT_EXECUTOR,
	CLI_OPT_INJECT,
	CLI_OPT_TIMEOUT,
	CLI_OPT_PRIVILEGED,
	CLI_OPT_OWN
};
/* The ids of a command's own long options begin at CLI_OPT_OWN. */

/* Rows for commands that judge. */
#define CLI_JUDGE_OPTIONS                                                                          \
	{ "profile", CLI_OPT_PROFILE, "NAME",                                                      \
	  "what the kernel promises (6.1, 6.12, 6.18, generic); default: chosen for the target" }, \
	{                                                                                          \
		"contract", CLI_OPT_CONTRACT, "NAME", "exact (default), documented or strict"      \
	}

/* Rows for commands that run programs. */
#define CLI_TARGET_OPTIONS                                                                         \
	{ "target", CLI_OPT_TARGET, "TARGET",                                                      \
	  "where programs run: local (default), exec:COMMAND, qemu:IMAGE, kernel:NAME" },          \
		CLI_JUDGE_OPTIONS,                                                                 \
		{ "inject", CLI_OPT_INJECT, "FAULT",                                               \
		  "make the executor behave like a broken kernel (`vmafuzz inject list`)" },       \
		{ "timeout", CLI_OPT_TIMEOUT, "MS", "of one program; default 2000" },              \
		{ "executor", CLI_OPT_EXECUTOR, "FILE",                                            \
		  "the executor; default: vmafuzz-executor beside this program" },                 \
	{                                                                                          \
		"privileged", CLI_OPT_PRIVILEGED, NULL,                                            \
			"run programs with the rights of the caller, not as nobody"                \
	}

void cli_target_init(struct cli_target *t);

/* Take an option if it is one of those above: 1 taken, 0 not one of them, -1 bad, and said. */
int cli_target_option(struct cli_target *t, int id, const char *arg);

/*
 * The profile in force for a target or a trace, the pinned one or the chosen one; one line in
 * `why`. The contract in force follows from it: vm_profile_contract().
 */
const struct vm_profile *cli_profile(const struct cli_target *t, const struct vm_target_info *info,
				     char *why, size_t whylen);

#endif
