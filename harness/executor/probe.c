/* SPDX-License-Identifier: MIT */
/* The features of the kernel. A probe runs in a child of its own, which ends with 0 for yes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"
#include "harness/executor/probe.h"
#include "harness/executor/setup.h"
#include "harness/program/advice.h"
#include "harness/snapshot/procfs.h"

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif
#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 8
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* Map n pages at the begin of the arena, with a word in the first. NULL if it cannot be. */
static volatile uint64_t *map_pages(const struct vm_executor *ex, unsigned int n)
{
	void *want = (void *)(uintptr_t)ex->info.layout.arena_base;
	void *got = mmap(want, n * ex->info.layout.page_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (got == MAP_FAILED)
		return NULL;
	*(volatile uint64_t *)got = 0x1234;
	return got;
}

static struct vm_observer *observer(struct vm_executor *ex, struct vm_observe_ways ways)
{
	vm_observer_init(&ex->area->obs, ex->area->text, &ex->info.layout, &ways, ex->span,
			 ex->nspan);
	return &ex->area->obs;
}

static int has_mseal(struct vm_executor *ex)
{
	return syscall(VM_NR_MSEAL, ex->info.layout.arena_base, 0, 0) != 0;
}

/* Does the look see just the VMA that map_pages(ex, 2) made? */
static bool sees_vma(const struct vm_executor *ex, const struct vm_observer *o)
{
	uint64_t start = ex->info.layout.arena_base;

	return o->nvma == 1 && o->vma[0].start == start &&
	       o->vma[0].end == start + 2 * ex->info.layout.page_size &&
	       o->vma[0].mode == (VM_MODE_R | VM_MODE_W);
}

static int has_query(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, (struct vm_observe_ways){ .query = true });

	return !(map_pages(ex, 2) && vm_observe_query(o) && sees_vma(ex, o));
}

/* Of two pages only the first was written. */
static int sees_present(struct vm_executor *ex, struct vm_observe_ways ways)
{
	struct vm_observer *o = observer(ex, ways);

	return !(map_pages(ex, 2) && vm_observe_text(o) && vm_pagemap_present(o) && o->npage == 1 &&
		 o->page[0].addr == ex->info.layout.arena_base);
}

static int has_scan(struct vm_executor *ex)
{
	return sees_present(ex, (struct vm_observe_ways){ .scan = true });
}

static int has_scan_guard(struct vm_executor *ex)
{
	return sees_present(ex, (struct vm_observe_ways){ .scan = true, .scan_guard = true });
}

static int has_pagemap(struct vm_executor *ex)
{
	return sees_present(ex, (struct vm_observe_ways){ .pagemap = true });
}

static int has_mem(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, ex->ways);
	volatile uint64_t *page = map_pages(ex, 1);

	o->ways.mem = true;
	return !(page && !mprotect((void *)(uintptr_t)page, ex->info.layout.page_size, PROT_NONE) &&
		 vm_observe_text(o) && vm_observe_contents(o) && o->npage == 1 &&
		 o->page[0].content.head == 0x1234);
}

static int has_smaps(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, ex->ways);

	return !(map_pages(ex, 2) && vm_observe_smaps(o) && sees_vma(ex, o) && o->vma[0].flags & 1);
}

static int has_smaps_seal(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, ex->ways);

	return !(map_pages(ex, 2) &&
		 !syscall(VM_NR_MSEAL, ex->info.layout.arena_base, ex->info.layout.page_size, 0) &&
		 vm_observe_smaps(o) && o->nvma == 2 && o->vma[0].flags >> VM_FLAG_SL & 1 &&
		 !(o->vma[1].flags >> VM_FLAG_SL & 1));
}

/* A page is locked on fault, and smaps shows only that it is locked. */
static int lacks_lf(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, ex->ways);

	return !(map_pages(ex, 1) &&
		 !syscall(SYS_mlock2, ex->info.layout.arena_base, ex->info.layout.page_size, 1) &&
		 vm_observe_smaps(o) && o->nvma == 1 && o->vma[0].flags >> VM_FLAG_LO & 1 &&
		 !(o->vma[0].flags >> VM_FLAG_LF & 1));
}

