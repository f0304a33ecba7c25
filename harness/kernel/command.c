/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/kernel/command.h"

/* In the child: its end of `report` gets errno if the tool cannot be run. */
static void become(const struct vm_tool *tool, const int out[2], int report)
{
	int null = open("/dev/null", O_RDONLY), error;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (nice(tool->nice) == -1)
		errno = 0; /* -1 may be the new value; running at the old one is no harm */
	dup2(null, STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	if (!tool->cwd || !chdir(tool->cwd))
		execvp(tool->argv[0], (char *const *)tool->argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void read_lines(const struct vm_tool *tool, int fd)
{
	char line[4096];
	size_t n = 0;
	char byte[4096];
	ssize_t got;

	while ((got = read(fd, byte, sizeof(byte))) > 0 || (got < 0 && errno == EINTR)) {
		for (ssize_t i = 0; i < got; i++) {
			bool end = byte[i] == '\n' || byte[i] == '\r';

			if (!end)
				line[n++] = byte[i];
			if (!end && n < sizeof(line) - 1)
				continue;
			line[n] = '\0';
			if (tool->line && (n || byte[i] == '\n'))
				tool->line(tool->arg, line);
			n = 0;
		}
	}
	line[n] = '\0';
	if (n && tool->line)
		tool->line(tool->arg, line);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int vm_tool_run(const struct vm_tool *tool, char *err, size_t errlen)
{
	int out[2] = { -1, -1 }, report[2] = { -1, -1 }, error = 0, status;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) || pipe2(report, O_CLOEXEC) || (pid = fork()) < 0) {
		snprintf(err, errlen, "cannot start %s: %s", tool->argv[0], strerror(errno));
		for (int i = 0; i < 2; i++) {
			close(out[i]);
			close(report[i]);
		}
		return -1;
	}
	if (!pid)
		become(tool, out, report[1]);
	close(out[1]);
	close(report[1]);
	if (read(report[0], &error, sizeof(error)) < 0)
		error = errno;
	close(report[0]);
	if (!error)
		read_lines(tool, out[0]);
	close(out[0]);
	status = wait_for(pid);
	if (!error)
		return status;
	snprintf(err, errlen, "cannot run %s%s%s: %s", tool->argv[0], tool->cwd ? " in " : "",
		 tool->cwd ? tool->cwd : "", strerror(error));
	return -1;
}
