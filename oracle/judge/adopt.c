/* SPDX-License-Identifier: MIT */
/* Observation becomes belief: what agrees is confirmed, what does not is taken as it is. */
#include "oracle/judge/judge.h"
#include "oracle/state/process.h"

static void adopt_flags(const struct vm_judge *j, const struct vm_vma *v, struct vm_area *a)
{
	bool shown = j->info->features & VM_HAS_SMAPS_SEAL;
	bool sl = v->flags >> VM_FLAG_SL & 1, locked = v->flags >> VM_FLAG_LO & 1;
	/* as believed, but that lf does not come without lo */
	uint64_t unshown = locked ? vm_flags_unshown(j->info) : 0;

	if (!v->flags_known)
		return;
	if (sl)
		a->sealed = VM_YES;
	else if (shown)
		a->sealed = VM_NO;
	a->account = v->flags >> VM_FLAG_AC & 1 ? VM_YES : VM_NO;
	a->flags = (v->flags & VM_TRACKED_FLAGS) | (a->flags & unshown);
	a->flags_maybe &= unshown;
}

/* The object behind an observed VMA that belief has nothing of: known by its inode, or new. */
static uint32_t object_of(struct vm_judge *j, const struct vm_vma *v)
{
	struct vm_objects *o = &j->scratch->objects;
	bool backed = v->inode != 0;
	uint32_t i;

	for (i = 0; backed && i < o->n; i++)
		if (o->object[i].identified && o->object[i].inode == v->inode &&
		    o->object[i].dev == v->dev)
			return i;
	i = vm_object_new(o, backed, false, UINT64_MAX);
	if (i != VM_NO_OBJECT && backed) {
		o->object[i].identified = true;
		o->object[i].inode = v->inode;
		o->object[i].dev = v->dev;
	}
	return i;
}

static bool believed_backing(struct vm_judge *j, const struct vm_area *a, const struct vm_vma *v,
			     uint64_t start)
{
	struct vm_object *x = &j->scratch->objects.object[a->object];
	uint64_t off = v->offset + (start - v->start);

	if (a->shared != !!(v->mode & VM_MODE_S) || x->backed != (v->inode != 0))
		return false;
	if (!x->backed)
		return true;
	if (off != a->off + (start - a->start))
		return false;
	if (!x->identified) {
		x->identified = true;
		x->dev = v->dev;
		x->inode = v->inode;
	}
	return x->dev == v->dev && x->inode == v->inode;
}

/* A piece of which nothing but what was seen is known. */
static struct vm_area unknown_piece(struct vm_judge *j, const struct vm_vma *v, uint64_t start)
{
	struct vm_objects *o = &j->scratch->objects;
	struct vm_area piece = { .object = object_of(j, v),
				 .anon = VM_NO_OBJECT,
				 .sealed = VM_MAYBE,
				 .account = VM_MAYBE,
				 .guard = vm_has_guards(j->profile, j->info) ? VM_MAYBE : VM_NO,
				 .name = VM_NAME_UNKNOWN,
				 .policy = j->info->features & VM_HAS_NUMA ? VM_POLICY_UNKNOWN : 0,
				 .flags_maybe = VM_TRACKED_FLAGS };

	/* huge pages are of a file */
	if (!v->inode || !j->before->process.huge)
		piece.flags_maybe &= ~VM_BIT(VM_FLAG_HT);
	if (!v->inode)
		piece.off = start; /* as of memory that grows down: see effect.c */
	if (piece.object == VM_NO_OBJECT || !v->inode)
		return piece;
	piece.off = v->offset + (start - v->start);
	if (!(v->mode & VM_MODE_S)) {
		/* its own copies, if any, are unknown: so are its pages */
		piece.anon = vm_object_copies(o, piece.object);
		if (piece.anon != VM_NO_OBJECT)
			o->object[piece.anon].partial = true;
	}
	return piece;
}

/* Pieces of one VMA have one policy and one name: belief in what was different is given up. */
static void forget_apart(struct vm_area *before, struct vm_area *piece)
{
	if (before->policy != piece->policy)
		before->policy = piece->policy = VM_POLICY_UNKNOWN;
	if (before->name != piece->name)
		before->name = piece->name = VM_NAME_UNKNOWN;
}

/* One piece of an observed VMA: with the believed area there, or with none. */
static void adopt_piece(struct vm_judge *j, const struct vm_vma *v, const struct vm_area *a,
			uint64_t start, uint64_t end, struct vm_state *to)
{
	struct vm_area piece;

	if (to->n == VM_STATE_MAX_AREAS) {
		to->lost = true;
		return;
	}
	if (a && believed_backing(j, a, v, start)) {
		piece = *a;
		piece.off += start - a->start;
		if (v->flags_known && a->flags & ~a->flags_maybe & ~v->flags & VM_BIT(VM_FLAG_LO))
			to->locks.lost += end - start;
	} else {
		piece = unknown_piece(j, v, start);
	}
	if (piece.object == VM_NO_OBJECT) {
		to->lost = true;
		return;
	}
	piece.start = start;
	piece.end = end;
	piece.prot = v->mode & (VM_MODE_R | VM_MODE_W | VM_MODE_X);
	piece.shared = !!(v->mode & VM_MODE_S);
	piece.own = VM_NOT_OWN;
	piece.begins = start == v->start ? VM_YES : VM_NO;
	adopt_flags(j, v, &piece);
	if (piece.begins == VM_NO && to->n)
		forget_apart(&to->area[to->n - 1], &piece);
	to->area[to->n++] = piece;
}

