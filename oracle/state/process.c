/* SPDX-License-Identifier: MIT */
#include "oracle/state/process.h"

struct vm_process vm_process_fresh(void)
{
	return (struct vm_process){ .mdwe = 0 };
}

void vm_process_after(struct vm_process *p, const struct vm_syscall *sc, int64_t result)
{
	if (sc->op == VM_OP_MDWE && result == 0)
		p->mdwe = (uint8_t)sc->arg[0];
}
