/* SPDX-License-Identifier: MIT */
/*
 * What the whole machine has promised (Committed_AS of /proc/meminfo), where nothing but programs
 * runs on it: a program that has ended must have given back what it was charged.
 */
#ifndef VM_COMMITTED_H
#define VM_COMMITTED_H

#include "harness/executor/executor.h"

/* Before the first program; without --whole-machine nothing is measured. */
void vm_committed_begin(struct vm_executor *ex);

/* After a program whose processes are gone: into the reply, by how much it has grown since. */
void vm_committed_after(struct vm_executor *ex, struct vm_run_reply *reply);

#endif
