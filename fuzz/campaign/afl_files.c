/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/campaign/afl_files.h"
#include "fuzz/campaign/folder.h"

static uint64_t count_crashes(const char *instance)
{
	char path[VM_PATH_MAX];
	struct dirent *d;
	uint64_t n = 0;
	DIR *dir;

	vm_path(path, "%s/crashes", instance);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		n += !strncmp(d->d_name, "id:", 3);
	if (dir)
		closedir(dir);
	return n;
}

/* The line `stability         : 100.00%` of fuzzer_stats. */
static void read_stability(const char *instance, struct vm_outcome *o)
{
	char path[VM_PATH_MAX], line[256], value[16];
	FILE *f;

	vm_path(path, "%s/fuzzer_stats", instance);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "stability : %15s", value) == 1)
			snprintf(o->afl_stability, sizeof(o->afl_stability), "%s", value);
	}
	fclose(f);
}

void vm_afl_look(const char *out, struct vm_outcome *o)
{
	char parent[VM_PATH_MAX], instance[VM_PATH_MAX];
	struct dirent *d;
	DIR *dir;

	vm_path(parent, "%s/afl", out);
	dir = opendir(parent);
	if (!dir)
		return;
	o->afl_crashes = 0;
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		vm_path(instance, "%s/%s", parent, d->d_name);
		o->afl_crashes += count_crashes(instance);
		read_stability(instance, o);
	}
	closedir(dir);
}
