/* SPDX-License-Identifier: MIT */
/*
 * Totals of the address space against the sum of its VMAs. mm/mmap.c vm_stat_account(), mm/vma.h
 * is_exec_mapping(), is_stack_mapping(), is_data_mapping(); mm->locked_vm: mm/mlock.c.
 */
#include "oracle/judge/judge.h"

#include <stdio.h>

struct sums {
	uint64_t size, locked, data, stack, exec; /* bytes */
};

/* `stack`: VM_GROWSDOWN, or a shadow stack. */
static void add(struct sums *sum, const struct vm_vma *v, bool stack)
{
	uint64_t size = v->end - v->start;
	const uint8_t wx = VM_MODE_W | VM_MODE_X;

	sum->size += size;
	if (stack)
		sum->stack += size;
	else if ((v->mode & wx) == VM_MODE_X)
		sum->exec += size;
	else if ((v->mode & (VM_MODE_W | VM_MODE_S)) == VM_MODE_W)
		sum->data += size;
	if (v->flags >> VM_FLAG_LO & 1)
		sum->locked += size;
}

/* The executor's VMAs are seen without flags: belief knows whether they are locked. */
static bool add_own(const struct vm_judge *j, const struct vm_snapshot *snap, struct sums *sum)
{
	bool known = !j->before->lost;

	for (uint32_t i = 0; i < snap->nown; i++)
		if (snap->own[i].kind != VM_KIND_VSYSCALL) /* no VMA of this address space */
			add(sum, &snap->own[i], snap->own[i].kind == VM_KIND_STACK);
	for (uint32_t i = 0; i < j->before->n; i++) {
		const struct vm_area *a = &j->before->area[i];

		if (!a->own)
			continue;
		known &= !(a->flags_maybe & VM_BIT(VM_FLAG_LO));
		if (a->flags & VM_BIT(VM_FLAG_LO))
			sum->locked += a->end - a->start;
	}
	return known;
}

static void sum_up(const struct vm_judge *j, const struct vm_snapshot *snap, struct sums *sum,
		   bool *locks_known)
{
	*sum = (struct sums){ 0 };
	*locks_known = add_own(j, snap, sum);
	for (uint32_t i = 0; i < snap->nvma; i++) {
		uint64_t flags = snap->vma[i].flags;

		add(sum, &snap->vma[i], flags >> VM_FLAG_GD & 1 || flags >> VM_FLAG_SS & 1);
	}
}

static bool can_sum(const struct vm_snapshot *snap)
{
	const uint32_t needed = VM_SEEN_TOTALS | VM_SEEN_MAPS | VM_SEEN_OWN | VM_SEEN_FLAGS;

	return (snap->mask & needed) == needed;
}

bool vm_lost_locks_counted(const struct vm_judge *j)
{
	const struct vm_snapshot *snap = &j->e->after;
	uint64_t locked = snap->totals.locked * j->info->layout.page_size;
	struct sums sum;
	bool known;

	if (!can_sum(snap) || !j->before->locks.lost)
		return false;
	sum_up(j, snap, &sum, &known);
	if (!known || locked < sum.locked)
		return false;
	/* where more than belief says was unlocked, or belief in locks was given up, it may be gone
	 * before it was seen */
	return locked == sum.locked + j->before->locks.lost || j->before->locks.unlocks_more ||
	       j->before->locks.doubted;
}

/* One total that must be what the VMAs say. */
static void check(struct vm_judge *j, const char *name, uint64_t pages, uint64_t bytes)
{
	uint64_t sum = bytes / j->info->layout.page_size;
	const struct vm_known_bug *bug;
	struct vm_verdict *v;

	if (pages == sum || j->judged)
		return;
	j->judged = true;
	v = vm_report(j, VM_VIOLATION, "views agree",
		      "mm/mmap.c vm_stat_account(), mm/mlock.c; proc(5)");
	if (!v)
		return;
	bug = vm_known_bug(j);
	snprintf(v->title, sizeof(v->title), "totals: %s is not the sum of the VMAs", name);
	if (bug)
		vm_title_add_cause(v->title, bug->cause);
	v->known = bug ? bug->text : NULL;
	snprintf(v->expected, sizeof(v->expected), "%s of %llu pages", name,
		 (unsigned long long)sum);
	snprintf(v->observed, sizeof(v->observed), "%llu pages", (unsigned long long)pages);
}

void vm_check_totals(struct vm_judge *j, const struct vm_snapshot *snap)
{
	const struct vm_totals *t = &snap->totals;
	struct sums sum;
	bool locks_known;

	if (!can_sum(snap))
		return;
	sum_up(j, snap, &sum, &locks_known);
	check(j, "VmSize", t->size, sum.size);
	if (locks_known)
		check(j, "VmLck", t->locked, sum.locked);
	check(j, "VmPin", t->pinned, 0);
	check(j, "VmData", t->data, sum.data);
	check(j, "VmStk", t->stack, sum.stack);
	check(j, "VmExe and VmLib", t->exec + t->lib, sum.exec);
	check(j, "the size in statm", t->statm_size, sum.size);
	check(j, "the data in statm", t->statm_data, sum.data + sum.stack);
}

void vm_check_committed(struct vm_judge *j)
{
	const struct vm_trace *t = j->trace;
	const struct vm_known_bug *bug;
	struct vm_verdict *v;

	if (!t->committed_known || !t->committed || t->exit != VM_EXIT_DONE || !j->e)
		return;
	j->charging = true;
	bug = vm_known_bug(j);
	j->charging = false;
	v = vm_report(j, VM_VIOLATION, "views agree",
		      "mm/util.c vm_memory_committed(): charges go with what was charged");
	if (!v)
		return;
	snprintf(v->title, sizeof(v->title), "totals: Committed_AS %s over a program",
		 t->committed > 0 ? "has grown" : "has shrunk");
	if (bug)
		vm_title_add_cause(v->title, bug->cause);
	v->known = bug ? bug->text : NULL;
	snprintf(v->expected, sizeof(v->expected), "all that was charged is given back");
	snprintf(v->observed, sizeof(v->observed), "%lld pages more than before",
		 (long long)t->committed);
}
