/* SPDX-License-Identifier: MIT */
/* `vmafuzz kernel`: its options, and its actions. */
#ifndef VM_CLI_KERNEL_H
#define VM_CLI_KERNEL_H

#include "cli/cli.h"

struct cli_kernel {
	bool json, all, update;
	const char *arch;   /* amd64, arm64 */
	char flavour[32];   /* cloud-amd64 */
	const char *mirror; /* or NULL: that of the machine's apt */
	const char *preset; /* fuzz, debug, perf */
	const char *name;   /* of what is built, or NULL */
	const char *cover;  /* files to instrument, or NULL: the default */
	uint64_t jobs;	    /* of make; 0: one a CPU */
	uint64_t memory;    /* of a guest, MiB */
	char **operand;
	int noperands;
};

/* Each returns the exit status, and says on stderr what went wrong. */
int cli_kernel_available(const struct cli_kernel *k);
int cli_kernel_fetch(const struct cli_kernel *k);
int cli_kernel_list(const struct cli_kernel *k);
int cli_kernel_build(const struct cli_kernel *k);
int cli_kernel_boot(const struct cli_kernel *k);

#endif
