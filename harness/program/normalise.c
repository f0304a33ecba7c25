/* SPDX-License-Identifier: MIT */
/* The one form of a program that bytes and text can express, and its equality. */
#include <string.h>

#include "harness/program/call_table.h"

static void normalise_addr(struct vm_addr *addr)
{
	switch (addr->base) {
	case VM_BASE_ARENA:
		addr->index %= VM_ARENA_PAGES;
		return;
	case VM_BASE_NAME:
		addr->index %= VM_NAME_SLOTS;
		if (!addr->index)
			addr->base = VM_BASE_NULL;
		return;
	case VM_BASE_TASK:
	case VM_BASE_BRK:
	case VM_BASE_VDSO:
	case VM_BASE_VVAR:
		break;
	default:
		addr->base = VM_BASE_NULL;
		break;
	}
	addr->index = 0;
}

/* The value of one argument in a union whose other bytes are zero. */
static union vm_arg normalise_arg(const struct vm_arg_desc *desc, const union vm_arg *arg)
{
	union vm_arg out;

	memset(&out, 0, sizeof(out));
	switch (desc->kind) {
	case VM_ARG_ADDR:
		out.addr = arg->addr;
		normalise_addr(&out.addr);
		break;
	case VM_ARG_LEN:
	case VM_ARG_OFFSET:
		out.len = arg->len;
		break;
	case VM_ARG_PROT:
	case VM_ARG_CHOICE:
		out.bits = (uint32_t)arg->bits;
		break;
	case VM_ARG_FLAGS:
		out.bits = arg->bits & desc->legal;
		break;
	case VM_ARG_OBJECT:
		out.bits = arg->bits % VM_OBJECT_COUNT;
		break;
	case VM_ARG_NONE:
		break;
	}
	return out;
}

static void normalise_preamble(struct vm_preamble *p)
{
	struct vm_preamble was = *p;

	memset(p, 0, sizeof(*p));
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++)
		if (vm_preamble_has(&was, word))
			vm_preamble_set(p, word, &was.value[word]);
}

void vm_program_normalise(struct vm_program *prog)
{
	normalise_preamble(&prog->preamble);
	prog->observe %= VM_OBSERVE_COUNT;
	if (prog->ncalls > VM_PROGRAM_MAX_CALLS)
		prog->ncalls = VM_PROGRAM_MAX_CALLS;
	for (unsigned int i = 0; i < prog->ncalls; i++) {
		struct vm_call *call = &prog->call[i];
		const struct vm_call_desc *desc;

		call->op %= VM_OP_COUNT;
		desc = vm_call_desc(call->op);
		call->let = desc->returns_addr ? call->let % VM_NAME_SLOTS : 0;
		for (unsigned int j = 0; j < VM_CALL_MAX_ARGS; j++)
			call->arg[j] = normalise_arg(&desc->arg[j], &call->arg[j]);
	}
	memset(&prog->call[prog->ncalls], 0,
	       (VM_PROGRAM_MAX_CALLS - prog->ncalls) * sizeof(prog->call[0]));
}

static bool quantity_equal(const struct vm_quantity *a, const struct vm_quantity *b)
{
	return a->bytes == b->bytes && a->pages == b->pages && a->pmd == b->pmd &&
	       a->pud == b->pud && a->task == b->task;
}

static bool arg_equal(enum vm_arg_kind kind, const union vm_arg *a, const union vm_arg *b)
{
	switch (kind) {
	case VM_ARG_ADDR:
		return a->addr.base == b->addr.base && a->addr.index == b->addr.index &&
		       quantity_equal(&a->addr.off, &b->addr.off);
	case VM_ARG_LEN:
	case VM_ARG_OFFSET:
		return quantity_equal(&a->len, &b->len);
	case VM_ARG_NONE:
		return true;
	default:
		return a->bits == b->bits;
	}
}

static bool preamble_equal(const struct vm_preamble *a, const struct vm_preamble *b)
{
	if (a->words != b->words)
		return false;
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++)
		if (vm_preamble_has(a, word) && !quantity_equal(&a->value[word], &b->value[word]))
			return false;
	return true;
}

bool vm_program_equal(const struct vm_program *a, const struct vm_program *b)
{
	if (a->observe != b->observe || a->ncalls != b->ncalls ||
	    !preamble_equal(&a->preamble, &b->preamble))
		return false;
	for (unsigned int i = 0; i < a->ncalls; i++) {
		const struct vm_call *x = &a->call[i], *y = &b->call[i];
		const struct vm_call_desc *desc = vm_call_desc(x->op);

		if (x->op != y->op || x->let != y->let || x->fail_nth != y->fail_nth)
			return false;
		for (unsigned int j = 0; j < desc->nargs; j++)
			if (!arg_equal(desc->arg[j].kind, &x->arg[j], &y->arg[j]))
				return false;
	}
	return true;
}
