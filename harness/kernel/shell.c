/* SPDX-License-Identifier: MIT */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/kernel/files.h"
#include "harness/kernel/shell.h"
#include "harness/kernel/unpack.h"

static const char init_script[] =
	"#!/bin/busybox sh\n"
	"/bin/busybox --install -s /bin\n"
	"mount -t proc proc /proc\n"
	"mount -t sysfs sysfs /sys\n"
	"mount -t devtmpfs devtmpfs /dev\n"
	"mount -t tmpfs tmpfs /tmp\n"
	"mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null\n"
	"export HOME=/tmp PATH=/bin\n"
	"echo \"Linux $(uname -r). Leave with Ctrl-] or exit.\"\n"
	/* A script's shell must not be interactive: it would ask the terminal for its cursor. */
	"case \"$(cat /proc/cmdline)\" in\n"
	"*vmafuzz.script*) stty -echo; echo ready; sh 2>&1 | cat ;;\n"
	"*) setsid cttyhack sh ;;\n"
	"esac\n"
	"poweroff -f\n";

static bool place_busybox(const char *name, char to[VM_KERNEL_PATH])
{
	if (strcmp(name, "bin/busybox") && strcmp(name, "usr/bin/busybox"))
		return false;
	return !vm_kernel_path(to, "busybox");
}

static int unpack(const char *folder, char *err, size_t errlen)
{
	DIR *dir = opendir(folder);
	char deb[VM_KERNEL_PATH];
	struct dirent *d;
	int ret = -1;

	snprintf(err, errlen, "apt-get left no package in %s", folder);
	while (dir && ret && (d = readdir(dir))) {
		if (strncmp(d->d_name, "busybox-static_", 15))
			continue;
		vm_kernel_path(deb, "%s/%s", folder, d->d_name);
		ret = vm_deb_unpack(deb, folder, place_busybox, err, errlen);
		unlink(deb);
		if (ret)
			break;
	}
	if (dir)
		closedir(dir);
	return ret;
}

int vm_shell_busybox(struct vm_apt *apt, char path[VM_KERNEL_PATH], char *err, size_t errlen)
{
	static const char *const package[] = { "busybox-static", NULL };
	char tools[VM_KERNEL_PATH], scratch[VM_KERNEL_PATH], made[VM_KERNEL_PATH];

	if (vm_cache_folder(tools, "tools", err, errlen))
		return -1;
	vm_kernel_path(path, "%s/busybox-%s", tools, apt->arch);
	vm_kernel_path(scratch, "%s/.fetch-%s", tools, apt->arch);
	vm_kernel_path(made, "%s/busybox", scratch);
	if (!access(path, R_OK))
		return 0;
	if (vm_make_folders(scratch, err, errlen) ||
	    vm_apt_download(apt, scratch, package, err, errlen) || unpack(scratch, err, errlen))
		return -1;
	if (rename(made, path)) {
		snprintf(err, errlen, "busybox-static holds no bin/busybox");
		return -1;
	}
	return vm_remove_tree(scratch, err, errlen);
}

/* ---- the archive ---- */

static int add(struct archive *a, const char *name, mode_t mode, const void *data, size_t len)
{
	struct archive_entry *e = archive_entry_new();
	int bad;

	archive_entry_set_pathname(e, name);
	archive_entry_set_mode(e, mode);
	archive_entry_set_size(e, (la_int64_t)len);
	archive_entry_set_nlink(e, 1);
	if (S_ISCHR(mode)) { /* the console, for init's own stdin and stdout */
		archive_entry_set_rdevmajor(e, 5);
		archive_entry_set_rdevminor(e, 1);
	}
	bad = archive_write_header(a, e) != ARCHIVE_OK ||
	      (len && archive_write_data(a, data, len) != (la_ssize_t)len);
	archive_entry_free(e);
	return bad;
}

static int add_file(struct archive *a, const char *name, const char *from)
{
	struct stat st;
	FILE *f = fopen(from, "re");
	char *data = f && !fstat(fileno(f), &st) ? malloc((size_t)st.st_size + 1) : NULL;
	int bad = !data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size ||
		  add(a, name, S_IFREG | 0755, data, (size_t)st.st_size);

	free(data);
	if (f)
		fclose(f);
	return bad;
}

int vm_shell_initramfs(const char *path, const char *busybox, const char *executor, char *err,
		       size_t errlen)
{
	static const char *const folders[] = { "bin", "dev", "proc", "sys", "tmp" };
	struct archive *a = archive_write_new();
	int bad;

	archive_write_set_format_cpio_newc(a);
	bad = archive_write_open_filename(a, path) != ARCHIVE_OK;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !bad; i++)
		bad = add(a, folders[i], S_IFDIR | 0755, NULL, 0);
	bad = bad || add(a, "dev/console", S_IFCHR | 0600, NULL, 0) ||
	      add(a, "init", S_IFREG | 0755, init_script, sizeof(init_script) - 1) ||
	      add_file(a, "bin/busybox", busybox) ||
	      (executor && add_file(a, "bin/vmafuzz-executor", executor)) ||
	      archive_write_close(a) != ARCHIVE_OK;
	if (bad)
		snprintf(err, errlen, "cannot write %s: %s", path,
			 archive_error_string(a) ? archive_error_string(a) : "a part is missing");
	archive_write_free(a);
	return bad ? -1 : 0;
}
