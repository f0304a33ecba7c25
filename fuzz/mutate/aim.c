/* SPDX-License-Identifier: MIT */
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "fuzz/mutate/aim.h"
#include "harness/program/advice.h"

uint64_t vm_aim_prot(struct vm_mutator *m)
{
	enum { RW, R, NONE, X, ANY, ILLEGAL };
	static const uint8_t weight[] = { 60, 16, 9, 4, 10, 1 };

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case RW:
		return PROT_READ | PROT_WRITE;
	case R:
		return PROT_READ;
	case NONE:
		return PROT_NONE;
	case X:
		return PROT_READ | PROT_EXEC;
	case ANY:
		return vm_rng_below(&m->rng, 8);
	default:
		return (1ull << vm_rng_below(&m->rng, 32)) | vm_rng_below(&m->rng, 8);
	}
}

uint64_t vm_aim_choice(struct vm_mutator *m, const struct vm_arg_desc *desc)
{
	uint32_t words = 0;

	while (desc->words[words].name)
		words++;
	if (vm_rng_chance(&m->rng, 97))
		return desc->words[vm_rng_below(&m->rng, words)].bits;
	return vm_rng_chance(&m->rng, 50) ? vm_rng_below(&m->rng, 128)
					  : (uint32_t)vm_rng_next(&m->rng);
}

static void put_span(struct vm_mutator *m, struct vm_call *call, struct vm_span s)
{
	call->arg[0].addr = vm_addr_from(m, s.start);
	call->arg[1].len = vm_quantity_from(&m->layout, s.len);
}

/* Advice that changes contents is worth more than the rest: it is what can be seen. */
static void aim_madvise(struct vm_mutator *m, struct vm_call *call)
{
	static const uint8_t strong[] = { MADV_DONTNEED,       MADV_FREE,	   MADV_REMOVE,
					  MADV_GUARD_INSTALL,  MADV_GUARD_REMOVE,  MADV_PAGEOUT,
					  MADV_POPULATE_WRITE, MADV_POPULATE_READ, MADV_DONTFORK };

	put_span(m, call, vm_rng_chance(&m->rng, 50) ? vm_span_inside(m) : vm_span_aimed(m));
	call->arg[2].bits = vm_rng_chance(&m->rng, 55)
				    ? strong[vm_rng_below(&m->rng, sizeof(strong))]
				    : vm_aim_choice(m, &vm_call_desc(call->op)->arg[2]);
	if (call->op == VM_OP_PROCESS_MADVISE && vm_rng_chance(&m->rng, 2))
		call->arg[3].bits = 1ull << vm_rng_below(&m->rng, 32);
}

void vm_aim_name(struct vm_mutator *m, struct vm_call *call)
{
	uint8_t slot = (uint8_t)(1 + vm_rng_below(&m->rng, VM_NAME_SLOTS - 1));

	for (uint8_t i = 1; i < VM_NAME_SLOTS; i++) {
		if (!(m->used & (1u << i))) {
			slot = i;
			break;
		}
	}
	m->used |= (uint16_t)(1u << slot);
	call->let = slot;
}

static uint64_t mmap_type(struct vm_mutator *m)
{
	enum { PRIVATE, SHARED, VALIDATE, NEITHER };
	static const uint8_t weight[] = { 70, 26, 2, 2 };
	static const uint64_t type[] = { MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE, 0 };

	return type[vm_rng_weighted(&m->rng, weight, sizeof(weight))];
}

/* Pages of an object: mostly those that it has, or a few more. */
static struct vm_quantity aim_offset(struct vm_mutator *m)
{
	struct vm_quantity q = { .pages = (int32_t)vm_rng_below(&m->rng, VM_OBJECT_PAGES + 2) };

	if (vm_rng_chance(&m->rng, 3))
		q = vm_quantity_from(&m->layout, vm_len_nonsense(m));
	return q;
}