static int lacks_mdwe(struct vm_executor *ex)
{
	(void)ex;
	return prctl(PR_GET_MDWE, 0, 0, 0, 0) >= 0;
}

static int lacks_droppable(struct vm_executor *ex)
{
	return mmap(NULL, ex->info.layout.page_size, PROT_READ, MAP_DROPPABLE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

static int has_pku(struct vm_executor *ex)
{
	(void)ex;
	return syscall(SYS_pkey_alloc, 0, 0) < 0;
}

/* mbind of nothing to the default policy. */
static int has_numa(struct vm_executor *ex)
{
	return syscall(SYS_mbind, ex->info.layout.arena_base, 0, 0, NULL, 0, 0) != 0;
}

/* get_mempolicy(MPOL_F_MEMS_ALLOWED) */
static int has_one_node(struct vm_executor *ex)
{
	unsigned long mask[64] = { 0 };

	(void)ex;
	if (syscall(SYS_get_mempolicy, NULL, mask, sizeof(mask) * 8, NULL, 4))
		return 1;
	for (size_t i = 1; i < sizeof(mask) / sizeof(mask[0]); i++)
		if (mask[i])
			return 1;
	return mask[0] != 1;
}

static int has_anon_name(struct vm_executor *ex)
{
	volatile uint64_t *page = map_pages(ex, 1);

	return !page ||
	       prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, ex->info.layout.page_size, "one");
}

/* smaps shows nh of a MAP_STACK mapping. */
static int has_thp(struct vm_executor *ex)
{
	struct vm_observer *o = observer(ex, ex->ways);
	void *at = mmap((void *)(uintptr_t)ex->info.layout.arena_base, ex->info.layout.page_size,
			PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_STACK, -1, 0);

	return !(at != MAP_FAILED && vm_observe_smaps(o) && o->nvma == 1 &&
		 o->vma[0].flags >> VM_FLAG_NH & 1);
}

/* Boot option ignore_rlimit_data: a limit of a page keeps nothing from being mapped. */
static int ignores_rlimit_data(struct vm_executor *ex)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return 1;
	limit.rlim_cur = ex->info.layout.page_size;
	return setrlimit(RLIMIT_DATA, &limit) || !map_pages(ex, 1);
}

/* Are huge pages of the size code so many bytes? None are asked for. */
static bool maps_huge(const struct vm_executor *ex, uint64_t code, uint64_t size)
{
	const struct vm_layout *l = &ex->info.layout;
	char *want = (char *)(uintptr_t)l->arena_base;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB | MAP_NORESERVE |
		    (int)(code << 26);
	unsigned char vector[1];

	return mmap(want, l->page_size, PROT_NONE, flags, -1, 0) != MAP_FAILED &&
	       mincore(want + size - l->page_size, l->page_size, vector) == 0 &&
	       mincore(want + size, l->page_size, vector) != 0;
}

static int has_huge_default(struct vm_executor *ex)
{
	return !maps_huge(ex, 0, ex->info.layout.pmd_size);
}

static int has_huge_2mb(struct vm_executor *ex)
{
	return !maps_huge(ex, 21, 2ul << 20);
}

static int has_huge_1gb(struct vm_executor *ex)
{
	return !maps_huge(ex, 30, 1ul << 30);
}

/* No number that can be read says that there are none, nor can be made when asked for. */
static int has_huge_pool(struct vm_executor *ex)
{
	static const char *const numbers[] = {
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
		"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages",
		"/proc/sys/vm/nr_hugepages",
		"/proc/sys/vm/nr_overcommit_hugepages",
	};
	unsigned int none = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int fd = open(numbers[i], O_RDONLY | O_CLOEXEC);
		char digit = '0';

		if (fd < 0)
			continue;
		if (read(fd, &digit, 1) == 1 && digit != '0')
			return 0;
		none++;
		close(fd);
	}
	return none >= (ex->info.features & VM_HAS_HUGE_1GB ? 4u : 2u);
}

static int has_sysv_shm(struct vm_executor *ex)
{
	(void)ex;
	return !vm_run_shm_works();
}

