/* SPDX-License-Identifier: MIT */
/* How mremap behaves, where versions differ: what oracle/profiles/ raises its expectations by. */
#include <errno.h>
#include <sys/mman.h>

#include "harness/executor/probe.h"
#include "harness/executor/setup.h"

enum { NO, YES, UNCLEAR };

struct place {
	uint64_t page_size;
	char *source, *dest; /* two pages in two VMAs; four pages */
};

static bool prepare(const struct vm_executor *ex, struct place *p)
{
	uint64_t page_size = ex->info.layout.page_size;
	char *base = (char *)(uintptr_t)ex->info.layout.arena_base;
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	*p = (struct place){ page_size, base, base + 16 * page_size };
	return mmap(p->source, 2 * page_size, PROT_READ | PROT_WRITE, how, -1, 0) == p->source &&
	       mmap(p->dest, 4 * page_size, PROT_READ | PROT_WRITE, how, -1, 0) == p->dest &&
	       mprotect(p->source + page_size, page_size, PROT_READ) == 0;
}

static int dest_kept(struct vm_executor *ex)
{
	unsigned char present[4];
	struct place p;

	if (!prepare(ex, &p))
		return UNCLEAR;
	if (mremap(p.source, 2 * p.page_size, 4 * p.page_size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   p.dest) != MAP_FAILED ||
	    errno != EFAULT)
		return UNCLEAR;
	return mincore(p.dest, 4 * p.page_size, present) == 0 ? YES : NO;
}

static int multi_move(struct vm_executor *ex)
{
	struct place p;

	if (!prepare(ex, &p))
		return UNCLEAR;
	return mremap(p.source, 2 * p.page_size, 2 * p.page_size, MREMAP_MAYMOVE | MREMAP_FIXED,
		      p.dest) == p.dest
		       ? YES
		       : NO;
}

static int dontunmap_rounded(struct vm_executor *ex)
{
	struct place p;

	if (!prepare(ex, &p))
		return UNCLEAR;
	return mremap(p.source, p.page_size - 1, p.page_size,
		      MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, p.dest) == p.dest
		       ? YES
		       : NO;
}

uint64_t vm_probe_behaviour(struct vm_executor *ex)
{
	static const struct {
		int (*fn)(struct vm_executor *ex);
		uint64_t bit;
	} probes[] = {
		{ dest_kept, VM_PROBE_DEST_KEPT },
		{ multi_move, VM_PROBE_MULTI_MOVE },
		{ dontunmap_rounded, VM_PROBE_DU_ROUNDED },
	};
	uint64_t bits = VM_PROBED_BEHAVIOUR;

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		int status;

		if (!vm_in_child(ex, probes[i].fn, &status) || status == UNCLEAR)
			return 0; /* the bits would mislead */
		if (status == YES)
			bits |= probes[i].bit;
	}
	return bits;
}
