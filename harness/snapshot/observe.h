/* SPDX-License-Identifier: MIT */
/*
 * Looking at the address space of the calling process, with nothing that changes it: no allocation,
 * no stdio; what is needed lies in struct vm_observer, which the caller puts where no fuzzed call
 * reaches. Looks return a mask of VM_SEEN_*: what was really seen.
 */
#ifndef VM_OBSERVE_H
#define VM_OBSERVE_H

#include "harness/program/program.h"
#include "harness/snapshot/snapshot.h"

#define VM_OBSERVE_MAX_OWN 32
#define VM_OBSERVE_TEXT	   16384 /* bytes of /proc text read at once, at most */
#define VM_OBSERVE_RAW	   65536 /* bytes of page contents read at once, at most */
#define VM_OBSERVE_REGIONS 32

/* The ways to look that the kernel has; the caller may clear a bit to force another way. */
struct vm_observe_ways {
	bool query;	 /* PROCMAP_QUERY */
	bool scan;	 /* PAGEMAP_SCAN */
	bool pagemap;	 /* present bits in pagemap */
	bool mem;	 /* /proc/self/mem reads pages that have no read right */
	bool scan_guard; /* PAGEMAP_SCAN tells guard pages */
};

/* ioctl(PAGEMAP_SCAN)'s struct page_region. */
struct vm_region {
	uint64_t start, end, categories;
};

/*
 * Digest one readable page, surviving a fault: false if there was one. NULL in the observer: read
 * all pages through /proc/self/mem.
 */
typedef bool (*vm_guarded_digest)(const void *page, size_t page_size, struct vm_content *out);

struct vm_observer {
	struct vm_observe_ways ways;
	uint64_t page_size, task_size;
	const struct vm_range *skip; /* the executor's own ranges: sorted, apart, page-aligned */
	size_t nskip;
	vm_guarded_digest digest;
	char *text; /* VM_OBSERVE_TEXT bytes, 8-byte aligned, the caller's */
	int maps_fd, smaps_fd, pagemap_fd, mem_fd; /* opened when first needed; -1: not open */
	/* What was seen last. */
	uint32_t nvma, npage, nown;
	struct vm_totals totals;
	struct vm_vma own[VM_OBSERVE_MAX_OWN];
	struct vm_region region[VM_OBSERVE_REGIONS];
	struct vm_vma vma[VM_SNAPSHOT_MAX_VMAS];
	struct vm_page page[VM_SNAPSHOT_MAX_PAGES];
	char raw[VM_OBSERVE_RAW] __attribute__((aligned(8)));
};

/* Before the first look of a process: no files are open. `text` and `skip` stay the caller's. */
void vm_observer_init(struct vm_observer *o, char *text, const struct vm_layout *layout,
		      const struct vm_observe_ways *ways, const struct vm_range *skip,
		      size_t nskip);

/* Close the files (a process that ends need not). */
void vm_observer_close(struct vm_observer *o);

/*
 * The files that are open belong to another process, which has used the observer (after a fork):
 * leave them alone, and open them anew.
 */
void vm_observer_forget(struct vm_observer *o);

/* VMAs by the text of /proc/self/maps: VM_SEEN_MAPS | VM_SEEN_OWN. */
uint32_t vm_observe_text(struct vm_observer *o);

/* VMAs outside the skipped ranges by PROCMAP_QUERY: VM_SEEN_MAPS. */
uint32_t vm_observe_query(struct vm_observer *o);

/* VMAs with VmFlags by the text of smaps: VM_SEEN_MAPS | VM_SEEN_OWN | VM_SEEN_FLAGS. */
uint32_t vm_observe_smaps(struct vm_observer *o);

/*
 * The VmFlags of vma[] as just seen by another look, from smaps up to the last of them:
 * VM_SEEN_FLAGS. 0 if smaps shows other VMAs.
 */
uint32_t vm_observe_flags(struct vm_observer *o);

/*
 * Digests of the present pages of vma[] (seen before): VM_SEEN_CONTENTS. 0, and no pages, if there
 * are too many or one could not be read.
 */
uint32_t vm_observe_contents(struct vm_observer *o);

/* /proc/self/status and statm: VM_SEEN_TOTALS, or 0 if one lacks a number. */
uint32_t vm_observe_totals(struct vm_observer *o);

/* The snapshot of the last look; points into *o. */
void vm_observer_snapshot(const struct vm_observer *o, uint32_t mask, struct vm_snapshot *s);

#endif
