/* SPDX-License-Identifier: MIT */
/* What a call does to an address space, as a short list of steps. */
#ifndef VM_EFFECT_H
#define VM_EFFECT_H

#include "oracle/state/object.h"

enum vm_step_kind {
	VM_STEP_UNMAP, /* [start, end) */
	VM_STEP_MAP, /* [start, end) with prot, shared, flags: of `object` at `off`, or anonymous */
	VM_STEP_PROTECT,   /* mapped pages of [start, end) get prot */
	VM_STEP_SEAL,	   /* mapped pages of [start, end) are sealed */
	VM_STEP_MOVE,	   /* mapped pages of [start, end) to `to`, holes kept as holes, see keep */
	VM_STEP_EXTEND,	   /* [start, end) is mapped as a continuation of the page at `to` */
	VM_STEP_DUPLICATE, /* [start, end) maps the object at `to` once more (mremap, old_len 0) */
	VM_STEP_SPLIT,	   /* VMAs may have been split at start and end, no page changed */
	VM_STEP_FLAGS,	   /* mapped pages of [start, end): VmFlags `clear` go, `flags` come */
	VM_STEP_NAME,	   /* mapped pages of [start, end) get `name` */
	VM_STEP_DROP,	   /* private pages of [start, end) are gone: zero, or the object's */
	VM_STEP_FREE,	   /* ... may be dropped at any time until they are written to */
	VM_STEP_PUNCH,	   /* the objects shared at [start, end) have a hole there */
	VM_STEP_GUARD,	   /* mapped pages of [start, end) are dropped and become guard pages */
	VM_STEP_UNGUARD,   /* ... are no guard pages any more */
	VM_STEP_RESIZE,	   /* `object` gets `end` bytes */
	VM_STEP_FILL,	   /* pages of [start, end) get the tags of call `call` */
	VM_STEP_WRITE,	   /* ... their first words */
	VM_STEP_FORK,	   /* the whole address space becomes that of a forked child */
	VM_STEP_EXEC,	   /* nothing but the executor's own memory is left */
	VM_STEP_COPY, /* [start, end) is populated: private writable mappings of objects get their
			 own copies of these pages now; where locks wait for faults (lf) only if
			 `flags` has lf */
	VM_STEP_LOCK, /* VmFlags lo and lf of [start, end) become `flags`, where VMAs can be locked
		       */
	VM_STEP_GROW, /* what begins at `end` and grows down (VM_GROWSDOWN) begins at `start` */
	VM_STEP_DEFAULT,  /* mm->def_flags: new mappings get `flags` of VM_LOCK_FLAGS */
	VM_STEP_POLICY,	  /* mapped pages of [start, end) get `policy`; `keep`: node 0 as home of it
			   */
	VM_STEP_EXEC_KEY, /* a protection key is taken for memory with PROT_EXEC alone */
};

struct vm_step {
	uint8_t kind;
	uint8_t prot; /* VM_MODE_R | W | X */
	bool shared;
	bool keep;	   /* MOVE: MREMAP_DONTUNMAP, the source stays mapped */
	bool leftover;	   /* MOVE, with keep: it was not meant to stay, and has its locks */
	bool keeps_charge; /* PROTECT: what loses the write right stays charged */
	bool starved; /* PROTECT: locked memory that becomes writable may not have been populated */
	bool ksm_only; /* FLAGS: shared and droppable memory is left alone */
	bool chosen; /* the address that the kernel chose (its result) is added to start, end; MOVE:
			to */
	uint8_t call;	 /* FILL, WRITE: index of the call in the program */
	uint8_t name;	 /* NAME: as vm_area.name */
	uint8_t huge;	 /* MAP: of huge pages, as vm_area.huge; a new object at `off` */
	uint16_t policy; /* POLICY: as vm_area.policy */
	uint64_t start, end, to;
	uint32_t object; /* MAP: VM_NO_OBJECT for anonymous memory or a new segment; RESIZE */
	uint16_t attach; /* MAP: of s0, as vm_area.attach */
	uint64_t off;	 /* MAP: where in the object */
	/* MAP, FLAGS, LOCK, DEFAULT: as vm_area.flags; PROTECT: the key, if `clear` has keys */
	uint64_t flags, clear;
	uint64_t maybe; /* MAP, PROTECT: flags that are unknown */
};

#define VM_EFFECT_MAX 8

struct vm_effect {
	uint32_t n;
	struct vm_step step[VM_EFFECT_MAX];
};

/*
 * Pages of its own that a mapping had are gone or elsewhere: it starts anew, zero or the object's.
 * False if memory ran out.
 */
bool vm_fresh_pages(struct vm_area *a, struct vm_objects *o);

/* fork.c: `s` becomes what a child of this address space has: kernel/fork.c dup_mmap(). */
void vm_state_fork(struct vm_state *s, struct vm_objects *o);

/* fork.c: what is left by exec. */
void vm_state_exec(struct vm_state *s);

/*
 * Apply an effect. `chosen` is the address that the kernel returned. FILL and WRITE change objects
 * (contents belong to them); the others change only `s`, and add objects.
 */
void vm_effect_apply(const struct vm_effect *e, uint64_t chosen, struct vm_state *s,
		     struct vm_objects *o, uint64_t page_size);

/* ---- doubt.c ---- */

/* Does an effect change nothing that a layout shows? True of no effect. */
bool vm_effect_is_hidden(const struct vm_effect *e);

/* The hidden part of an effect may have happened: what it would change is unknown. */
void vm_effect_doubt(const struct vm_effect *e, struct vm_state *s, struct vm_objects *o);

#endif
