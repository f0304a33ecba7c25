/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/executor/limits.h"
#include "harness/executor/run.h"
#include "harness/executor/setup.h"
#include "harness/snapshot/procfs.h"

#define STACK_ROOM  (1ul << 20) /* of stack that is there from the start */
#define STACK_GUARD (1ul << 20) /* the kernel's stack_guard_gap by default */
#define STACK_MOST  (8ul << 20)
#define NEAR	    (1ul << 30) /* own VMAs less than this apart share one guard */
#define HOLE_MOST   STACK_GUARD
#define HOLES_MOST  16

/* The VMA of this process that covers an address. */
static bool find_vma(uint64_t addr, struct vm_vma *vma)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const char *line, *end;
	struct vm_lines l;
	bool found = false;
	char buf[8192];

	if (fd < 0)
		vm_die("/proc/self/maps: %s; is /proc mounted?", strerror(errno));
	vm_lines_start(&l, fd, buf, sizeof(buf));
	while (!found && vm_lines_next(&l, &line, &end))
		found = vm_maps_parse(line, end, vma) && addr >= vma->start && addr < vma->end;
	close(fd);
	return found;
}

/* munmap() says EINVAL for a page beyond TASK_SIZE; a page of our own is below it. */
static bool below_task_size(uint64_t addr, uint64_t page_size)
{
	struct vm_vma vma;

	return find_vma(addr, &vma) || munmap((void *)(uintptr_t)addr, page_size) == 0;
}

/*
 * No architecture of Linux has more than 56 bits of user addresses, and arm64 takes no notice of
 * what is above them (arch/arm64/include/asm/uaccess.h untagged_addr()): there 2^62 is page 0.
 */
static uint64_t find_task_size(uint64_t page_size)
{
	uint64_t low = 0, high = (1ull << 56) / page_size;

	while (high - low > 1) { /* page `low` is below TASK_SIZE, page `high` is not */
		uint64_t mid = low + (high - low) / 2;

		if (below_task_size(mid * page_size, page_size))
			low = mid;
		else
			high = mid;
	}
	return high * page_size;
}

void vm_setup_layout(struct vm_executor *ex)
{
	struct vm_layout *l = &ex->info.layout;
	uint64_t round = 1;

	l->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	l->pmd_size = l->page_size * (l->page_size / 8);
	l->pud_size = l->pmd_size * (l->page_size / 8);
	l->task_size = find_task_size(l->page_size);
	while (round < l->task_size)
		round *= 2;
	l->arena_base = round / 4;
	l->arena_size = 8 * l->pud_size;
}

/* On a machine for testing pages are charged at once, not each when it is first used (committed.h),
 * which with vm.overcommit_memory 2 may be when nothing can be charged any more.
 */
static void *map_shared(const struct vm_executor *ex, void *at, size_t size, int how)
{
	int late = ex->opt.whole_machine ? 0 : MAP_NORESERVE;
	void *got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | late | how,
			 -1, 0);

	if (got == MAP_FAILED)
		vm_die("cannot map %zu bytes: %s", size, strerror(errno));
	return got;
}

/* So that no call of a program finds another stack VMA than the one before. */
static void grow_stack(uint64_t page_size)
{
	struct rlimit limit;
	struct vm_vma vma;
	uint64_t room = STACK_ROOM;
	volatile char *low;

	if (getrlimit(RLIMIT_STACK, &limit) || !find_vma((uintptr_t)&limit, &vma))
		vm_die("cannot find the stack in /proc/self/maps");
	if (room > limit.rlim_cur / 2)
		room = limit.rlim_cur / 2 & ~(page_size - 1);
	if (vma.end - vma.start >= room)
		return;
	low = (volatile char *)(uintptr_t)(vma.end - room);
	*low = 0;
	madvise((void *)(uintptr_t)low, page_size, MADV_DONTNEED);
}

/*
 * The executor's own heap ends with a page of shared memory. Nothing merges with that, so what a
 * program adds to the heap is a VMA of its own, from brk_base on (vm_info_find_heap()).
 */
static void end_heap(const struct vm_executor *ex, uint64_t page_size)
{
	uint64_t now = (uintptr_t)sbrk(0), pad = -now & (page_size - 1);

	if (sbrk((intptr_t)(pad + page_size)) != (void *)-1)
		map_shared(ex, (void *)(uintptr_t)(now + pad), page_size, MAP_FIXED);
}

/*
 * Small holes between the executor's mappings are closed: the kernel would put there what it
 * places, and nothing may be done to that, as it lies in the midst of what is guarded. (The linker
 * aligns arm64's programs to 64 KiB.) Above the heap there must be room.
 */
