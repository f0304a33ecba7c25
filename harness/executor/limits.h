/* SPDX-License-Identifier: MIT */
/* What the kernel says of itself and of the limits that calls are made under. */
#ifndef VM_LIMITS_H
#define VM_LIMITS_H

#include "harness/executor/executor.h"

/* Fill in info's names, limits and credentials; a file that is not there reads as 0. */
void vm_limits_read(struct vm_target_info *info);

/* What a hint of one page is rounded up to; `otherwise` if it goes elsewhere. */
uint64_t vm_limits_hint_min_addr(uint64_t page, uint64_t otherwise);

/*
 * The bytes that brk(brk_base) is held to RLIMIT_DATA for, by /proc/self/stat; UINT64_MAX if it
 * does not say. include/linux/mm.h check_data_rlimit()
 */
uint64_t vm_limits_data_segment(const struct vm_target_info *info);

#endif
