/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

/* In a read-only section: the kernel can check its address, but not write to it. */
static const unsigned char read_only[VM_MINCORE_MAX_PAGES] = { 1 };

static uint64_t bitmap(const unsigned char *vector, uint64_t pages)
{
	uint64_t bits = 0;

	for (uint64_t i = 0; i < pages && i < VM_MINCORE_BITS; i++)
		bits |= (uint64_t)(vector[i] & 1) << i;
	return bits;
}

void vm_run_mincore(const struct vm_executor *ex, struct vm_event *e)
{
	uint64_t page_size = ex->info.layout.page_size, len = e->sc.arg[1], where;
	uint64_t pages = len / page_size + (len % page_size != 0);
	unsigned char vector[VM_MINCORE_MAX_PAGES] = { 0 };

	if (e->sc.arg[2] & VM_MINCORE_NO_VECTOR)
		where = UINT64_MAX;
	else if (e->sc.arg[2] & VM_MINCORE_READ_ONLY || pages > VM_MINCORE_MAX_PAGES)
		where = (uintptr_t)read_only;
	else
		where = (uintptr_t)vector;
	e->status = VM_STATUS_DONE;
	if (vm_kernel(SYS_mincore, e->sc.arg[0], len, where, 0, 0, 0) == 0)
		e->result = (int64_t)bitmap(vector, pages);
	else
		e->result = -errno;
}
