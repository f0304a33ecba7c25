/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "harness/executor/inject_table.h"

static const struct cli_option options[] = { { NULL, 0, NULL, NULL } };

static const struct cli_command command = {
	"inject list",
	"List the faults that --inject knows: ways in which the executor can behave like a broken\n"
	"kernel, so that it can be seen that each is found (`vmafuzz check --inject NAME`).",
	options,
};

int cmd_inject(int argc, char **argv)
{
	const struct vm_inject_desc *fault;
	const char *arg;
	int id = cli_next(&command, argc, argv, &arg);

	if (id != CLI_END)
		return id == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	if (optind + 1 != argc || strcmp(argv[optind], "list")) {
		cli_error("there is only `inject list`; a fault is chosen with --inject NAME of "
			  "check, replay or fuzz");
		return CLI_FAILED;
	}
	for (size_t i = 1; (fault = vm_inject_desc(i)); i++)
		printf("%-24s %s\n", fault->name, fault->description);
	printf("%-24s %s\n", VM_INJECT_IGNORED_PREFIX "CALL",
	       "that call returns 0 and does nothing (not fork, touches)");
	return CLI_CONFORMS;
}
