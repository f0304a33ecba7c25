/* SPDX-License-Identifier: MIT */
/* Where things lie: the arena, the executor's area, and the ranges that no call may touch. */
#ifndef VM_SETUP_H
#define VM_SETUP_H

#include "harness/executor/executor.h"

/* info.layout: page size, TASK_SIZE, the arena. */
void vm_setup_layout(struct vm_executor *ex);

/* Map the area and the parent's buffers, grow the stack, handle faults. Needs the layout. */
void vm_setup_memory(struct vm_executor *ex);

/* Put new memory in the place of the area: the old one belongs to a child that cannot be killed. */
void vm_setup_fresh_area(struct vm_executor *ex);

/* Look at a fresh child: info.own, info.guard and span[]. Needs the memory. */
void vm_setup_own(struct vm_executor *ex);

/* Run `fn` in a fresh child that ends with what it returns. False if it did not end in time. */
bool vm_in_child(struct vm_executor *ex, int (*fn)(struct vm_executor *ex), int *status);

#endif
