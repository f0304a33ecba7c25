/* SPDX-License-Identifier: MIT */
/* Objects that programs map: memfds, and a file without a name. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"

/* Out of the way of descriptors that the looking opens. */
#define FIRST_DESCRIPTOR 200

/* This process' objects; a fresh child has none. */
static int descriptor[VM_OBJECT_COUNT];

static int make_memfd(const char *name)
{
	return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
}

/*
 * In /tmp; where nothing can be written (a guest that is nothing but an initramfs), a memfd: that
 * is what a file of a tmpfs is.
 */
static int make_file(void)
{
	static const char *const folder[] = { "/tmp", "/var/tmp", "/dev/shm", "/" };
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(folder) / sizeof(folder[0]); i++)
		fd = open(folder[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? make_memfd("f0") : fd;
}

static int reopen_readonly(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int make(uint64_t object)
{
	int fd, high;

	if (object == VM_OBJECT_R0)
		fd = reopen_readonly(vm_run_object(VM_OBJECT_M0));
	else
		fd = object == VM_OBJECT_F0 ? make_file() : make_memfd(vm_object_name(object));
	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	close(fd);
	if (high >= 0 && object != VM_OBJECT_R0 &&
	    ftruncate(high, VM_OBJECT_PAGES * sysconf(_SC_PAGESIZE))) {
		close(high);
		return -1;
	}
	return high;
}

void vm_run_all_objects(void)
{
	for (unsigned int i = VM_OBJECT_NONE + 1; i < VM_OBJECT_COUNT; i++)
		vm_run_object(i);
}

int vm_run_object(uint64_t object)
{
	if (object == VM_OBJECT_NONE || object == VM_OBJECT_S0 || object >= VM_OBJECT_COUNT)
		return -1;
	if (!descriptor[object])
		descriptor[object] = make(object);
	return descriptor[object];
}
