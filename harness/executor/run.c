/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/executor/child.h"
#include "harness/executor/committed.h"
#include "harness/executor/fail_nth.h"
#include "harness/executor/run.h"
#include "harness/executor/setup.h"

#define TICK_MS	 50
#define GRACE_MS 5000 /* for a killed child to die */

static void on_tick(int signo)
{
	(void)signo; /* a blocking call returns EINTR; that is all */
}

void vm_run_tick(void)
{
	struct sigaction sa = { .sa_handler = on_tick };
	struct itimerval every = { .it_interval = { .tv_usec = TICK_MS * 1000 },
				   .it_value = { .tv_usec = TICK_MS * 1000 } };

	if (sigaction(SIGALRM, &sa, NULL) || setitimer(ITIMER_REAL, &every, NULL))
		vm_die("setitimer: %s", strerror(errno));
}

pid_t vm_run_fork(void)
{
	return (pid_t)vm_kernel(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* What children of children left behind; in a process namespace nothing may live on. */
static void reap_others(const struct vm_executor *ex)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (pid == 0 && (!ex->namespaced || kill(-1, SIGKILL)))
			return;
		if (pid == 0 && waitpid(-1, NULL, 0) < 0 && errno == EINTR)
			return; /* one that does not die: the next program's turn */
	}
}

static void set_exit(struct vm_run_reply *reply, int status, bool killed)
{
	if (killed) {
		reply->exit = VM_EXIT_TIMEOUT;
		reply->exit_value = SIGKILL;
	} else if (WIFSIGNALED(status)) {
		reply->exit = VM_EXIT_SIGNAL;
		reply->exit_value = WTERMSIG(status);
	} else {
		reply->exit_value = WEXITSTATUS(status);
		reply->exit = reply->exit_value == 0		       ? VM_EXIT_DONE
			      : reply->exit_value == VM_CHILD_LOG_FULL ? VM_EXIT_LOG_FULL
								       : VM_EXIT_STATUS;
	}
}

void vm_run_wait(const struct vm_executor *ex, pid_t child, uint32_t timeout_ms,
		 struct vm_run_reply *reply)
{
	uint64_t start = now_ms(), limit = timeout_ms;
	bool killed = false;
	int status = 0;

	memset(reply, 0, sizeof(*reply));
	while (waitpid(child, &status, 0) != child) {
		if (now_ms() - start < limit)
			continue;
		if (killed) {
			reply->exit = VM_EXIT_STUCK;
			return;
		}
		kill(child, SIGKILL);
		killed = true;
		limit = now_ms() - start + GRACE_MS;
	}
	set_exit(reply, status, killed);
	reap_others(ex);
}

bool vm_run_program(struct vm_executor *ex, const struct vm_run_request *req,
		    struct vm_run_reply *reply)
{
	pid_t child;

	atomic_store(&ex->area->log_len, 0);
	child = vm_run_fork();
	if (child < 0)
		return false;
	if (child == 0)
		vm_child_main(ex, req);
	vm_run_wait(ex, child, req->timeout_ms ? req->timeout_ms : ex->opt.timeout_ms, reply);
	if (reply->exit == VM_EXIT_STUCK)
		vm_setup_fresh_area(ex);
	vm_committed_after(ex, reply);
	return true;
}

bool vm_in_child(struct vm_executor *ex, int (*fn)(struct vm_executor *ex), int *status)
{
	struct vm_run_reply reply;
	pid_t child = vm_run_fork();

	if (child < 0)
		vm_die("fork: %s", strerror(errno));
	if (child == 0)
		_exit(fn(ex));
	vm_run_wait(ex, child, VM_TIMEOUT_MS, &reply);
	*status = reply.exit_value;
	return reply.exit == VM_EXIT_DONE || reply.exit == VM_EXIT_STATUS;
}
