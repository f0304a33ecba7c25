/* SPDX-License-Identifier: MIT */
/* Limits and credentials that a program asks for, given to its child. */
#ifndef VM_EXECUTOR_PREAMBLE_H
#define VM_EXECUTOR_PREAMBLE_H

#include "harness/executor/executor.h"

/*
 * In the child, before it looks at anything: give the program of the area what its preamble says,
 * and make ex->info that of this child (harness/trace/preamble.h). False if the system refuses.
 * Only soft limits and effective capabilities are changed.
 */
bool vm_preamble_give(struct vm_executor *ex);

/* Before an exec: limits as they were, so that the new program can start. */
void vm_preamble_take_back(void);

#endif
