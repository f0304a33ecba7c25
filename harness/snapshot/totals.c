/* SPDX-License-Identifier: MIT */
/* Totals of the address space: /proc/self/status and statm. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "harness/snapshot/procfs.h"

/* A whole small file of /proc into o->text; its end, or NULL. */
static const char *read_whole(struct vm_observer *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return NULL;
	got = read(fd, o->text, VM_OBSERVE_TEXT);
	close(fd);
	return got > 0 ? o->text + got : NULL;
}

/* The number behind "Vm<name>:", at or after *p, which goes beyond it. */
static bool get_field(const char **p, const char *end, const char *name, uint64_t *kib)
{
	const char *at = *p;
	size_t len = strlen(name);

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		if ((size_t)(end - at) <= len || memcmp(at, name, len) != 0)
			continue;
		for (at += len; at < end && (*at == ' ' || *at == '\t'); at++)
			;
		*p = at;
		return vm_procfs_decimal(p, end, kib);
	}
	return false;
}

/* In the order of the lines. */
static bool read_status(struct vm_observer *o)
{
	const struct {
		const char *name;
		uint64_t *value;
	} field[] = {
		{ "VmSize:", &o->totals.size },	 { "VmLck:", &o->totals.locked },
		{ "VmPin:", &o->totals.pinned }, { "VmData:", &o->totals.data },
		{ "VmStk:", &o->totals.stack },	 { "VmExe:", &o->totals.exec },
		{ "VmLib:", &o->totals.lib },
	};
	const char *end = read_whole(o, "/proc/self/status"), *p = o->text;

	for (size_t i = 0; end && i < sizeof(field) / sizeof(field[0]); i++) {
		if (!get_field(&p, end, field[i].name, field[i].value))
			return false;
		*field[i].value /= o->page_size / 1024;
	}
	return end;
}

static bool read_statm(struct vm_observer *o)
{
	const char *end = read_whole(o, "/proc/self/statm"), *p = o->text;
	uint64_t number[6];

	for (size_t i = 0; end && i < 6; i++) {
		while (p < end && *p == ' ')
			p++;
		if (!vm_procfs_decimal(&p, end, &number[i]))
			return false;
	}
	if (!end)
		return false;
	o->totals.statm_size = number[0];
	o->totals.statm_data = number[5];
	return true;
}

uint32_t vm_observe_totals(struct vm_observer *o)
{
	return read_status(o) && read_statm(o) ? VM_SEEN_TOTALS : 0;
}
