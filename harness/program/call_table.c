/* SPDX-License-Identifier: MIT */
/* The rows of the table of calls, and what each call may touch. */
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "harness/program/advice.h"
#include "harness/program/call_table.h"

/* The same on every architecture; older libc headers lack them. */
#define VM_NR_MSEAL	      462
#define VM_NR_PROCESS_MADVISE 440
#define VM_NR_HOME_NODE	      450

static const struct vm_word mmap_words[] = {
	{ "anon", MAP_ANONYMOUS },
	{ "private", MAP_PRIVATE },
	{ "shared", MAP_SHARED },
	{ "fixed", MAP_FIXED },
	{ "noreplace", MAP_FIXED_NOREPLACE },
	{ "populate", MAP_POPULATE },
	{ "noreserve", MAP_NORESERVE },
	{ "locked", MAP_LOCKED },
	{ "droppable", VM_MAP_DROPPABLE },
	{ "growsdown", MAP_GROWSDOWN },
	{ "hugetlb", MAP_HUGETLB },
	{ "huge2mb", 21u << 26 },
	{ "huge1gb", 30u << 26 },
	{ NULL, 0 },
};

static const struct vm_word mremap_words[] = {
	{ "maymove", MREMAP_MAYMOVE },
	{ "fixed", MREMAP_FIXED },
	{ "dontunmap", MREMAP_DONTUNMAP },
	{ NULL, 0 },
};

static const struct vm_word shmat_words[] = {
	{ "rdonly", SHM_RDONLY }, { "rnd", SHM_RND }, { "remap", SHM_REMAP },
	{ "exec", SHM_EXEC },	  { NULL, 0 },
};

static const struct vm_word mlock2_words[] = {
	{ "onfault", MLOCK_ONFAULT },
	{ NULL, 0 },
};

static const struct vm_word mlockall_words[] = {
	{ "current", MCL_CURRENT },
	{ "future", MCL_FUTURE },
	{ "onfault", MCL_ONFAULT },
	{ NULL, 0 },
};

static const struct vm_word advice_words[] = {
	{ "normal", MADV_NORMAL },
	{ "random", MADV_RANDOM },
	{ "sequential", MADV_SEQUENTIAL },
	{ "willneed", MADV_WILLNEED },
	{ "dontneed", MADV_DONTNEED },
	{ "free", MADV_FREE },
	{ "remove", MADV_REMOVE },
	{ "dontfork", MADV_DONTFORK },
	{ "dofork", MADV_DOFORK },
	{ "mergeable", MADV_MERGEABLE },
	{ "unmergeable", MADV_UNMERGEABLE },
	{ "hugepage", MADV_HUGEPAGE },
	{ "nohugepage", MADV_NOHUGEPAGE },
	{ "dontdump", MADV_DONTDUMP },
	{ "dodump", MADV_DODUMP },
	{ "wipeonfork", MADV_WIPEONFORK },
	{ "keeponfork", MADV_KEEPONFORK },
	{ "cold", MADV_COLD },
	{ "pageout", MADV_PAGEOUT },
	{ "populate_read", MADV_POPULATE_READ },
	{ "populate_write", MADV_POPULATE_WRITE },
	{ "dontneed_locked", MADV_DONTNEED_LOCKED },
	{ "collapse", MADV_COLLAPSE },
	{ "hwpoison", MADV_HWPOISON },
	{ "soft_offline", MADV_SOFT_OFFLINE },
	{ "guard_install", MADV_GUARD_INSTALL },
	{ "guard_remove", MADV_GUARD_REMOVE },
	{ NULL, 0 },
};

static const struct vm_word msync_words[] = {
	{ "async", MS_ASYNC },
	{ "invalidate", MS_INVALIDATE },
	{ "sync", MS_SYNC },
	{ NULL, 0 },
};

/* Where the vector is: see harness/executor/calls/run_mincore.c. */
static const struct vm_word mincore_words[] = {
	{ "novec", VM_MINCORE_NO_VECTOR },
	{ "rovec", VM_MINCORE_READ_ONLY },
	{ NULL, 0 },
};

/* The key of pkey_mprotect and pkey_free: a number, or -1. */
static const struct vm_word key_words[] = {
	{ "nokey", UINT32_MAX },
	{ NULL, 0 },
};