static void close_holes(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct vm_range hole[HOLES_MOST];
	uint64_t last = (uintptr_t)sbrk(0);
	const char *line, *end;
	struct vm_lines l;
	struct vm_vma vma;
	char buf[8192];
	size_t n = 0;

	if (fd < 0)
		vm_die("/proc/self/maps: %s; is /proc mounted?", strerror(errno));
	vm_lines_start(&l, fd, buf, sizeof(buf));
	for (uint64_t at = last; vm_lines_next(&l, &line, &end); at = vma.end) {
		if (!vm_maps_parse(line, end, &vma))
			break;
		if (n < HOLES_MOST && at != last && vma.start > at && vma.start - at < HOLE_MOST)
			hole[n++] = (struct vm_range){ at, vma.start };
	}
	close(fd);
	while (n--)
		if (mmap((void *)(uintptr_t)hole[n].start, hole[n].end - hole[n].start, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) == MAP_FAILED)
			vm_die("cannot close a hole: %s", strerror(errno));
}

/*
 * The kernel puts the area just below what is there already, mostly far above the arena: it then
 * has a boundary less to look past, and smaps shows the arena first.
 */
void vm_setup_memory(struct vm_executor *ex)
{
	uint64_t page_size = ex->info.layout.page_size;
	size_t io = VM_FRAME_MAX + page_size;

	grow_stack(page_size);
	end_heap(ex, page_size);
	ex->area = map_shared(ex, NULL, sizeof(*ex->area), 0);
	/* The parent's own memory is a hole in children: it comes last, below all that is guarded.
	 */
	vm_kcov_map(&ex->kcov, &ex->info);
	ex->io = map_shared(ex, NULL, io, 0);
	if (madvise(ex->io, io, MADV_DONTFORK))
		vm_die("madvise(MADV_DONTFORK): %s", strerror(errno));
	close_holes();
	if (vm_fault_install(&ex->area->fault, ex->area->altstack, VM_ALTSTACK_SIZE))
		vm_die("cannot install signal handlers: %s", strerror(errno));
}

void vm_setup_fresh_area(struct vm_executor *ex)
{
	map_shared(ex, ex->area, sizeof(*ex->area), MAP_FIXED);
}

static int look_at_own(struct vm_executor *ex)
{
	struct vm_observer *o = &ex->area->obs;
	struct vm_layout nowhere = { .page_size = ex->info.layout.page_size };
	struct vm_observe_ways none = { 0 };

	/* With TASK_SIZE 0 all VMAs are own. */
	vm_observer_init(o, ex->area->text, &nowhere, &none, NULL, 0);
	return vm_observe_text(o) == (VM_SEEN_MAPS | VM_SEEN_OWN) ? 0 : 1;
}

static void add_guard(struct vm_target_info *info, uint64_t start, uint64_t end)
{
	struct vm_range *last = &info->guard[info->nguard - 1];

	if (info->nguard && start < last->end + NEAR) {
		last->end = end;
		return;
	}
	if (info->nguard == VM_MAX_GUARD)
		vm_die("the executor's memory is in more than %d places; switch address "
		       "randomisation off (setarch -R)",
		       VM_MAX_GUARD);
	info->guard[info->nguard++] = (struct vm_range){ start, end };
}

/* The stack may grow that far. */
static uint64_t stack_floor(const struct vm_target_info *info, uint64_t end)
{
	uint64_t limit = info->rlimit_stack < STACK_MOST ? info->rlimit_stack : STACK_MOST;

	return (end - limit - STACK_GUARD) & ~(info->layout.page_size - 1);
}

static void add_own(struct vm_executor *ex, const struct vm_vma *vma)
{
	struct vm_target_info *info = &ex->info;
	struct vm_range *last = &ex->span[ex->nspan - 1];
	uint64_t start = vma->start;

	if (vma->start >= info->layout.task_size)
		return; /* [vsyscall] */
	if (ex->nspan && vma->start == last->end)
		last->end = vma->end;
	else
		ex->span[ex->nspan++] = (struct vm_range){ vma->start, vma->end };
	if (vma->kind == VM_KIND_STACK)
		start = stack_floor(info, vma->end);
	add_guard(info, start, vma->end);
}

void vm_setup_own(struct vm_executor *ex)
{
	struct vm_target_info *info = &ex->info;
	const struct vm_observer *o = &ex->area->obs;
	int status;

	if (!vm_in_child(ex, look_at_own, &status) || status)
		vm_die("a fresh child cannot read its /proc/self/maps");
	if (o->nown > VM_MAX_OWN)
		vm_die("the executor has more than %d mappings", VM_MAX_OWN);
	info->nown = o->nown;
	memcpy(info->own, o->own, o->nown * sizeof(o->own[0]));
	vm_info_find_heap(info);
	vm_info_find_special(info);
	info->data_segment = vm_limits_data_segment(info);
	for (uint32_t i = 0; i < info->nown; i++)
		add_own(ex, &info->own[i]);
	if (info->nguard && info->guard[info->nguard - 1].end + NEAR > info->layout.task_size)
		info->guard[info->nguard - 1].end = info->layout.task_size;
}
