/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS, RLIMIT_DATA and RLIMIT_MEMLOCK. A preamble may set them: r->info has what it made. */
#include "oracle/rules/rule.h"

#define CAP_IPC_LOCK_BIT 14

/* Are so many bytes of data too much for RLIMIT_DATA? */
static bool over_data(const struct vm_rule *r, uint64_t bytes)
{
	uint64_t page = r->info->layout.page_size;

	if (bytes / page <= r->info->rlimit_data / page)
		return false;
	/* the kernel's "workaround for Valgrind": with a limit of 0 the hard limit counts */
	if (!r->info->rlimit_data && bytes / page <= r->info->rlimit_max_data / page)
		return false;
	return !(r->info->features & VM_NO_RLIMIT_DATA);
}

enum vm_tri vm_cannot_expand(const struct vm_rule *r, const struct vm_sizes *mapped, uint64_t bytes,
			     enum vm_tri data)
{
	uint64_t page = r->info->layout.page_size;

	if (mapped->total / page + bytes / page > r->info->rlimit_as / page)
		return VM_YES;
	if (data == VM_NO || !over_data(r, mapped->data + mapped->maybe + bytes))
		return VM_NO;
	return data == VM_YES && over_data(r, mapped->data + bytes) ? VM_YES : VM_MAYBE;
}

enum vm_tri vm_over_rlimit(const struct vm_rule *r, uint64_t bytes, enum vm_tri data)
{
	struct vm_sizes mapped = vm_state_sizes(r->s, 0, UINT64_MAX);

	return vm_cannot_expand(r, &mapped, bytes, data);
}

enum vm_tri vm_over_data_segment(const struct vm_rule *r, uint64_t brk)
{
	uint64_t more = brk - r->info->layout.brk_base;

	if (r->info->rlimit_data == UINT64_MAX)
		return VM_NO;
	if (r->info->data_segment == UINT64_MAX)
		return VM_MAYBE;
	return vm_is(r->info->data_segment + more > r->info->rlimit_data);
}

static bool may_lock_all(const struct vm_rule *r)
{
	return r->info->cap_effective >> CAP_IPC_LOCK_BIT & 1;
}

bool vm_cannot_lock(const struct vm_rule *r)
{
	return !r->info->rlimit_memlock && !may_lock_all(r);
}

uint64_t vm_lock_limit(const struct vm_rule *r)
{
	return may_lock_all(r) ? UINT64_MAX : r->info->rlimit_memlock & vm_page_mask(r);
}

enum vm_tri vm_over_memlock(const struct vm_rule *r, uint64_t bytes)
{
	uint64_t maybe, limit = vm_lock_limit(r);
	uint64_t locked = vm_state_locked(r->s, 0, UINT64_MAX, &maybe);

	if (may_lock_all(r))
		return VM_NO;
	if (bytes > limit || locked > limit - bytes)
		return VM_YES;
	return maybe > limit - bytes - locked ? VM_MAYBE : VM_NO;
}

enum vm_tri vm_new_over_memlock(const struct vm_rule *r, uint64_t asked, uint64_t bytes)
{
	uint64_t lo = VM_BIT(VM_FLAG_LO);
	bool locked = (asked | r->s->locks.def_flags) & lo, maybe = r->s->locks.def_maybe & lo;
	enum vm_tri over = locked || maybe ? vm_over_memlock(r, bytes) : VM_NO;

	return over == VM_YES && !locked ? VM_MAYBE : over;
}
