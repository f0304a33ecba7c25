/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/guest/spawn.h"

#define MAX_FDS 8
#define ABOVE	64 /* beyond the descriptors that the child gets */

/* All to places above, then down: no dup2() runs over one that is still wanted. */
static int arrange(const int *fd, int nfds, int *report)
{
	int high[MAX_FDS];

	*report = fcntl(*report, F_DUPFD_CLOEXEC, ABOVE);
	for (int i = 0; i < nfds; i++) {
		high[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, ABOVE);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < nfds; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return *report < 0 ? -1 : 0;
}

static _Noreturn void child(char *const argv[], const int *fd, int nfds, int report, pid_t parent)
{
	sigset_t none;
	int error;

	setpgid(0, 0);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (!arrange(fd, nfds, &report)) {
		for (int i = nfds; i < ABOVE; i++)
			close(i);
		execvp(argv[0], argv);
	}
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int vm_spawn(pid_t *pid, char *const argv[], const int *fd, int nfds)
{
	int report[2], error = 0;
	pid_t self = getpid();
	ssize_t n;

	if (nfds > MAX_FDS)
		return EINVAL;
	if (pipe2(report, O_CLOEXEC))
		return errno;
	*pid = fork();
	if (*pid == 0)
		child(argv, fd, nfds, report[1], self);
	if (*pid < 0)
		error = errno;
	close(report[1]);
	/* Closed by a successful exec. */
	while (*pid > 0 && (n = read(report[0], &error, sizeof(error))) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (error && *pid > 0)
		waitpid(*pid, NULL, 0);
	if (error)
		*pid = 0;
	return error;
}
