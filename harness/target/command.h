/* SPDX-License-Identifier: MIT */
/* The command line that starts the executor of a target. */
#ifndef VM_COMMAND_H
#define VM_COMMAND_H

#include "harness/target/target.h"

#define VM_COMMAND_ARGS 10

struct vm_command {
	char *argv[VM_COMMAND_ARGS]; /* NULL-terminated, each allocated */
	const char *what;	     /* in messages: "the executor", "the command" */
	char named[144];	     /* that with what is run: "the command 'ssh board x'" */
	const char *hint;	     /* what to do about one that ends at start without a word */
};

/* From a target's name and options. 0, or -1 with one line in err. */
int vm_command_build(struct vm_command *c, const char *spec, const struct vm_target_options *opt,
		     char *err, size_t errlen);

void vm_command_free(struct vm_command *c);

#endif
