/* SPDX-License-Identifier: MIT */
/*
 * Seals that a call ignores. A real seal cannot be taken back, so a sealed range is only marked,
 * with MADV_DONTDUMP: the kernel then keeps its boundaries and moves the mark with the pages, just
 * as it would a seal. Before a call that is to see seals the marks in its way become seals; in a
 * look a mark shows as one.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/executor.h"
#include "harness/executor/inject_seal.h"

#define VM_FLAG_DD 23u /* VM_DONTDUMP */

static bool marked(const struct vm_vma *vma)
{
	return vma->flags >> VM_FLAG_DD & 1;
}

static int mark(uint64_t start, uint64_t end, int advice)
{
	return madvise((void *)(uintptr_t)start, end - start, advice);
}

/* Is [start, end) mapped without a hole? */
static bool mapped(const struct vm_observer *o, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < o->nvma && start < end; i++) {
		if (o->vma[i].start <= start && o->vma[i].end > start)
			start = o->vma[i].end;
	}
	return start >= end;
}

/* The fault seal-lost: what touches the new seal loses its own. */
static void lose_seals(const struct vm_observer *o, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < o->nvma; i++) {
		const struct vm_vma *vma = &o->vma[i];

		if (marked(vma) && (vma->end == start || vma->start == end))
			mark(vma->start, vma->end, MADV_DODUMP);
	}
}

/* mseal: errors are the kernel's own, a seal is only a mark. */
static bool seal(const struct vm_executor *ex, struct vm_event *e, const struct vm_range *range)
{
	struct vm_observer *o = &ex->area->inject.obs;

	if (e->sc.arg[2] || range->start >= range->end || !vm_observe_smaps(o) ||
	    !mapped(o, range->start, range->end))
		return false;
	if (ex->opt.inject == VM_INJECT_SEAL_LOST)
		lose_seals(o, range->start, range->end);
	e->status = VM_STATUS_DONE;
	e->result = mark(range->start, range->end, MADV_DONTDUMP) ? -errno : 0;
	return true;
}

static bool in_the_way(const struct vm_vma *vma, const struct vm_range range[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		if (range[i].start < range[i].end && vma->start < range[i].end &&
		    vma->end > range[i].start)
			return true;
	}
	return false;
}

static void make_real(const struct vm_observer *o, const struct vm_range range[2])
{
	for (uint32_t i = 0; i < o->nvma; i++) {
		const struct vm_vma *vma = &o->vma[i];

		if (!marked(vma) || !in_the_way(vma, range))
			continue;
		mark(vma->start, vma->end, MADV_DODUMP);
		syscall(VM_NR_MSEAL, vma->start, vma->end - vma->start, 0);
	}
}

void vm_inject_unseal(const struct vm_executor *ex)
{
	struct vm_observer *o = &ex->area->inject.obs;

	if (!vm_observe_smaps(o))
		return;
	for (uint32_t i = 0; i < o->nvma; i++)
		if (marked(&o->vma[i]))
			mark(o->vma[i].start, o->vma[i].end, MADV_DODUMP);
}

bool vm_inject_seal(const struct vm_executor *ex, struct vm_event *e, uint8_t blind)
{
	const struct vm_call_desc *desc = vm_call_desc(e->sc.op);
	struct vm_range range[2] = { { 0, 0 }, { 0, 0 } };

	if (desc->nr < 0 || e->sc.op == blind)
		return false;
	desc->footprint(&e->sc, &ex->info.layout, range);
	if (e->sc.op == VM_OP_MSEAL)
		return seal(ex, e, &range[0]);
	if (vm_observe_smaps(&ex->area->inject.obs))
		make_real(&ex->area->inject.obs, range);
	return false;
}

/* Does this fault make marks of seals? Elsewhere VM_DONTDUMP is the program's own. */
static bool seals_are_marks(enum vm_inject_fault fault)
{
	return (fault >= VM_INJECT_SEAL_IGNORED_MUNMAP &&
		fault <= VM_INJECT_SEAL_IGNORED_MPROTECT) ||
	       fault == VM_INJECT_SEAL_LOST || fault == VM_INJECT_SEAL_IGNORED_MADVISE ||
	       fault == VM_INJECT_SEAL_IGNORED_SHMAT || fault == VM_INJECT_FORK_UNSEALS;
}

void vm_inject_look(const struct vm_executor *ex, struct vm_observer *o)
{
	o->totals.locked += ex->area->inject.unlocked;
	if (!seals_are_marks(ex->opt.inject))
		return;
	for (uint32_t i = 0; i < o->nvma; i++) {
		struct vm_vma *vma = &o->vma[i];

		if (vma->flags_known && marked(vma))
			vma->flags = (vma->flags & ~(1ull << VM_FLAG_DD)) | 1ull << VM_FLAG_SL;
	}
}
