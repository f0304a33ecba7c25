/* SPDX-License-Identifier: MIT */
/* Faults of memory that is not like other memory: inject_memory.c. */
#ifndef VM_INJECT_MEMORY_H
#define VM_INJECT_MEMORY_H

#include "harness/executor/executor.h"

/* Before a call is made: true if it was made by this, e->status and e->result are set. */
bool vm_inject_memory_before(const struct vm_executor *ex, struct vm_event *e);

/* After a call was made. */
void vm_inject_memory_after(const struct vm_executor *ex, struct vm_event *e);

#endif
