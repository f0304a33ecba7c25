/* SPDX-License-Identifier: MIT */
/*
 * The address space of a forked child. kernel/fork.c dup_mmap() (mm/mmap.c from 6.17 on): VMAs are
 * as they were but for VM_DONTCOPY ones, which are absent, VM_WIPEONFORK ones, which start anew,
 * and locks, which are not inherited. Private memory parts ways, shared objects alias. And that of
 * a program which was just begun by exec.
 */
#include "harness/program/call_table.h"
#include "oracle/state/effect.h"

/* The child's copy of private memory; areas that share one in the parent share one in the child. */
static uint32_t copy_of(struct vm_objects *o, uint32_t object)
{
	if (o->object[object].copy == VM_NO_OBJECT) {
		uint32_t copy = vm_object_duplicate(o, object);

		o->object[object].copy = copy;
	}
	return o->object[object].copy;
}

static bool fork_area(struct vm_area *a, struct vm_objects *o)
{
	uint32_t *private = a->anon != VM_NO_OBJECT ? &a->anon : &a->object;

	a->flags &= ~(VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF));
	a->flags_maybe &= ~(VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF));
	if (a->own || a->shared)
		return true;
	if (a->flags & VM_BIT(VM_FLAG_WF)) {
		a->guard = VM_NO;
		return vm_fresh_pages(a, o);
	}
	*private = copy_of(o, *private);
	return *private != VM_NO_OBJECT;
}

/* kernel/fork.c mm_init(): mmf_init_flags() */
static void inherit_process(struct vm_process *p)
{
	if (p->mdwe & VM_MDWE_NO_INHERIT)
		p->mdwe = 0;
}

/* kernel/fork.c mm_init(): nothing is locked, and VM_INIT_DEF_MASK has no lock flags. */
static void forget_locks(struct vm_state *s)
{
	s->locks = (struct vm_locks){ 0 };
}

void vm_state_fork(struct vm_state *s, struct vm_objects *o)
{
	uint32_t n = 0;
	bool gone = false;

	inherit_process(&s->process);
	forget_locks(s);
	for (uint32_t i = 0; i < o->n; i++)
		o->object[i].copy = VM_NO_OBJECT;
	for (uint32_t i = 0; i < s->n; i++) {
		struct vm_area a = s->area[i];

		if (!a.own && a.flags & VM_BIT(VM_FLAG_DC)) {
			gone = true;
			continue;
		}
		if (!fork_area(&a, o)) {
			s->lost = true;
			return;
		}
		if (gone)
			a.begins = VM_YES;
		gone = false;
		s->area[n++] = a;
	}
	s->n = n;
}

/* The rights that the kernel gives its own mappings: the vdso may be executed, vvar only read. */
static void fresh_special(struct vm_area *a)
{
	if (a->own == VM_OWN_SPECIAL && !(a->flags_maybe & VM_MAY_ALL))
		a->prot = VM_MODE_R | (a->flags & VM_BIT(VM_FLAG_ME) ? VM_MODE_X : 0);
}

void vm_state_exec(struct vm_state *s)
{
	uint32_t n = 0;

	inherit_process(&s->process);
	forget_locks(s);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->area[i].own) {
			s->area[n] = s->area[i];
			fresh_special(&s->area[n++]);
		}
	s->n = n;
}
