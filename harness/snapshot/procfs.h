/* SPDX-License-Identifier: MIT */
/* Between the files of this folder: parsing /proc text, and kernel interfaces newer than headers.
 */
#ifndef VM_PROCFS_H
#define VM_PROCFS_H

#include <linux/ioctl.h>

#include "harness/snapshot/observe.h"

/* include/uapi/linux/fs.h of 6.11 */
struct vm_procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define VM_PROCMAP_QUERY	    _IOWR('f', 17, struct vm_procmap_query)
#define VM_PROCMAP_COVERING_OR_NEXT 0x10u

/* include/uapi/linux/fs.h of 6.7 */
struct vm_pm_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define VM_PAGEMAP_SCAN _IOWR('f', 16, struct vm_pm_scan_arg)
#define VM_PAGE_PRESENT (1u << 3)
#define VM_PAGE_SWAPPED (1u << 4)
#define VM_PAGE_GUARD	(1u << 8) /* of 6.16; a guard page counts as swapped too */

/* Open /proc/self/NAME into *fd if it is not open; false if it cannot be. */
bool vm_procfs_open(int *fd, const char *path);

/* Parse a decimal number at *p and go beyond it; false if there is none. */
bool vm_procfs_decimal(const char **p, const char *end, uint64_t *out);

/* Parse a line of maps, or a VMA's first line in smaps; false if [line, end) is not one. */
bool vm_maps_parse(const char *line, const char *end, struct vm_vma *vma);

/* The bits of a `VmFlags:` line's words. */
uint64_t vm_flags_parse(const char *p, const char *end);

/* Lines of a /proc file, through a buffer: the next one, without its newline, or false at the end.
 */
struct vm_lines {
	int fd;
	char *buf;
	size_t cap, from, len; /* unread text is buf[from, len) */
	bool failed, eof;
};
void vm_lines_start(struct vm_lines *l, int fd, char *buf, size_t cap);
bool vm_lines_next(struct vm_lines *l, const char **line, const char **end);

/* Is the address in one of the executor's own ranges? */
bool vm_observer_skips(const struct vm_observer *o, uint64_t addr);

/* Add a VMA to vma[] or own[]; false if there is no room in vma[], true and *own_full if in own[].
 */
struct vm_vma *vm_observer_add(struct vm_observer *o, const struct vm_vma *vma, bool *own_full);

/* Put the addresses of the present pages of vma[] in page[]; false if too many or not to be known.
 */
bool vm_pagemap_present(struct vm_observer *o);

#endif
