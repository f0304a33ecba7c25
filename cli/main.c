/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "fuzz", cmd_fuzz, "run a coverage-guided campaign against a kernel" },
	{ "check", cmd_check, "run conformance programs, KTAP on stdout" },
	{ "replay", cmd_replay, "run a program again and explain each step" },
	{ "judge", cmd_judge, "judge stored traces, nothing is run" },
	{ "show", cmd_show, "programs as text or bytes, pictures of the address space" },
	{ "triage", cmd_triage, "find the crash reports in a kernel's console log" },
	{ "cover", cmd_cover, "which points of a kernel were reached, and which not" },
	{ "inject", cmd_inject, "list the faults that --inject knows" },
	{ "matrix", cmd_matrix, "run the same programs on many kernels, titles by kernel" },
	{ "kernel", cmd_kernel, "fetch, build, list and boot kernels" },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *to)
{
	fprintf(to, "usage: vmafuzz COMMAND [options]\n\n"
		    "Fuzzes and checks the calls of Linux that shape an address space.\n\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
	fprintf(to, "\nvmafuzz COMMAND --help says more.\n"
		    "exit status: 0 conforms, 1 found something that counts, 2 the kernel crashed "
		    "or hung,\n             3 usage, infrastructure, or incomplete\n");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return CLI_FAILED;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return CLI_CONFORMS;
	}
	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	cli_error("there is no command %s; see vmafuzz --help", argv[1]);
	return CLI_FAILED;
}
