/* SPDX-License-Identifier: MIT */
/*
 * Does the growth of a read-only MAP_GROWSDOWN mapping leak its commit charge? acct_stack_growth()
 * charges it whatever the mapping is; only a VMA with VM_ACCOUNT, one that can be written, gives a
 * charge back.
 *
 *	cc -O2 -o /tmp/growth_charge_leak docs/growth_charge_leak.c && /tmp/growth_charge_leak
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

#define GROWTHS 200
#define PAGES	1000 /* each: less than 8 MiB, the usual RLIMIT_STACK */

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

/* Map the last page of `room`, read the first so that all between is mapped, and unmap that. */
static void grow_once(char *room, size_t page)
{
	size_t size = PAGES * page;
	char *last = mmap(room + size - page, page, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0);

	if (last == MAP_FAILED) {
		perror("mmap");
		exit(77);
	}
	*(volatile char *)room;
	if (munmap(room, size)) {
		perror("munmap");
		exit(77);
	}
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), gap = 256 * page, size = gap + PAGES * page;
	char *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long before, after, delta = (long)((PAGES - 1) * page >> 10) * GROWTHS;

	if (number("/proc/sys/vm/overcommit_memory", "") == 2) {
		fprintf(stderr, "vm.overcommit_memory is 2: a leak would use up the limit\n");
		return 77;
	}
	if (room == MAP_FAILED || munmap(room, size)) {
		perror("mmap or munmap");
		return 77;
	}
	before = number("/proc/meminfo", "Committed_AS:");
	for (int i = 0; i < GROWTHS; i++)
		grow_once(room + gap, page);
	after = number("/proc/meminfo", "Committed_AS:");
	printf("Committed_AS: %ld kB before, %ld kB after %d growths: %+ld kB, %ld kB if each "
	       "leaks\n",
	       before, after, GROWTHS, after - before, delta);
	return after - before > delta / 2;
}
