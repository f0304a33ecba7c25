/* SPDX-License-Identifier: MIT */
/* Between inject.c and inject_seal.c. */
#ifndef VM_INJECT_SEAL_H
#define VM_INJECT_SEAL_H

#include "harness/executor/inject.h"

/* Make a call for a fault, unless it could touch the executor's own memory: result or -errno. */
int64_t vm_inject_call(const struct vm_executor *ex, const struct vm_syscall *sc);

/*
 * Before a call of a kernel on which `blind` (an enum vm_op, or VM_OP_COUNT for none) does not see
 * seals. As vm_inject_before().
 */
bool vm_inject_seal(const struct vm_executor *ex, struct vm_event *e, uint8_t blind);

/* Take the marks from all that is sealed by them. */
void vm_inject_unseal(const struct vm_executor *ex);

#endif
