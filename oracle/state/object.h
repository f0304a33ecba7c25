/* SPDX-License-Identifier: MIT */
/*
 * Objects behind mappings, and what is known of their bytes. Each private anonymous mapping has an
 * object of its own (a moved page keeps its object and offset); shared mappings of one object
 * alias.
 */
#ifndef VM_OBJECT_H
#define VM_OBJECT_H

#include "oracle/state/state.h"

/* What is believed of one page of an object; absent entries have the object's default. */
struct vm_object_page {
	uint64_t off; /* bytes */
	struct vm_content content;
	bool known;	  /* false: bytes are unknown */
	bool rest_known;  /* false: only the first word is */
	uint8_t may_zero; /* VM_ZERO_*: what may be zero in place of it, after MADV_FREE
			     or in droppable memory */
};

/*
 * Both: the kernel may still drop the page. The rest alone: it was written since, and stays. All
 * three: droppable memory, which it may drop before and after any write.
 */
#define VM_ZERO_HEAD   1u
#define VM_ZERO_REST   2u
#define VM_ZERO_EITHER 4u

struct vm_object {
	bool backed;	 /* has an inode: shared memory or a file; else private anonymous memory, or
			    copies of pages */
	bool zero;	 /* pages without an entry are zero; else unknown */
	bool held;	 /* the parent of a forked child maps it */
	bool identified; /* dev and inode were seen in maps */
	bool partial;	 /* copies: there may be others than those with an entry */
	uint32_t dev;
	uint64_t inode;
	uint32_t base; /* copies: the object that pages without an entry come from, unless partial;
			  else VM_NO_OBJECT */
	uint32_t copy; /* while a fork copies an address space: this one's copy, or VM_NO_OBJECT */
	/* bytes that can be touched; UINT64_MAX: memory without an inode, or unknown */
	uint64_t size;
	uint32_t npages, cap;
	struct vm_object_page *page; /* sorted by off */
};

struct vm_objects {
	uint32_t n, cap;
	struct vm_object *object;
	/* The objects of programs; m0 and r0 are one; s0 is VM_NO_OBJECT before it is first
	 * attached. */
	uint32_t named[VM_OBJECT_COUNT];
	bool segment_unknown; /* belief was lost: what s0 is, and where, is not known any more */
};

void vm_objects_free(struct vm_objects *o);
void vm_objects_reset(struct vm_objects *o);

/* A forked child begins, whose parent maps what `parent` maps; NULL: it is gone. */
void vm_objects_hold(struct vm_objects *o, const struct vm_state *parent);

/* Is the segment s0 mapped, in `s` or in its parent? Else it is no more. */
bool vm_object_attached(const struct vm_objects *o, const struct vm_state *s);

/* Forget the objects from the n-th on: undo of speculative effects. */
void vm_objects_truncate(struct vm_objects *o, uint32_t n);

/* A new object; UINT32_MAX if memory ran out (belief is then lost by the caller). */
uint32_t vm_object_new(struct vm_objects *o, bool backed, bool zero, uint64_t size);

/* Make the objects of programs, `size` bytes long and zero. */
void vm_objects_name(struct vm_objects *o, uint64_t size);

/* A place for a private mapping's own copies of pages of `base`. */
uint32_t vm_object_copies(struct vm_objects *o, uint32_t base);

/* A private object with what another holds now: from here on the two part ways. */
uint32_t vm_object_duplicate(struct vm_objects *o, uint32_t object);

/*
 * What is believed of the page at `off` as mapped by an area with this object and these copies: its
 * entry, or NULL if it has its object's default (*zero: known to be zero; else nothing is known).
 */
struct vm_object_page *vm_object_look(struct vm_objects *o, uint32_t object, uint32_t anon,
				      uint64_t off, bool *zero);

/* Does the page at `off` lie past the end of the object, so that a touch says SIGBUS? */
enum vm_tri vm_object_past_end(const struct vm_object *x, uint64_t off);

/*
 * The page at `off` was seen, or written through a mapping: what lies behind the end of the object
 * is kept or zeroed, for a file whenever it is written back (fs/buffer.c block_write_full_folio(),
 * mm/truncate.c pagecache_isize_extended()).
 */
void vm_object_written(struct vm_objects *o, uint32_t object, uint64_t off, uint64_t page_size);

/*
 * The object gets `size` bytes: pages beyond are gone, from private mappings too; of a page that
 * the old or the new end cuts only what lies before is known.
 */
void vm_object_resize(struct vm_objects *o, uint32_t object, uint64_t size, uint64_t page_size);

/* The object's own pages of [off, end) become zero: a hole was punched. */
void vm_object_punch(struct vm_objects *o, uint32_t object, uint64_t off, uint64_t end);

/* First entry of `object` at or after `off`. */
uint32_t vm_object_from(const struct vm_object *object, uint64_t off);

/* The entry of a page, made if there is none; NULL if memory ran out. */
struct vm_object_page *vm_object_page(struct vm_object *object, uint64_t off);

#endif
