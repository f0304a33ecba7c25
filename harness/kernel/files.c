/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/kernel/files.h"
#include "harness/kernel/kernel.h"

static int say(const char *what, const char *path, char *err, size_t errlen)
{
	snprintf(err, errlen, "cannot %s %s: %s", what, path, strerror(errno));
	return -1;
}

int vm_make_folders(const char *path, char *err, size_t errlen)
{
	char part[VM_KERNEL_PATH];

	if (vm_kernel_path(part, "%s", path)) {
		errno = ENAMETOOLONG;
		return say("make", path, err, errlen);
	}
	for (char *p = part + 1;; p++) {
		char end = *p;

		if (end && end != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return say("make", part, err, errlen);
		if (!end)
			return 0;
		*p = end;
	}
}

int vm_write_text(const char *path, const char *text, char *err, size_t errlen)
{
	char temp[VM_KERNEL_PATH];
	FILE *f;
	int bad;

	if (vm_kernel_path(temp, "%s.%d", path, (int)getpid())) {
		errno = ENAMETOOLONG;
		return say("write", path, err, errlen);
	}
	f = fopen(temp, "we");
	if (!f)
		return say("write", temp, err, errlen);
	bad = fputs(text, f) < 0;
	if (fclose(f) || bad || rename(temp, path)) {
		say("write", path, err, errlen);
		unlink(temp);
		return -1;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int vm_remove_tree(const char *path, char *err, size_t errlen)
{
	if (!nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) || errno == ENOENT)
		return 0;
	return say("remove", path, err, errlen);
}

int vm_lock(const char *path, void (*waiting)(const char *path), char *err, size_t errlen)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return say("open", path, err, errlen);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (waiting)
			waiting(path);
		if (flock(fd, LOCK_EX)) {
			say("lock", path, err, errlen);
			close(fd);
			return -1;
		}
	}
	return fd;
}
