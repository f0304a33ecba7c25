/* SPDX-License-Identifier: MIT */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/guest/initramfs.h"

struct writer {
	struct archive *a;
	char *err;
	size_t errlen;
};

/* Always -1. */
static int fail(struct writer *w)
{
	const char *why = w->a ? archive_error_string(w->a) : NULL;

	snprintf(w->err, w->errlen, "cannot make the initramfs: %s", why ? why : "out of memory");
	return -1;
}

static int put(struct writer *w, const char *name, mode_t mode, const void *bytes, size_t len)
{
	struct archive_entry *e = archive_entry_new();
	int ret = -1;

	if (!e)
		return fail(w);
	archive_entry_set_pathname(e, name + (*name == '/'));
	archive_entry_set_mode(e, mode);
	archive_entry_set_size(e, (la_int64_t)len);
	if (S_ISCHR(mode)) { /* /dev/console, so that init has its 0, 1 and 2 */
		archive_entry_set_rdevmajor(e, 5);
		archive_entry_set_rdevminor(e, 1);
	}
	if (archive_write_header(w->a, e) == ARCHIVE_OK &&
	    (!len || archive_write_data(w->a, bytes, len) == (la_ssize_t)len))
		ret = 0;
	archive_entry_free(e);
	return ret ? fail(w) : 0;
}

static int put_file(struct writer *w, const char *name, const char *from)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC), ret = -1;
	struct stat st;
	ssize_t got = -1;
	void *bytes;

	if (fd < 0 || fstat(fd, &st)) {
		snprintf(w->err, w->errlen, "cannot read %s: %s", from, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	bytes = malloc((size_t)st.st_size + 1);
	if (bytes)
		got = read(fd, bytes, (size_t)st.st_size);
	if (bytes && got == st.st_size)
		ret = put(w, name, S_IFREG | 0755, bytes, (size_t)got);
	else
		snprintf(w->err, w->errlen, "cannot read %s: %s", from, strerror(errno));
	free(bytes);
	close(fd);
	return ret;
}

static int put_folders(struct writer *w)
{
	static const char *const folders[] = { "dev", "etc", "proc", "sys", "tmp", "modules" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (put(w, folders[i], S_IFDIR | 0755, NULL, 0))
			return -1;
	return put(w, "dev/console", S_IFCHR | 0600, NULL, 0);
}

/* A guest is a machine of its own: what is system-wide may be set. */
/* A guest is nobody's machine: its executor may change system-wide settings. */
static int put_config(struct writer *w, const struct vm_guest_spec *s)
{
	static const char *const channels[] = { "auto", "virtio", "uart" };
	char text[512];
	int n = snprintf(text, sizeof(text), "%s\n%s\n--whole-machine\n--timeout\n%u\n%s%s%s%s",
			 channels[s->channel], VM_GUEST_EXECUTOR, s->timeout_ms,
			 s->inject[0] ? "--inject\n" : "", s->inject, s->inject[0] ? "\n" : "",
			 s->privileged ? "--privileged\n" : "");

	return put(w, VM_GUEST_CONFIG, S_IFREG | 0644, text, (size_t)n);
}

static int put_modules(struct writer *w, const struct vm_modules *modules)
{
	char name[160];

	for (size_t i = 0; i < modules->n; i++) {
		const struct vm_module *m = &modules->module[i];

		snprintf(name, sizeof(name), VM_GUEST_MODULES "/%02zu-%s.ko", i, m->name);
		if (put(w, name, S_IFREG | 0644, m->bytes, m->len))
			return -1;
	}
	return 0;
}

int vm_initramfs_write(const char *path, const char *init, const struct vm_guest_spec *spec,
		       const struct vm_modules *modules, char *err, size_t errlen)
{
	struct writer w = { archive_write_new(), err, errlen };
	int ret = -1;

	if (!w.a)
		return fail(&w);
	if (archive_write_set_format_cpio_newc(w.a) || archive_write_add_filter_none(w.a) ||
	    archive_write_open_filename(w.a, path))
		fail(&w);
	else
		ret = put_folders(&w) || put_file(&w, "init", init) ||
		      put_file(&w, VM_GUEST_EXECUTOR, spec->executor) || put_config(&w, spec) ||
		      put_modules(&w, modules);
	if (!ret && archive_write_close(w.a) != ARCHIVE_OK)
		ret = fail(&w);
	archive_write_free(w.a);
	return ret ? -1 : 0;
}
