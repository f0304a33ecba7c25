/* SPDX-License-Identifier: MIT */
/* What the names and quantities of a program mean on one target. */
#include "harness/program/call_table.h"

uint64_t vm_quantity_value(const struct vm_quantity *q, const struct vm_layout *layout)
{
	/* Negative parts wrap as unsigned: the sum is modulo 2^64. */
	return (uint64_t)q->bytes + (uint64_t)(int64_t)q->pages * layout->page_size +
	       (uint64_t)(int64_t)q->pmd * layout->pmd_size +
	       (uint64_t)(int64_t)q->pud * layout->pud_size +
	       (uint64_t)(int64_t)q->task * layout->task_size;
}

uint64_t vm_addr_value(const struct vm_addr *addr, const struct vm_layout *layout,
		       const uint64_t names[VM_NAME_SLOTS])
{
	uint64_t base = 0;

	switch (addr->base) {
	case VM_BASE_ARENA:
		base = layout->arena_base + addr->index * layout->page_size;
		break;
	case VM_BASE_NAME:
		if (addr->index && addr->index < VM_NAME_SLOTS)
			base = names[addr->index];
		break;
	case VM_BASE_TASK:
		base = layout->task_size;
		break;
	case VM_BASE_BRK:
		base = layout->brk_base;
		break;
	case VM_BASE_VDSO:
		base = layout->vdso.start;
		break;
	case VM_BASE_VVAR:
		base = layout->vvar.start;
		break;
	default:
		break;
	}
	return base + vm_quantity_value(&addr->off, layout);
}

struct vm_syscall vm_call_resolve(const struct vm_call *call, const struct vm_layout *layout,
				  const uint64_t names[VM_NAME_SLOTS])
{
	const struct vm_call_desc *desc = vm_call_desc(call->op);
	struct vm_syscall sc = { .op = call->op };

	for (unsigned int i = 0; i < desc->nargs; i++) {
		switch (desc->arg[i].kind) {
		case VM_ARG_ADDR:
			sc.arg[i] = vm_addr_value(&call->arg[i].addr, layout, names);
			break;
		case VM_ARG_LEN:
		case VM_ARG_OFFSET:
			sc.arg[i] = vm_quantity_value(&call->arg[i].len, layout);
			break;
		default:
			sc.arg[i] = call->arg[i].bits;
			break;
		}
	}
	return sc;
}