/* What a key takes away: PKEY_DISABLE_ACCESS, PKEY_DISABLE_WRITE. */
static const struct vm_word key_rights_words[] = {
	{ "noaccess", VM_KEY_NO_ACCESS },
	{ "nowrite", VM_KEY_NO_WRITE },
	{ NULL, 0 },
};

/* MPOL_* of <linux/mempolicy.h>, which older headers lack in part. */
static const struct vm_word policy_words[] = {
	{ "default", VM_POLICY_DEFAULT },
	{ "preferred", VM_POLICY_PREFERRED },
	{ "bind", VM_POLICY_BIND },
	{ "interleave", VM_POLICY_INTERLEAVE },
	{ "local", VM_POLICY_LOCAL },
	{ "preferred_many", VM_POLICY_PREFERRED_MANY },
	{ "weighted_interleave", VM_POLICY_WEIGHTED },
	{ NULL, 0 },
};

/* The nodes, and what is wrong with the mask that says them: harness/executor/calls/run_mbind.c */
static const struct vm_word nodes_words[] = {
	{ "node0", VM_NODES_0 },
	{ "node1", VM_NODES_1 },
	{ "nomask", VM_NODES_NO_MASK },
	{ "badmask", VM_NODES_BAD_MASK },
	{ "onemax", VM_NODES_ONE_MAX },
	{ "nomax", VM_NODES_NO_MAX },
	{ "longmax", VM_NODES_LONG_MAX },
	{ "farnode", VM_NODES_FAR },
	{ NULL, 0 },
};

static const struct vm_word mbind_words[] = {
	{ "strict", VM_MBIND_STRICT },
	{ "move", VM_MBIND_MOVE },
	{ "move_all", VM_MBIND_MOVE_ALL },
	{ NULL, 0 },
};

static const struct vm_word policy_flag_words[] = {
	{ "static", VM_POLICY_STATIC },
	{ "relative", VM_POLICY_RELATIVE },
	{ "balancing", VM_POLICY_BALANCING },
	{ NULL, 0 },
};

static const struct vm_word remap_words[] = {
	{ "nonblock", MAP_NONBLOCK },
	{ NULL, 0 },
};

/* PR_SET_VMA_ANON_NAME: two names, or none to take it away. */
static const struct vm_word name_words[] = {
	{ "one", VM_NAME_ONE },
	{ "two", VM_NAME_TWO },
	{ "illegal", VM_NAME_ILLEGAL },
	{ NULL, 0 },
};

/* PR_SET_MDWE */
static const struct vm_word mdwe_words[] = {
	{ "refuse", VM_MDWE_REFUSE },
	{ "noinherit", VM_MDWE_NO_INHERIT },
	{ NULL, 0 },
};

static const struct vm_word no_words[] = { { NULL, 0 } };

/*
 * All bits but DAX, of which no rule says enough.
 */
#define MMAP_LEGAL (UINT32_MAX & ~(uint32_t)MAP_SYNC)

static uint64_t page_up(uint64_t value, const struct vm_layout *layout)
{
	return (value + layout->page_size - 1) & ~(layout->page_size - 1);
}

static bool page_aligned(uint64_t value, const struct vm_layout *layout)
{
	return (value & (layout->page_size - 1)) == 0;
}

/* [start, start + len) if it lies below TASK_SIZE, else empty. len is whole pages. */
static struct vm_range user_range(uint64_t start, uint64_t len, const struct vm_layout *layout)
{
	if (len > layout->task_size || start > layout->task_size - len)
		return (struct vm_range){ 0, 0 };
	return (struct vm_range){ start, start + len };
}

/* [start, start + len) if it does not wrap, else empty. */
static struct vm_range flat_range(uint64_t start, uint64_t len)
{
	if (start + len < start)
		return (struct vm_range){ 0, 0 };
	return (struct vm_range){ start, start + len };
}

uint64_t vm_mmap_length(const struct vm_syscall *sc, const struct vm_layout *layout)
{
	uint64_t code = VM_MAP_HUGE_CODE(sc->arg[3]);
	uint64_t size = code ? 1ull << code : layout->pmd_size;

	if ((sc->arg[3] & (MAP_HUGETLB | MAP_ANONYMOUS)) != (MAP_HUGETLB | MAP_ANONYMOUS) ||
	    size < layout->page_size)
		size = layout->page_size;
	return (sc->arg[1] + size - 1) & ~(size - 1);
}

