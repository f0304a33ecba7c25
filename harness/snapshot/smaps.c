/* SPDX-License-Identifier: MIT */
/* The text of /proc/self/smaps: the VMAs with their VmFlags. */
#include <string.h>

#include "harness/snapshot/procfs.h"

uint64_t vm_flags_parse(const char *p, const char *end)
{
	static const char name[VM_FLAG_COUNT][3] = { VM_FLAG_NAMES };
	uint64_t flags = 0;

	for (; end - p >= 2; p += 2) {
		unsigned int i = 0;

		while (p < end && *p == ' ')
			p++;
		if (end - p < 2)
			break;
		while (i < VM_FLAG_COUNT && (name[i][0] != p[0] || name[i][1] != p[1]))
			i++;
		flags |= 1ull << (i < VM_FLAG_COUNT ? i : VM_FLAG_UNKNOWN);
	}
	return flags;
}

/* One VMA's lines behind its first, up to and with its VmFlags; false if there are none. */
static bool read_flags(struct vm_lines *l, struct vm_vma *vma)
{
	static const char key[] = "VmFlags:";
	const char *line, *end;

	while (vm_lines_next(l, &line, &end)) {
		if (line[0] != 'V' || (size_t)(end - line) < sizeof(key) - 1 ||
		    memcmp(line, key, sizeof(key) - 1) != 0)
			continue;
		vma->flags = vm_flags_parse(line + sizeof(key) - 1, end);
		vma->flags_known = 1;
		return true;
	}
	return false;
}

/* Read VMAs that begin below `stop`; those behind are not looked at. */
static uint32_t observe(struct vm_observer *o, uint64_t stop)
{
	bool own_full = false;
	const char *line, *end;
	struct vm_lines l;
	struct vm_vma vma;

	o->nvma = o->nown = o->npage = 0;
	if (!vm_procfs_open(&o->smaps_fd, "/proc/self/smaps"))
		return 0;
	vm_lines_start(&l, o->smaps_fd, o->text, sizeof(o->text));
	while (vm_lines_next(&l, &line, &end)) {
		if (!vm_maps_parse(line, end, &vma))
			return 0;
		if (vma.start >= stop)
			return VM_SEEN_MAPS | VM_SEEN_FLAGS;
		if (!read_flags(&l, &vma))
			return 0;
		if (!vm_observer_add(o, &vma, &own_full) && !own_full)
			return 0;
	}
	if (l.failed)
		return 0;
	return VM_SEEN_MAPS | VM_SEEN_FLAGS | (own_full ? 0 : VM_SEEN_OWN);
}

uint32_t vm_observe_smaps(struct vm_observer *o)
{
	return observe(o, UINT64_MAX);
}

uint32_t vm_observe_smaps_seen(struct vm_observer *o)
{
	return observe(o, o->nvma ? o->vma[o->nvma - 1].end : 0) & ~VM_SEEN_OWN;
}
