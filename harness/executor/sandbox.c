/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/executor/fail_nth.h"
#include "harness/executor/sandbox.h"

#define STACK_LIMIT (8ul << 20)

/* Bits that change what mmap does, and are not what is tested. */
#define BAD_PERSONALITY (READ_IMPLIES_EXEC | ADDR_COMPAT_LAYOUT | MMAP_PAGE_ZERO)

void vm_sandbox_fix_layout(char **argv)
{
	int was = personality(0xffffffff), want;
	char *no_environment[] = { NULL };
	struct rlimit stack;
	bool again = false;

	want = (was & ~BAD_PERSONALITY) | ADDR_NO_RANDOMIZE;
	if (was != -1 && was != want && personality((unsigned long)want) != -1 &&
	    personality(0xffffffff) == want)
		again = true;
	if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur != STACK_LIMIT &&
	    stack.rlim_max >= STACK_LIMIT) {
		stack.rlim_cur = STACK_LIMIT;
		again |= !setrlimit(RLIMIT_STACK, &stack);
	}
	if (again)
		execve("/proc/self/exe", argv, no_environment);
}

/* The process that was started: nothing left to do but to wait. */
static _Noreturn void wait_for(pid_t child)
{
	int status;

	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (waitpid(child, &status, 0) != child) {
		if (errno != EINTR)
			_exit(VM_EXIT_USAGE);
	}
	vm_fail_nth_restore();
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : VM_EXIT_USAGE);
}

/* What preambles may ask for (cap keep) stays permitted, and is in effect for nothing else. */
static void keep_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, caps))
		vm_die("capget: %s", strerror(errno));
	caps[0].permitted &= 1u << CAP_IPC_LOCK | 1u << CAP_SYS_ADMIN | 1u << CAP_SYS_RAWIO;
	caps[0].effective = caps[0].inheritable = 0;
	caps[1] = (struct __user_cap_data_struct){ 0 };
	if (syscall(SYS_capset, &header, caps))
		vm_die("capset: %s", strerror(errno));
}

static void give_up_root(bool whole_machine)
{
	if (whole_machine && prctl(PR_SET_KEEPCAPS, 1))
		vm_die("prctl(PR_SET_KEEPCAPS): %s", strerror(errno));
	if (setgroups(0, NULL) || setresgid(VM_NOBODY, VM_NOBODY, VM_NOBODY) ||
	    setresuid(VM_NOBODY, VM_NOBODY, VM_NOBODY))
		vm_die("cannot become user %d: %s; run as an ordinary user, or with --privileged",
		       VM_NOBODY, strerror(errno));
	if (whole_machine)
		keep_capabilities();
}

/* A child that eats all memory is to go before anything else does. */
static void volunteer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "900", 3) != 3)
		vm_die("cannot write oom_score_adj: %s", strerror(errno));
	close(fd);
}

/* Locking populates: what keeps the memory that it takes bounded is the kernel's own limit. */
static void bound_locking(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		vm_die("getrlimit(RLIMIT_MEMLOCK): %s", strerror(errno));
	if (limit.rlim_cur > VM_LOCK_MAX) {
		limit.rlim_cur = VM_LOCK_MAX;
		if (setrlimit(RLIMIT_MEMLOCK, &limit))
			vm_die("setrlimit(RLIMIT_MEMLOCK): %s", strerror(errno));
	}
	if (syscall(SYS_capget, &header, caps))
		vm_die("capget: %s", strerror(errno));
	if (!(caps[0].effective & 1u << CAP_IPC_LOCK))
		return;
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, caps))
		vm_die("capset: %s", strerror(errno));
}

void vm_sandbox_enter(struct vm_executor *ex)
{
	struct rlimit none = { 0, 0 };
	pid_t child;

	volunteer_for_oom();
	vm_kcov_open(&ex->kcov);
	vm_fail_nth_setup(ex);
	if (geteuid() == 0 && !ex->opt.privileged) {
		if (unshare(CLONE_NEWPID | CLONE_NEWIPC) == 0) {
			child = fork();
			if (child < 0)
				vm_die("fork: %s", strerror(errno));
			if (child)
				wait_for(child);
			ex->namespaced = true;
		} else {
			vm_fail_nth_restore(); /* nobody would be there to do it later */
		}
		give_up_root(ex->opt.whole_machine);
	}
	bound_locking();
	/* After the change of user, which clears it. */
	if (ex->namespaced && prctl(PR_SET_PDEATHSIG, SIGKILL))
		vm_die("prctl(PR_SET_PDEATHSIG): %s", strerror(errno));
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		vm_die("prctl(PR_SET_CHILD_SUBREAPER): %s", strerror(errno));
	if (!ex->opt.privileged && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		vm_die("prctl(PR_SET_NO_NEW_PRIVS): %s", strerror(errno));
	if (prctl(PR_SET_DUMPABLE, 1)) /* else /proc/self/mem is not ours to read */
		vm_die("prctl(PR_SET_DUMPABLE): %s", strerror(errno));
	if (setrlimit(RLIMIT_CORE, &none))
		vm_die("setrlimit(RLIMIT_CORE): %s", strerror(errno));
}
