/* SPDX-License-Identifier: MIT */
/* Running a tool (apt-get, make) and reading what it says. */
#ifndef VM_KERNEL_COMMAND_H
#define VM_KERNEL_COMMAND_H

#include <stddef.h>

/* One line of its stdout or stderr, without the newline; longer ones come in pieces. */
typedef void vm_line_fn(void *arg, const char *line);

struct vm_tool {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	const char *cwd;	 /* or NULL */
	int nice;		 /* added to its niceness */
	vm_line_fn *line;	 /* or NULL */
	void *arg;
};

/*
 * Run it with stdin from /dev/null and wait. It ends when the caller dies. Its exit status, 128 +
 * the signal that killed it, or -1 with one line in err when it cannot be run.
 */
int vm_tool_run(const struct vm_tool *tool, char *err, size_t errlen);

#endif