static void adopt_vma(struct vm_judge *j, const struct vm_vma *v, struct vm_state *to)
{
	const struct vm_state *s = j->before;
	uint32_t i = vm_state_from(s, v->start);

	for (uint64_t at = v->start; at < v->end;) {
		const struct vm_area *a = i < s->n ? &s->area[i] : NULL;
		uint64_t end = v->end;

		if (!a || a->start > at) {
			end = a && a->start < end ? a->start : end;
			adopt_piece(j, v, NULL, at, end, to);
		} else {
			end = a->end < end ? a->end : end;
			adopt_piece(j, v, a, at, end, to);
			i += a->end <= end;
		}
		at = end;
	}
}

/* Own areas are not in vma[]: keep them, in order. */
static void keep_own(const struct vm_state *from, uint32_t *i, uint64_t before, struct vm_state *to)
{
	for (; *i < from->n && from->area[*i].start < before; (*i)++)
		if (from->area[*i].own && to->n < VM_STATE_MAX_AREAS)
			to->area[to->n++] = from->area[*i];
}

/* Belief was lost: of what is seen now, neither objects nor bytes are known. */
static void forget(struct vm_judge *j, struct vm_state *s)
{
	struct vm_objects *o = &j->scratch->objects;
	uint32_t n = 0;

	o->segment_unknown = true;
	vm_key_doubt(&s->process.keys);
	for (uint32_t i = 0; i < o->n; i++) {
		o->object[i].zero = false;
		o->object[i].npages = 0;
		o->object[i].size = UINT64_MAX;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (s->area[i].own) {
			s->area[n] = s->area[i];
			s->area[n++].flags_maybe |= VM_LOCK_FLAGS;
		}
	s->n = n;
	s->locks.def_maybe = VM_LOCK_FLAGS;
	s->guards_used = true;
}

void vm_adopt(struct vm_judge *j, const struct vm_snapshot *snap)
{
	struct vm_state *to = j->next, *old = j->before;
	uint32_t own = 0;

	to->n = 0;
	to->lost = false;
	if (old->lost)
		forget(j, old);
	to->process = old->process;
	to->locks = old->locks;
	to->guards_used = old->guards_used;
	for (uint32_t i = 0; i < snap->nvma; i++) {
		keep_own(old, &own, snap->vma[i].start, to);
		adopt_vma(j, &snap->vma[i], to);
	}
	keep_own(old, &own, UINT64_MAX, to);
	j->next = old;
	j->before = to;
}

/* VM_SPECIAL: mlock_fixup() passes by these. */
static bool is_special(uint8_t kind)
{
	return kind == VM_KIND_VDSO || kind == VM_KIND_VVAR || kind == VM_KIND_KCOV;
}

/*
 * The vdso and vvar as the kernel made them, and what mprotect may make of them: programs can name
 * them. arch/x86/entry/vdso/vma.c map_vdso(); __install_special_mapping() charges nothing.
 */
static void begin_special(struct vm_judge *j, const struct vm_vma *v, struct vm_area *a)
{
	if (v->kind != VM_KIND_VDSO && v->kind != VM_KIND_VVAR)
		return;
	a->flags |= v->kind == VM_KIND_VDSO ? VM_MAY_ALL : VM_BIT(VM_FLAG_MR);
	a->flags_maybe &= ~(VM_MAY_ALL | VM_KEY_FLAGS);
	a->sealed = j->info->features & VM_HAS_SEALED_SYSTEM ? VM_YES : VM_NO;
	a->account = VM_NO;
	a->object = vm_object_new(&j->scratch->objects, false, false, UINT64_MAX);
}

void vm_begin(struct vm_judge *j, const struct vm_event *start)
{
	struct vm_state *s = j->before;
	uint32_t object;

	if (start && start->after.mask & VM_SEEN_MAPS) {
		vm_adopt(j, &start->after);
		j->last_maps = &start->after;
	}
	if (start)
		return;
	/* A fresh child holds the executor and nothing else. */
	s->process = vm_process_fresh(j->info);
	s->n = 0;
	s->lost = false;
	s->locks = (struct vm_locks){ 0 };
	s->guards_used = false;
	vm_objects_name(&j->scratch->objects, VM_OBJECT_PAGES * j->info->layout.page_size);
	object = vm_object_new(&j->scratch->objects, false, false, UINT64_MAX);
	for (uint32_t i = 0; i < j->info->nown && object != VM_NO_OBJECT; i++) {
		const struct vm_vma *v = &j->info->own[i];

		if (v->kind == VM_KIND_VSYSCALL)
			continue; /* beyond TASK_SIZE, not in the tree of VMAs */
		s->area[s->n++] = (struct vm_area){
			.start = v->start,
			.end = v->end,
			.object = object,
			.anon = VM_NO_OBJECT,
			.flags = v->kind == VM_KIND_STACK ? VM_BIT(VM_FLAG_GD) : 0,
			/* locks are not inherited: mm_init(), dup_mmap() */
			.flags_maybe = VM_TRACKED_FLAGS &
				       ~(VM_LOCK_FLAGS | VM_BIT(VM_FLAG_GD) | VM_BIT(VM_FLAG_HT)),
			.prot = v->mode & (VM_MODE_R | VM_MODE_W | VM_MODE_X),
			.shared = !!(v->mode & VM_MODE_S),
			.sealed = VM_MAYBE,
			.account = VM_MAYBE,
			.begins = VM_YES,
			.own = is_special(v->kind) ? VM_OWN_SPECIAL : VM_OWN,
		};
		begin_special(j, v, &s->area[s->n - 1]);
		if (s->area[s->n - 1].object == VM_NO_OBJECT)
			s->lost = true;
	}
}
