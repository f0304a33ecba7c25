/* SPDX-License-Identifier: MIT */
/* Which pages are present: ioctl(PAGEMAP_SCAN), 6.7 and later, or the entries of pagemap. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/snapshot/procfs.h"

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_GUARD	(1ull << 58) /* MADV_GUARD_INSTALL, of 6.15: looks swapped, is not there */

static bool add_page(struct vm_observer *o, uint64_t addr)
{
	if (o->npage == VM_SNAPSHOT_MAX_PAGES)
		return false;
	o->page[o->npage++].addr = addr;
	return true;
}

static bool add_region(struct vm_observer *o, const struct vm_region *r)
{
	for (uint64_t addr = r->start; addr < r->end; addr += o->page_size) {
		if (!add_page(o, addr))
			return false;
	}
	return true;
}

static bool scan_range(struct vm_observer *o, uint64_t start, uint64_t end)
{
	struct vm_pm_scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)o->region,
		.vec_len = VM_OBSERVE_REGIONS,
		.category_anyof_mask = VM_PAGE_PRESENT | VM_PAGE_SWAPPED,
		.return_mask = VM_PAGE_PRESENT,
	};

	if (o->ways.scan_guard) /* only what is no guard page */
		arg.category_mask = arg.category_inverted = VM_PAGE_GUARD;
	do {
		int n = ioctl(o->pagemap_fd, VM_PAGEMAP_SCAN, &arg);

		if (n < 0 || n > VM_OBSERVE_REGIONS)
			return false;
		for (int i = 0; i < n; i++) {
			if (!add_region(o, &o->region[i]))
				return false;
		}
		if (arg.walk_end <= arg.start)
			return false;
		arg.start = arg.walk_end;
	} while (arg.start < end);
	return true;
}

/* Does one of the executor's own ranges begin in [start, end)? */
static bool own_between(const struct vm_observer *o, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < o->nskip; i++) {
		if (o->skip[i].start >= start && o->skip[i].start < end)
			return true;
	}
	return false;
}

/* One scan for all VMAs with nothing of the executor between them. */
static bool scan_present(struct vm_observer *o)
{
	for (uint32_t i = 0, j; i < o->nvma; i = j + 1) {
		for (j = i; j + 1 < o->nvma; j++) {
			if (own_between(o, o->vma[j].end, o->vma[j + 1].start))
				break;
		}
		if (!scan_range(o, o->vma[i].start, o->vma[j].end))
			return false;
	}
	return true;
}

static bool read_entries(struct vm_observer *o, const struct vm_vma *vma, uint64_t *budget)
{
	uint64_t *entry = (uint64_t *)o->text;
	uint64_t addr = vma->start;

	while (addr < vma->end) {
		uint64_t want = (vma->end - addr) / o->page_size;
		ssize_t got;

		if (want > VM_OBSERVE_TEXT / sizeof(*entry))
			want = VM_OBSERVE_TEXT / sizeof(*entry);
		if (want > *budget)
			return false;
		*budget -= want;
		got = pread(o->pagemap_fd, entry, want * sizeof(*entry),
			    (off_t)(addr / o->page_size * sizeof(*entry)));
		if (got <= 0 || (size_t)got % sizeof(*entry))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*entry); i++) {
			if (entry[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) &&
			    !(entry[i] & PAGEMAP_GUARD) && !add_page(o, addr + i * o->page_size))
				return false;
		}
		addr += (size_t)got / sizeof(*entry) * o->page_size;
	}
	return true;
}

bool vm_pagemap_present(struct vm_observer *o)
{
	uint64_t budget = VM_OBSERVE_MAX_LOOKUP;

	o->npage = 0;
	if (!o->nvma)
		return true;
	if (!(o->ways.scan || o->ways.pagemap) ||
	    !vm_procfs_open(&o->pagemap_fd, "/proc/self/pagemap"))
		return false;
	if (o->ways.scan)
		return scan_present(o);
	for (uint32_t i = 0; i < o->nvma; i++) {
		if (!read_entries(o, &o->vma[i], &budget))
			return false;
	}
	return true;
}
