/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sys/mman.h>

#include "fuzz/mutate/aim.h"

/* Where long mappings have room: beyond what programs use else of the arena. */
static struct vm_addr far_addr(struct vm_mutator *m, uint64_t bytes)
{
	return vm_addr_from(m, m->layout.arena_base + 4 * m->layout.pud_size + bytes);
}

static bool map(struct vm_mutator *m, struct vm_program *prog, struct vm_addr at, uint64_t len,
		uint64_t prot)
{
	struct vm_call call = { .op = VM_OP_MMAP };

	call.arg[0].addr = at;
	call.arg[1].len = vm_quantity_from(&m->layout, len);
	call.arg[2].bits = prot;
	call.arg[3].bits = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	return vm_append(m, prog, &call);
}

/*
 * Mappings which are more than can be promised at once, though each alone is not: where they are
 * one VMA, a fork has to promise it whole (kernel/fork.c dup_mmap()).
 */
static void commit_brink(struct vm_mutator *m, struct vm_program *prog)
{
	uint64_t part = m->total_pages / 100 * (45 + vm_rng_below(&m->rng, 54));
	uint64_t len = part * m->layout.page_size;
	struct vm_call fork = { .op = VM_OP_FORK };

	if (map(m, prog, far_addr(m, 0), len, PROT_READ | PROT_WRITE) &&
	    map(m, prog, far_addr(m, len), len, PROT_READ | PROT_WRITE) &&
	    vm_rng_chance(&m->rng, 70))
		vm_append(m, prog, &fork);
}

/* Nearly as much locked memory as RLIMIT_MEMLOCK allows: one page below, at, one above. */
static void lock_brink(struct vm_mutator *m, struct vm_program *prog)
{
	int64_t pages =
		(int64_t)(m->rlimit_memlock / m->layout.page_size) + vm_rng_range(&m->rng, -8, 1);
	struct vm_call all = { .op = VM_OP_MLOCKALL };
	struct vm_call lock = { .op = VM_OP_MLOCK2 };
	uint64_t len;

	if (pages < 1 || pages > UINT16_MAX)
		return;
	len = (uint64_t)pages * m->layout.page_size;
	lock.arg[0].addr = far_addr(m, 0);
	lock.arg[1].len = vm_quantity_from(&m->layout, len);
	lock.arg[2].bits = MLOCK_ONFAULT;
	all.arg[0].bits = MCL_FUTURE | (vm_rng_chance(&m->rng, 50) ? MCL_ONFAULT : 0);
	if (map(m, prog, far_addr(m, 0), len, PROT_NONE) && vm_append(m, prog, &lock) &&
	    vm_rng_chance(&m->rng, 50))
		vm_append(m, prog, &all);
}

/* A mapping that grows beyond the last offset that a file can have. */
static void last_offset(struct vm_mutator *m, struct vm_program *prog)
{
	uint64_t ps = m->layout.page_size, pages = 1 + vm_rng_below(&m->rng, 4);
	uint64_t before = pages + vm_rng_below(&m->rng, 3), more = 1 + vm_rng_below(&m->rng, 6);
	uint64_t start = vm_span_arena(m).start;
	struct vm_call call = { .op = VM_OP_MMAP };
	struct vm_call grow = { .op = VM_OP_MREMAP };
	struct vm_call hole = { .op = VM_OP_MADVISE };

	call.arg[0].addr = vm_addr_from(m, start);
	call.arg[1].len = vm_quantity_from(&m->layout, pages * ps);
	call.arg[2].bits = PROT_READ | PROT_WRITE;
	call.arg[3].bits = MAP_SHARED | MAP_FIXED;
	call.arg[4].bits = vm_rng_chance(&m->rng, 70) ? VM_OBJECT_M0 : VM_OBJECT_F0;
	call.arg[5].len.bytes = (int64_t)((1ull << 63) - (before + 1) * ps);
	grow.arg[0].addr = call.arg[0].addr;
	grow.arg[1].len = call.arg[1].len;
	grow.arg[2].len = vm_quantity_from(&m->layout, (pages + more) * ps);
	hole.arg[2].bits = MADV_REMOVE;
	if (!vm_append(m, prog, &call) || !vm_append(m, prog, &grow))
		return;
	for (uint32_t n = 1 + vm_rng_below(&m->rng, 3); n; n--) {
		uint64_t first = vm_rng_below(&m->rng, (uint32_t)(pages + more));

		hole.arg[0].addr = vm_addr_from(m, start + first * ps);
		hole.arg[1].len = vm_quantity_from(&m->layout, (pages + more - first) * ps);
		if (!vm_append(m, prog, &hole))
			return;
	}
}

void vm_scene(struct vm_mutator *m, struct vm_program *prog)
{
	switch (vm_rng_below(&m->rng, 3)) {
	case 0:
		commit_brink(m, prog);
		break;
	case 1:
		lock_brink(m, prog);
		break;
	default:
		last_offset(m, prog);
	}
}
