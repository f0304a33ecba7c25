/* SPDX-License-Identifier: MIT */
#include "fuzz/mutate/operand.h"
#include "harness/program/call_table.h"

#define KERNEL_HALF (1ull << 63) /* addresses from here on say nothing to a program */

struct finder {
	const struct vm_layout *layout;
	const struct vm_event *e;
	struct vm_operand *out;
	uint32_t n;
};

static void add(struct finder *f, unsigned int arg, uint64_t value)
{
	const struct vm_operand o = { f->e->call, (uint8_t)arg, value };

	if (value == f->e->sc.arg[arg] || value >= KERNEL_HALF || f->n == VM_MAX_OPERANDS)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->out[i].call == o.call && f->out[i].arg == o.arg && f->out[i].value == value)
			return;
	f->out[f->n++] = o;
}

static uint64_t round_up(uint64_t value, uint64_t page)
{
	return (value + page - 1) & ~(page - 1);
}

static bool is_quantity(enum vm_arg_kind kind)
{
	return kind == VM_ARG_LEN || kind == VM_ARG_OFFSET;
}

/* The argument was compared as `is` with `with`, values of `mask`'s bits. */
static void match(struct finder *f, unsigned int arg, uint64_t is, uint64_t with, uint64_t mask)
{
	const struct vm_call_desc *desc = vm_call_desc(f->e->sc.op);
	uint64_t v = f->e->sc.arg[arg], page = f->layout->page_size;
	enum vm_arg_kind kind = desc->arg[arg].kind;

	if (kind == VM_ARG_OBJECT)
		return;
	if ((v & mask) == is)
		add(f, arg, (v & ~mask) | with);
	if (!is_quantity(kind))
		return;
	if (v / page == is)
		add(f, arg, with * page);
	if (round_up(v, page) == is)
		add(f, arg, with);
	/* The end of the range that this length ends. */
	if (arg && desc->arg[arg - 1].kind == VM_ARG_ADDR) {
		uint64_t start = f->e->sc.arg[arg - 1];

		if (start + v == is || start + round_up(v, page) == is)
			add(f, arg, with - start);
	}
}

static void take(struct finder *f, const struct vm_compare *c)
{
	uint64_t mask = c->size < 8 ? (1ull << 8 * c->size) - 1 : UINT64_MAX;
	unsigned int nargs = vm_call_desc(f->e->sc.op)->nargs;

	for (unsigned int arg = 0; arg < nargs; arg++) {
		/* Zeros are everywhere; what is compared with a constant means something. */
		if (c->b || c->constant)
			match(f, arg, c->b, c->a, mask);
		if (c->a && !c->constant)
			match(f, arg, c->a, c->b, mask);
	}
}

uint32_t vm_operands_find(const struct vm_trace *trace, struct vm_operand *operand)
{
	struct finder f = { .layout = &trace->info.layout, .out = operand };

	for (uint32_t i = 0; i < trace->nevents; i++) {
		f.e = &trace->event[i];
		if (f.e->kind != VM_EVENT_CALL || f.e->status != VM_STATUS_DONE)
			continue;
		for (uint32_t k = 0; k < f.e->cover.ncompares; k++)
			take(&f, &f.e->cover.compare[k]);
	}
	return f.n;
}
