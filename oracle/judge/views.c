/* SPDX-License-Identifier: MIT */
/* The ways of looking must agree: maps, smaps, PROCMAP_QUERY; and nothing changes between calls. */
#include "oracle/judge/judge.h"

#include <stdio.h>

static void report(struct vm_judge *j, const char *title, const struct vm_vma *v,
		   const char *expected, const char *observed)
{
	struct vm_verdict *r;

	if (j->judged)
		return;
	j->judged = true;
	r = vm_report(j, VM_VIOLATION, "views agree", "fs/proc/task_mmu.c; proc(5)");
	if (!r)
		return;
	snprintf(r->title, sizeof(r->title), "%s", title);
	snprintf(r->expected, sizeof(r->expected), "%s", expected);
	snprintf(r->observed, sizeof(r->observed), "%s", observed);
	if (v) {
		r->start = v->start;
		r->end = v->end;
	}
}

void vm_check_views(struct vm_judge *j, const struct vm_snapshot *snap)
{
	/* rd wr ex and ms (VM_MAYSHARE) are bits 0, 1, 2 and 7 of the VmFlags names */
	for (uint32_t i = 0; i < snap->nvma; i++) {
		const struct vm_vma *v = &snap->vma[i];
		uint8_t mode;

		if (!v->flags_known)
			continue;
		mode = (v->flags & 1 ? VM_MODE_R : 0) | (v->flags & 2 ? VM_MODE_W : 0) |
		       (v->flags & 4 ? VM_MODE_X : 0) | (v->flags >> 7 & 1 ? VM_MODE_S : 0);
		if (mode != v->mode) {
			report(j, "views: VmFlags and the rights in smaps disagree", v,
			       "VmFlags rd, wr, ex, ms say what the header line says",
			       "they differ");
			return;
		}
	}
}

static bool same_vma(const struct vm_vma *a, const struct vm_vma *b)
{
	return a->start == b->start && a->end == b->end && a->mode == b->mode &&
	       a->offset == b->offset && a->inode == b->inode && a->dev == b->dev;
}

static void check_layout(struct vm_judge *j, const struct vm_snapshot *snap)
{
	const struct vm_snapshot *last = j->last_maps;
	uint32_t i;

	if (!last)
		return;
	for (i = 0; i < last->nvma && i < snap->nvma; i++)
		if (!same_vma(&last->vma[i], &snap->vma[i])) {
			report(j,
			       "views: the layout changed without a call, or maps and "
			       "PROCMAP_QUERY disagree",
			       &snap->vma[i], "the VMAs seen after the last call", "other VMAs");
			return;
		}
	if (last->nvma != snap->nvma)
		report(j,
		       "views: the layout changed without a call, or maps and PROCMAP_QUERY "
		       "disagree",
		       i < snap->nvma ? &snap->vma[i] : &last->vma[i],
		       "the VMAs seen after the last call", "more or fewer VMAs");
}

/*
 * As in info->own; but the vdso and vvar have the rights that a program gave them, or any where
 * belief was lost meanwhile.
 */
static bool as_believed(const struct vm_judge *j, struct vm_vma seen, const struct vm_vma *own)
{
	const struct vm_area *a = vm_state_at(j->before, own->start);
	struct vm_vma now = *own;

	if (own->kind == VM_KIND_VDSO || own->kind == VM_KIND_VVAR) {
		if (j->before->lost || j->scratch->objects.segment_unknown)
			now.mode = seen.mode;
		else if (a)
			now.mode = (uint8_t)(a->prot | (own->mode & VM_MODE_S));
	}
	if (own->kind == VM_KIND_STACK && seen.start < own->start)
		seen.start = own->start;
	return same_vma(&seen, &now);
}

/* The executor's own memory is a bystander of every call; its stack may have grown down. */
static void check_own(struct vm_judge *j, const struct vm_snapshot *snap)
{
	const struct vm_target_info *info = j->info;
	bool same = snap->nown == info->nown;

	for (uint32_t i = 0; same && i < snap->nown; i++)
		same = as_believed(j, snap->own[i], &info->own[i]);
	if (!same)
		report(j, "program: the executor's own memory changed", NULL,
		       "text, data, log, stack and vdso as before the first call",
		       "another layout");
}

void vm_check_end(struct vm_judge *j, const struct vm_event *end)
{
	if (!j->unobserved_since)
		check_layout(j, &end->after);
	if (end->after.mask & VM_SEEN_OWN)
		check_own(j, &end->after);
}
