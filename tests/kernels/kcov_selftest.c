/* SPDX-License-Identifier: MIT */
/*
 * Linked into a selftest of the kernel (tests/kernels/selftest_cover.sh): before its main() the
 * process asks kcov to trace it, and when it ends the points that it went through become lines of
 * /tmp/pcs. A process that it forks does the same.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS (8ul << 20)

static unsigned long *buffer;

static void start(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);

	buffer = NULL;
	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, WORDS))
		goto failed;
	buffer = mmap(NULL, WORDS * sizeof(*buffer), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buffer != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return;
failed:
	perror("kcov");
	buffer = NULL;
}

static int by_value(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

static void stop(void)
{
	unsigned long n = buffer ? buffer[0] : 0, *copy = malloc((n + 1) * sizeof(*copy));
	FILE *to = fopen("/tmp/pcs", "ae");

	if (n + 1 >= WORDS)
		fprintf(stderr, "kcov: the buffer was full, some points may be missing\n");
	if (!copy || !to)
		perror("kcov: /tmp/pcs");
	for (unsigned long i = 0; copy && i < n; i++)
		copy[i] = buffer[i + 1];
	if (copy)
		qsort(copy, n, sizeof(*copy), by_value);
	for (unsigned long i = 0; copy && to && i < n; i++)
		if (!i || copy[i] != copy[i - 1])
			fprintf(to, "%lx\n", copy[i]);
	if (to)
		fclose(to);
	free(copy);
	buffer = NULL;
}

__attribute__((constructor)) static void trace_this(void)
{
	start();
	pthread_atfork(NULL, NULL, start);
	atexit(stop);
}