/* Anonymous memory; or an object, of which few are mapped often, so that mappings share pages. */
static void aim_object(struct vm_mutator *m, struct vm_call *call)
{
	static const uint8_t weight[VM_OBJECT_COUNT] = {
		[VM_OBJECT_NONE] = 2, [VM_OBJECT_M0] = 48, [VM_OBJECT_M1] = 12,
		[VM_OBJECT_F0] = 20,  [VM_OBJECT_R0] = 16, [VM_OBJECT_S0] = 2,
	};

	if (vm_rng_chance(&m->rng, 60)) {
		call->arg[3].bits |= MAP_ANONYMOUS;
		return;
	}
	call->arg[4].bits = vm_rng_weighted(&m->rng, weight, VM_OBJECT_COUNT);
	call->arg[5].len = aim_offset(m);
}

static void aim_mmap(struct vm_mutator *m, struct vm_call *call)
{
	enum { NEW, FIXED, NOREPLACE, HINT, ANY, BOTH };
	static const uint8_t weight[] = { 40, 14, 10, 7, 28, 1 };
	uint32_t how = vm_rng_weighted(&m->rng, weight, sizeof(weight));
	struct vm_span s = how == NEW		      ? vm_span_arena(m)
			   : how == FIXED	      ? vm_span_aimed(m)
			   : vm_rng_below(&m->rng, 2) ? vm_span_hole(m)
						      : vm_span_aimed(m);
	uint64_t flags = mmap_type(m);

	if (how == NEW || how == FIXED || how == BOTH)
		flags |= MAP_FIXED;
	if (how == NOREPLACE || how == BOTH)
		flags |= MAP_FIXED_NOREPLACE;
	if (vm_rng_chance(&m->rng, 6))
		flags |= MAP_LOCKED;
	if (how == ANY)
		s = (struct vm_span){ 0, vm_span_arena(m).len };
	if (vm_rng_chance(&m->rng, 5))
		flags |= 1ull << vm_rng_below(&m->rng, 32);
	if (vm_rng_chance(&m->rng, 2))
		s.len = vm_len_nonsense(m);
	put_span(m, call, s);
	if (how == ANY)
		call->arg[0].addr = (struct vm_addr){ .base = VM_BASE_NULL };
	call->arg[2].bits = vm_aim_prot(m);
	call->arg[3].bits = flags;
	aim_object(m, call);
	if ((how == ANY || how == HINT) && vm_rng_chance(&m->rng, 90))
		vm_aim_name(m, call);
}

/* Mostly what one node can have; the errors of masks, modes and flags now and then. */
static void aim_mbind(struct vm_mutator *m, struct vm_call *call)
{
	put_span(m, call, vm_span_aimed(m));
	call->arg[2].bits = vm_rng_below(&m->rng, VM_POLICY_COUNT + vm_rng_chance(&m->rng, 10));
	if (call->arg[2].bits != VM_POLICY_DEFAULT && call->arg[2].bits != VM_POLICY_LOCAL)
		call->arg[3].bits = VM_NODES_0;
	if (vm_rng_chance(&m->rng, 15))
		call->arg[3].bits ^= 1ull << vm_rng_below(&m->rng, 8);
	if (vm_rng_chance(&m->rng, 3)) /* not there on most machines */
		call->arg[3].bits = VM_NODES_1;
	if (vm_rng_chance(&m->rng, 25))
		call->arg[4].bits = vm_rng_below(&m->rng, 4);
	if (vm_rng_chance(&m->rng, 3))
		call->arg[4].bits |= 1ull << vm_rng_below(&m->rng, 5);
	if (vm_rng_chance(&m->rng, 20))
		call->arg[5].bits = (uint64_t)VM_POLICY_BALANCING << vm_rng_below(&m->rng, 3);
	if (vm_rng_chance(&m->rng, 3))
		call->arg[5].bits |= (uint64_t)VM_POLICY_BALANCING << vm_rng_below(&m->rng, 3);
}

