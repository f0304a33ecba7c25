/* SPDX-License-Identifier: MIT */
/*
 * Bugs of released kernels. They never become rules: the profile says what a version is meant to
 * do, this list lets a violation be reported as known, and it stays a violation.
 */
#define _GNU_SOURCE
#include "oracle/judge/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/*
 * mm/mremap.c (7.2): mremap_to() shrinks the source first, then move_vma() calls vrm_calc_charge(),
 * which charges vrm->delta, still old_len - new_len, as if the mapping grew. A fixed move that
 * shrinks by more than the commit limit fails, after destination and source tail are gone; one that
 * succeeds leaks the charge (Committed_AS). 7.3 works the delta out anew after the shrink
 * (vrm_populate_calculated()). Measured with docs/shrink_charge_leak.c: not on 6.12.117 and 7.3.4,
 * on 6.16.12, 6.18.44 and 7.2.12; nothing between 6.12 and 6.16 was run.
 */
static bool shrink_is_charged(const struct vm_judge *j)
{
	const struct vm_event *e = j->e;
	uint64_t page = j->info->layout.page_size;

	return e->kind == VM_EVENT_CALL && e->sc.op == VM_OP_MREMAP && e->result == -ENOMEM &&
	       e->sc.arg[3] & MREMAP_FIXED && e->sc.arg[1] > e->sc.arg[2] &&
	       (j->info->overcommit_memory == 2 ||
		(e->sc.arg[1] - e->sc.arg[2]) / page > j->info->total_pages);
}

/*
 * mm/mremap.c (6.18): dontunmap_complete() clears VM_LOCKED of the VMA that holds the source. Parts
 * of it that were not moved lose their lock too, and the destination, where copy_vma() has merged
 * it with a source that has no anon_vma. 6.12.117 and 7.2 split a locked VMA first, and do not let
 * the two merge.
 */
static bool more_is_unlocked(const struct vm_judge *j)
{
	if (j->e->kind == VM_EVENT_END)
		return j->late && j->before->locks.unlocks_more;
	if (j->e->kind != VM_EVENT_CALL)
		return false;
	return j->e->sc.op == VM_OP_MREMAP && j->e->sc.arg[3] & MREMAP_DONTUNMAP &&
	       j->e->status == VM_STATUS_DONE && j->after->locks.unlocks_more;
}

/* A touch below locked memory that grows down, which RLIMIT_MEMLOCK may keep from it. */
static bool lock_cannot_grow(const struct vm_judge *j)
{
	uint64_t page = j->info->layout.page_size;
	uint64_t at = (j->e->sc.arg[0] & ~(page - 1)) + (uint64_t)j->e->result * page;
	uint32_t i = vm_state_from(j->before, at);
	const struct vm_area *above = &j->before->area[i];

	return i < j->before->n && above->start > at && vm_area_grows(above) != VM_NO &&
	       (above->flags | above->flags_maybe) & VM_BIT(VM_FLAG_LO);
}

/*
 * mm/mremap.c (6.18): move_vma() adds the new mapping to mm->locked_vm before dontunmap_complete()
 * clears VM_LOCKED of the old one, which is never taken off again: VmLck stays too high, and
 * RLIMIT_MEMLOCK is reached too early. 6.12 knew ("we don't need to touch locked_vm"); 7.2 clears
 * the flags first.
 */
static bool lost_locks_are_counted(const struct vm_judge *j)
{
	const struct vm_event *e = j->e;
	uint8_t op = e->sc.op;

	if (e->kind == VM_EVENT_END)
		return !j->late && vm_lost_locks_counted(j);
	if (e->kind != VM_EVENT_CALL || !j->before->locks.lost)
		return false;
	if (op == VM_OP_MMAP || op == VM_OP_MREMAP || op == VM_OP_SHMAT ||
	    op == VM_OP_REMAP_FILE_PAGES)
		return e->result == -EAGAIN;
	if (e->status == VM_STATUS_FAULTED)
		return lock_cannot_grow(j);
	if (op == VM_OP_BRK)
		return (uint64_t)e->result != e->sc.arg[0];
	return (op == VM_OP_MLOCK || op == VM_OP_MLOCK2) && e->result == -ENOMEM;
}

/*
 * arch/x86/include/asm/pkeys.h (6.18): where the processor has no keys, mm_pkey_alloc() gives key 0
 * to the first that asks, arch_set_user_pkey_access() says EINVAL then, and key 0 cannot be freed;
 * from the second time on it is ENOSPC. 6.12.117 and 7.2 ask for keys first.
 */
static bool asks_for_key(const struct vm_event *e)
{
	const uint64_t known = VM_KEY_NO_ACCESS | VM_KEY_NO_WRITE;

	return e->kind == VM_EVENT_CALL && e->sc.op == VM_OP_PKEY_ALLOC && !e->sc.arg[0] &&
	       !(e->sc.arg[1] & ~known);
}

static bool key_without_keys(const struct vm_judge *j)
{
	bool asked = false, parents = false; /* in this address space, or before the fork */

	for (const struct vm_event *e = j->trace->event; e < j->e; e++) {
		if (!e->space)
			parents |= asks_for_key(e);
		else if (e->sc.op == VM_OP_FORK)
			asked = false;
		else
			asked |= asks_for_key(e);
	}
	return !(j->info->features & VM_HAS_PKU) && asks_for_key(j->e) && j->e->result == -EINVAL &&
	       !parents && !(asked && j->e->space);
}

