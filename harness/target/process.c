/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/target/process.h"

#define KILL_MS	 2000 /* a killed process that is not gone by then is stuck in the kernel */
#define PAUSE_NS 300000

long long vm_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A pipe above the standard descriptors, which the child's dup2() must not run over. */
static int open_pipe(int end[2])
{
	if (pipe2(end, O_CLOEXEC)) {
		end[0] = end[1] = -1;
		return errno;
	}
	for (int i = 0; i < 2; i++) {
		int was = end[i];

		if (was > STDERR_FILENO)
			continue;
		end[i] = fcntl(was, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(was);
		if (end[i] < 0)
			return errno;
	}
	return 0;
}

static int spawn(pid_t *pid, char *const argv[], const int child_end[3])
{
	const int reset[] = { SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int error;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(reset) / sizeof(reset[0]); i++)
		sigaddset(&defaults, reset[i]);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	error = 0;
	for (int fd = 0; fd < 3 && !error; fd++)
		error = posix_spawn_file_actions_adddup2(&files, child_end[fd], fd);
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	if (!error)
		error = posix_spawn(pid, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return error;
}

static bool set_nonblocking(int fd)
{
	return fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

int vm_process_start(struct vm_process *p, char *const argv[])
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, error;

	*p = (struct vm_process){ .pid = 0, .in = -1, .out = -1, .err = -1 };
	error = open_pipe(in);
	if (!error)
		error = open_pipe(out);
	if (!error)
		error = open_pipe(err);
	if (!error &&
	    !(set_nonblocking(in[1]) && set_nonblocking(out[0]) && set_nonblocking(err[0])))
		error = errno;
	if (!error)
		error = spawn(&p->pid, argv, (const int[]){ in[0], out[1], err[1] });
	close_one(&in[0]);
	close_one(&out[1]);
	close_one(&err[1]);
	if (error) {
		close_one(&in[1]);
		close_one(&out[0]);
		close_one(&err[0]);
		p->pid = 0;
		return error;
	}
	p->in = in[1];
	p->out = out[0];
	p->err = err[0];
	return 0;
}

static int connect_once(const char *path, int *fd)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path) >= sizeof(a.sun_path))
		return ENAMETOOLONG;
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	if (!connect(*fd, (struct sockaddr *)&a, sizeof(a)))
		return 0;
	close(*fd);
	return errno;
}

int vm_process_connect(struct vm_process *p, const char *path, unsigned int wait_ms)
{
	long long until = vm_now_ms() + wait_ms;
	int error, fd;

	*p = (struct vm_process){ .in = -1, .out = -1, .err = -1, .connected = true };
	/* One that is being started again is not there yet. */
	while ((error = connect_once(path, &fd)) && vm_now_ms() < until)
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	if (error)
		return error;
	p->in = fd;
	p->out = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (p->out >= 0 && set_nonblocking(p->in))
		return 0;
	error = errno;
	close_one(&p->in);
	close_one(&p->out);
	return error;
}

bool vm_process_ended(const struct vm_process *p)
{
	siginfo_t info = { .si_pid = 0 };

	if (p->connected)
		return false;
	if (!p->pid)
		return true;
	/* It stays a zombie, so that its pid and group are not given to others. */
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT))
		return errno == ECHILD;
	return info.si_pid == p->pid;
}

static bool wait_end(const struct vm_process *p, unsigned int ms)
{
	long long until = vm_now_ms() + ms;

	while (!vm_process_ended(p)) {
		if (vm_now_ms() >= until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	return true;
}

int vm_process_stop(struct vm_process *p, unsigned int grace_ms)
{
	int status = -1;

	close_one(&p->in);
	close_one(&p->out);
	if (!p->pid)
		return p->connected ? 0 : -1;
	wait_end(p, grace_ms);
	kill(-p->pid, SIGKILL);
	if (wait_end(p, KILL_MS) && waitpid(p->pid, &status, WNOHANG) != p->pid)
		status = 0;
	p->pid = 0;
	return status;
}

void vm_process_status_text(int status, char *buf, size_t cap)
{
	if (status == -1)
		snprintf(buf, cap, "cannot be killed");
	else if (WIFSIGNALED(status))
		snprintf(buf, cap, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, cap, "status %d", WEXITSTATUS(status));
}
