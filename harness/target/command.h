/* SPDX-License-Identifier: MIT */
/* What connects us with the executor of a target: mostly a command line that starts it. */
#ifndef VM_COMMAND_H
#define VM_COMMAND_H

#include "harness/target/private_dir.h"
#include "harness/target/target.h"

#define VM_COMMAND_ARGS 16

struct vm_command {
	char *argv[VM_COMMAND_ARGS]; /* NULL-terminated, each allocated */
	const char *what;	     /* in messages: "the executor", "the command" */
	char named[144];	     /* that with what is run: "the command 'ssh board x'" */
	int hello_ms;		     /* how long it may take to say hello: a guest has to boot */
	const char *hint;	     /* what to do about one that ends at start without a word */
	/* Of a guest that a keeper keeps (harness/guest/keeper.h), else "": */
	char dir[VM_PRIVATE_DIR_MAX];
	bool owned; /* the keeper is ours to start; else we connect to dir/socket */
};

/* From a target's name and options. 0, or -1 with one line in err. */
int vm_command_build(struct vm_command *c, const char *spec, const struct vm_target_options *opt,
		     char *err, size_t errlen);

/* Is it a keeper that we talk to? It restarts the executor for us. */
static inline bool vm_command_is_kept(const struct vm_command *c)
{
	return c->dir[0];
}

void vm_command_free(struct vm_command *c);

#endif
