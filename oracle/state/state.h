/* SPDX-License-Identifier: MIT */
/*
 * Belief about one address space. A state is a sorted list of areas: runs of pages about which the
 * same is believed. Contents belong to objects, not to pages (object.h).
 */
#ifndef VM_STATE_H
#define VM_STATE_H

#include "harness/program/call_table.h"
#include "harness/snapshot/snapshot.h"

/* A believed fact that may be unknown; unknown is never equal to anything. */
enum vm_tri { VM_NO, VM_YES, VM_MAYBE };

#define VM_STATE_MAX_AREAS 640
#define VM_NO_OBJECT	   UINT32_MAX

#define VM_BIT(flag) (1ull << (flag))

/*
 * Pages below a mapping that grows down (VM_GROWSDOWN) that are kept free of others:
 * stack_guard_gap, unless the kernel's command line says otherwise. mm/util.c, mm/mmap.c.
 */
#define VM_STACK_GAP_PAGES 256

/* VM_LOCKED_MASK */
#define VM_LOCK_FLAGS (VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF))

/* What a new mapping may be made by mprotect, unless its file says otherwise. */
#define VM_MAY_ALL (VM_BIT(VM_FLAG_MR) | VM_BIT(VM_FLAG_MW) | VM_BIT(VM_FLAG_ME))

/* VM_PKEY_BIT0 to VM_PKEY_BIT3: the protection key of a VMA. */
#define VM_KEY_FLAGS (15ull << VM_FLAG_K0)

/*
 * VmFlags that are believed in, compared, and keep VMAs apart. Not among them: rd wr ex sh ms (prot
 * and shared), sl and ac (facts of their own), sd (VM_SOFTDIRTY: any change of a VMA sets it,
 * merging ignores it), and those that only drivers or debugging features set.
 */
#define VM_TRACKED_FLAGS                                                                           \
	(VM_MAY_ALL | VM_BIT(VM_FLAG_GD) | VM_BIT(VM_FLAG_LO) | VM_BIT(VM_FLAG_LF) |               \
	 VM_BIT(VM_FLAG_SR) | VM_BIT(VM_FLAG_RR) | VM_BIT(VM_FLAG_DC) | VM_BIT(VM_FLAG_NR) |       \
	 VM_BIT(VM_FLAG_HT) | VM_BIT(VM_FLAG_WF) | VM_BIT(VM_FLAG_DD) | VM_BIT(VM_FLAG_HG) |       \
	 VM_BIT(VM_FLAG_NH) | VM_BIT(VM_FLAG_MG) | VM_BIT(VM_FLAG_DP) | VM_KEY_FLAGS)

struct vm_area {
	uint64_t start, end;
	uint64_t off;	 /* byte offset in the object of `start` */
	uint32_t object; /* in the object store: what is mapped */
	uint32_t anon; /* private mapping of an inode: its own copies of pages; else VM_NO_OBJECT */
	uint64_t flags;	      /* VmFlags among VM_TRACKED_FLAGS, as 1 << VM_FLAG_* */
	uint64_t flags_maybe; /* those of them that are unknown */
	uint16_t attach;      /* of a SysV segment: which shmat mapped it, from 1; else 0 */
	uint8_t prot;	      /* VM_MODE_R | W | X */
	uint8_t shared;	      /* MAP_SHARED (VM_MAYSHARE) */
	uint8_t sealed;	      /* enum vm_tri */
	uint8_t account;      /* enum vm_tri: VM_ACCOUNT, charged against the commit limit */
	/*
	 * enum vm_tri: does a VMA begin at `start`, though the page before is mapped too? As
	 * observed where the layout was; otherwise carried: splits are certain where attributes
	 * differ, merges never.
	 */
	uint8_t begins;
	uint8_t own;	 /* enum vm_own */
	uint8_t guard;	 /* enum vm_tri: every page is a guard page (MADV_GUARD_INSTALL) */
	uint8_t huge;	 /* VM_HUGETLB: its pages have 1 << huge bytes; 0: unknown */
	uint8_t name;	 /* PR_SET_VMA_ANON_NAME: VM_NAME_* bits; keeps VMAs apart */
	uint16_t policy; /* mbind: VM_AREA_POLICY and so on; keeps VMAs apart */
};

#define VM_NAME_UNKNOWN 0xff

/*
 * Memory policies: 0 is the default, others are VM_AREA_POLICY with the mode in the lowest bits.
 * Equal numbers are what mpol_equal() finds equal.
 */
#define VM_AREA_POLICY	  0x8000u
#define VM_POLICY_MODE	  0x0007u
#define VM_POLICY_HOME	  0x0008u /* the home node is node 0 */
#define VM_POLICY_UNKNOWN 0xffffu

/* Protection keys (x86); all zero where there are none. */
struct vm_keys {
	uint16_t allocated;	 /* bit k: key k is; key 0 always */
	uint8_t exec;		 /* the key of memory with PROT_EXEC alone; 0: none yet */
	bool doubt;		 /* one may have been taken for that meanwhile */
	uint8_t rights[VM_KEYS]; /* of this thread: VM_KEY_NO_ACCESS, VM_KEY_NO_WRITE */
};

/*
 * What is believed of the process besides its mappings: told by the results of calls alone, but for
 * the key that PROT_EXEC takes.
 */
struct vm_process {
	uint8_t mdwe; /* PR_SET_MDWE: VM_MDWE_* bits */
	bool huge;    /* it may map huge pages (MAP_HUGETLB) */
	uint64_t brk; /* the break */
	struct vm_keys keys;
};

/* The executor's own memory; the special VMAs among it (vdso, vvar, kcov) are never locked. */
enum vm_own { VM_NOT_OWN, VM_OWN, VM_OWN_SPECIAL };

