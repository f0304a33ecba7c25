/* SPDX-License-Identifier: MIT */
/* process_madvise(2): the process names itself by a pidfd. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

#define FIRST_DESCRIPTOR 200 /* out of the way of descriptors that the looking opens */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* A descriptor of the calling process; one that was inherited names the parent. */
static int self(void)
{
	static int descriptor = -1;
	static pid_t owner;
	int fd;

	if (owner == getpid())
		return descriptor;
	owner = getpid();
	fd = (int)syscall(SYS_pidfd_open, owner, 0);
	descriptor = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (fd >= 0)
		close(fd);
	return descriptor;
}

int64_t vm_run_process_madvise(const struct vm_syscall *sc)
{
	struct iovec range = { (void *)(uintptr_t)sc->arg[0], sc->arg[1] };
	long ret = vm_kernel(vm_call_desc(sc->op)->nr, (uint64_t)self(), (uintptr_t)&range, 1,
			     sc->arg[2], sc->arg[3], 0);

	return ret == -1 ? -errno : ret;
}
