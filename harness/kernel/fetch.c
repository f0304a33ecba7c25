/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/kernel/fetch.h"
#include "harness/kernel/files.h"
#include "harness/kernel/unpack.h"

struct work {
	const struct vm_fetch *f;
	const struct vm_package *p;
	struct vm_kernel *k;
	char debs[VM_KERNEL_PATH]; /* packages as they are downloaded */
	char root[VM_KERNEL_PATH]; /* what becomes the kernel's folder */
	char *err;
	size_t errlen;
};

static void say(const struct vm_fetch *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct vm_fetch *f, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!f->progress)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	f->progress(f->arg, line);
}

bool vm_config_is_module(const char *config, const char *symbol)
{
	char line[256], wanted[128];
	bool module = false;
	FILE *f = fopen(config, "re");

	if (!f)
		return false;
	snprintf(wanted, sizeof(wanted), "CONFIG_%s=m\n", symbol);
	while (!module && fgets(line, sizeof(line), f))
		module = !strcmp(line, wanted);
	fclose(f);
	return module;
}

/* Download packages of this kernel's version: prefixes of the release, NULL-terminated. */
static int download(struct work *w, const char *const *prefix)
{
	char name[4][2 * VM_KERNEL_NAME + 32];
	const char *names[5] = { NULL };

	for (int i = 0; i < 4 && prefix[i]; i++) {
		snprintf(name[i], sizeof(name[i]), "%s%s=%s", prefix[i], w->p->release,
			 w->p->version);
		names[i] = name[i];
	}
	return vm_apt_download(w->f->apt, w->debs, names, w->err, w->errlen);
}

static bool begins(const char *name, const char *const *prefix)
{
	while (*prefix && strncmp(name, *prefix, strlen(*prefix)))
		prefix++;
	return *prefix;
}

/* Unpack packages whose names begin so, and delete them. */
static int unpack(struct work *w, const char *const *prefix)
{
	DIR *dir = opendir(w->debs);
	char path[VM_KERNEL_PATH];
	struct dirent *d;
	int ret = 0;

	if (!dir) {
		snprintf(w->err, w->errlen, "cannot read %s: %s", w->debs, strerror(errno));
		return -1;
	}
	while (!ret && (d = readdir(dir))) {
		if (!begins(d->d_name, prefix))
			continue;
		vm_kernel_path(path, "%s/%s", w->debs, d->d_name);
		ret = vm_deb_unpack(path, w->root, vm_place_kernel, w->err, w->errlen);
		unlink(path);
	}
	closedir(dir);
	return ret;
}

static bool there(const char *root, const char *name)
{
	char path[VM_KERNEL_PATH];
	struct stat st;

	return !vm_kernel_path(path, "%s/%s", root, name) && !stat(path, &st);
}

/* Image and configuration; modules where they are packages of their own and the guest needs them.
 */
static int bring(struct work *w)
{
	bool binary = !strncmp(w->p->image, "linux-binary-", 13);
	const char *first[] = { binary ? "linux-binary-" : "linux-image-",
				w->p->base ? "linux-base-" : NULL, NULL };
	const char *const modules[] = { "linux-modules-", NULL };
	char config[VM_KERNEL_PATH];

	say(w->f, "%s: downloading %s %s (%.1f MB, %s)", w->k->name, w->p->image, w->p->version,
	    (double)w->p->size / 1e6, w->p->suite);
	if (download(w, first) || unpack(w, first))
		return -1;
	vm_kernel_path(config, "%s/config", w->root);
	if (w->p->modules && (vm_config_is_module(config, "VIRTIO_CONSOLE") ||
			      vm_config_is_module(config, "VIRTIO_PCI"))) {
		say(w->f, "%s: downloading its modules", w->k->name);
		if (download(w, modules) || unpack(w, modules))
			return -1;
	}
	if (there(w->root, "vmlinuz"))
		return 0;
	snprintf(w->err, w->errlen, "%s %s holds no kernel where one is expected", w->p->image,
		 w->p->version);
	return -1;
}

static void describe(struct work *w)
{
	struct vm_kernel *k = w->k;

	memcpy(k->release, w->p->release, sizeof(k->release));
	memcpy(k->version, w->p->version, sizeof(k->version));
	snprintf(k->arch, sizeof(k->arch), "%s",
		 strcmp(w->f->apt->arch, "arm64") ? "x86_64" : "aarch64");
	snprintf(k->origin, sizeof(k->origin), "debian %s", w->p->suite);
	vm_kernel_path(k->image, "%s/vmlinuz", k->dir);
	if (there(w->root, "config"))
		vm_kernel_path(k->config, "%s/config", k->dir);
	if (there(w->root, "modules/kernel"))
		vm_kernel_path(k->modules, "%s/modules", k->dir);
}

static int put(struct work *w, const char *folder)
{
	char scratch[VM_KERNEL_PATH];

	if (vm_kernel_path(scratch, "%s/.fetch-%s", folder, w->k->name) ||
	    vm_kernel_path(w->debs, "%s/debs", scratch) ||
	    vm_kernel_path(w->root, "%s/root", scratch)) {
		snprintf(w->err, w->errlen, "the path of the cache is too long: %s", folder);
		return -1;
	}
	/* Packages half downloaded are gone on with, files half unpacked are not. */
	if (vm_remove_tree(w->root, w->err, w->errlen) ||
	    vm_make_folders(w->root, w->err, w->errlen) ||
	    vm_make_folders(w->debs, w->err, w->errlen) || bring(w))
		return -1;
	describe(w);
	if (vm_kernel_write(w->k, w->root, w->err, w->errlen))
		return -1;
	if (rename(w->root, w->k->dir)) {
		snprintf(w->err, w->errlen, "cannot make %s: %s", w->k->dir, strerror(errno));
		return -1;
	}
	return vm_remove_tree(scratch, w->err, w->errlen) ? -1 : 1;
}

int vm_kernel_fetch(const struct vm_fetch *f, const struct vm_package *p, struct vm_kernel *k,
		    char *err, size_t errlen)
{
	struct work w = { .f = f, .p = p, .k = k, .err = err, .errlen = errlen };
	char folder[VM_KERNEL_PATH], name[VM_KERNEL_NAME], path[VM_KERNEL_PATH];
	int lock, ret = 0;

	vm_package_name(p, f->flavour, name, sizeof(name));
	if (vm_kernel_folder(folder, err, errlen) || vm_make_folders(folder, err, errlen) ||
	    vm_kernel_path(path, "%s/.lock", folder))
		return -1;
	if (!vm_kernel_read(name, k, err, errlen))
		return 0;
	lock = vm_lock(path, NULL, err, errlen);
	if (lock < 0)
		return -1;
	/* Another may have fetched it meanwhile. One whose manifest cannot be read is fetched anew.
	 */
	if (vm_kernel_read(name, k, err, errlen)) {
		*k = (struct vm_kernel){ 0 };
		snprintf(k->name, sizeof(k->name), "%s", name);
		vm_kernel_path(k->dir, "%s/%s", folder, name);
		ret = vm_remove_tree(k->dir, err, errlen) ? -1 : put(&w, folder);
	}
	close(lock);
	return ret;
}
