/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "fuzz/cover/blocks.h"

#define FUNCTION_MAX (1u << 20) /* bytes */

/* What is known of each byte of the function. */
#define IS_INSN	 1u
#define IS_BEGIN 2u /* of a block */

struct reader {
	csh cs;
	cs_insn *insn;
	bool arm64;
	const struct vm_function *f;
	uint8_t *code, *what;
	size_t size;
	uint64_t callee;
};

static bool open_reader(struct reader *r, struct vm_vmlinux *v)
{
	cs_err bad = r->arm64 ? cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &r->cs)
			      : cs_open(CS_ARCH_X86, CS_MODE_64, &r->cs);

	(void)v;
	if (bad)
		return false;
	cs_option(r->cs, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(r->cs, CS_OPT_SKIPDATA, CS_OPT_ON);
	r->insn = cs_malloc(r->cs);
	return r->insn;
}

static void close_reader(struct reader *r)
{
	if (r->insn)
		cs_free(r->insn, 1);
	if (r->cs)
		cs_close(&r->cs);
	free(r->code);
	free(r->what);
}

static bool in_group(const struct reader *r, uint8_t group)
{
	return r->insn->id && cs_insn_group(r->cs, r->insn, group);
}

/* What the last operand names, if it is a place: where a jump or a call leads. */
static bool leads_to(const struct reader *r, uint64_t *to)
{
	const cs_detail *d = r->insn->detail;

	if (!r->insn->id)
		return false;
	if (r->arm64) {
		const cs_arm64 *a = &d->arm64;

		if (!a->op_count || a->operands[a->op_count - 1].type != ARM64_OP_IMM)
			return false;
		*to = (uint64_t)a->operands[a->op_count - 1].imm;
		return true;
	}
	if (d->x86.op_count != 1 || d->x86.operands[0].type != X86_OP_IMM)
		return false;
	*to = (uint64_t)d->x86.operands[0].imm;
	return true;
}

static bool is_call(const struct reader *r)
{
	return r->arm64 ? r->insn->id == ARM64_INS_BL : in_group(r, CS_GRP_CALL);
}

static bool ends_block(const struct reader *r)
{
	if (is_call(r))
		return false;
	if (in_group(r, CS_GRP_JUMP) || in_group(r, CS_GRP_RET))
		return true;
	return r->arm64 ? r->insn->id == ARM64_INS_BRK : r->insn->id == X86_INS_UD2;
}

/* The next instruction from byte *at on, which moves behind it. */
static bool next(struct reader *r, size_t *at)
{
	const uint8_t *p = r->code + *at;
	size_t left = r->size - *at;
	uint64_t address = r->f->begin + *at;

	if (!left || !cs_disasm_iter(r->cs, &p, &left, &address, r->insn))
		return false;
	*at = r->size - left;
	return true;
}

/* Returns the number of calls to the callee. */
static uint32_t find_blocks(struct reader *r)
{
	uint32_t calls = 0;
	size_t at = 0;
	uint64_t to;

	r->what[0] |= IS_BEGIN;
	while (at < r->size) {
		size_t begin = at;

		if (!next(r, &at))
			break;
		r->what[begin] |= IS_INSN;
		if (is_call(r)) {
			calls += leads_to(r, &to) && to == r->callee;
			continue;
		}
		if (!ends_block(r))
			continue;
		if (at < r->size)
			r->what[at] |= IS_BEGIN;
		if (leads_to(r, &to) && to - r->f->begin < r->size)
			r->what[to - r->f->begin] |= IS_BEGIN;
	}
	return calls;
}

static struct vm_range block_around(const struct reader *r, size_t at)
{
	size_t begin = at, end = at + 1;

	while (begin && !(r->what[begin] & IS_BEGIN))
		begin--;
	while (end < r->size && !(r->what[end] & IS_BEGIN))
		end++;
	return (struct vm_range){ r->f->begin + begin, r->f->begin + end };
}

static void find_calls(struct reader *r, struct vm_blocks *b, uint32_t max)
{
	size_t at = 0;
	uint64_t to;

	while (b->ncalls < max && at < r->size) {
		size_t begin = at;

		if (!next(r, &at))
			break;
		if (!is_call(r) || !leads_to(r, &to) || to != r->callee)
			continue;
		b->call[b->ncalls++] = (struct vm_traced_call){
			.after = r->f->begin + at,
			.block = block_around(r, begin),
		};
	}
	for (size_t i = 0; i < r->size; i++)
		b->nblocks += r->what[i] & IS_BEGIN && r->what[i] & IS_INSN;
}

int vm_blocks_read(struct vm_blocks *b, struct vm_vmlinux *v, const struct vm_function *f,
		   uint64_t callee, char *err, size_t errlen)
{
	struct reader r = { .f = f, .callee = callee, .arm64 = vm_vmlinux_is_arm64(v) };
	uint32_t calls;
	int ret = -1;

	*b = (struct vm_blocks){ 0 };
	if (f->size && f->size <= FUNCTION_MAX) {
		r.code = malloc(f->size);
		r.what = calloc(1, f->size);
	}
	if (!r.code || !r.what || !open_reader(&r, v)) {
		snprintf(err, errlen, "cannot disassemble %s (%" PRIu64 " bytes): no memory",
			 f->name, f->size);
		goto out;
	}
	r.size = vm_vmlinux_bytes(v, f->begin, r.code, f->size);
	if (r.size != f->size) {
		snprintf(err, errlen, "vmlinux has not all the code of %s: is it stripped?",
			 f->name);
		goto out;
	}
	calls = find_blocks(&r);
	b->call = calloc(calls + 1, sizeof(*b->call));
	if (b->call) {
		find_calls(&r, b, calls);
		ret = 0;
	} else {
		snprintf(err, errlen, "no memory for the points of %s", f->name);
	}
out:
	close_reader(&r);
	return ret;
}

void vm_blocks_free(struct vm_blocks *b)
{
	free(b->call);
	*b = (struct vm_blocks){ 0 };
}

char *vm_blocks_text(struct vm_vmlinux *v, const struct vm_range *range)
{
	struct vm_function f = { .begin = range->start, .size = range->end - range->start };
	struct reader r = { .f = &f, .arm64 = vm_vmlinux_is_arm64(v) };
	char *text = NULL;
	size_t len, at = 0;
	FILE *to;

	r.code = f.size && f.size <= FUNCTION_MAX ? malloc(f.size) : NULL;
	to = r.code && open_reader(&r, v) ? open_memstream(&text, &len) : NULL;
	if (to) {
		r.size = vm_vmlinux_bytes(v, f.begin, r.code, f.size);
		while (next(&r, &at))
			fprintf(to, "%" PRIx64 "  %-7s %s\n", r.insn->address, r.insn->mnemonic,
				r.insn->op_str);
		fclose(to);
	}
	close_reader(&r);
	return text;
}
