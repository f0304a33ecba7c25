/* SPDX-License-Identifier: MIT */
#include "oracle/judge/compare.h"

uint32_t vm_runs_of_state(const struct vm_state *s, const struct vm_objects *o, bool by_object,
			  struct vm_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct vm_area *a = &s->area[i];
		const struct vm_object *x = &o->object[a->object];

		if (a->own)
			continue;
		run[n++] = (struct vm_run){
			.start = a->start,
			.end = a->end,
			.off = x->backed || by_object ? a->off : 0,
			.inode = x->inode,
			.dev = x->dev,
			.object = a->object,
			.anon = a->anon,
			.backed = x->backed,
			.flags = a->flags,
			.flags_maybe = a->flags_maybe,
			.mode = a->prot | (a->shared ? VM_MODE_S : 0),
			.sealed = a->sealed,
			.guard = a->guard,
			.by_object = by_object,
			.identified = !x->backed || x->identified,
		};
	}
	return n;
}

uint64_t vm_flags_unshown(const struct vm_target_info *info)
{
	return info->features & VM_SMAPS_LACKS_LF ? VM_BIT(VM_FLAG_LF) : 0;
}

uint32_t vm_runs_of_snapshot(const struct vm_snapshot *snap, const struct vm_target_info *info,
			     struct vm_run *run)
{
	bool seals_shown = info->features & VM_HAS_SMAPS_SEAL;

	for (uint32_t i = 0; i < snap->nvma; i++) {
		const struct vm_vma *v = &snap->vma[i];
		enum vm_tri sealed = VM_MAYBE;

		if (v->flags_known && (seals_shown || v->flags >> VM_FLAG_SL & 1))
			sealed = v->flags >> VM_FLAG_SL & 1 ? VM_YES : VM_NO;
		run[i] = (struct vm_run){
			.start = v->start,
			.end = v->end,
			.off = v->offset,
			.inode = v->inode,
			.dev = v->dev,
			.mode = v->mode,
			.sealed = sealed,
			.guard = VM_MAYBE,
			.backed = v->inode != 0,
			.flags = v->flags & VM_TRACKED_FLAGS,
			.flags_maybe = v->flags_known ? vm_flags_unshown(info) : VM_TRACKED_FLAGS,
			.identified = true,
		};
	}
	return snap->nvma;
}

static void add(struct vm_diffs *out, uint64_t start, uint64_t end, enum vm_diff_kind kind,
		uint8_t was, uint8_t is)
{
	struct vm_diff *last = out->n ? &out->d[out->n - 1] : NULL;

	if (last && last->end == start && last->kind == kind && last->was == was &&
	    last->is == is) {
		last->end = end;
		return;
	}
	if (out->n == VM_MAX_DIFFS) {
		out->more = true;
		return;
	}
	out->d[out->n++] =
		(struct vm_diff){ .start = start, .end = end, .kind = kind, .was = was, .is = is };
}

static bool same_backing(const struct vm_run *a, const struct vm_run *b, uint64_t start)
{
	uint64_t aoff = a->off, boff = b->off;

	if (!a->by_object && a->backed != b->backed)
		return false;
	if (a->by_object || a->backed) {
		aoff += start - a->start;
		boff += start - b->start;
	}
	if (a->by_object && b->by_object)
		return a->object == b->object && a->anon == b->anon && aoff == boff;
	if (a->identified && b->identified && (a->dev != b->dev || a->inode != b->inode))
		return false;
	return aoff == boff;
}

static void compare_common(const struct vm_run *a, const struct vm_run *b, uint64_t start,
			   uint64_t end, struct vm_diffs *out)
{
	const uint8_t rights = VM_MODE_R | VM_MODE_W | VM_MODE_X;

	if ((a->mode & rights) != (b->mode & rights))
		add(out, start, end, VM_DIFF_PROT, a->mode, b->mode);
	else if ((a->mode ^ b->mode) & VM_MODE_S)
		add(out, start, end, VM_DIFF_SHARING, a->mode, b->mode);
	else if (!same_backing(a, b, start))
		add(out, start, end, VM_DIFF_BACKING, a->mode, b->mode);
	else if (a->sealed == VM_YES && b->sealed == VM_NO)
		add(out, start, end, VM_DIFF_UNSEALED, a->mode, b->mode);
	else if (a->sealed == VM_NO && b->sealed == VM_YES)
		add(out, start, end, VM_DIFF_SEALED, a->mode, b->mode);
	else if ((a->flags ^ b->flags) & ~(a->flags_maybe | b->flags_maybe))
		add(out, start, end, VM_DIFF_FLAGS, a->mode, b->mode);
	else if (a->guard != b->guard && a->guard != VM_MAYBE && b->guard != VM_MAYBE)
		add(out, start, end, VM_DIFF_GUARD, a->mode, b->mode);
}

void vm_compare(const struct vm_run *a, uint32_t na, const struct vm_run *b, uint32_t nb,
		struct vm_diffs *out)
{
	uint32_t i = 0, k = 0;
	uint64_t at = 0;

	out->n = 0;
	out->more = false;
	while (i < na || k < nb) {
		uint64_t as = i < na ? a[i].start : UINT64_MAX,
			 bs = k < nb ? b[k].start : UINT64_MAX;
		uint64_t ae = i < na ? a[i].end : UINT64_MAX, be = k < nb ? b[k].end : UINT64_MAX;
		uint64_t end;

		as = as > at ? as : at;
		bs = bs > at ? bs : at;
		if (as < bs) {
			end = ae < bs ? ae : bs;
			add(out, as, end, VM_DIFF_LOST, a[i].mode, 0);
		} else if (bs < as) {
			end = be < as ? be : as;
			add(out, bs, end, VM_DIFF_APPEARED, 0, b[k].mode);
		} else {
			end = ae < be ? ae : be;
			compare_common(&a[i], &b[k], as, end, out);
		}
		at = end;
		if (i < na && a[i].end <= at)
			i++;
		if (k < nb && b[k].end <= at)
			k++;
	}
}

/* Do neighbours certainly differ in what no look shows, but that keeps VMAs apart? */
static bool kept_apart(const struct vm_area *a, const struct vm_area *b)
{
	return a->end == b->start && !a->own && !b->own &&
	       ((a->policy != b->policy && a->policy != VM_POLICY_UNKNOWN &&
		 b->policy != VM_POLICY_UNKNOWN) ||
		(a->name != b->name && a->name != VM_NAME_UNKNOWN && b->name != VM_NAME_UNKNOWN));
}

void vm_compare_joined(const struct vm_state *s, const struct vm_snapshot *snap,
		       struct vm_diffs *out)
{
	uint32_t k = 0;

	for (uint32_t i = 1; i < s->n; i++) {
		const struct vm_area *a = &s->area[i];

		if (!kept_apart(a - 1, a))
			continue;
		while (k < snap->nvma && snap->vma[k].end <= a->start)
			k++;
		if (k < snap->nvma && snap->vma[k].start < a->start)
			add(out, a->start, a->end, VM_DIFF_JOINED, a->prot, a->prot);
	}
}
