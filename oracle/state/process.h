/* SPDX-License-Identifier: MIT */
/* What calls change of a process besides its mappings. */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include "oracle/state/state.h"

/* Before the first call. */
struct vm_process vm_process_fresh(const struct vm_layout *layout);

/*
 * After a call that returned `result` (a value, or -errno). The result alone tells, so this holds
 * whatever else is believed.
 */
void vm_process_after(struct vm_process *p, const struct vm_syscall *sc, int64_t result);

#endif
