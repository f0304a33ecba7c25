/* SPDX-License-Identifier: MIT */
#include "fuzz/mutate/aim.h"
#include "fuzz/mutate/tweak.h"
#include "harness/program/call_table.h"

/* Saturating, so that a part of a quantity never leaves its type. */
static int64_t clamp(int64_t value, int64_t limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

static int64_t small_step(struct vm_mutator *m)
{
	int64_t by = 1 + vm_rng_below(&m->rng, 4);

	return vm_rng_chance(&m->rng, 50) ? by : -by;
}

static void tweak_quantity(struct vm_mutator *m, struct vm_quantity *q)
{
	enum { PAGES, BYTES, ALIGN, PMD, PUD, TASK, ZERO, RAW };
	static const uint8_t weight[] = { 70, 6, 8, 3, 4, 1, 3, 1 };

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case PAGES:
		q->pages = (int32_t)clamp(q->pages + small_step(m), 1 << 20);
		break;
	case BYTES:
		q->bytes = clamp(q->bytes, INT32_MAX) + small_step(m);
		break;
	case ALIGN:
		q->bytes = 0;
		break;
	case PMD:
		q->pmd = (int16_t)clamp(q->pmd + small_step(m), 512);
		break;
	case PUD:
		q->pud = (int16_t)(64 << vm_rng_below(&m->rng, 4));
		break;
	case TASK:
		q->task = (int8_t)clamp(q->task + small_step(m), 2);
		break;
	case ZERO:
		*q = (struct vm_quantity){ 0 };
		break;
	default:
		q->bytes = (int64_t)vm_rng_next(&m->rng);
	}
}

static void tweak_addr(struct vm_mutator *m, struct vm_addr *addr)
{
	enum { INDEX, OFFSET, BASE };
	static const uint8_t weight[] = { 60, 30, 10 };

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case INDEX:
		if (addr->base == VM_BASE_ARENA) {
			addr->index = (uint8_t)((addr->index + small_step(m)) & 0x7f);
			break;
		}
		/* fallthrough */
	case OFFSET:
		tweak_quantity(m, &addr->off);
		break;
	default:
		addr->base = (uint8_t)vm_rng_below(&m->rng, VM_BASE_COUNT);
		addr->index = (uint8_t)vm_rng_below(&m->rng, 32);
	}
}

static void tweak_flags(struct vm_mutator *m, const struct vm_arg_desc *desc, uint64_t *bits)
{
	unsigned int words = 0;

	while (desc->words && desc->words[words].name)
		words++;
	if (!words || vm_rng_chance(&m->rng, 5))
		*bits ^= 1ull << vm_rng_below(&m->rng, 32);
	else
		*bits ^= desc->words[vm_rng_below(&m->rng, words)].bits;
}

void vm_tweak_call(struct vm_mutator *m, struct vm_call *call)
{
	const struct vm_call_desc *desc = vm_call_desc(call->op);
	unsigned int i = desc->nargs ? vm_rng_below(&m->rng, desc->nargs) : 0;

	switch (desc->arg[i].kind) {
	case VM_ARG_ADDR:
		tweak_addr(m, &call->arg[i].addr);
		break;
	case VM_ARG_LEN:
		tweak_quantity(m, &call->arg[i].len);
		break;
	case VM_ARG_PROT:
		call->arg[i].bits = vm_aim_prot(m);
		break;
	case VM_ARG_FLAGS:
		tweak_flags(m, &desc->arg[i], &call->arg[i].bits);
		break;
	case VM_ARG_OFFSET:
		call->arg[i].len =
			(struct vm_quantity){ .pages = (int32_t)vm_rng_below(&m->rng, 8) };
		break;
	case VM_ARG_CHOICE:
		call->arg[i].bits = vm_aim_choice(m, &desc->arg[i]);
		break;
	case VM_ARG_OBJECT:
		call->arg[i].bits = vm_rng_below(&m->rng, VM_OBJECT_COUNT);
		break;
	case VM_ARG_NONE:
		break;
	}
	if (desc->returns_addr && !call->let && vm_rng_chance(&m->rng, 15))
		vm_aim_name(m, call);
}
