/* SPDX-License-Identifier: MIT */
/* A process with pipes on its stdin, stdout and stderr, in a process group of its own. */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct vm_process {
	pid_t pid;	  /* 0: none */
	int in, out, err; /* our ends, not blocking: we write to `in`; -1: closed */
	bool connected;	  /* not started but connected to; pid is 0 */
};

/*
 * Start argv[0] with default signals and no descriptor but 0, 1 and 2. The group keeps a terminal's
 * Ctrl-C away from it. 0 or an errno.
 */
int vm_process_start(struct vm_process *p, char *const argv[]);

/*
 * No process of ours, but a connection to the unix socket at `path`; retried for wait_ms. Of a
 * connection nothing but its descriptors can end. 0 or an errno.
 */
int vm_process_connect(struct vm_process *p, const char *path, unsigned int wait_ms);

/* Is there a process or a connection? */
static inline bool vm_process_there(const struct vm_process *p)
{
	return p->pid || p->out >= 0;
}

/* Has it ended (and waits to be reaped)? */
bool vm_process_ended(const struct vm_process *p);

/*
 * Close its stdin and stdout, give it grace_ms to end, then kill the group, and reap. `err` stays
 * open for its last words. The wait status, or -1 if it cannot be killed; of a connection 0.
 */
int vm_process_stop(struct vm_process *p, unsigned int grace_ms);

/* A wait status in words: "status 3", "signal 11 (Segmentation fault)". */
void vm_process_status_text(int status, char *buf, size_t cap);

/* CLOCK_MONOTONIC in milliseconds. */
long long vm_now_ms(void);

#endif
