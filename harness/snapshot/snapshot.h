/* SPDX-License-Identifier: MIT */
/*
 * What was seen of an address space at one moment. Types only are used by the oracle; the functions
 * that look (observe.c, maps.c, ...) run in the executor's child: no allocation, no stdio.
 */
#ifndef VM_SNAPSHOT_H
#define VM_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/program/contents.h"

#define VM_SNAPSHOT_MAX_VMAS 512
/* Pages that are looked up one by one where pagemap cannot be scanned (before 6.7): where more are
 * mapped, contents are not looked at. */
#define VM_OBSERVE_MAX_LOOKUP (1u << 17)
#define VM_SNAPSHOT_MAX_PAGES 4096 /* present pages whose contents are read; more: not observed */

/* vm_vma.mode */
#define VM_MODE_R 1u
#define VM_MODE_W 2u
#define VM_MODE_X 4u
#define VM_MODE_S 8u /* `s` in maps: VM_MAYSHARE */

/* vm_vma.kind: from the name in maps; PROCMAP_QUERY without a name buffer leaves VM_KIND_PLAIN. */
enum vm_kind {
	VM_KIND_PLAIN,
	VM_KIND_HEAP,
	VM_KIND_STACK,
	VM_KIND_VDSO,
	VM_KIND_VVAR,
	VM_KIND_VSYSCALL,
	VM_KIND_KCOV, /* the executor's view of kcov's buffer: VM_MIXEDMAP, so never locked */
};

/*
 * VmFlags of smaps as bits. Bit numbers are fixed (they are in traces): append only.
 * Names: fs/proc/task_mmu.c show_smap_vma_flags().
 */
#define VM_FLAG_NAMES                                                                              \
	"rd", "wr", "ex", "sh", "mr", "mw", "me", "ms", "gd", "pf", "lo", "io", "sr", "rr", "dc",  \
		"de", "lf", "ac", "nr", "ht", "sf", "ar", "wf", "dd", "sd", "mm", "hg", "nh",      \
		"mg", "um", "uw", "ui", "ss", "dp", "sl", "gu", "bt", "mt", "k0", "k1", "k2", "k3"
#define VM_FLAG_MR	4u /* VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC */
#define VM_FLAG_MW	5u
#define VM_FLAG_ME	6u
#define VM_FLAG_GD	8u  /* VM_GROWSDOWN */
#define VM_FLAG_LO	10u /* VM_LOCKED */
#define VM_FLAG_SR	12u /* VM_SEQ_READ */
#define VM_FLAG_RR	13u /* VM_RAND_READ */
#define VM_FLAG_DC	14u /* VM_DONTCOPY */
#define VM_FLAG_LF	16u /* VM_LOCKONFAULT */
#define VM_FLAG_AC	17u /* VM_ACCOUNT */
#define VM_FLAG_NR	18u /* VM_NORESERVE */
#define VM_FLAG_HT	19u /* VM_HUGETLB */
#define VM_FLAG_WF	22u /* VM_WIPEONFORK */
#define VM_FLAG_DD	23u /* VM_DONTDUMP */
#define VM_FLAG_SD	24u /* VM_SOFTDIRTY: ignored by merging, never compared */
#define VM_FLAG_HG	26u /* VM_HUGEPAGE */
#define VM_FLAG_NH	27u /* VM_NOHUGEPAGE */
#define VM_FLAG_MG	28u /* VM_MERGEABLE */
#define VM_FLAG_SS	32u /* VM_SHADOW_STACK */
#define VM_FLAG_DP	33u /* VM_DROPPABLE */
#define VM_FLAG_SL	34u /* VM_SEALED */
#define VM_FLAG_K0	38u /* k0..k3: the bits of ProtectionKey, VM_PKEY_BIT0 to VM_PKEY_BIT3 */
#define VM_FLAG_COUNT	42u
#define VM_FLAG_UNKNOWN 63u /* a name that is not in the list was seen */

struct vm_vma {
	uint64_t start, end;
	uint64_t offset; /* bytes; 0 for private anonymous memory */
	uint64_t inode;
	uint32_t dev;	     /* major << 20 | minor */
	uint8_t mode;	     /* VM_MODE_* */
	uint8_t kind;	     /* enum vm_kind */
	uint8_t flags_known; /* 1 if `flags` was read from smaps */
	uint8_t pad;
	uint64_t flags; /* 1 << VM_FLAG_* */
};

/* A page that pagemap showed present, and its bytes. */
struct vm_page {
	uint64_t addr;
	struct vm_content content;
};

/* vm_snapshot.mask: what of this snapshot was observed (the rest is unknown, never "equal"). */
#define VM_SEEN_MAPS	 1u  /* vma[] outside the executor's own ranges is complete */
#define VM_SEEN_FLAGS	 2u  /* every vma[] has flags_known */
#define VM_SEEN_CONTENTS 4u  /* page[] has every present page (readable ones at least) */
#define VM_SEEN_OWN	 8u  /* own[] is complete */
#define VM_SEEN_TOTALS	 16u /* totals */

/*
 * What /proc/self/status and statm say of all VMAs together, in pages (fs/proc/task_mmu.c
 * task_mem(), task_statm()). The number of VMAs is shown nowhere but by listing them.
 */
struct vm_totals {
	uint64_t size, locked, pinned;	 /* VmSize, VmLck, VmPin */
	uint64_t data, stack, exec, lib; /* VmData, VmStk, VmExe, VmLib */
	uint64_t statm_size, statm_data; /* statm: first and sixth number */
};
#define VM_TOTALS_COUNT 9 /* numbers in struct vm_totals: their order is the trace's */

/*
 * vma[] are the VMAs that do not belong to the executor; own[] those that do (text, stack, vdso,
 * its log). Both sorted by address. page[] sorted by address, only pages of vma[].
 */
struct vm_snapshot {
	uint32_t mask;
	uint32_t nvma, npage, nown;
	const struct vm_vma *vma;
	const struct vm_page *page;
	const struct vm_vma *own;
	struct vm_totals totals;
};

#endif
