/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/target/private_dir.h"

#define PREFIX	    "vmafuzz-guest-"
#define NO_LOCK_AGE 600 /* seconds that an owner may take to start its keeper */

static const char *parent(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && tmp[0] == '/' ? tmp : "/tmp";
}

/* Nobody holds its lock, and nobody is about to. */
static bool is_abandoned(const char *path)
{
	char lock[VM_PRIVATE_DIR_MAX + 8];
	struct stat st;
	bool free;
	int fd;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return false;
	snprintf(lock, sizeof(lock), "%s/lock", path);
	fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT && time(NULL) - st.st_mtime > NO_LOCK_AGE;
	free = !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return free;
}

static void sweep(void)
{
	DIR *dir = opendir(parent());
	char path[VM_PRIVATE_DIR_MAX];
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, PREFIX, strlen(PREFIX)) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", parent(), d->d_name) >=
			    sizeof(path))
			continue;
		if (is_abandoned(path))
			vm_private_dir_remove(path);
	}
	if (dir)
		closedir(dir);
}

int vm_private_dir_make(char path[VM_PRIVATE_DIR_MAX], char *err, size_t errlen)
{
	int n = snprintf(path, VM_PRIVATE_DIR_MAX, "%s/" PREFIX "XXXXXX", parent());

	sweep();
	if (n < VM_PRIVATE_DIR_MAX && mkdtemp(path))
		return 0;
	snprintf(err, errlen, "target: cannot make a folder in %s: %s", parent(),
		 n < VM_PRIVATE_DIR_MAX ? strerror(errno) : "its path is too long: set TMPDIR");
	path[0] = '\0';
	return -1;
}

/*
 * Open the lock, and lock it. A new one is locked before it has its name: whoever sweeps must never
 * see it free. -1 with errno.
 */
static int lock_it(const char *path)
{
	char lock[VM_PRIVATE_DIR_MAX + 8], fresh[VM_PRIVATE_DIR_MAX + 24];
	int fd, error;

	snprintf(lock, sizeof(lock), "%s/lock", path);
	snprintf(fresh, sizeof(fresh), "%s/lock.%d", path, (int)getpid());
	fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (fd >= 0 || errno != ENOENT) {
		error = errno;
		if (fd >= 0)
			close(fd);
		errno = error;
		return -1;
	}
	fd = open(fresh, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	error = flock(fd, LOCK_EX | LOCK_NB) || link(fresh, lock) ? errno : 0;
	unlink(fresh);
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int vm_private_dir_hold(const char *path, char *err, size_t errlen)
{
	struct stat st;

	/* That of a keeper before us may have been removed. */
	if ((mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st)) {
		snprintf(err, errlen, "cannot use %s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) {
		snprintf(err, errlen, "%s is not a folder that is ours alone", path);
		return -1;
	}
	if (lock_it(path) >= 0)
		return 0; /* open until the process ends */
	snprintf(err, errlen, "cannot lock %s/lock: %s", path, strerror(errno));
	return -1;
}

void vm_private_dir_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}
