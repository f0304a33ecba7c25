/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static void finish(struct vm_event *e, long ret)
{
	e->status = VM_STATUS_DONE;
	e->result = ret < 0 ? -errno : ret;
}

void vm_run_name(struct vm_event *e)
{
	static const char *const names[] = { NULL, "one", "two", "both" };
	uint64_t which = e->sc.arg[2];
	const char *name = which & VM_NAME_ILLEGAL ? "a[b" : names[which & 3];

	finish(e, vm_kernel(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, e->sc.arg[0], e->sc.arg[1],
			    (uintptr_t)name, 0));
}

void vm_run_mdwe(struct vm_event *e)
{
	finish(e, vm_kernel(SYS_prctl, PR_SET_MDWE, e->sc.arg[0], 0, 0, 0, 0));
}
