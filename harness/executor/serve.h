/* SPDX-License-Identifier: MIT */
/* The executor's life: say hello, then run what is asked for until the host closes its end. */
#ifndef VM_SERVE_H
#define VM_SERVE_H

#include "harness/executor/executor.h"

/* Returns the exit status: 0 at the end of input, VM_EXIT_USAGE after a VM_FRAME_ERROR. */
int vm_serve(struct vm_executor *ex);

#endif
