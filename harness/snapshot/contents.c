/* SPDX-License-Identifier: MIT */
/* The bytes of present pages: in place where there is a read right, else by /proc/self/mem. */
#include <unistd.h>

#include "harness/snapshot/procfs.h"

static bool digest_in_place(struct vm_observer *o, struct vm_page *page, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!o->digest((const void *)(uintptr_t)page[i].addr, o->page_size,
			       &page[i].content))
			return false;
	}
	return true;
}

/* Pages in a row take one pread, as far as the buffer reaches. */
static bool digest_by_mem(struct vm_observer *o, struct vm_page *page, uint32_t n)
{
	uint32_t most = (uint32_t)(VM_OBSERVE_RAW / o->page_size), row;

	if (!o->ways.mem || !most || !vm_procfs_open(&o->mem_fd, "/proc/self/mem"))
		return false;
	for (uint32_t i = 0; i < n; i += row) {
		size_t bytes;

		row = 1;
		while (row < most && i + row < n &&
		       page[i + row].addr == page[i].addr + row * o->page_size)
			row++;
		bytes = row * o->page_size;
		if (pread(o->mem_fd, o->raw, bytes, (off_t)page[i].addr) != (ssize_t)bytes)
			return false;
		for (uint32_t k = 0; k < row; k++)
			page[i + k].content =
				vm_content_digest(o->raw + k * o->page_size, o->page_size);
	}
	return true;
}

uint32_t vm_observe_contents(struct vm_observer *o)
{
	uint32_t i = 0;
	bool seen = vm_pagemap_present(o);

	for (uint32_t v = 0; seen && v < o->nvma; v++) {
		uint32_t from = i;

		while (i < o->npage && o->page[i].addr < o->vma[v].end)
			i++;
		/* a protection key may not let us read what is readable */
		seen = (o->digest && o->vma[v].mode & VM_MODE_R &&
			digest_in_place(o, &o->page[from], i - from)) ||
		       digest_by_mem(o, &o->page[from], i - from);
	}
	if (!seen)
		o->npage = 0;
	return seen ? VM_SEEN_CONTENTS : 0;
}
