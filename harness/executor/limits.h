/* SPDX-License-Identifier: MIT */
/* What the kernel says of itself and of the limits that calls are made under. */
#ifndef VM_LIMITS_H
#define VM_LIMITS_H

#include "harness/executor/executor.h"

/* Fill in info's names, limits and credentials; a file that is not there reads as 0. */
void vm_limits_read(struct vm_target_info *info);

#endif
