/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

void vm_run_brk(struct vm_event *e)
{
	e->status = VM_STATUS_DONE;
	e->result = vm_kernel(SYS_brk, e->sc.arg[0], 0, 0, 0, 0, 0);
}
