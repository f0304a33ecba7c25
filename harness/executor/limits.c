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

/* A set of capabilities by its name in status: "CapEff:". */
static uint64_t read_caps(const char *name)
{
	char buf[4096];
	const char *at = strstr(read_file("/proc/self/status", buf, sizeof(buf)), name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

static void read_rlimit(__rlimit_resource_t which, uint64_t *soft, uint64_t *hard)
{
	struct rlimit limit;

	if (getrlimit(which, &limit))
		limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	*soft = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	*hard = limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
}

uint64_t vm_limits_data_segment(const struct vm_target_info *info)
{
	uint64_t number[3] = { 0 }; /* start_data, end_data, start_brk: fields 45 to 47 */
	char buf[2048];
	const char *at = strrchr(read_file("/proc/self/stat", buf, sizeof(buf)), ')');

	for (int field = 3; at && field < 48; field++) {
		char *end;

		at = strchr(at, ' ');
		if (!at++ || field < 45)
			continue;
		number[field - 45] = strtoull(at, &end, 10);
	}
	if (!at || !info->layout.brk_base || !number[2])
		return UINT64_MAX;
	return info->layout.brk_base - number[2] + number[1] - number[0];
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
uint64_t vm_limits_hint_min_addr(uint64_t page, uint64_t otherwise)
{
	uint64_t found;
	void *at = mmap((void *)page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return otherwise;
	munmap(at, page);
	found = (uint64_t)at;
	return found < (1u << 22) ? found : otherwise;
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
	info->hint_min_addr = vm_limits_hint_min_addr(info->layout.page_size, info->mmap_min_addr);
	info->max_map_count = read_sysctl("/proc/sys/vm/max_map_count");
	info->overcommit_memory = read_sysctl("/proc/sys/vm/overcommit_memory");
	info->overcommit_ratio = read_sysctl("/proc/sys/vm/overcommit_ratio");
	read_rlimit(RLIMIT_AS, &info->rlimit_as, &info->rlimit_max_as);
	read_rlimit(RLIMIT_DATA, &info->rlimit_data, &info->rlimit_max_data);
	read_rlimit(RLIMIT_MEMLOCK, &info->rlimit_memlock, &info->rlimit_max_memlock);
	read_rlimit(RLIMIT_STACK, &info->rlimit_stack, &info->rlimit_max_stack);
	info->cap_effective = read_caps("CapEff:");
	info->cap_permitted = read_caps("CapPrm:");
	info->lsm_min_addr = UINT64_MAX;
	info->uid = getuid();
	info->gid = getgid();
}
