/* SPDX-License-Identifier: MIT */
/* Trace files: written under a temporary name in the same folder, then renamed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/trace/container.h"

#define FIRST_BYTES ((size_t)64 << 10)
#define TEMP_TRIES  100

static bool write_all(int fd, const uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		buf += n;
		len -= (size_t)n;
	}
	return true;
}

/* A new file beside `path`; its name goes to `temp`. The descriptor, or -1 with errno. */
static int open_temp(const char *path, char *temp, size_t size)
{
	for (unsigned int i = 0; i < TEMP_TRIES; i++) {
		int fd;

		if (snprintf(temp, size, "%s.tmp.%d.%u", path, (int)getpid(), i) >= (int)size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* False with errno; nothing is left behind then, and what was at `path` is still there. */
static bool replace_file(const char *path, const uint8_t *buf, size_t len)
{
	char temp[4096];
	int fd = open_temp(path, temp, sizeof(temp));
	int error = 0;

	if (fd < 0)
		return false;
	if (!write_all(fd, buf, len))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error && rename(temp, path))
		error = errno;
	if (error)
		unlink(temp);
	errno = error;
	return !error;
}

/* The trace as bytes; the caller frees them. NULL when memory is short. */
static uint8_t *encode(const struct vm_trace *trace, size_t *len)
{
	for (size_t cap = FIRST_BYTES; cap <= VM_TRACE_FILE_MAX; cap *= 4) {
		uint8_t *buf = malloc(cap);

		if (!buf)
			return NULL;
		*len = vm_trace_encode(trace, buf, cap);
		if (*len)
			return buf;
		free(buf);
	}
	return NULL;
}

int vm_trace_save(const char *path, const struct vm_trace *trace, char *err, size_t errlen)
{
	size_t len;
	uint8_t *buf = encode(trace, &len);
	bool saved;

	if (!buf) {
		snprintf(err, errlen, "trace: %s: out of memory", path);
		return -1;
	}
	saved = replace_file(path, buf, len);
	if (!saved)
		snprintf(err, errlen,
			 "trace: cannot write %s: %s: free space there or choose another folder",
			 path, strerror(errno));
	free(buf);
	return saved ? 0 : -1;
}

/* Everything in a file, up to one byte more than any trace has; NULL with errno. */
static uint8_t *read_all(int fd, size_t *len)
{
	size_t cap = FIRST_BYTES;
	uint8_t *buf = malloc(cap);

	*len = 0;
	while (buf) {
		ssize_t n = read(fd, buf + *len, cap - *len);
		uint8_t *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*len += (size_t)n;
		if (!n || *len > VM_TRACE_FILE_MAX)
			return buf;
		if (*len < cap)
			continue;
		cap *= 2;
		more = realloc(buf, cap);
		if (!more)
			break;
		buf = more;
	}
	free(buf);
	return NULL;
}

int vm_trace_load(const char *path, struct vm_trace *trace, char *err, size_t errlen)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *buf = NULL;
	size_t len = 0;
	int ret = -1;

	if (fd >= 0)
		buf = read_all(fd, &len);
	if (!buf)
		snprintf(err, errlen, "trace: cannot read %s: %s", path, strerror(errno));
	else if (len > VM_TRACE_FILE_MAX)
		snprintf(err, errlen, "trace: %s: not a trace (longer than any, over %zu MiB)",
			 path, VM_TRACE_FILE_MAX >> 20);
	else
		ret = vm_trace_decode_named(path, buf, len, trace, err, errlen);
	if (fd >= 0)
		close(fd);
	free(buf);
	return ret;
}
