/* SPDX-License-Identifier: MIT */
/* The parent's side of a fork within a program. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"

void vm_run_join(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) != child) {
		if (errno != EINTR)
			_exit(VM_EXIT_USAGE);
	}
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	if (status)
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : VM_EXIT_USAGE);
}
