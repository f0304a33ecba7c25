/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

/*
 * How far below the executor's own stack frames a segment is held while it gets its first mapping:
 * in the room that the stack may grow into, which no call of a program reaches.
 */
#define BELOW_STACK (2ul << 20)

/* This process' segment, or its parent's; -1 before the first. */
static int segment = -1;

static int make(void)
{
	size_t size = VM_OBJECT_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	int id = shmget(IPC_PRIVATE, size, 0700), other;

	/* Number 0 would show as inode 0, as if there were no object. */
	if (id == 0) {
		other = shmget(IPC_PRIVATE, size, 0700);
		shmctl(id, IPC_RMID, NULL);
		id = other;
	}
	return id;
}

/*
 * A segment that is removed already, and lives as long as it is attached at `held`. Where locked
 * memory is used up the kernel allows no such mapping: then *held is NULL, and the caller removes
 * the segment.
 */
static int make_held(const void **held)
{
	const char *near = (const char *)&near;
	int id = make();

	*held = NULL;
	if (id < 0)
		return -1;
	*held = shmat(id, near - BELOW_STACK, SHM_RND);
	if (*held == (const void *)-1)
		*held = NULL;
	else
		shmctl(id, IPC_RMID, NULL);
	return id;
}

bool vm_run_shm_works(void)
{
	const void *held;
	int id = make_held(&held);

	if (id >= 0 && !held)
		shmctl(id, IPC_RMID, NULL);
	return held && !shmdt(held);
}

static int64_t attach(int id, const struct vm_syscall *sc)
{
	long ret = vm_kernel(SYS_shmat, (uint64_t)id, sc->arg[1], sc->arg[2], 0, 0, 0);

	return ret == -1 ? -errno : ret;
}

/* Of a segment that is new: without one that holds it. */
static int64_t attach_new(const struct vm_syscall *sc)
{
	int64_t ret;

	segment = make();
	ret = attach(segment, sc);
	if (segment >= 0)
		shmctl(segment, IPC_RMID, NULL);
	return ret;
}

int64_t vm_run_shmat(const struct vm_syscall *sc)
{
	const void *held = NULL;
	struct shmid_ds now;
	int64_t ret;

	if (sc->arg[0] != VM_OBJECT_S0)
		return attach(-1, sc);
	if (segment >= 0 && !shmctl(segment, IPC_STAT, &now))
		return attach(segment, sc);
	segment = make_held(&held);
	if (!held) {
		if (segment >= 0)
			shmctl(segment, IPC_RMID, NULL);
		return attach_new(sc);
	}
	ret = attach(segment, sc);
	shmdt(held);
	/* What holds it may be memory itself that was the last allowed, or locked. */
	return ret == -EAGAIN || ret == -ENOMEM ? attach_new(sc) : ret;
}
