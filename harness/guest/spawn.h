/* SPDX-License-Identifier: MIT */
/* A child that does not outlive us, whatever ends us. */
#ifndef VM_SPAWN_H
#define VM_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Start argv[0] (looked for in PATH) in a process group of its own, with default signals, fd[i] as
 * its descriptor i, and no other. The kernel kills it when the calling thread ends. 0 or an errno.
 */
int vm_spawn(pid_t *pid, char *const argv[], const int *fd, int nfds);

#endif