/* What is believed of locks besides the flags of the areas. Nothing of it is inherited by fork. */
struct vm_locks {
	/* mm->def_flags: VM_LOCK_FLAGS that new mappings get, and those of them that are unknown.
	 */
	uint64_t def_flags, def_maybe;
	/*
	 * For known bugs. Bytes whose lock went without a call to unlock them: MREMAP_DONTUNMAP
	 * took it, or it was seen to be gone. And: was a locked VMA moved with
	 * MREMAP_DONTUNMAP in part, or to where it may merge with what was moved?
	 */
	uint64_t lost;
	bool unlocks_more;
	bool doubted; /* some of what is believed locked may not be, nor be counted as believed */
};

struct vm_state {
	struct vm_process process;
	uint32_t n;
	/* Belief was lost (too many possibilities, or too many areas) until the next observation.
	 */
	bool lost;
	struct vm_locks locks;
	bool guards_used; /* guard pages were installed: VM_MAYBE_GUARD keeps VMAs apart, unseen */
	struct vm_area area[VM_STATE_MAX_AREAS];
};

void vm_state_copy(struct vm_state *to, const struct vm_state *from);

/* Index of the first area that ends after `addr` (n if there is none). */
uint32_t vm_state_from(const struct vm_state *s, uint64_t addr);

/* The area that holds `addr`, or NULL. */
const struct vm_area *vm_state_at(const struct vm_state *s, uint64_t addr);

/* Is any page of [start, end) mapped? */
bool vm_state_any(const struct vm_state *s, uint64_t start, uint64_t end);

/*
 * Is [start, end) free, and none of it the guard gap of `gap` bytes of a mapping above it that
 * grows down? include/linux/mm.h vm_start_gap().
 */
enum vm_tri vm_state_clear(const struct vm_state *s, uint64_t start, uint64_t end, uint64_t gap);

/* Does the area grow down when it is touched below? */
static inline enum vm_tri vm_area_grows(const struct vm_area *a)
{
	if (a->flags_maybe & VM_BIT(VM_FLAG_GD))
		return VM_MAYBE;
	return a->flags & VM_BIT(VM_FLAG_GD) ? VM_YES : VM_NO;
}

/* Is the area of huge pages (VM_HUGETLB)? */
static inline enum vm_tri vm_area_huge(const struct vm_area *a)
{
	if (a->flags_maybe & VM_BIT(VM_FLAG_HT))
		return VM_MAYBE;
	return a->flags & VM_BIT(VM_FLAG_HT) ? VM_YES : VM_NO;
}

/*
 * Does `addr` lie inside of a huge page or of a special mapping, so that no VMA can be split there?
 * mm/hugetlb.c hugetlb_vm_op_split(), mm/mmap.c special_mapping_split().
 */
enum vm_tri vm_state_in_huge_page(const struct vm_state *s, uint64_t addr);

/* Is every page of [start, end) mapped? False for an empty range. */
bool vm_state_all(const struct vm_state *s, uint64_t start, uint64_t end);

/* Is some mapped page of [start, end) sealed? */
enum vm_tri vm_state_sealed(const struct vm_state *s, uint64_t start, uint64_t end);

/* Does one VMA hold all of [start, end)? start must be mapped; an empty range is held. */
enum vm_tri vm_state_one_vma(const struct vm_state *s, uint64_t start, uint64_t end);

/* Does the VMA that holds `end - 1` end at `end`? */
enum vm_tri vm_state_vma_ends(const struct vm_state *s, uint64_t end);

/* End of the VMA that area i belongs to, as far as is certain (MAYBE counts as a boundary). */
uint32_t vm_state_vma_next(const struct vm_state *s, uint32_t i);

/* Does vma_supports_mlock() hold for the area? */
bool vm_area_lockable(const struct vm_area *a);

/*
 * A bug of the kernel may have taken locks that nobody looked for, or counts what is gone: belief
 * in locks is given up, so that what follows from the same loss is not judged. `observed`: the
 * layout was just looked at, so that where VMAs begin is known all the same.
 */
void vm_state_doubt_locks(struct vm_state *s, bool observed);

/* Bytes of [start, end) in locked areas (mm->locked_vm); *maybe: in areas that may be locked. */
uint64_t vm_state_locked(const struct vm_state *s, uint64_t start, uint64_t end, uint64_t *maybe);

/* Bytes of areas, the executor's own too: all (mm->total_vm), and data (mm->data_vm). */
struct vm_sizes {
	uint64_t total, data, maybe; /* maybe: of areas that may be data */
};

/* Does the area count as data? mm/vma.h is_data_mapping() */
enum vm_tri vm_area_is_data(const struct vm_area *a);

/* `bytes` more that are like the area. */
void vm_sizes_add(struct vm_sizes *sum, const struct vm_area *like, uint64_t bytes);

/* The sizes of what is mapped in [start, end). */
struct vm_sizes vm_state_sizes(const struct vm_state *s, uint64_t start, uint64_t end);

/* Largest hole in [low, high). Bytes. */
uint64_t vm_state_largest_hole(const struct vm_state *s, uint64_t low, uint64_t high);

/* Split the area that holds `addr` inside; the VMA is not split by this. */
void vm_state_split(struct vm_state *s, uint64_t addr);

void vm_state_unmap(struct vm_state *s, uint64_t start, uint64_t end);

/* Put an area in, in place of whatever was there. */
void vm_state_put(struct vm_state *s, const struct vm_area *a);

/* Make `begins` YES wherever attributes of neighbours differ, MAYBE where they were touched. */
void vm_state_settle(struct vm_state *s);

#endif
