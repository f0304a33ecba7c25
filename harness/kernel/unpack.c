/* SPDX-License-Identifier: MIT */
#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>

#include "harness/kernel/unpack.h"
#include "harness/kernel/files.h"

#define BLOCK 65536

struct deb {
	const char *path, *folder;
	vm_place_fn *place;
	struct archive *outer, *inner; /* the ar file, and the tar in it */
	char block[BLOCK];	       /* of the ar file, on its way to the tar reader */
	char *err;
	size_t errlen;
};

static int fail(struct deb *d, struct archive *a)
{
	const char *why = archive_error_string(a);

	snprintf(d->err, d->errlen, "cannot unpack %s: %s", d->path, why ? why : "damaged");
	return -1;
}

/* The inner archive is read from the outer one's current entry. */
static la_ssize_t read_outer(struct archive *inner, void *arg, const void **block)
{
	struct deb *d = arg;
	la_ssize_t n = archive_read_data(d->outer, d->block, sizeof(d->block));

	(void)inner;
	*block = d->block;
	return n;
}

static int write_file(struct deb *d, struct archive_entry *e, const char *to)
{
	char path[VM_KERNEL_PATH], *slash;
	struct archive *disk;
	int ret;

	if (vm_kernel_path(path, "%s/%s", d->folder, to)) {
		snprintf(d->err, d->errlen, "the path of the cache is too long: %s", d->folder);
		return -1;
	}
	slash = strrchr(path, '/');
	*slash = '\0';
	if (vm_make_folders(path, d->err, d->errlen))
		return -1;
	*slash = '/';
	disk = archive_write_disk_new();
	archive_entry_set_pathname(e, path);
	archive_entry_set_perm(e, 0644);
	ret = archive_read_extract2(d->inner, e, disk);
	if (ret == ARCHIVE_OK)
		ret = archive_write_close(disk);
	if (ret != ARCHIVE_OK) {
		const char *why = archive_error_string(disk);

		if (!why)
			why = archive_error_string(d->inner);
		snprintf(d->err, d->errlen, "cannot write %s: %s", path, why ? why : "damaged");
	}
	archive_write_free(disk);
	return ret == ARCHIVE_OK ? 0 : -1;
}

static int unpack_tar(struct deb *d)
{
	struct archive_entry *e;
	char to[VM_KERNEL_PATH];
	int ret;

	while ((ret = archive_read_next_header(d->inner, &e)) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(e);

		if (!name || archive_entry_filetype(e) != AE_IFREG)
			continue;
		if (strstr(name, "../"))
			continue;
		name += strspn(name, "./");
		if (!d->place(name, to))
			continue;
		if (write_file(d, e, to))
			return -1;
	}
	return ret == ARCHIVE_EOF ? 0 : fail(d, d->inner);
}

/* data.tar.xz, data.tar.zst, ... of the ar file. */
static int find_data(struct deb *d)
{
	struct archive_entry *e;

	while (archive_read_next_header(d->outer, &e) == ARCHIVE_OK) {
		if (!strncmp(archive_entry_pathname(e), "data.tar", 8))
			return 0;
	}
	return fail(d, d->outer);
}

int vm_deb_unpack(const char *deb, const char *folder, vm_place_fn *place, char *err, size_t errlen)
{
	struct deb d = { .path = deb,
			 .folder = folder,
			 .place = place,
			 .outer = archive_read_new(),
			 .inner = archive_read_new(),
			 .err = err,
			 .errlen = errlen };
	int ret;

	archive_read_support_format_ar(d.outer);
	archive_read_support_format_tar(d.inner);
	archive_read_support_filter_all(d.inner);
	if (archive_read_open_filename(d.outer, deb, BLOCK) != ARCHIVE_OK)
		ret = fail(&d, d.outer);
	else if (find_data(&d))
		ret = -1;
	else if (archive_read_open(d.inner, &d, NULL, read_outer, NULL) != ARCHIVE_OK)
		ret = fail(&d, d.inner);
	else
		ret = unpack_tar(&d);
	archive_read_free(d.inner);
	archive_read_free(d.outer);
	return ret;
}

/* What follows lib/modules/RELEASE/, with or without usr/; NULL elsewhere. */
static const char *in_modules(const char *name)
{
	if (!strncmp(name, "usr/", 4))
		name += 4;
	if (strncmp(name, "lib/modules/", 12))
		return NULL;
	name = strchr(name + 12, '/');
	return name ? name + 1 : NULL;
}

bool vm_place_kernel(const char *name, char to[VM_KERNEL_PATH])
{
	static const char *const wanted[] = { "modules.", "kernel/drivers/virtio/",
					      "kernel/drivers/char/" };
	const char *rest = in_modules(name);

	if (!strncmp(name, "boot/vmlinuz-", 13) || (rest && !strcmp(rest, "vmlinuz")))
		return !vm_kernel_path(to, "vmlinuz");
	if (!strncmp(name, "boot/config-", 12) || (rest && !strcmp(rest, "config")))
		return !vm_kernel_path(to, "config");
	for (size_t i = 0; rest && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!strncmp(rest, wanted[i], strlen(wanted[i])))
			return !vm_kernel_path(to, "modules/%s", rest);
	}
	return false;
}

/* ---- a source's tarball ---- */

#define SAFE (ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM)

/* Move an entry from linux-source-6.12/NAME to FOLDER/NAME; false leaves it out. */
static bool move_entry(struct archive_entry *e, const char *folder)
{
	const char *name = archive_entry_pathname(e), *link = archive_entry_hardlink(e);
	const char *rest = name ? strchr(name, '/') : NULL;
	char path[VM_KERNEL_PATH];

	if (!rest || !rest[1] || strstr(rest, "/../") || link ||
	    vm_kernel_path(path, "%s%s", folder, rest))
		return false;
	archive_entry_set_pathname(e, path);
	return true;
}

int vm_tar_unpack(const char *tar, const char *folder, char *err, size_t errlen)
{
	struct deb d = { .path = tar, .folder = folder, .err = err, .errlen = errlen };
	struct archive *disk = archive_write_disk_new();
	struct archive_entry *e;
	int ret;

	d.inner = archive_read_new();
	archive_read_support_format_tar(d.inner);
	archive_read_support_filter_all(d.inner);
	archive_write_disk_set_options(disk, SAFE);
	ret = archive_read_open_filename(d.inner, tar, BLOCK);
	while (ret == ARCHIVE_OK && (ret = archive_read_next_header(d.inner, &e)) == ARCHIVE_OK) {
		if (move_entry(e, folder))
			ret = archive_read_extract2(d.inner, e, disk);
		if (ret == ARCHIVE_WARN) /* what it could not set does not matter here */
			ret = ARCHIVE_OK;
	}
	if (ret == ARCHIVE_EOF)
		ret = archive_write_close(disk);
	if (ret != ARCHIVE_OK)
		fail(&d, archive_error_string(disk) ? disk : d.inner);
	archive_write_free(disk);
	archive_read_free(d.inner);
	return ret == ARCHIVE_OK ? 0 : -1;
}