/* None; one of the first that are given out; or any number. */
static uint64_t aim_key(struct vm_mutator *m, unsigned int none)
{
	if (vm_rng_chance(&m->rng, none))
		return UINT32_MAX;
	return vm_rng_chance(&m->rng, 80) ? 1 + vm_rng_below(&m->rng, 3)
					  : vm_rng_below(&m->rng, 18);
}

static void aim_remap(struct vm_mutator *m, struct vm_call *call)
{
	struct vm_span s;

	if (!vm_rng_chance(&m->rng, 85) || !vm_span_shared(m, &s))
		s = vm_span_aimed(m);
	put_span(m, call, s);
	call->arg[3].len.pages = (int32_t)vm_rng_below(&m->rng, 2 * VM_OBJECT_PAGES);
	if (vm_rng_chance(&m->rng, 6)) /* where an offset wraps, or leaves what a file can have */
		call->arg[3].len.pages = -1 - (int32_t)vm_rng_below(&m->rng, 8);
	if (vm_rng_chance(&m->rng, 3))
		call->arg[2].bits = vm_aim_prot(m);
	if (vm_rng_chance(&m->rng, 10))
		call->arg[4].bits = 1ull << vm_rng_below(&m->rng, 32);
}

/* Into a hole; or over what is there, with the flag that allows it mostly. */
static void aim_shmat(struct vm_mutator *m, struct vm_call *call)
{
	bool over = vm_rng_chance(&m->rng, 40);
	struct vm_span s = over ? vm_span_aimed(m) : vm_span_hole(m);

	call->arg[0].bits =
		vm_rng_chance(&m->rng, 97) ? VM_OBJECT_S0 : vm_rng_below(&m->rng, VM_OBJECT_COUNT);
	call->arg[1].addr = vm_addr_from(m, s.start);
	call->arg[2].bits = (vm_rng_chance(&m->rng, 25) ? SHM_RDONLY : 0) |
			    (vm_rng_chance(&m->rng, 10) ? SHM_RND : 0) |
			    (vm_rng_chance(&m->rng, over ? 80 : 10) ? SHM_REMAP : 0) |
			    (vm_rng_chance(&m->rng, 5) ? SHM_EXEC : 0);
	if (vm_rng_chance(&m->rng, 5)) {
		call->arg[1].addr = vm_addr_from(m, vm_addr_nonsense(m));
	} else if (vm_rng_chance(&m->rng, 3)) { /* page 0, when rounded */
		call->arg[1].addr = vm_addr_from(m, 1 + vm_rng_below(&m->rng, 4095));
		call->arg[2].bits |= SHM_RND;
	}
	if (vm_rng_chance(&m->rng, 15)) {
		call->arg[1].addr = (struct vm_addr){ .base = VM_BASE_NULL };
		vm_aim_name(m, call);
	}
}

/* Around where the heap ends mostly; below it, or more than can be promised, seldom. */
static void aim_brk(struct vm_mutator *m, struct vm_call *call)
{
	struct vm_addr *addr = &call->arg[0].addr;

	addr->base = VM_BASE_BRK;
	addr->off.pages = (int32_t)vm_rng_below(&m->rng, 16);
	if (vm_rng_chance(&m->rng, 15))
		addr->off.bytes = (int64_t)vm_rng_below(&m->rng, 4096) - 2048;
	if (vm_rng_chance(&m->rng, 4)) /* the brink of RLIMIT_MEMLOCK */
		addr->off.pages += (int32_t)(m->rlimit_memlock / m->layout.page_size & 0xffff) - 8;
	if (vm_rng_chance(&m->rng, 2))
		addr->off.pud = (int16_t)(64 << vm_rng_below(&m->rng, 4));
	if (vm_rng_chance(&m->rng, 2)) {
		addr->base = VM_BASE_NULL;
		addr->off = vm_quantity_from(
			&m->layout, 1 + vm_rng_below(&m->rng, (uint32_t)m->layout.page_size - 1));
	}
}

