/* SPDX-License-Identifier: MIT */
/* What one VMA says to an advice, and what the advice does. mm/madvise.c madvise_vma_behavior(). */
#include "oracle/rules/madvise.h"

#include <errno.h>

/* What any file system that /tmp may be on can hold, as in truncate.c. */
#define SAFE_FILE_SIZE (1ull << 40)

static const struct vm_cause locked = { .text = "locked or huge pages",
					.basis = "mm/madvise.c madvise_vma_behavior()" };
static const struct vm_cause huge_unaligned = {
	.text = "start is inside a huge page",
	.basis = "mm/madvise.c madvise_dontneed_free_valid_vma()"
};
static const struct vm_cause not_anonymous = { .text = "not private anonymous memory",
					       .basis = "mm/madvise.c madvise_vma_behavior()" };
static const struct vm_cause droppable = { .text = "droppable memory",
					   .basis = "mm/madvise.c madvise_vma_behavior()" };
static const struct vm_cause no_file = { .text = "no file behind the mapping",
					 .basis = "mm/madvise.c madvise_remove()" };
static const struct vm_cause not_shared = { .text = "not a shared mapping that can be written",
					    .basis = "mm/madvise.c madvise_remove()" };
static const struct vm_cause bad_offset = { .text = "offset is negative",
					    .basis = "fs/open.c vfs_fallocate()" };
static const struct vm_cause too_big = { .text = "beyond what the file system allows",
					 .basis = "fs/open.c vfs_fallocate()" };
static const struct vm_cause no_holes = { .text = "the file system punches no holes",
					  .basis = "fs/open.c vfs_fallocate()" };
static const struct vm_cause no_swap = { .text = "no swap in this kernel",
					 .basis = "mm/madvise.c madvise_willneed()" };
static const struct vm_cause not_collapsed = { .text = "huge page not to be had",
					       .basis = "mm/khugepaged.c madvise_collapse_errno()",
					       .resource = true };

static enum vm_tri has_flags(const struct vm_area *a, uint64_t flags)
{
	if (a->flags & flags & ~a->flags_maybe)
		return VM_YES;
	return a->flags_maybe & flags ? VM_MAYBE : VM_NO;
}

static bool dontneed_refused(struct vm_rule *r, int32_t advice, const struct vm_area *a,
			     uint64_t start)
{
	enum vm_tri huge = has_flags(a, VM_BIT(VM_FLAG_HT));

	if (advice == MADV_DONTNEED &&
	    vm_fails(r, has_flags(a, VM_BIT(VM_FLAG_LO)), EINVAL, &locked))
		return true;
	return vm_fails(r, huge == VM_NO ? VM_NO : vm_state_in_huge_page(r->s, start), EINVAL,
			&huge_unaligned);
}

/* vfs_fallocate(FALLOC_FL_PUNCH_HOLE) of the object at [off, off + len). */
static bool punch_refused(struct vm_rule *r, const struct vm_area *a, uint64_t off, uint64_t len)
{
	bool other = a->object == r->objects->named[VM_OBJECT_F0] ||
		     !r->objects->object[a->object].zero; /* a file, or unknown */
	uint64_t end = off + len;
	enum vm_tri big = end < off || end > INT64_MAX	  ? VM_YES
			  : other && end > SAFE_FILE_SIZE ? VM_MAYBE
							  : VM_NO;

	return vm_fails(r, vm_is(off > INT64_MAX), EINVAL, &bad_offset) ||
	       vm_fails(r, big, EFBIG, &too_big) ||
	       vm_fails(r, other ? VM_MAYBE : VM_NO, EOPNOTSUPP, &no_holes);
}

static bool remove_refused(struct vm_rule *r, const struct vm_area *a, uint64_t start, uint64_t end)
{
	enum vm_tri may_write = has_flags(a, VM_BIT(VM_FLAG_MW));
	enum vm_tri not_writable = !a->shared		 ? VM_YES
				   : may_write == VM_NO	 ? VM_YES
				   : may_write == VM_YES ? VM_NO
							 : VM_MAYBE;

	return vm_fails(r, has_flags(a, VM_BIT(VM_FLAG_LO)), EINVAL, &locked) ||
	       vm_fails(r, vm_is(vm_area_is_anonymous(a)), EINVAL, &no_file) ||
	       vm_fails(r, not_writable, EACCES, &not_shared) ||
	       punch_refused(r, a, a->off + (start - a->start), end - start);
}

/* MADV_COLLAPSE may fail for many reasons that cannot be seen; contents stay the same. */
static bool collapse_refused(struct vm_rule *r)
{
	vm_fails(r, VM_MAYBE, EINVAL, &not_collapsed);
	vm_fails(r, VM_MAYBE, EAGAIN, &not_collapsed);
	vm_fails(r, VM_MAYBE, EBUSY, &not_collapsed);
	vm_fails(r, VM_MAYBE, ENOMEM, &not_collapsed);
	return false;
}

