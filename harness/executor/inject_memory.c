/* SPDX-License-Identifier: MIT */
/* Faults of memory that is not like other memory: what grows down, huge pages. */
#include <signal.h>
#include <sys/mman.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/inject_memory.h"
#include "harness/executor/inject_seal.h"

static const struct vm_vma *vma_above(const struct vm_observer *o, uint64_t addr)
{
	for (uint32_t i = 0; i < o->nvma; i++)
		if (o->vma[i].end > addr)
			return &o->vma[i];
	return NULL;
}

/* Map from `addr` up to what grows down above it; false if nothing does. */
static bool grow(const struct vm_executor *ex, uint64_t addr)
{
	struct vm_observer *o = &ex->area->inject.obs;
	struct vm_syscall sc = { .op = VM_OP_MMAP };
	const struct vm_vma *above = vm_observe_smaps(o) ? vma_above(o, addr) : NULL;

	if (!above || above->start <= addr || !(above->flags >> VM_FLAG_GD & 1))
		return false;
	sc.arg[0] = addr;
	sc.arg[1] = above->start - addr;
	sc.arg[2] = above->mode & (VM_MODE_R | VM_MODE_W | VM_MODE_X);
	sc.arg[3] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN;
	return vm_inject_call(ex, &sc) == (int64_t)addr;
}

static void stack_gap_ignored(const struct vm_executor *ex, struct vm_event *e)
{
	uint64_t page_size = ex->info.layout.page_size;
	uint64_t first = e->sc.arg[0] & ~(page_size - 1);

	while (e->status == VM_STATUS_FAULTED && e->sigcode == SEGV_MAPERR &&
	       grow(ex, first + (uint64_t)e->result * page_size)) {
		e->signo = e->sigcode = 0;
		e->sigaddr = 0;
		vm_run_touch(ex, e, (uint64_t)e->result);
	}
}

bool vm_inject_memory_before(const struct vm_executor *ex, struct vm_event *e)
{
	struct vm_syscall sc = e->sc;

	if (ex->opt.inject != VM_INJECT_HUGE_UNRESERVED || sc.op != VM_OP_MMAP ||
	    !(sc.arg[3] & MAP_HUGETLB))
		return false;
	sc.arg[3] |= MAP_NORESERVE;
	e->status = VM_STATUS_DONE;
	e->result = vm_run_syscall(&sc);
	return true;
}

void vm_inject_memory_after(const struct vm_executor *ex, struct vm_event *e)
{
	if (ex->opt.inject == VM_INJECT_STACK_GAP_IGNORED)
		stack_gap_ignored(ex, e);
}