/*
 * Only MAP_FIXED maps over what is there: without it get_unmapped_area() picks a hole, and with
 * MAP_FIXED_NOREPLACE (which wins over MAP_FIXED) do_mmap() says EEXIST. Empty when do_mmap() or
 * __get_unmapped_area() refuses first: a length that is or rounds to 0, a range beyond TASK_SIZE
 * (ENOMEM), an unaligned address (EINVAL). 6.12 mm/mmap.c.
 */
static void mmap_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			   struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], len = vm_mmap_length(sc, layout), flags = sc->arg[3];

	if (!(flags & MAP_FIXED) || (flags & MAP_FIXED_NOREPLACE) || !page_aligned(addr, layout))
		return;
	range[0] = user_range(addr, len, layout);
}

/* Locking populates what can be accessed; the executor sees to it that more is refused. */
static bool mmap_populates(const struct vm_syscall *sc)
{
	return (sc->arg[3] & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE ||
	       (sc->arg[3] & MAP_LOCKED && sc->arg[2] && sc->arg[1] <= VM_LOCK_MAX);
}

static bool remap_populates(const struct vm_syscall *sc)
{
	return !sc->arg[2] && !(sc->arg[4] & MAP_NONBLOCK);
}

static bool mlock_populates(const struct vm_syscall *sc)
{
	bool onfault = sc->op == VM_OP_MLOCK2 && sc->arg[2] & MLOCK_ONFAULT;

	return !onfault && sc->arg[1] <= VM_LOCK_MAX;
}

static bool always(const struct vm_syscall *sc)
{
	(void)sc;
	return true;
}

/*
 * do_vmi_munmap() refuses an unaligned start, start > TASK_SIZE and len > TASK_SIZE - start (the
 * unrounded length) with EINVAL before it looks. 6.12 mm/vma.c.
 */
static void munmap_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			     struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], len = sc->arg[1];

	if (!page_aligned(addr, layout) || len > layout->task_size)
		return;
	range[0] = user_range(addr, page_up(len, layout), layout);
}

/*
 * Empty when sys_mremap() says EINVAL at once: an unaligned address, a new length that is or rounds
 * to 0; and, with MREMAP_FIXED, when mremap_to() refuses the destination (unaligned, or beyond
 * TASK_SIZE: since 6.17 before any lookup, in 6.12 before anything is changed). Without
 * MREMAP_FIXED the destination is a hole. Growth in place only takes a hole.
 *
 * The source is at least one page, since old_len 0 makes a second mapping of the object there. If
 * it wraps, vma_to_resize() says EFAULT for growth; but for a shrink in place 6.12 unmaps [addr +
 * new_len, addr + old_len), and both sums may have wrapped into a proper range. 6.12 mm/mremap.c.
 */
static void mremap_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			     struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], new_addr = sc->arg[4], flags = sc->arg[3];
	uint64_t old_len = page_up(sc->arg[1], layout), new_len = page_up(sc->arg[2], layout);

	if (!page_aligned(addr, layout) || !new_len)
		return;
	if (flags & MREMAP_FIXED) {
		if (!page_aligned(new_addr, layout))
			return;
		range[1] = user_range(new_addr, new_len, layout);
		if (range[1].start >= range[1].end)
			return;
	}
	range[0] = flat_range(addr, old_len ? old_len : layout->page_size);
	if (range[0].start >= range[0].end && old_len > new_len)
		range[0] = user_range(addr + new_len, old_len - new_len, layout);
}

/*
 * do_mprotect_pkey() refuses an unaligned start (EINVAL) and an end that wraps (ENOMEM), and does
 * nothing for length 0. There is no check against TASK_SIZE: a range beyond it is walked up to
 * there. PROT_GROWSDOWN moves the start down to that of a stack VMA that the range overlaps, so
 * that guards must be whole VMAs. 6.12 mm/mprotect.c.
 */
static void mprotect_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			       struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/*
 * do_mseal() refuses an unaligned start, a length that rounds to 0 and an end that wraps (EINVAL).
 * Flags that are refused too are not looked at here: a later kernel may know them. 6.12 mm/mseal.c.
 */
