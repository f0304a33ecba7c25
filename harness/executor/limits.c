/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/executor/limits.h"

static const char *read_file(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, buf, cap - 1);

	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	return buf;
}

static uint64_t read_sysctl(const char *path)
{
	char buf[64];

	return strtoull(read_file(path, buf, sizeof(buf)), NULL, 10);
}

static uint64_t read_cap_effective(void)
{
	char buf[4096];
	const char *at = strstr(read_file("/proc/self/status", buf, sizeof(buf)), "CapEff:");

	return at ? strtoull(at + strlen("CapEff:"), NULL, 16) : 0;
}

static uint64_t read_rlimit(__rlimit_resource_t which)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static void copy(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; i + 1 < size && from[i]; i++)
		to[i] = from[i];
	to[i] = '\0';
}

/*
 * What hints are rounded up to: the larger of the sysctl and CONFIG_LSM_MMAP_MIN_ADDR, which is
 * shown nowhere (security/min_addr.c); the sysctl alone decides what is refused.
 */
static uint64_t probe_hint_min_addr(const struct vm_target_info *info)
{
	uint64_t page = info->layout.page_size, found;
	void *at = mmap((void *)page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return info->mmap_min_addr;
	munmap(at, page);
	found = (uint64_t)at;
	return found < (1u << 22) ? found : info->mmap_min_addr;
}

void vm_limits_read(struct vm_target_info *info)
{
	struct utsname name;
	struct sysinfo memory;

	if (!uname(&name)) {
		copy(info->sysname, sizeof(info->sysname), name.sysname);
		copy(info->release, sizeof(info->release), name.release);
		copy(info->version, sizeof(info->version), name.version);
		copy(info->machine, sizeof(info->machine), name.machine);
	}
	if (!sysinfo(&memory)) {
		info->total_pages = (memory.totalram + memory.totalswap) * memory.mem_unit /
				    info->layout.page_size;
		info->features |= memory.totalswap ? VM_HAS_SWAP : 0;
	}
	info->mmap_min_addr = read_sysctl("/proc/sys/vm/mmap_min_addr");
	info->hint_min_addr = probe_hint_min_addr(info);
	info->max_map_count = read_sysctl("/proc/sys/vm/max_map_count");
	info->overcommit_memory = read_sysctl("/proc/sys/vm/overcommit_memory");
	info->overcommit_ratio = read_sysctl("/proc/sys/vm/overcommit_ratio");
	info->rlimit_as = read_rlimit(RLIMIT_AS);
	info->rlimit_data = read_rlimit(RLIMIT_DATA);
	info->rlimit_memlock = read_rlimit(RLIMIT_MEMLOCK);
	info->rlimit_stack = read_rlimit(RLIMIT_STACK);
	info->cap_effective = read_cap_effective();
	info->uid = getuid();
	info->gid = getgid();
}
