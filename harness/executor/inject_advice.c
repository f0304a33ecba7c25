/* SPDX-License-Identifier: MIT */
/* Faults of madvise: advice that is taken for another, or goes too far. */
#include <errno.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/executor.h"
#include "harness/executor/inject_advice.h"
#include "harness/executor/inject_seal.h"
#include "harness/program/advice.h"

static bool is_advice(const struct vm_event *e, int32_t advice)
{
	return (e->sc.op == VM_OP_MADVISE || e->sc.op == VM_OP_PROCESS_MADVISE) &&
	       vm_advice(e->sc.arg[2]) == advice;
}

/* Make the call with another advice that is refused and walks over holes as this one. */
static bool instead(struct vm_event *e, int32_t advice, int32_t other)
{
	struct vm_syscall sc = e->sc;

	if (!is_advice(e, advice))
		return false;
	sc.arg[2] = (uint32_t)other;
	e->status = VM_STATUS_DONE;
	e->result = vm_run_syscall(&sc);
	return true;
}

bool vm_inject_advice_before(const struct vm_executor *ex, struct vm_event *e)
{
	switch (ex->opt.inject) {
	case VM_INJECT_DONTNEED_KEPT:
		return instead(e, MADV_DONTNEED, MADV_COLD);
	case VM_INJECT_GUARD_MISSING:
		return instead(e, MADV_GUARD_INSTALL, MADV_DONTNEED);
	default:
		return false;
	}
}

/* MADV_DODUMP that droppable memory refuses, if its range begins there. */
static void droppable_dumped(const struct vm_executor *ex, struct vm_event *e)
{
	struct vm_observer *o = &ex->area->inject.obs;

	if (!is_advice(e, MADV_DODUMP) || e->result != -EINVAL || !vm_observe_smaps(o))
		return;
	for (uint32_t i = 0; i < o->nvma; i++)
		if (e->sc.arg[0] >= o->vma[i].start && e->sc.arg[0] < o->vma[i].end &&
		    o->vma[i].flags >> VM_FLAG_DP & 1)
			e->result = 0;
}

/* The page behind the range goes with it. */
static void dontneed_neighbour(const struct vm_executor *ex, const struct vm_event *e)
{
	uint64_t page_size = ex->info.layout.page_size, start = e->sc.arg[0];
	uint64_t len = (e->sc.arg[1] + page_size - 1) & ~(page_size - 1);
	struct vm_syscall sc = { .op = VM_OP_MADVISE,
				 .arg = { start + len, page_size, MADV_DONTNEED } };

	if (is_advice(e, MADV_DONTNEED) && e->result >= 0 && len)
		vm_inject_call(ex, &sc);
}

void vm_inject_advice_after(const struct vm_executor *ex, struct vm_event *e)
{
	if (ex->opt.inject == VM_INJECT_DONTNEED_NEIGHBOUR)
		dontneed_neighbour(ex, e);
	else if (ex->opt.inject == VM_INJECT_DROPPABLE_DUMPED)
		droppable_dumped(ex, e);
}