static int has_fail_nth(struct vm_executor *ex)
{
	return !vm_fail_nth_works(ex);
}

static int has_swapin(struct vm_executor *ex)
{
	volatile uint64_t *page = map_pages(ex, 1);

	return !(page &&
		 !madvise((void *)(uintptr_t)page, ex->info.layout.page_size, MADV_WILLNEED));
}

/* mprotect_fixup() looks at the seal before it finds that nothing changes. */
static int has_sealed_system(struct vm_executor *ex)
{
	const struct vm_range *vdso = &ex->info.layout.vdso;

	return !(vdso->start < vdso->end &&
		 mprotect((void *)(uintptr_t)vdso->start, vdso->end - vdso->start,
			  PROT_READ | PROT_EXEC) &&
		 errno == EPERM);
}

/* do_madvise() looks at the advice first, and does nothing for length 0. */
static void ask_madvise(struct vm_executor *ex)
{
	static const struct {
		int advice;
		uint64_t bit;
	} known[] = {
		{ MADV_HUGEPAGE, VM_HAS_MADV_HUGEPAGE },
		{ MADV_MERGEABLE, VM_HAS_MADV_MERGEABLE },
		{ MADV_HWPOISON, VM_HAS_MADV_HWPOISON },
		{ MADV_GUARD_INSTALL, VM_HAS_MADV_GUARD },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!madvise((void *)(uintptr_t)ex->info.layout.arena_base, 0, known[i].advice))
			ex->info.features |= known[i].bit;
}

static bool probe(struct vm_executor *ex, int (*fn)(struct vm_executor *ex), uint64_t bit)
{
	int status;
	bool yes = vm_in_child(ex, fn, &status) && status == 0;

	if (yes)
		ex->info.features |= bit;
	return yes;
}

void vm_probe_all(struct vm_executor *ex)
{
	if (ex->namespaced)
		ex->info.features |= VM_IS_NAMESPACED;
	probe(ex, has_mseal, VM_HAS_MSEAL);
	ex->ways.query = probe(ex, has_query, VM_HAS_PROCMAP_QUERY);
	ex->ways.scan = probe(ex, has_scan, VM_HAS_PAGEMAP_SCAN);
	ex->ways.scan_guard = probe(ex, has_scan_guard, 0);
	ex->ways.pagemap = probe(ex, has_pagemap, VM_HAS_PAGEMAP);
	ex->ways.mem = probe(ex, has_mem, VM_HAS_PROC_MEM);
	probe(ex, has_smaps, VM_HAS_SMAPS);
	probe(ex, has_smaps_seal, VM_HAS_SMAPS_SEAL);
	probe(ex, lacks_lf, VM_SMAPS_LACKS_LF);
	probe(ex, lacks_mdwe, VM_LACKS_MDWE);
	probe(ex, lacks_droppable, VM_LACKS_DROPPABLE);
	probe(ex, has_pku, VM_HAS_PKU);
	probe(ex, has_huge_default, VM_HAS_HUGE_DEFAULT);
	probe(ex, has_huge_2mb, VM_HAS_HUGE_2MB);
	probe(ex, has_huge_1gb, VM_HAS_HUGE_1GB);
	probe(ex, has_huge_pool, VM_HAS_HUGE_POOL);
	if (probe(ex, has_numa, VM_HAS_NUMA))
		probe(ex, has_one_node, VM_HAS_ONE_NODE);
	probe(ex, has_sysv_shm, VM_HAS_SYSV_SHM);
	probe(ex, has_sealed_system, VM_HAS_SEALED_SYSTEM);
	probe(ex, has_swapin, VM_HAS_MADV_SWAPIN);
	probe(ex, has_fail_nth, VM_HAS_FAIL_NTH);
	ask_madvise(ex);
	probe(ex, has_anon_name, VM_HAS_ANON_NAME);
	probe(ex, has_thp, VM_HAS_THP);
	probe(ex, ignores_rlimit_data, VM_NO_RLIMIT_DATA);
	ex->info.features |= vm_probe_behaviour(ex);
}
