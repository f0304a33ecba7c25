/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/in_flight.h"

#define PREFIX "current."

static void own_path(const char *out, char path[VM_PATH_MAX])
{
	vm_path(path, "%s/" PREFIX "%d", out, (int)getpid());
}

struct vm_in_flight *vm_in_flight_open(const char *out, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];

	own_path(out, path);
	unlink(path);
	return vm_file_map(path, sizeof(struct vm_in_flight), err, errlen);
}

void vm_in_flight_close(struct vm_in_flight *f, const char *out)
{
	char path[VM_PATH_MAX];

	if (!f)
		return;
	own_path(out, path);
	munmap(f, sizeof(*f));
	unlink(path);
}

void vm_in_flight_put(struct vm_in_flight *f, uint32_t id, const struct vm_program *prog, bool sync)
{
	unsigned int i = id % VM_TARGET_MAX_INFLIGHT;

	f->slot[i].len = (uint32_t)vm_program_encode(prog, f->slot[i].bytes, VM_BYTES_MAX);
	if (sync)
		msync(f, sizeof(*f), MS_SYNC);
}

void vm_in_flight_drop(struct vm_in_flight *f, uint32_t id)
{
	f->slot[id % VM_TARGET_MAX_INFLIGHT].len = 0;
}

void vm_in_flight_clear(const char *out)
{
	DIR *dir = opendir(out);
	struct dirent *d;

	if (!dir)
		return;
	while ((d = readdir(dir))) {
		if (!strncmp(d->d_name, PREFIX, strlen(PREFIX)))
			unlinkat(dirfd(dir), d->d_name, 0);
	}
	closedir(dir);
}

static int rescue_file(const char *out, const char *name, char *err, size_t errlen)
{
	char path[VM_PATH_MAX], folder[VM_PATH_MAX], to[VM_PATH_MAX];
	struct vm_in_flight *f;
	size_t len;
	int ret = 0;

	vm_path(path, "%s/%s", out, name);
	vm_path(folder, "%s/interrupted", out);
	f = (struct vm_in_flight *)vm_file_read(path, sizeof(*f), &len, err, errlen);
	if (!f)
		return -1;
	for (unsigned int i = 0; len == sizeof(*f) && i < VM_TARGET_MAX_INFLIGHT && !ret; i++) {
		if (!f->slot[i].len || f->slot[i].len > VM_BYTES_MAX)
			continue;
		vm_path(to, "%s/%s-%u.bin", folder, name + strlen(PREFIX), i);
		ret = vm_folder_make(folder, err, errlen) ||
		      vm_file_write(to, f->slot[i].bytes, f->slot[i].len, err, errlen);
	}
	free(f);
	if (!ret)
		unlink(path);
	return ret ? -1 : 0;
}

int vm_in_flight_rescue(const char *out, char *err, size_t errlen)
{
	DIR *dir = opendir(out);
	struct dirent *d;
	int ret = 0;

	while (dir && !ret && (d = readdir(dir))) {
		if (!strncmp(d->d_name, PREFIX, strlen(PREFIX)))
			ret = rescue_file(out, d->d_name, err, errlen);
	}
	if (dir)
		closedir(dir);
	return ret;
}