/* Flags: some of the row's words, seldom another bit. */
static uint64_t aim_flags(struct vm_mutator *m, const struct vm_arg_desc *desc)
{
	uint64_t bits = 0;

	for (const struct vm_word *w = desc->words; w && w->name; w++)
		if (vm_rng_chance(&m->rng, 30))
			bits |= w->bits;
	return vm_rng_chance(&m->rng, 2) ? bits | 1ull << vm_rng_below(&m->rng, 32) : bits;
}

/* What any call is aimed by that has no case of its own: the kinds of its arguments. */
/* Seldom at the vdso or vvar, with what can be done to them: whole ones, or a part. */
static void aim_special(struct vm_mutator *m, struct vm_call *call)
{
	bool vdso = vm_rng_chance(&m->rng, 50), whole = vm_rng_chance(&m->rng, 60);
	int32_t pages = vdso ? 2 : 4; /* as x86_64 has them */
	struct vm_addr *addr = &call->arg[0].addr;

	*addr = (struct vm_addr){ .base = vdso ? VM_BASE_VDSO : VM_BASE_VVAR };
	if (!whole)
		addr->off.pages = (int32_t)vm_rng_below(&m->rng, (uint32_t)pages);
	pages -= addr->off.pages;
	if (!whole)
		pages = 1 + (int32_t)vm_rng_below(&m->rng, (uint32_t)pages);
	call->arg[1].len = (struct vm_quantity){ .pages = pages };
}

static void aim_any(struct vm_mutator *m, struct vm_call *call)
{
	const struct vm_call_desc *desc = vm_call_desc(call->op);
	struct vm_span s = vm_span_aimed(m);

	for (unsigned int i = 0; i < desc->nargs; i++) {
		const struct vm_arg_desc *arg = &desc->arg[i];

		switch (arg->kind) {
		case VM_ARG_ADDR:
			if (i) /* of another range than the one before */
				s = vm_span_aimed(m);
			call->arg[i].addr = vm_addr_from(m, s.start);
			break;
		case VM_ARG_LEN:
			call->arg[i].len = vm_quantity_from(&m->layout, s.len);
			break;
		case VM_ARG_PROT:
			call->arg[i].bits = vm_aim_prot(m);
			break;
		case VM_ARG_FLAGS:
			call->arg[i].bits = aim_flags(m, arg);
			break;
		case VM_ARG_CHOICE:
			call->arg[i].bits = vm_aim_choice(m, arg);
			break;
		case VM_ARG_OBJECT:
			call->arg[i].bits = vm_rng_below(&m->rng, VM_OBJECT_COUNT);
			break;
		case VM_ARG_OFFSET:
			call->arg[i].len = aim_offset(m);
			break;
		default:
			break;
		}
	}
}