/* The same where it succeeds: the charge is never given back. */
static bool shrink_stays_charged(const struct vm_judge *j)
{
	const struct vm_trace *t = j->trace;

	for (uint32_t i = 0; i < t->nevents && t->committed > 0; i++) {
		const struct vm_event *e = &t->event[i];

		if (e->kind == VM_EVENT_CALL && e->sc.op == VM_OP_MREMAP &&
		    e->status == VM_STATUS_DONE && !vm_event_errno(e) &&
		    e->sc.arg[3] & MREMAP_FIXED && e->sc.arg[1] > e->sc.arg[2])
			return true;
	}
	return false;
}

/*
 * mm/mmap.c (6.12), mm/vma.c (7.3) acct_stack_growth() charges growth whatever is mapped, but only
 * a VMA with VM_ACCOUNT gives its charge back: that of one which cannot be written, or is
 * MAP_NORESERVE, is lost with every growth.
 */
static bool growth_stays_charged(const struct vm_judge *j)
{
	const struct vm_trace *t = j->trace;
	bool grows = false;

	for (uint32_t i = 0; i < t->nevents && t->committed > 0; i++) {
		const struct vm_event *e = &t->event[i];
		bool protects = e->sc.op == VM_OP_MPROTECT || e->sc.op == VM_OP_PKEY_MPROTECT;
		bool maps = e->sc.op == VM_OP_MMAP && e->sc.arg[3] & MAP_GROWSDOWN;
		bool noreserve = maps && e->sc.arg[3] & MAP_NORESERVE;

		if (e->kind != VM_EVENT_CALL || e->status != VM_STATUS_DONE || vm_event_errno(e))
			continue;
		grows = grows || maps;
		/* mprotect takes VM_ACCOUNT from what was not written yet */
		if (grows && (noreserve || ((maps || protects) && !(e->sc.arg[2] & PROT_WRITE))))
			return true;
	}
	return false;
}

static const struct vm_known_bug bugs[] = {
	{ .cause = "a shrink is charged as growth",
	  .text = "6.16 to 7.2: mm/mremap.c vrm_calc_charge() charges vrm->delta of a shrinking "
		  "move",
	  .first = 6016,
	  .last = 7002,
	  .shows = shrink_is_charged },
	{ .cause = "a shrink is charged as growth",
	  .text = "6.16 to 7.2: mm/mremap.c vrm_calc_charge() charges vrm->delta of a shrinking "
		  "move, and nobody gives that back",
	  .first = 6016,
	  .last = 7002,
	  .shows = shrink_stays_charged,
	  .of_charges = true },
	{ .cause = "growth of memory that is not accounted is charged",
	  .text = "seen in 6.12.117, in the source of 7.3 too: acct_stack_growth() charges what "
		  "only VM_ACCOUNT gives back",
	  .first = 2006,
	  .shows = growth_stays_charged,
	  .of_charges = true },
	{ .cause = "MREMAP_DONTUNMAP unlocks more than the source",
	  .text = "seen in 6.18.44, not in 6.12.117 and 7.2: mm/mremap.c dontunmap_complete() "
		  "unlocks the whole VMA that the source has become",
	  .first = 5007,
	  .last = 7001,
	  .shows = more_is_unlocked,
	  .about_locks = true },
	{ .cause = "locks that MREMAP_DONTUNMAP took are still counted",
	  .text = "seen in 6.18, not in 6.12 and 7.2: mm/mremap.c move_vma() counts the new "
		  "mapping "
		  "as locked and never takes off the old one",
	  .first = 6015,
	  .last = 7001,
	  .shows = lost_locks_are_counted,
	  .about_locks = true },
	{ .cause = "the first without keys is refused late",
	  .text = "seen in 6.18.44, not in 6.12.117 and 7.2: arch/x86/include/asm/pkeys.h "
		  "mm_pkey_alloc() gives out key 0 where the processor has no keys",
	  .first = 4009,
	  .last = 7001,
	  .shows = key_without_keys },
};

static unsigned int release_of(const char *release)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10);

	return (unsigned int)(major * 1000 + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0));
}

static bool affects(const struct vm_known_bug *bug, unsigned int release)
{
	return release >= bug->first && (!bug->last || release <= bug->last);
}

const struct vm_known_bug *vm_known_bug(const struct vm_judge *j)
{
	unsigned int release = release_of(j->info->release);

	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		if (affects(&bugs[i], release) && bugs[i].of_charges == j->charging &&
		    bugs[i].shows(j))
			return &bugs[i];
	return NULL;
}

bool vm_locks_doubtful(const struct vm_judge *j)
{
	unsigned int release = release_of(j->info->release);

	if (!j->before->locks.unlocks_more && !j->before->locks.lost)
		return false;
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		if (bugs[i].about_locks && affects(&bugs[i], release))
			return true;
	return false;
}

const char *vm_host_harm(const struct vm_target_info *info)
{
	/* what is charged for ever is only missed where the commit limit is strict */
	unsigned int release = release_of(info->release);

	if (info->overcommit_memory != 2)
		return NULL;
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		if (bugs[i].of_charges && affects(&bugs[i], release))
			return "vm.overcommit_memory is 2 and this kernel loses commit charge for "
			       "ever (a known bug), so that a campaign could use up the whole "
			       "machine's limit: fuzz it in a guest";
	return NULL;
}
