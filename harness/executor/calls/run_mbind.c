/* SPDX-License-Identifier: MIT */
/* mbind(2): the mask of nodes is made of the row's words. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"

#define LONG_BITS (8 * sizeof(unsigned long))
#define MASK_BITS                                                                                  \
	32768u /* a page of 4 KiB has so many: mm/mempolicy.c get_nodes() takes no more            \
		*/

/* maxnode counts one more than the mask has bits. */
static unsigned long max_node(uint64_t nodes, const struct vm_executor *ex)
{
	if (nodes & VM_NODES_ONE_MAX)
		return 1;
	if (nodes & VM_NODES_NO_MAX)
		return 0;
	if (nodes & VM_NODES_LONG_MAX)
		return ex->info.layout.page_size * 8 + 2;
	return nodes & VM_NODES_FAR ? MASK_BITS + 1 : LONG_BITS + 1;
}

void vm_run_mbind(const struct vm_executor *ex, struct vm_event *e)
{
	static unsigned long mask[MASK_BITS / LONG_BITS];
	uint64_t nodes = e->sc.arg[3];
	uintptr_t where = (uintptr_t)mask;
	long ret;

	mask[0] = nodes & (VM_NODES_0 | VM_NODES_1);
	mask[MASK_BITS / LONG_BITS - 1] = nodes & VM_NODES_FAR ? 1ul << (LONG_BITS - 1) : 0;
	if (nodes & VM_NODES_BAD_MASK)
		where = UINTPTR_MAX;
	if (nodes & VM_NODES_NO_MASK)
		where = 0;
	ret = syscall(SYS_mbind, e->sc.arg[0], e->sc.arg[1], e->sc.arg[2] | e->sc.arg[5], where,
		      max_node(nodes, ex), e->sc.arg[4]);
	e->status = VM_STATUS_DONE;
	e->result = ret == -1 ? -errno : ret;
}
