/* SPDX-License-Identifier: MIT */
/* The child: makes the calls of area->prog, and looks. */
#ifndef VM_CHILD_H
#define VM_CHILD_H

#include "harness/executor/executor.h"

_Noreturn void vm_child_main(struct vm_executor *ex, const struct vm_run_request *req);

#endif
