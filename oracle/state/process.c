/* SPDX-License-Identifier: MIT */
#include "oracle/state/process.h"

struct vm_process vm_process_fresh(const struct vm_layout *layout)
{
	return (struct vm_process){ .brk = layout->brk_base };
}

void vm_process_after(struct vm_process *p, const struct vm_syscall *sc, int64_t result)
{
	if (sc->op == VM_OP_MDWE && result == 0)
		p->mdwe = (uint8_t)sc->arg[0];
	else if (sc->op == VM_OP_BRK)
		p->brk = (uint64_t)result;
}
