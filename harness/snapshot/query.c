/* SPDX-License-Identifier: MIT */
/* The VMAs by ioctl(PROCMAP_QUERY), 6.11 and later: binary, and without the executor's own. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "harness/snapshot/procfs.h"

/* Where to go on behind an address in one of the executor's own ranges. */
static uint64_t skip_end(const struct vm_observer *o, uint64_t addr)
{
	for (size_t i = 0; i < o->nskip; i++) {
		if (addr >= o->skip[i].start && addr < o->skip[i].end)
			return o->skip[i].end;
	}
	return addr;
}

static void from_query(const struct vm_procmap_query *q, struct vm_vma *vma)
{
	vma->start = q->vma_start;
	vma->end = q->vma_end;
	vma->offset = q->vma_offset;
	vma->inode = q->inode;
	vma->dev = q->dev_major << 20 | q->dev_minor;
	vma->mode = q->vma_flags & (VM_MODE_R | VM_MODE_W | VM_MODE_X | VM_MODE_S);
	vma->kind = VM_KIND_PLAIN;
	vma->flags_known = 0;
	vma->pad = 0;
	vma->flags = 0;
}

uint32_t vm_observe_query(struct vm_observer *o)
{
	struct vm_procmap_query q = { .size = sizeof(q),
				      .query_flags = VM_PROCMAP_COVERING_OR_NEXT };
	uint64_t end;

	o->nvma = o->nown = o->npage = 0;
	if (!vm_procfs_open(&o->maps_fd, "/proc/self/maps"))
		return 0;
	while (q.query_addr < o->task_size) {
		if (ioctl(o->maps_fd, VM_PROCMAP_QUERY, &q))
			return errno == ENOENT ? VM_SEEN_MAPS : 0;
		end = skip_end(o, q.vma_start);
		if (end != q.vma_start) {
			q.query_addr = end;
			continue;
		}
		if (o->nvma == VM_SNAPSHOT_MAX_VMAS || q.vma_end <= q.query_addr)
			return 0;
		from_query(&q, &o->vma[o->nvma++]);
		q.query_addr = q.vma_end;
	}
	return VM_SEEN_MAPS;
}
