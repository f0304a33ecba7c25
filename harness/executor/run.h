/* SPDX-License-Identifier: MIT */
/* Children, seen from the parent: start one, wait for it, whatever becomes of it. */
#ifndef VM_RUN_H
#define VM_RUN_H

#include "harness/executor/executor.h"

/* A child's exit status when its log had no room; 0 when all calls were made. */
#define VM_CHILD_LOG_FULL    99
#define VM_CHILD_NO_PREAMBLE 98 /* the system refused what the preamble says */

/* Begin to be woken from blocking calls now and then, so that a child can be timed. Once. */
void vm_run_tick(void);

/* Fork without libc's handlers: 0 in the child, its pid in the parent, -1 with errno. */
pid_t vm_run_fork(void);

/*
 * Wait for a child at most timeout_ms, then kill it, and wait five seconds more. Fills in how it
 * ended; all other children that were left to us are reaped too.
 */
void vm_run_wait(const struct vm_executor *ex, pid_t child, uint32_t timeout_ms,
		 struct vm_run_reply *reply);

/* Run area->prog in a child. False, with errno, if there could be none. */
bool vm_run_program(struct vm_executor *ex, const struct vm_run_request *req,
		    struct vm_run_reply *reply);

#endif
