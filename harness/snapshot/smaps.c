/* SPDX-License-Identifier: MIT */
/* The text of /proc/self/smaps: the VMAs with their VmFlags. */
#include <string.h>

#include "harness/snapshot/procfs.h"

#define RECORD 800 /* bytes of text a VMA, about */

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

/* Does the line begin with `name`? Then *line goes beyond it. */
static bool begins(const char **line, const char *end, const char *name)
{
	size_t len = strlen(name);

	if (**line != *name || (size_t)(end - *line) < len || memcmp(*line, name, len) != 0)
		return false;
	*line += len;
	return true;
}

/*
 * One VMA's lines behind its first, up to and with its VmFlags; false if there are none. Its key
 * comes just before, where there are keys.
 */
static bool read_flags(struct vm_lines *l, struct vm_vma *vma)
{
	const char *line, *end;
	uint64_t key = 0;

	while (vm_lines_next(l, &line, &end)) {
		if (begins(&line, end, "ProtectionKey:")) {
			while (line < end && *line == ' ')
				line++;
			if (!vm_procfs_decimal(&line, end, &key) || key > 15)
				return false;
			continue;
		}
		if (!begins(&line, end, "VmFlags:"))
			continue;
		vma->flags = vm_flags_parse(line, end) | key << VM_FLAG_K0;
		vma->flags_known = 1;
		return true;
	}
	return false;
}

uint32_t vm_observe_smaps(struct vm_observer *o)
{
	bool own_full = false;
	const char *line, *end;
	struct vm_lines l;
	struct vm_vma vma;

	o->nvma = o->nown = o->npage = 0;
	if (!vm_procfs_open(&o->smaps_fd, "/proc/self/smaps"))
		return 0;
	vm_lines_start(&l, o->smaps_fd, o->text, VM_OBSERVE_TEXT);
	while (vm_lines_next(&l, &line, &end)) {
		if (!vm_maps_parse(line, end, &vma))
			return 0;
		if (!read_flags(&l, &vma))
			return 0;
		if (!vm_observer_add(o, &vma, &own_full) && !own_full)
			return 0;
	}
	if (l.failed)
		return 0;
	return VM_SEEN_MAPS | VM_SEEN_FLAGS | (own_full ? 0 : VM_SEEN_OWN);
}

/* The VmFlags of vma[], which must be what smaps shows. */
static bool add_flags(struct vm_observer *o)
{
	const char *line, *end;
	struct vm_lines l;
	struct vm_vma vma;
	uint32_t i = 0;
	size_t cap = o->nvma * RECORD;

	/* The kernel makes no more text than is asked for, up to a page. */
	if (cap > VM_OBSERVE_TEXT)
		cap = VM_OBSERVE_TEXT;
	vm_lines_start(&l, o->smaps_fd, o->text, cap);
	while (i < o->nvma && vm_lines_next(&l, &line, &end)) {
		if (!vm_maps_parse(line, end, &vma))
			return false;
		if (vma.start < o->vma[i].start && vm_observer_skips(o, vma.start)) {
			if (!read_flags(&l, &vma))
				return false;
			continue;
		}
		if (vma.start != o->vma[i].start || vma.end != o->vma[i].end ||
		    vma.mode != o->vma[i].mode || !read_flags(&l, &vma))
			return false;
		o->vma[i].flags = vma.flags;
		o->vma[i++].flags_known = 1;
	}
	return i == o->nvma && !l.failed;
}

static void forget_flags(struct vm_observer *o)
{
	for (uint32_t i = 0; i < o->nvma; i++) {
		o->vma[i].flags = 0;
		o->vma[i].flags_known = 0;
	}
}

uint32_t vm_observe_flags(struct vm_observer *o)
{
	if (!o->nvma)
		return VM_SEEN_FLAGS;
	if (vm_procfs_open(&o->smaps_fd, "/proc/self/smaps") && add_flags(o))
		return VM_SEEN_FLAGS;
	forget_flags(o);
	return 0;
}