static void mseal_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/*
 * Calls that walk what is mapped in a range and change nothing there: a start that is not aligned
 * and an end that wraps are refused. 6.12 mm/msync.c.
 */
static void walk_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			   struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/* do_mbind() refuses as mseal does; set_mempolicy_home_node() too. 6.12 mm/mempolicy.c. */
static void policy_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			     struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/* madvise_set_anon_name() refuses as mseal does, and changes no page. 6.12 mm/madvise.c. */
static void name_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			   struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/*
 * Growth takes a hole; a shrink unmaps from the new break to the old one, which is not known here:
 * the whole place of the heap. What lies below the executor's own memory is refused; between that
 * and the program's heap the executor's would be cut. 6.12 mm/mmap.c sys_brk().
 */
static void brk_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			  struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], end = layout->brk_base + layout->pud_size;

	if (addr < layout->page_size)
		return;
	range[0].end = layout->task_size;
	if (layout->brk_base && addr < layout->task_size)
		range[0].end = addr <= end ? end : page_up(addr, layout);
	if (layout->brk_base)
		range[0].start = addr < layout->brk_base ? addr & ~(layout->page_size - 1)
							 : layout->brk_base;
}

/* sys_mincore() refuses a range that is not below TASK_SIZE before it looks. 6.12 mm/mincore.c. */
static void mincore_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			      struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout) && sc->arg[1] <= layout->task_size)
		range[0] = user_range(sc->arg[0], page_up(sc->arg[1], layout), layout);
}

/* sys_remap_file_pages() rounds both start and size down. 6.12 mm/mmap.c. */
static void remap_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	uint64_t mask = ~(layout->page_size - 1);

	if (!sc->arg[2])
		range[0] = flat_range(sc->arg[0] & mask, sc->arg[1] & mask);
}

/*
 * do_madvise() refuses an unaligned start, a length that rounds to 0 and an end that wraps,
 * whatever the advice. process_madvise shortens lengths above MAX_RW_COUNT, so that its range may
 * be less.
 */
static void madvise_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			      struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = flat_range(sc->arg[0], page_up(sc->arg[1], layout));
}

/* What fills pages, or takes a page table entry (guards) for each. */
#define LARGE_COLLAPSE (4ull << 20)  /* what COLLAPSE may fill */
#define LARGE_KSM      (64ull << 20) /* break_ksm() looks at each page, mapped or not */
static bool madvise_populates(const struct vm_syscall *sc)
{
	switch (vm_advice(sc->arg[2])) {
	case MADV_POPULATE_READ:
	case MADV_POPULATE_WRITE:
	case MADV_GUARD_INSTALL:
		return true;
	case MADV_COLLAPSE:
		return sc->arg[1] > LARGE_COLLAPSE;
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
		return sc->arg[1] > LARGE_KSM;
	default:
		return false;
	}
}

/* Physical pages are taken out of use. */
static bool madvise_harmful(const struct vm_syscall *sc)
{
	return vm_advice(sc->arg[2]) == MADV_HWPOISON || vm_advice(sc->arg[2]) == MADV_SOFT_OFFLINE;
}

/*
 * The pages that the byte range overlaps. At TASK_SIZE the processor or the page tables stop a
 * touch, so what lies beyond (and a range that wraps passes there) is never reached.
 */
static void touch_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], len = sc->arg[1];
	uint64_t start = addr & ~(layout->page_size - 1);

	if (!len || start >= layout->task_size)
		return;
	range[0].start = start;
	range[0].end = layout->task_size;
	if (len < layout->task_size - addr)
		range[0].end = page_up(addr + len, layout);
}

/*
 * do_mlock(), munlock(): the start is rounded down, the length up; nothing is done for an empty
 * range and for one that wraps (EINVAL, or ENOMEM for the limit). There is no check against
 * TASK_SIZE: VMAs are walked up to there. 6.12 mm/mlock.c.
 */
static void mlock_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	uint64_t addr = sc->arg[0], offset = addr & (layout->page_size - 1);

	range[0] = flat_range(addr - offset, page_up(sc->arg[1] + offset, layout));
}

