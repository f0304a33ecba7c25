/* SPDX-License-Identifier: MIT */
/* What the kernel has, and how it behaves: found out once, in children. */
#ifndef VM_PROBE_H
#define VM_PROBE_H

#include "harness/executor/executor.h"

/* Fill in ex->ways and info.features (VM_HAS_*, VM_PROBE_*). Needs vm_setup_own(). */
void vm_probe_all(struct vm_executor *ex);

/* behaviour.c: the VM_PROBE_* bits. */
uint64_t vm_probe_behaviour(struct vm_executor *ex);

#endif
