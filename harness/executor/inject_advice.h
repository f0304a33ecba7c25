/* SPDX-License-Identifier: MIT */
/* Between inject.c and inject_advice.c. */
#ifndef VM_INJECT_ADVICE_H
#define VM_INJECT_ADVICE_H

#include "harness/executor/inject.h"

/* The faults of madvise and process_madvise; as vm_inject_before() and vm_inject_after(). */
bool vm_inject_advice_before(const struct vm_executor *ex, struct vm_event *e);
void vm_inject_advice_after(const struct vm_executor *ex, struct vm_event *e);

#endif