/*
 * Calls on objects change mappings of them wherever they are, but no mapping of the executor's;
 * fork changes no mapping, it makes an address space, and exec ends one that nobody needs any more.
 * mlockall() and munlockall() change flags of those, whole VMAs at a time, and nothing else.
 * The rest changes no mapping at all.
 */
static void no_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			 struct vm_range range[2])
{
	(void)sc;
	(void)layout;
	(void)range;
}

/*
 * All memory has key 0 unless it was given another. Once that is free, pkey_alloc can take it and
 * its rights away from what the executor needs.
 */
static void key_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			  struct vm_range range[2])
{
	if ((uint32_t)sc->arg[0] == 0)
		range[0].end = layout->task_size;
}

/*
 * The pages of the segment at the address, which SHM_RND rounds down to SHMLBA, a page on x86. Only
 * with SHM_REMAP may anything be there, but guards are more than mappings. Empty where do_shmat()
 * says EINVAL: an unaligned address. 6.12 ipc/shm.c.
 */
static void shmat_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	uint64_t addr = sc->arg[1];

	if (!addr)
		return;
	if (sc->arg[2] & SHM_RND)
		addr &= ~(layout->page_size - 1);
	if (page_aligned(addr, layout))
		range[0] = user_range(addr, VM_OBJECT_PAGES * layout->page_size, layout);
}

/* Mappings of segments alone, of which the executor has none: the segment, if it is attached here.
 */
static void shmdt_footprint(const struct vm_syscall *sc, const struct vm_layout *layout,
			    struct vm_range range[2])
{
	if (page_aligned(sc->arg[0], layout))
		range[0] = user_range(sc->arg[0], VM_OBJECT_PAGES * layout->page_size, layout);
}

#define ADDR(name)                                                                                 \
	{                                                                                          \
		name, VM_ARG_ADDR, NULL, 0, 0, 0                                                   \
	}
#define LEN(name)                                                                                  \
	{                                                                                          \
		name, VM_ARG_LEN, NULL, 0, 0, 0                                                    \
	}
#define PROT(name)                                                                                 \
	{                                                                                          \
		name, VM_ARG_PROT, NULL, 0, 0, 0                                                   \
	}
#define FLAGS(words, bits)                                                                         \
	{                                                                                          \
		"flags", VM_ARG_FLAGS, words, bits, 0, 0                                           \
	}
#define MASK(name, words, bits)                                                                    \
	{                                                                                          \
		name, VM_ARG_FLAGS, words, bits, 0, 0                                              \
	}
#define CHOICE(name, words)                                                                        \
	{                                                                                          \
		name, VM_ARG_CHOICE, words, UINT32_MAX, 0, 0                                       \
	}
#define OBJECT(name)                                                                               \
	{                                                                                          \
		name, VM_ARG_OBJECT, NULL, 0, 0, 0                                                 \
	}

#define OFFSET(name, since)                                                                        \
	{                                                                                          \
		name, VM_ARG_OFFSET, NULL, 0, 0, since                                             \
	}

#define MMAP_LEGAL_V1 (MAP_ANONYMOUS | MAP_PRIVATE | MAP_SHARED | MAP_FIXED | MAP_FIXED_NOREPLACE)
#define MMAP_FLAGS                                                                                 \
	{                                                                                          \
		"flags", VM_ARG_FLAGS, mmap_words, MMAP_LEGAL, MMAP_LEGAL_V1, 0                    \
	}

