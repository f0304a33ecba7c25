/* SPDX-License-Identifier: MIT */
/*
 * Settings of the whole machine that a program's preamble may ask for: only where the executor was
 * started with --whole-machine. A process that stays root, the keeper, writes them and what they
 * were, reads back what it wrote, and puts all back when the executor is gone, however it went.
 */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include "harness/executor/executor.h"

/*
 * With opt.whole_machine: start the keeper, before root is given up. Dies with one line on stderr
 * if this is not root, or settings cannot be written.
 */
void vm_machine_start(struct vm_executor *ex);

/* Add to the info what the keeper has found out. */
void vm_machine_describe(const struct vm_executor *ex, struct vm_target_info *info);

/*
 * In a child, before its program: set what its preamble says, and let go of the keeper. Returns the
 * word that cannot be had, or VM_PREAMBLE_COUNT.
 */
unsigned int vm_machine_set(struct vm_executor *ex);

/* In the parent, after the child: put all back. False, with `why`, if that cannot be. */
bool vm_machine_restore(struct vm_executor *ex, char *why, size_t cap);

#endif
