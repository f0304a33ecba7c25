/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel/kernel.h"
#include "harness/kernel/version.h"

int vm_kernel_path(char path[VM_KERNEL_PATH], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, VM_KERNEL_PATH, fmt, ap);
	va_end(ap);
	if (n >= 0 && n < VM_KERNEL_PATH)
		return 0;
	path[0] = '\0';
	return -1;
}

int vm_cache_folder(char path[VM_KERNEL_PATH], const char *part, char *err, size_t errlen)
{
	const char *own = getenv("VMAFUZZ_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int ret = -1;

	if (own && *own)
		ret = vm_kernel_path(path, "%s/%s", own, part);
	else if (xdg && *xdg)
		ret = vm_kernel_path(path, "%s/vmafuzz/%s", xdg, part);
	else if (home && *home)
		ret = vm_kernel_path(path, "%s/.cache/vmafuzz/%s", home, part);
	if (!ret && path[0] == '/')
		return 0;
	snprintf(err, errlen,
		 "there is no folder for kernels: set VMAFUZZ_CACHE to an absolute "
		 "path (or HOME)");
	return -1;
}

int vm_kernel_folder(char path[VM_KERNEL_PATH], char *err, size_t errlen)
{
	return vm_cache_folder(path, "kernels", err, errlen);
}

static int by_version(const void *a, const void *b)
{
	const struct vm_kernel *x = a, *y = b;
	struct vm_kernel_id i = { 0 }, j = { 0 };
	int diff;

	vm_kernel_id_parse(x->name, &i);
	vm_kernel_id_parse(y->name, &j);
	diff = vm_version_compare(i.version, j.version);
	return diff ? diff : strcmp(x->name, y->name);
}

/* Room for one more. */
static struct vm_kernel *grow(struct vm_kernel **list, size_t n)
{
	struct vm_kernel *more;

	if (n & (n - 1)) /* it was doubled when n was a power of two */
		return *list + n;
	more = realloc(*list, (n ? 2 * n : 1) * sizeof(*more));
	if (more)
		*list = more;
	return more ? more + n : NULL;
}

static int read_all(DIR *dir, struct vm_kernel **list, size_t *n, char *err, size_t errlen)
{
	struct dirent *d;
	char ignored[2 * VM_KERNEL_PATH];

	while ((d = readdir(dir))) {
		struct vm_kernel *k;

		if (d->d_name[0] == '.')
			continue;
		k = grow(list, *n);
		if (!k) {
			snprintf(err, errlen, "out of memory");
			return -1;
		}
		if (!vm_kernel_read(d->d_name, k, ignored, sizeof(ignored)))
			++*n;
	}
	return 0;
}

int vm_kernel_list(struct vm_kernel **list, size_t *n, char *err, size_t errlen)
{
	char path[VM_KERNEL_PATH];
	DIR *dir;
	int ret;

	*list = NULL;
	*n = 0;
	if (vm_kernel_folder(path, err, errlen))
		return -1;
	dir = opendir(path);
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir) {
		snprintf(err, errlen, "cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	ret = read_all(dir, list, n, err, errlen);
	closedir(dir);
	if (ret) {
		free(*list);
		*list = NULL;
		*n = 0;
	} else if (*n) {
		qsort(*list, *n, sizeof(**list), by_version);
	}
	return ret;
}

/* Does the alias `want` name this kernel? Without a suffix it means this machine's kernels. */
static bool meant(const struct vm_kernel *k, const struct vm_kernel_id *want)
{
	struct vm_kernel_id id;

	return vm_kernel_id_parse(k->name, &id) && !strcmp(id.kind, want->kind) &&
	       !strcmp(id.suffix, want->suffix) && vm_version_matches(id.version, want->version);
}

/* How to get a kernel that is not there. */
static void say_missing(const char *name, const struct vm_kernel_id *want, char *err, size_t errlen)
{
	if (want && !strcmp(want->kind, "debian"))
		snprintf(err, errlen,
			 "there is no kernel %s in the cache: vmafuzz kernel fetch debian:%s%s%s",
			 name, want->version, want->suffix[0] ? " --arch " : "", want->suffix);
	else
		snprintf(err, errlen,
			 "there is no kernel %s in the cache: see vmafuzz kernel list, and fetch "
			 "or build one",
			 name);
}

int vm_kernel_find(const char *name, struct vm_kernel *k, char *err, size_t errlen)
{
	struct vm_kernel_id want;
	struct vm_kernel *list;
	bool parsed, found = false;
	size_t n;

	if (!vm_kernel_read(name, k, err, errlen))
		return 0;
	parsed = vm_kernel_id_parse(name, &want);
	if (vm_kernel_list(&list, &n, err, errlen))
		return -1;
	/* The newest is the last. */
	for (size_t i = 0; i < n && parsed; i++) {
		if (!meant(&list[i], &want))
			continue;
		*k = list[i];
		found = true;
	}
	free(list);
	if (!found)
		say_missing(name, parsed ? &want : NULL, err, errlen);
	return found ? 0 : -1;
}