static const struct vm_call_desc table[VM_OP_COUNT] = {
	[VM_OP_MMAP] = {
		.name = "mmap", .nr = SYS_mmap, .nargs = 6, .returns_addr = true,
		.arg = { ADDR("addr"), LEN("len"), PROT("prot"), MMAP_FLAGS,
			 OBJECT("object"), OFFSET("offset", 2) },
		.syntax = "%g %p %o %w", .footprint = mmap_footprint, .populates = mmap_populates,
	},
	[VM_OP_MUNMAP] = {
		.name = "munmap", .nr = SYS_munmap, .nargs = 2,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = munmap_footprint,
	},
	[VM_OP_MREMAP] = {
		.name = "mremap", .nr = SYS_mremap, .nargs = 5, .returns_addr = true,
		.arg = { ADDR("addr"), LEN("old_len"), LEN("new_len"),
			 FLAGS(mremap_words, UINT32_MAX), ADDR("new_addr") },
		.syntax = "%m %f", .footprint = mremap_footprint,
	},
	[VM_OP_MPROTECT] = {
		.name = "mprotect", .nr = SYS_mprotect, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"), PROT("prot") },
		.syntax = "%r %p", .footprint = mprotect_footprint,
	},
	[VM_OP_MSEAL] = {
		.name = "mseal", .nr = VM_NR_MSEAL, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"), FLAGS(no_words, UINT32_MAX) },
		.syntax = "%r %w", .footprint = mseal_footprint,
	},
	[VM_OP_READ] = {
		.name = "read", .nr = -1, .nargs = 2, .populates = always,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = touch_footprint,
	},
	[VM_OP_WRITE] = {
		.name = "write", .nr = -1, .nargs = 2, .populates = always,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = touch_footprint,
	},
	[VM_OP_FILL] = {
		.name = "fill", .nr = -1, .nargs = 2, .populates = always,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = touch_footprint,
	},
	[VM_OP_TRUNCATE] = {
		.name = "truncate", .nr = SYS_ftruncate, .nargs = 2,
		.arg = { OBJECT("object"), LEN("len") },
		.syntax = "%o %l", .footprint = no_footprint,
	},
	[VM_OP_FORK] = {
		.name = "fork", .nr = -1, .syntax = "", .footprint = no_footprint,
	},
	[VM_OP_END] = {
		.name = "end", .nr = -1, .syntax = "", .footprint = no_footprint,
	},
	[VM_OP_SHMAT] = {
		.name = "shmat", .nr = SYS_shmat, .nargs = 3, .returns_addr = true,
		.arg = { OBJECT("object"), ADDR("addr"), FLAGS(shmat_words, UINT32_MAX) },
		.syntax = "%o %a %w", .footprint = shmat_footprint,
	},
	[VM_OP_SHMDT] = {
		.name = "shmdt", .nr = SYS_shmdt, .nargs = 1,
		.arg = { ADDR("addr") },
		.syntax = "%a", .footprint = shmdt_footprint,
	},
	[VM_OP_EXEC] = {
		.name = "exec", .nr = -1, .syntax = "", .footprint = no_footprint,
	},
	[VM_OP_MLOCK] = {
		.name = "mlock", .nr = SYS_mlock, .nargs = 2,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = mlock_footprint, .populates = mlock_populates,
	},
	[VM_OP_MLOCK2] = {
		.name = "mlock2", .nr = SYS_mlock2, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"), FLAGS(mlock2_words, UINT32_MAX) },
		.syntax = "%r %w", .footprint = mlock_footprint, .populates = mlock_populates,
	},
	[VM_OP_MUNLOCK] = {
		.name = "munlock", .nr = SYS_munlock, .nargs = 2,
		.arg = { ADDR("addr"), LEN("len") },
		.syntax = "%r", .footprint = mlock_footprint,
	},
	[VM_OP_MLOCKALL] = {
		.name = "mlockall", .nr = SYS_mlockall, .nargs = 1, .whole = true,
		.arg = { FLAGS(mlockall_words, UINT32_MAX) },
		.syntax = "%f", .footprint = no_footprint,
	},
	[VM_OP_MUNLOCKALL] = {
		.name = "munlockall", .nr = SYS_munlockall, .nargs = 0, .whole = true,
		.syntax = "", .footprint = no_footprint,
	},
	[VM_OP_MADVISE] = {
		.name = "madvise", .nr = SYS_madvise, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"), CHOICE("advice", advice_words) },
		.syntax = "%r %c", .footprint = madvise_footprint,
		.populates = madvise_populates, .harmful = madvise_harmful,
	},
	[VM_OP_PROCESS_MADVISE] = { /* of itself, a vector of one range */
		.name = "process_madvise", .nr = VM_NR_PROCESS_MADVISE, .nargs = 4,
		.arg = { ADDR("addr"), LEN("len"), CHOICE("advice", advice_words),
			 FLAGS(no_words, UINT32_MAX) },
		.syntax = "%r %c %w", .footprint = madvise_footprint,
		.populates = madvise_populates, .harmful = madvise_harmful,
	},
	[VM_OP_MSYNC] = {
		.name = "msync", .nr = SYS_msync, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"), FLAGS(msync_words, UINT32_MAX) },
		.syntax = "%r %f", .footprint = walk_footprint,
	},
	[VM_OP_MINCORE] = {
		.name = "mincore", .nr = -1, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"),
			 FLAGS(mincore_words, VM_MINCORE_NO_VECTOR | VM_MINCORE_READ_ONLY) },
		.syntax = "%r %w", .footprint = mincore_footprint,
	},
	[VM_OP_PKEY_MPROTECT] = {
		.name = "pkey_mprotect", .nr = SYS_pkey_mprotect, .nargs = 4,
		.arg = { ADDR("addr"), LEN("len"), PROT("prot"), FLAGS(key_words, UINT32_MAX) },
		.syntax = "%r %p %f", .footprint = mprotect_footprint,
	},
	[VM_OP_REMAP_FILE_PAGES] = {
		.name = "remap_file_pages", .nr = -1, .nargs = 5, .populates = remap_populates,
		.arg = { ADDR("addr"), LEN("size"), PROT("prot"), LEN("offset"),
			 FLAGS(remap_words, UINT32_MAX) },
		.syntax = "%r %l %p %w", .footprint = remap_footprint,
	},
	[VM_OP_NAME] = {
		.name = "name", .nr = -1, .nargs = 3,
		.arg = { ADDR("addr"), LEN("len"),
			 FLAGS(name_words, VM_NAME_ONE | VM_NAME_TWO | VM_NAME_ILLEGAL) },
		.syntax = "%r %w", .footprint = name_footprint,
	},
	[VM_OP_BRK] = {
		.name = "brk", .nr = -1, .nargs = 1, .returns_addr = true,
		.arg = { ADDR("addr") },
		.syntax = "%a", .footprint = brk_footprint,
	},
	[VM_OP_MBIND] = {
		.name = "mbind", .nr = -1, .nargs = 6,
		.arg = { ADDR("addr"), LEN("len"), CHOICE("mode", policy_words),
			 MASK("nodes", nodes_words, VM_NODES_ALL),
			 FLAGS(mbind_words, UINT32_MAX),
			 MASK("mode flags", policy_flag_words, VM_POLICY_FLAGS) },
		.syntax = "%r %c %f %f %w", .footprint = policy_footprint,
	},
	[VM_OP_HOME_NODE] = {
		.name = "set_mempolicy_home_node", .nr = VM_NR_HOME_NODE, .nargs = 4,
		.arg = { ADDR("addr"), LEN("len"), MASK("node", no_words, UINT32_MAX),
			 FLAGS(no_words, UINT32_MAX) },
		.syntax = "%r %f %w", .footprint = policy_footprint,
	},
	[VM_OP_PKEY_ALLOC] = {
		.name = "pkey_alloc", .nr = SYS_pkey_alloc, .nargs = 2,
		.arg = { FLAGS(no_words, UINT32_MAX), MASK("rights", key_rights_words, UINT32_MAX) },
		.syntax = "%f %w", .footprint = no_footprint,
	},
	[VM_OP_PKEY_FREE] = {
		.name = "pkey_free", .nr = SYS_pkey_free, .nargs = 1,
		.arg = { FLAGS(key_words, UINT32_MAX) },
		.syntax = "%f", .footprint = key_footprint,
	},
	[VM_OP_MDWE] = {
		.name = "mdwe", .nr = -1, .nargs = 1,
		.arg = { FLAGS(mdwe_words, UINT32_MAX) },
		.syntax = "%f", .footprint = no_footprint,
	},
};

const char *vm_object_name(uint64_t object)
{
	static const char *const names[VM_OBJECT_COUNT] = { "", "m0", "m1", "f0", "r0", "s0" };

	return object < VM_OBJECT_COUNT ? names[object] : "";
}

const char *vm_choice_name(const struct vm_arg_desc *desc, uint64_t value)
{
	for (const struct vm_word *w = desc->words; w->name; w++)
		if (w->bits == (uint32_t)value)
			return w->name;
	return NULL;
}

const struct vm_call_desc *vm_call_desc(uint8_t op)
{
	return &table[op];
}

int vm_call_by_name(const char *name, size_t len)
{
	for (int op = 0; op < VM_OP_COUNT; op++)
		if (strlen(table[op].name) == len && !memcmp(table[op].name, name, len))
			return op;
	return -1;
}
