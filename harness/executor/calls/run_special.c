/* SPDX-License-Identifier: MIT */
/* Calls that are more than a system call with the arguments of their row. */
#include "harness/executor/calls/run.h"

void vm_run_special(const struct vm_executor *ex, struct vm_event *e)
{
	switch (e->sc.op) {
	case VM_OP_MINCORE:
		vm_run_mincore(ex, e);
		break;
	case VM_OP_REMAP_FILE_PAGES:
		vm_run_remap_file_pages(ex, e);
		break;
	case VM_OP_NAME:
		vm_run_name(e);
		break;
	case VM_OP_MDWE:
		vm_run_mdwe(e);
		break;
	case VM_OP_MBIND:
		vm_run_mbind(ex, e);
		break;
	case VM_OP_BRK:
		vm_run_brk(e);
		break;
	default:
		vm_run_touch(ex, e, 0);
		break;
	}
}
