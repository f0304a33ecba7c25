/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/campaign/folder.h"

void vm_path(char path[VM_PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, VM_PATH_MAX, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= VM_PATH_MAX)
		path[0] = '\0';
}

static int failed(char *err, size_t errlen, const char *what, const char *path)
{
	const char *hint = "";

	if (errno == ENOSPC || errno == EDQUOT)
		hint = "; free some space, or choose another folder with --out";
	else if (errno == EACCES || errno == EPERM || errno == EROFS)
		hint = "; choose a folder of yours with --out";
	snprintf(err, errlen, "cannot %s %s: %s%s", what, path, strerror(errno), hint);
	return -1;
}

int vm_folder_make(const char *path, char *err, size_t errlen)
{
	char part[VM_PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return failed(err, errlen, "make the folder", path);
	}
	strcpy(part, path);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(part, 0777);
		*p = '/';
	}
	if (mkdir(part, 0777) && errno != EEXIST)
		return failed(err, errlen, "make the folder", path);
	if (stat(path, &st))
		return failed(err, errlen, "make the folder", path);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return failed(err, errlen, "make the folder", path);
	}
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

int vm_file_write(const char *path, const void *bytes, size_t len, char *err, size_t errlen)
{
	char tmp[VM_PATH_MAX];
	int fd, saved;

	if (snprintf(tmp, sizeof(tmp), "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof(tmp)) {
		errno = ENAMETOOLONG;
		return failed(err, errlen, "write", path);
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(err, errlen, "write", path);
	if (write_all(fd, bytes, len)) {
		saved = errno;
		close(fd);
		unlink(tmp);
		errno = saved;
		return failed(err, errlen, "write", path);
	}
	if (close(fd) || rename(tmp, path)) {
		saved = errno;
		unlink(tmp);
		errno = saved;
		return failed(err, errlen, "write", path);
	}
	return 0;
}

static uint8_t *read_fd(int fd, size_t size, size_t *len)
{
	uint8_t *buf = malloc(size + 1);
	size_t got = 0;

	if (!buf)
		return NULL;
	while (got < size) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(buf);
			return NULL;
		}
		if (n == 0)
			break;
		got += (size_t)n;
	}
	buf[got] = '\0';
	*len = got;
	return buf;
}

uint8_t *vm_file_read(const char *path, size_t max, size_t *len, char *err, size_t errlen)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *buf = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		failed(err, errlen, "read", path);
	} else if (!S_ISREG(st.st_mode)) {
		snprintf(err, errlen, "cannot read %s: it is not a regular file", path);
	} else if ((size_t)st.st_size > max) {
		snprintf(err, errlen, "cannot read %s: it is longer than %zu bytes", path, max);
	} else {
		buf = read_fd(fd, (size_t)st.st_size, len);
		if (!buf)
			failed(err, errlen, "read", path);
	}
	if (fd >= 0)
		close(fd);
	return buf;
}

void vm_folder_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return;
	while ((d = readdir(dir)))
		unlinkat(dirfd(dir), d->d_name, 0);
	closedir(dir);
	rmdir(path);
}

bool vm_has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return n >= s && !strcmp(name + n - s, suffix);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One more path in the list; -1 without memory. */
static int append(char ***paths, size_t *n, const char *folder, const char *name)
{
	char **more = realloc(*paths, (*n + 1) * sizeof(*more));
	char *path = NULL;

	if (!more)
		return -1;
	*paths = more;
	if (asprintf(&path, "%s%s%s", folder, *name ? "/" : "", name) < 0)
		return -1;
	(*paths)[(*n)++] = path;
	return 0;
}

static bool is_file(int dirfd, const char *name)
{
	struct stat st;

	return !fstatat(dirfd, name, &st, 0) && S_ISREG(st.st_mode);
}

int vm_folder_list(const char *path, const char *suffix, char ***paths, size_t *n, char *err,
		   size_t errlen)
{
	struct dirent *d;
	DIR *dir;
	int ret = 0;

	*paths = NULL;
	*n = 0;
	if (is_file(AT_FDCWD, path))
		return append(paths, n, path, "");
	dir = opendir(path);
	if (!dir)
		return failed(err, errlen, "read", path);
	while (!ret && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || (suffix && !vm_has_suffix(d->d_name, suffix)))
			continue;
		if (is_file(dirfd(dir), d->d_name))
			ret = append(paths, n, path, d->d_name);
	}
	closedir(dir);
	if (ret) {
		snprintf(err, errlen, "no memory for the list of files in %s", path);
		vm_folder_list_free(*paths, *n);
		return -1;
	}
	if (*n)
		qsort(*paths, *n, sizeof(**paths), by_name);
	return 0;
}

void vm_folder_list_free(char **paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
}

void *vm_file_map(const char *path, size_t size, char *err, size_t errlen)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *map = MAP_FAILED;
	int bad = 0;

	if (fd >= 0) {
		/* Room for all of it now: a write into a mapping of a full disk is a SIGBUS. */
		bad = posix_fallocate(fd, 0, (off_t)size);
		if (bad)
			errno = bad;
		else
			map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (map == MAP_FAILED)
		failed(err, errlen, "write", path);
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}
