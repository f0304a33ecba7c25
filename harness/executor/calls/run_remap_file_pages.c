/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

void vm_run_remap_file_pages(const struct vm_executor *ex, struct vm_event *e)
{
	const uint64_t *arg = e->sc.arg;
	/* page sizes are powers of two: an arithmetic shift, so that -1 page stays -1 */
	int shift = __builtin_ctzll(ex->info.layout.page_size);
	uint64_t pgoff = (uint64_t)((int64_t)arg[3] >> shift);
	long ret = vm_kernel(SYS_remap_file_pages, arg[0], arg[1], arg[2], pgoff, arg[4], 0);

	e->status = VM_STATUS_DONE;
	e->result = ret == -1 ? -errno : ret;
}
