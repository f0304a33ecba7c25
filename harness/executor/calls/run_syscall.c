/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

int64_t vm_run_syscall(const struct vm_syscall *sc)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);
	uint64_t a[VM_CALL_MAX_ARGS] = { 0 };
	long ret;

	if (sc->op == VM_OP_SHMAT)
		return vm_run_shmat(sc);
	if (sc->op == VM_OP_PROCESS_MADVISE)
		return vm_run_process_madvise(sc);
	for (unsigned int i = 0; i < desc->nargs; i++) {
		a[i] = sc->arg[i];
		if (desc->arg[i].kind == VM_ARG_OBJECT)
			a[i] = (uint64_t)vm_run_object(sc->arg[i]);
	}
	ret = vm_kernel(desc->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	return ret == -1 ? -errno : ret;
}
