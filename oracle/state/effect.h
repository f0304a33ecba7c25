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
	VM_STEP_RESIZE,	   /* `object` gets `end` bytes */
	VM_STEP_FILL,	   /* pages of [start, end) get the tags of call `call` */
	VM_STEP_WRITE,	   /* ... their first words */
	VM_STEP_COPY,	   /* private mappings of objects get their own copies of these pages now */
};

struct vm_step {
	uint8_t kind;
	uint8_t prot; /* VM_MODE_R | W | X */
	bool shared;
	bool keep;   /* MOVE: MREMAP_DONTUNMAP, the source stays mapped */
	bool chosen; /* the address that the kernel chose (its result) is added to start, end; MOVE:
			to */
	uint8_t call; /* FILL, WRITE: index of the call in the program */
	uint8_t name; /* NAME: as vm_area.name */
	uint64_t start, end, to;
	uint32_t object;       /* MAP: VM_NO_OBJECT for anonymous memory; RESIZE */
	uint64_t off;	       /* MAP: where in the object */
	uint64_t flags, clear; /* MAP, FLAGS: as vm_area.flags */
};

#define VM_EFFECT_MAX 8

struct vm_effect {
	uint32_t n;
	struct vm_step step[VM_EFFECT_MAX];
};

/*
 * Apply an effect. `chosen` is the address that the kernel returned. FILL and WRITE change objects
 * (contents belong to them); the others change only `s`, and add objects.
 */
void vm_effect_apply(const struct vm_effect *e, uint64_t chosen, struct vm_state *s,
		     struct vm_objects *o, uint64_t page_size);

#endif
