/* SPDX-License-Identifier: MIT */
/*
 * Does a shrinking fixed mremap() leak its commit charge? Since Linux 6.17 it does: mremap_to()
 * shrinks the source, then move_vma() calls vrm_calc_charge(), which still charges vrm->delta.
 *
 *	cc -O2 -o /tmp/shrink_charge_leak docs/shrink_charge_leak.c && /tmp/shrink_charge_leak
 *
 * Exit status: 0 no leak, 1 leak, 77 cannot tell. What leaks stays in Committed_AS until the next
 * boot; that has no effect unless vm.overcommit_memory is 2, and then nothing is done.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOVES 100
#define SIZE  (4ul << 20)

/* The number after `key` in a file of /proc; ends the program where there is none. */
static long number(const char *path, const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen(path, "re");

	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	if (value < 0) {
		fprintf(stderr, "%s: no number after \"%s\"\n", path, key);
		exit(77);
	}
	return value;
}

static long committed(void)
{
	return number("/proc/meminfo", "Committed_AS:");
}

/* Map SIZE bytes, move them to `to` cut to one page, and unmap that. */
static void move_once(void *to, size_t page)
{
	void *from = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (from == MAP_FAILED ||
	    mremap(from, SIZE, page, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to || munmap(to, page)) {
		perror("mmap, mremap or munmap");
		exit(77);
	}
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *to = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long before, after, delta = (long)((SIZE - page) >> 10) * MOVES;

	if (number("/proc/sys/vm/overcommit_memory", "") == 2) {
		fprintf(stderr, "vm.overcommit_memory is 2: a leak would use up the limit\n");
		return 77;
	}
	if (to == MAP_FAILED || munmap(to, page)) {
		perror("mmap or munmap");
		return 77;
	}
	before = committed();
	for (int i = 0; i < MOVES; i++)
		move_once(to, page);
	after = committed();
	printf("Committed_AS: %ld kB before, %ld kB after %d moves: %+ld kB, %ld kB if each "
	       "leaks\n",
	       before, after, MOVES, after - before, delta);
	return after - before > delta / 2;
}
