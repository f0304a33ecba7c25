/* SPDX-License-Identifier: MIT */
/* Differences between two address spaces, page by page; VMA boundaries do not count. */
#ifndef VM_COMPARE_H
#define VM_COMPARE_H

#include "harness/trace/trace.h"
#include "oracle/state/object.h"

enum vm_diff_kind {
	VM_DIFF_LOST, /* mapped in the first, not in the second */
	VM_DIFF_APPEARED,
	VM_DIFF_PROT,
	VM_DIFF_SHARING,
	VM_DIFF_BACKING, /* another object, or another place in it */
	VM_DIFF_UNSEALED,
	VM_DIFF_SEALED,
	VM_DIFF_FLAGS,	/* other VmFlags */
	VM_DIFF_GUARD,	/* guard pages in one belief only; snapshots do not show them */
	VM_DIFF_JOINED, /* one VMA of what has another policy, or another name, than before it */
};

struct vm_diff {
	uint64_t start, end;
	uint8_t kind;	 /* enum vm_diff_kind */
	uint8_t was, is; /* VM_MODE_* of the first and second; 0 where not mapped */
};

#define VM_MAX_DIFFS 32

struct vm_diffs {
	uint32_t n; /* at most VM_MAX_DIFFS are kept; `more` says that there were more */
	bool more;
	struct vm_diff d[VM_MAX_DIFFS];
};

/* A run of equal pages; both states and snapshots are turned into runs. */
struct vm_run {
	uint64_t start, end;
	uint64_t off, inode;
	uint64_t flags, flags_maybe; /* VM_TRACKED_FLAGS; unknown ones are not compared */
	uint32_t dev, object, anon;
	bool backed; /* by an inode */
	uint8_t mode;
	uint8_t sealed; /* enum vm_tri */
	uint8_t guard;	/* enum vm_tri; MAYBE of a snapshot */
	bool by_object; /* object says what is behind; else dev, inode, off do (if identified) */
	bool identified;
};

/* All but the executor's own areas. Returns the number of runs; run must hold s->n. */
uint32_t vm_runs_of_state(const struct vm_state *s, const struct vm_objects *o, bool by_object,
			  struct vm_run *run);
/*
 * `info`: what smaps of this kernel shows. Where it shows `sl`, its absence means not sealed; what
 * it does not show is unknown.
 */
uint32_t vm_runs_of_snapshot(const struct vm_snapshot *snap, const struct vm_target_info *info,
			     struct vm_run *run);

/* Flags of VM_TRACKED_FLAGS that smaps of this kernel does not show. */
uint64_t vm_flags_unshown(const struct vm_target_info *info);

/* Add to *out where the snapshot has one VMA of areas that no VMA can hold together. */
void vm_compare_joined(const struct vm_state *s, const struct vm_snapshot *snap,
		       struct vm_diffs *out);

void vm_compare(const struct vm_run *a, uint32_t na, const struct vm_run *b, uint32_t nb,
		struct vm_diffs *out);

#endif
