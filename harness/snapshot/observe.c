/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "harness/snapshot/procfs.h"

void vm_observer_init(struct vm_observer *o, char *text, const struct vm_layout *layout,
		      const struct vm_observe_ways *ways, const struct vm_range *skip, size_t nskip)
{
	o->ways = *ways;
	o->page_size = layout->page_size;
	o->task_size = layout->task_size;
	o->skip = skip;
	o->nskip = nskip;
	o->digest = NULL;
	o->text = text;
	o->maps_fd = o->smaps_fd = o->pagemap_fd = o->mem_fd = -1;
	o->nvma = o->npage = o->nown = 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void vm_observer_close(struct vm_observer *o)
{
	close_one(&o->maps_fd);
	close_one(&o->smaps_fd);
	close_one(&o->pagemap_fd);
	close_one(&o->mem_fd);
}

void vm_observer_forget(struct vm_observer *o)
{
	o->maps_fd = o->smaps_fd = o->pagemap_fd = o->mem_fd = -1;
}

bool vm_procfs_open(int *fd, const char *path)
{
	if (*fd < 0)
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd >= 0;
}

bool vm_observer_skips(const struct vm_observer *o, uint64_t addr)
{
	if (addr >= o->task_size)
		return true;
	for (size_t i = 0; i < o->nskip; i++) {
		if (addr >= o->skip[i].start && addr < o->skip[i].end)
			return true;
	}
	return false;
}

struct vm_vma *vm_observer_add(struct vm_observer *o, const struct vm_vma *vma, bool *own_full)
{
	struct vm_vma *to;

	if (vm_observer_skips(o, vma->start)) {
		if (o->nown == VM_OBSERVE_MAX_OWN) {
			*own_full = true;
			return NULL;
		}
		to = &o->own[o->nown++];
	} else {
		if (o->nvma == VM_SNAPSHOT_MAX_VMAS)
			return NULL;
		to = &o->vma[o->nvma++];
	}
	*to = *vma;
	return to;
}

void vm_observer_snapshot(const struct vm_observer *o, uint32_t mask, struct vm_snapshot *s)
{
	if (mask & VM_SEEN_MAPS && !o->nvma)
		mask |= VM_SEEN_FLAGS | VM_SEEN_CONTENTS; /* of nothing */
	s->mask = mask;
	s->nvma = mask & VM_SEEN_MAPS ? o->nvma : 0;
	s->npage = mask & VM_SEEN_CONTENTS ? o->npage : 0;
	s->nown = mask & VM_SEEN_OWN ? o->nown : 0;
	s->vma = o->vma;
	s->page = o->page;
	s->own = o->own;
	if (mask & VM_SEEN_TOTALS)
		s->totals = o->totals;
}