void vm_aim_op(struct vm_mutator *m, uint8_t op, struct vm_call *call)
{
	*call = (struct vm_call){ .op = op };
	switch (op) {
	case VM_OP_MMAP:
		aim_mmap(m, call);
		break;
	case VM_OP_MREMAP:
		vm_aim_mremap(m, call);
		break;
	case VM_OP_MPROTECT:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits = vm_aim_prot(m);
		break;
	case VM_OP_PKEY_MPROTECT:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits = vm_aim_prot(m);
		call->arg[3].bits = aim_key(m, 60);
		break;
	case VM_OP_MBIND:
		aim_mbind(m, call);
		break;
	case VM_OP_HOME_NODE:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits = vm_rng_chance(&m->rng, 3);
		call->arg[3].bits = vm_rng_chance(&m->rng, 2);
		break;
	case VM_OP_PKEY_ALLOC:
		call->arg[0].bits = vm_rng_chance(&m->rng, 3);
		call->arg[1].bits = vm_rng_below(&m->rng, vm_rng_chance(&m->rng, 95) ? 4 : 8);
		break;
	case VM_OP_PKEY_FREE:
		call->arg[0].bits = aim_key(m, 5);
		break;
	case VM_OP_REMAP_FILE_PAGES:
		aim_remap(m, call);
		break;
	case VM_OP_NAME:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits = vm_rng_below(&m->rng, vm_rng_chance(&m->rng, 90) ? 3 : 8);
		break;
	case VM_OP_MDWE:
		call->arg[0].bits = vm_rng_chance(&m->rng, 90) ? 1 : vm_rng_below(&m->rng, 8);
		break;
	case VM_OP_BRK:
		aim_brk(m, call);
		break;
	case VM_OP_MSEAL:
		put_span(m, call,
			 vm_rng_chance(&m->rng, 60) ? vm_span_inside(m) : vm_span_aimed(m));
		if (vm_rng_chance(&m->rng, 2))
			call->arg[2].bits = 1ull << vm_rng_below(&m->rng, 32);
		break;
	case VM_OP_READ:
	case VM_OP_WRITE:
	case VM_OP_FILL:
		put_span(m, call,
			 vm_rng_chance(&m->rng, 85) ? vm_span_inside(m) : vm_span_aimed(m));
		break;
	case VM_OP_TRUNCATE:
		call->arg[0].bits = 1 + vm_rng_below(&m->rng, VM_OBJECT_COUNT - 1);
		call->arg[1].len.pages = (int32_t)vm_rng_below(&m->rng, 2 * VM_OBJECT_PAGES);
		if (vm_rng_chance(&m->rng, 10))
			call->arg[1].len.bytes = (int64_t)vm_rng_below(&m->rng, 4096) - 2048;
		if (vm_rng_chance(&m->rng, 2))
			call->arg[1].len = vm_quantity_from(&m->layout, vm_len_nonsense(m));
		break;
	case VM_OP_SHMAT:
		aim_shmat(m, call);
		break;
	case VM_OP_SHMDT:
		call->arg[0].addr = vm_addr_from(m, vm_span_aimed(m).start);
		break;
	case VM_OP_FORK:
	case VM_OP_END:
	case VM_OP_EXEC:
		break;
	case VM_OP_MLOCK2:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits =
			vm_rng_chance(&m->rng, 90) ? MLOCK_ONFAULT : vm_rng_below(&m->rng, 4);
		break;
	case VM_OP_MLOCKALL:
		call->arg[0].bits = vm_rng_chance(&m->rng, 90) ? 1 + vm_rng_below(&m->rng, 7)
							       : vm_rng_below(&m->rng, 32);
		break;
	case VM_OP_MUNLOCKALL:
		break;
	case VM_OP_MADVISE:
	case VM_OP_PROCESS_MADVISE:
		aim_madvise(m, call);
		break;
	case VM_OP_MSYNC:
		put_span(m, call, vm_span_aimed(m));
		call->arg[2].bits = vm_rng_chance(&m->rng, 97) ? vm_rng_below(&m->rng, 8)
							       : 1ull << vm_rng_below(&m->rng, 32);
		break;
	case VM_OP_MINCORE:
		put_span(m, call, vm_span_aimed(m));
		if (vm_rng_chance(&m->rng, 10))
			call->arg[2].bits = 1 + vm_rng_below(&m->rng, 2);
		break;
	default:
		aim_any(m, call);
	}
	if ((op == VM_OP_MPROTECT || op == VM_OP_MUNMAP || op == VM_OP_MSEAL) &&
	    vm_rng_chance(&m->rng, 1))
		aim_special(m, call);
	vm_aim_memory(m, call);
}

void vm_aim_call(struct vm_mutator *m, struct vm_call *call)
{
	static const uint8_t share[VM_OP_COUNT] = {
#define VM_CALL(op, since, share, file, rule) [VM_OP_##op] = share,
		VM_CALLS(VM_CALL)
#undef VM_CALL
	};
	const struct vm_model_area *areas;
	uint8_t op = (uint8_t)vm_rng_weighted(&m->rng, share, VM_OP_COUNT);

	if (!vm_model_areas(m->model, &areas) && vm_rng_chance(&m->rng, 95))
		op = VM_OP_MMAP;
	vm_aim_op(m, op, call);
}