bool vm_advice_refused(struct vm_rule *r, int32_t advice, const struct vm_area *a, uint64_t start,
		       uint64_t end)
{
	enum vm_tri huge = has_flags(a, VM_BIT(VM_FLAG_HT));
	enum vm_tri fixed = has_flags(a, VM_BIT(VM_FLAG_HT) | VM_BIT(VM_FLAG_LO));
	bool anonymous = vm_area_is_anonymous(a);

	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		return dontneed_refused(r, advice, a, start);
	case MADV_FREE:
		return vm_fails(r, fixed, EINVAL, &locked) ||
		       vm_fails(r, vm_is(!anonymous), EINVAL, &not_anonymous);
	case MADV_COLD:
	case MADV_PAGEOUT:
	case MADV_GUARD_INSTALL:
		return vm_fails(r, fixed, EINVAL, &locked);
	case MADV_GUARD_REMOVE:
		return vm_fails(r, huge, EINVAL, &locked);
	case MADV_REMOVE:
		return remove_refused(r, a, start, end);
	case MADV_WILLNEED:
		return anonymous && vm_fails(r, vm_is(!(r->info->features & VM_HAS_MADV_SWAPIN)),
					     EBADF, &no_swap);
	case MADV_WIPEONFORK:
		return vm_fails(r, vm_is(!anonymous), EINVAL, &not_anonymous);
	case MADV_KEEPONFORK:
	case MADV_DODUMP:
		return vm_fails(r, has_flags(a, VM_BIT(VM_FLAG_DP)), EINVAL, &droppable);
	case MADV_COLLAPSE:
		return collapse_refused(r);
	default:
		return false;
	}
}

/* VmFlags that an advice sets, and clears. */
static bool flags_of(int32_t advice, struct vm_step *step)
{
	static const struct {
		uint64_t set, clear;
	} change[] = {
		[MADV_NORMAL] = { 0, VM_BIT(VM_FLAG_RR) | VM_BIT(VM_FLAG_SR) },
		[MADV_SEQUENTIAL] = { VM_BIT(VM_FLAG_SR), VM_BIT(VM_FLAG_RR) },
		[MADV_RANDOM] = { VM_BIT(VM_FLAG_RR), VM_BIT(VM_FLAG_SR) },
		[MADV_DONTFORK] = { VM_BIT(VM_FLAG_DC), 0 },
		[MADV_DOFORK] = { 0, VM_BIT(VM_FLAG_DC) },
		[MADV_MERGEABLE] = { VM_BIT(VM_FLAG_MG), 0 },
		[MADV_UNMERGEABLE] = { 0, VM_BIT(VM_FLAG_MG) },
		[MADV_HUGEPAGE] = { VM_BIT(VM_FLAG_HG), VM_BIT(VM_FLAG_NH) },
		[MADV_NOHUGEPAGE] = { VM_BIT(VM_FLAG_NH), VM_BIT(VM_FLAG_HG) },
		[MADV_DONTDUMP] = { VM_BIT(VM_FLAG_DD), 0 },
		[MADV_DODUMP] = { 0, VM_BIT(VM_FLAG_DD) },
		[MADV_WIPEONFORK] = { VM_BIT(VM_FLAG_WF), 0 },
		[MADV_KEEPONFORK] = { 0, VM_BIT(VM_FLAG_WF) },
	};

	if (!vm_advice_is_flags(advice))
		return false;
	step->kind = VM_STEP_FLAGS;
	step->flags = change[advice].set;
	step->clear = change[advice].clear;
	/* mm/ksm.c vma_ksm_compatible(): elsewhere the advice is ignored */
	step->ksm_only = advice == MADV_MERGEABLE;
	return true;
}

struct vm_step vm_advice_step(int32_t advice, uint64_t start)
{
	struct vm_step step = { .kind = VM_ADVICE_NOTHING, .start = start };

	if (flags_of(advice, &step))
		return step;
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		step.kind = VM_STEP_DROP;
		break;
	case MADV_FREE:
		step.kind = VM_STEP_FREE;
		break;
	case MADV_REMOVE:
		step.kind = VM_STEP_PUNCH;
		break;
	case MADV_POPULATE_WRITE:
		step.kind = VM_STEP_COPY;
		step.flags = VM_BIT(VM_FLAG_LF);
		break;
	case MADV_GUARD_INSTALL:
		step.kind = VM_STEP_GUARD;
		break;
	case MADV_GUARD_REMOVE:
		step.kind = VM_STEP_UNGUARD;
		break;
	default:
		break;
	}
	return step;
}

uint64_t vm_advice_end(const struct vm_rule *r, int32_t advice, const struct vm_area *a,
		       uint64_t end)
{
	bool drops = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED;

	if (!drops || has_flags(a, VM_BIT(VM_FLAG_HT)) != VM_YES)
		return end;
	return end & ~(a->huge ? ((uint64_t)1 << a->huge) - 1 : r->info->layout.pmd_size - 1);
}
