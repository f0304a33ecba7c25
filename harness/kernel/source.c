/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/kernel/files.h"
#include "harness/kernel/source.h"
#include "harness/kernel/unpack.h"
#include "harness/kernel/version.h"

/* The value of `NAME = value` at the beginning of the Makefile. */
static bool variable(const char *line, const char *name, char *value, size_t cap)
{
	size_t n = strlen(name);

	if (strncmp(line, name, n) || strncmp(line + n, " =", 2))
		return false;
	line += n + 2;
	line += strspn(line, " \t");
	snprintf(value, cap, "%.*s", (int)strcspn(line, " \t\n"), line);
	return true;
}

int vm_source_version(const char *tree, char version[VM_KERNEL_NAME], char *err, size_t errlen)
{
	char path[VM_KERNEL_PATH], line[256];
	char major[8] = "", minor[8] = "", patch[8] = "", extra[32] = "";
	FILE *f;

	vm_kernel_path(path, "%s/Makefile", tree);
	f = fopen(path, "re");
	for (int i = 0; f && i < 10 && fgets(line, sizeof(line), f); i++) {
		if (!variable(line, "VERSION", major, sizeof(major)) &&
		    !variable(line, "PATCHLEVEL", minor, sizeof(minor)) &&
		    !variable(line, "SUBLEVEL", patch, sizeof(patch)))
			variable(line, "EXTRAVERSION", extra, sizeof(extra));
	}
	if (f)
		fclose(f);
	if (!major[0] || !minor[0]) {
		snprintf(err, errlen, "%s is not the top of a Linux source tree", tree);
		return -1;
	}
	snprintf(version, VM_KERNEL_NAME, "%s.%s%s%s%s", major, minor, patch[0] ? "." : "", patch,
		 extra);
	return 0;
}

static bool place_tarball(const char *name, char to[VM_KERNEL_PATH])
{
	const char *end = strstr(name, ".tar.");

	if (strncmp(name, "usr/src/linux-source-", 21) || !end)
		return false;
	return !vm_kernel_path(to, "source.tar");
}

/* The one .deb of a folder. */
static int find_deb(const char *folder, char deb[VM_KERNEL_PATH], char version[VM_KERNEL_NAME])
{
	DIR *dir = opendir(folder);
	struct dirent *d;
	bool found = false;

	while (dir && !found && (d = readdir(dir))) {
		/* linux-source-6.12_6.12.117-1~deb12u1_all.deb; apt writes `:` as %3a. */
		const char *v = strchr(d->d_name, '_'), *end = strrchr(d->d_name, '_');

		if (!v || end == v || strncmp(d->d_name, "linux-source-", 13))
			continue;
		snprintf(version, VM_KERNEL_NAME, "%.*s", (int)(end - v - 1), v + 1);
		found = !vm_kernel_path(deb, "%s/%s", folder, d->d_name);
	}
	if (dir)
		closedir(dir);
	return found ? 0 : -1;
}

struct request {
	struct vm_apt *apt;
	const char *wanted;
	vm_progress_fn *progress;
	void *arg;
	char scratch[VM_KERNEL_PATH];
	char *err;
	size_t errlen;
};

static void say(const struct request *r, const char *what, const char *of)
{
	char line[512];

	snprintf(line, sizeof(line), "%s %s", what, of);
	if (r->progress)
		r->progress(r->arg, line);
}

static int download(struct request *r, char deb[VM_KERNEL_PATH], char version[VM_KERNEL_NAME])
{
	char series[32], package[VM_KERNEL_NAME + 64];
	const char *const names[] = { package, NULL };
	bool whole = strchr(r->wanted, '-');

	vm_version_series(r->wanted, series, sizeof(series));
	if (!series[0]) {
		snprintf(r->err, r->errlen, "debian:%s is no version like 6.12", r->wanted);
		return -1;
	}
	snprintf(package, sizeof(package), "linux-source-%s%s%s", series, whole ? "=" : "",
		 whole ? r->wanted : "");
	say(r, "downloading", package);
	if (vm_apt_download(r->apt, r->scratch, names, r->err, r->errlen))
		return -1;
	if (find_deb(r->scratch, deb, version)) {
		snprintf(r->err, r->errlen, "apt-get left no package in %s", r->scratch);
		return -1;
	}
	if (vm_version_matches(version, r->wanted))
		return 0;
	snprintf(r->err, r->errlen, "the mirror's source of %s is %s, not %s", series, version,
		 r->wanted);
	return -1;
}

/* Unpack into `tree`, whole or not at all. */
static int unpack(struct request *r, const char *deb, const char *tree)
{
	char tarball[VM_KERNEL_PATH], root[VM_KERNEL_PATH];

	vm_kernel_path(tarball, "%s/source.tar", r->scratch);
	vm_kernel_path(root, "%s/root", r->scratch);
	say(r, "unpacking into", tree);
	if (vm_deb_unpack(deb, r->scratch, place_tarball, r->err, r->errlen) ||
	    vm_remove_tree(root, r->err, r->errlen) || vm_make_folders(root, r->err, r->errlen) ||
	    vm_tar_unpack(tarball, root, r->err, r->errlen))
		return -1;
	if (!rename(root, tree))
		return 0;
	snprintf(r->err, r->errlen, "cannot make %s: %s", tree, strerror(errno));
	return -1;
}

static int fetch(struct request *r, const char *sources, char tree[VM_KERNEL_PATH])
{
	char deb[VM_KERNEL_PATH], version[VM_KERNEL_NAME], path[VM_KERNEL_PATH];

	if (download(r, deb, version))
		return -1;
	vm_kernel_path(tree, "%s/linux-%s", sources, version);
	vm_kernel_path(path, "%s/Makefile", tree);
	if (access(path, R_OK) && unpack(r, deb, tree))
		return -1;
	return vm_remove_tree(r->scratch, r->err, r->errlen);
}

int vm_source_fetch(struct vm_apt *apt, const char *wanted, vm_progress_fn *progress, void *arg,
		    char tree[VM_KERNEL_PATH], char *err, size_t errlen)
{
	struct request r = { apt, wanted, progress, arg, "", err, errlen };
	char sources[VM_KERNEL_PATH], path[VM_KERNEL_PATH];
	int lock, ret;

	if (vm_cache_folder(sources, "sources", err, errlen))
		return -1;
	vm_kernel_path(path, "%s/.lock", sources);
	if (vm_kernel_path(r.scratch, "%s/.fetch-%s", sources, wanted) ||
	    vm_make_folders(r.scratch, err, errlen))
		return -1;
	lock = vm_lock(path, NULL, err, errlen);
	if (lock < 0)
		return -1;
	ret = fetch(&r, sources, tree);
	close(lock);
	return ret;
}
