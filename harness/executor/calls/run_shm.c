/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"

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

/* A segment that is removed already, and lives as long as it is attached at `held`. */
static int make_held(const void **held)
{
	const char *near = (const char *)&near;
	int id = make();

	if (id < 0)
		return -1;
	*held = shmat(id, near - BELOW_STACK, SHM_RND);
	shmctl(id, IPC_RMID, NULL);
	return *held == (const void *)-1 ? -1 : id;
}

bool vm_run_shm_works(void)
{
	const void *held;

	return make_held(&held) >= 0 && !shmdt(held);
}

int64_t vm_run_shmat(const struct vm_syscall *sc)
{
	const void *held = NULL;
	struct shmid_ds now;
	int id = -1;
	long ret;

	if (sc->arg[0] == VM_OBJECT_S0) {
		if (segment < 0 || shmctl(segment, IPC_STAT, &now))
			segment = make_held(&held);
		id = segment;
	}
	ret = syscall(SYS_shmat, id, sc->arg[1], sc->arg[2]);
	if (ret == -1)
		ret = -errno;
	if (id >= 0 && held)
		shmdt(held);
	return ret;
}
