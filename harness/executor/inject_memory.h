/* SPDX-License-Identifier: MIT */
/* Faults of memory that is not like other memory: inject_memory.c. */
#ifndef VM_INJECT_MEMORY_H
#define VM_INJECT_MEMORY_H

#include "harness/executor/executor.h"

/* After a call was made. */
void vm_inject_memory_after(const struct vm_executor *ex, struct vm_event *e);

#endif
