/* SPDX-License-Identifier: MIT */
/* Programs as bytes, for engines. The format: docs/program-format.md. */
#include <string.h>

#include "harness/program/call_table.h"

#define HEADER_BYTES 4

/* How many opcodes a version has: calls.h says since which each is there. */
enum {
#define VM_CALL(op, since, share, file, rule) +((since) <= 1)
	OPS_1 = VM_CALLS(VM_CALL),
#undef VM_CALL
#define VM_CALL(op, since, share, file, rule) +((since) <= 2)
	OPS_2 = VM_CALLS(VM_CALL),
#undef VM_CALL
};

/* What numbers meant in each version, for ever: see "How the corpus keeps its meaning". */
static const struct {
	uint8_t nops, nobjects, nadvice, nwords, nmodes;
} versions[VM_BYTES_VERSION + 1] = {
	[1] = { .nops = OPS_1, .nobjects = 1 },
	[2] = { .nops = OPS_2, .nobjects = 6, .nadvice = 27, .nwords = 16, .nmodes = 7 },
};

_Static_assert((int)OPS_2 == (int)VM_OP_COUNT && VM_OBJECT_COUNT == 6 && VM_PREAMBLE_COUNT == 16,
	       "a new opcode or word needs a new VM_BYTES_VERSION, see versions[]");

#define CONTROL_LET	 0x0f
#define CONTROL_FAIL_NTH 0x10
#define CONTROL_EXTENDED 0x80

#define BASE_NAME 0x80 /* ... 0x8f */
#define BASE_NULL 0x90
#define BASE_TASK 0x91
#define BASE_BRK  0x92 /* these from version 2 on */
#define BASE_VDSO 0x93
#define BASE_VVAR 0x94

#define QTY_PARTS 0x80
#define QTY_PAGES 0x01
#define QTY_BYTES 0x02
#define QTY_PMD	  0x04
#define QTY_PUD	  0x08
#define QTY_TASK  0x10
#define QTY_WIDE  0x20
#define QTY_SHORT 64 /* pages -64..63 are one byte */

#define PROT_RWX 0x07u
#define MORE	 0x80 /* prot and flags: a u32 of other bits follows */
#define WORDS	 7 /* flags: words that have a bit of the first byte; others are among the rest */
#define NUMBER	 0x80 /* choice: a u32 follows in place of a word */

struct reader {
	const uint8_t *at, *end;
	unsigned int version;
};

/* A little-endian number; bytes that are missing read as 0. */
static uint64_t get(struct reader *r, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size && r->at < r->end; i++)
		value |= (uint64_t)*r->at++ << (8 * i);
	return value;
}

static struct vm_quantity get_quantity(struct reader *r)
{
	struct vm_quantity q = { 0 };
	uint8_t tag = (uint8_t)get(r, 1);
	bool wide = tag & QTY_WIDE;

	if (tag < QTY_PARTS) {
		q.pages = tag < QTY_SHORT ? tag : tag - 2 * QTY_SHORT;
		return q;
	}
	if (tag & QTY_PAGES)
		q.pages = wide ? (int32_t)get(r, 4) : (int16_t)get(r, 2);
	if (tag & QTY_BYTES)
		q.bytes = wide ? (int64_t)get(r, 8) : (int16_t)get(r, 2);
	if (tag & QTY_PMD)
		q.pmd = wide ? (int16_t)get(r, 2) : (int8_t)get(r, 1);
	if (tag & QTY_PUD)
		q.pud = wide ? (int16_t)get(r, 2) : (int8_t)get(r, 1);
	if (tag & QTY_TASK)
		q.task = (int8_t)get(r, 1);
	return q;
}

static struct vm_addr get_addr(struct reader *r)
{
	struct vm_addr addr = { 0 };
	uint8_t base = (uint8_t)get(r, 1);

	if (base == BASE_TASK) {
		addr.base = VM_BASE_TASK;
	} else if (base == BASE_BRK && r->version > 1) {
		addr.base = VM_BASE_BRK;
	} else if ((base == BASE_VDSO || base == BASE_VVAR) && r->version > 1) {
		addr.base = base == BASE_VDSO ? VM_BASE_VDSO : VM_BASE_VVAR;
	} else if (base == BASE_NULL || base == BASE_NAME) {
		addr.base = VM_BASE_NULL;
	} else if (base > BASE_NAME && base < BASE_NULL) {
		addr.base = VM_BASE_NAME;
		addr.index = base - BASE_NAME;
	} else {
		addr.base = VM_BASE_ARENA;
		addr.index = base % VM_ARENA_PAGES;
	}
	addr.off = get_quantity(r);
	return addr;
}

static uint64_t get_flags(struct reader *r, const struct vm_arg_desc *desc)
{
	uint8_t mask = (uint8_t)get(r, 1);
	uint64_t legal = r->version == 1 && desc->legal_v1 ? desc->legal_v1 : desc->legal;
	uint64_t bits = mask & MORE ? get(r, 4) : 0;

	for (unsigned int i = 0; i < WORDS && desc->words[i].name; i++)
		if (mask & 1u << i)
			bits |= desc->words[i].bits;
	return bits & legal;
}

static uint64_t get_prot(struct reader *r)
{
	uint8_t low = (uint8_t)get(r, 1);

	return (low & PROT_RWX) | (low & MORE ? get(r, 4) & ~(uint64_t)PROT_RWX : 0);
}

static uint64_t get_choice(struct reader *r, const struct vm_arg_desc *desc, uint8_t nwords)
{
	uint8_t word = (uint8_t)get(r, 1);

	return word & NUMBER ? get(r, 4) : desc->words[word % nwords].bits;
}

static void get_arg(struct reader *r, const struct vm_arg_desc *desc, unsigned int version,
		    uint8_t nchoices, union vm_arg *arg)
{
	switch (desc->kind) {
	case VM_ARG_ADDR:
		arg->addr = get_addr(r);
		break;
	case VM_ARG_LEN:
	case VM_ARG_OFFSET:
		arg->len = get_quantity(r);
		break;
	case VM_ARG_PROT:
		arg->bits = get_prot(r);
		break;
	case VM_ARG_FLAGS:
		arg->bits = get_flags(r, desc);
		break;
	case VM_ARG_OBJECT:
		arg->bits = get(r, 1) % versions[version].nobjects;
		break;
	case VM_ARG_CHOICE:
		arg->bits = get_choice(r, desc, nchoices);
		break;
	case VM_ARG_NONE:
		break;
	}
}

static void get_call(struct reader *r, unsigned int version, struct vm_call *call)
{
	const struct vm_call_desc *desc;
	uint8_t control, nchoices;

	call->op = (uint8_t)get(r, 1) % versions[version].nops;
	desc = vm_call_desc(call->op);
	control = (uint8_t)get(r, 1);
	if (desc->returns_addr)
		call->let = control & CONTROL_LET;
	if (control & CONTROL_FAIL_NTH)
		call->fail_nth = (uint16_t)get(r, 2);
	if (control & CONTROL_EXTENDED) {
		size_t skip = get(r, 1), left = (size_t)(r->end - r->at);

		r->at += skip < left ? skip : left;
	}
	nchoices = call->op == VM_OP_MBIND ? versions[version].nmodes : versions[version].nadvice;
	for (unsigned int i = 0; i < desc->nargs; i++)
		if (desc->arg[i].since <= version)
			get_arg(r, &desc->arg[i], version, nchoices, &call->arg[i]);
}

/* Header byte 2 says how many words there are, if that many can be; anything else says none. */
static void get_preamble(struct reader *r, uint8_t n, struct vm_preamble *p)
{
	uint8_t nwords = versions[r->version].nwords;

	if (n > nwords)
		return;
	while (n-- && r->at < r->end) {
		uint8_t word = (uint8_t)get(r, 1) % nwords;
		struct vm_quantity value = get_quantity(r);

		vm_preamble_set(p, word, &value);
	}
}

void vm_program_decode(const uint8_t *bytes, size_t len, struct vm_program *prog)
{
	struct reader r = { .version = 0 };
	unsigned int version;
	uint8_t nwords;

	memset(prog, 0, sizeof(*prog));
	if (!len)
		return;
	r.at = bytes;
	r.end = bytes + len;
	version = (unsigned int)get(&r, 1);
	if (!version || version > VM_BYTES_VERSION)
		version = VM_BYTES_VERSION;
	r.version = version;
	prog->observe = (get(&r, 1) & 3) % VM_OBSERVE_COUNT;
	nwords = (uint8_t)get(&r, 2);
	get_preamble(&r, nwords, &prog->preamble);
	while (r.at < r.end && prog->ncalls < VM_PROGRAM_MAX_CALLS)
		get_call(&r, version, &prog->call[prog->ncalls++]);
}

struct writer {
	uint8_t *buf;
	size_t cap, len; /* len > cap: no room */
};

static void put(struct writer *w, uint64_t value, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++, value >>= 8, w->len++)
		if (w->len < w->cap)
			w->buf[w->len] = (uint8_t)value;
}

static void put_quantity(struct writer *w, const struct vm_quantity *q)
{
	bool only_pages = !q->bytes && !q->pmd && !q->pud && !q->task;
	bool wide = q->pages != (int16_t)q->pages || q->bytes != (int16_t)q->bytes ||
		    q->pmd != (int8_t)q->pmd || q->pud != (int8_t)q->pud;

	if (only_pages && q->pages >= -QTY_SHORT && q->pages < QTY_SHORT) {
		put(w, (uint64_t)q->pages & 0x7f, 1);
		return;
	}
	put(w,
	    QTY_PARTS | (q->pages ? QTY_PAGES : 0) | (q->bytes ? QTY_BYTES : 0) |
		    (q->pmd ? QTY_PMD : 0) | (q->pud ? QTY_PUD : 0) | (q->task ? QTY_TASK : 0) |
		    (wide ? QTY_WIDE : 0),
	    1);
	if (q->pages)
		put(w, (uint64_t)q->pages, wide ? 4 : 2);
	if (q->bytes)
		put(w, (uint64_t)q->bytes, wide ? 8 : 2);
	if (q->pmd)
		put(w, (uint64_t)q->pmd, wide ? 2 : 1);
	if (q->pud)
		put(w, (uint64_t)q->pud, wide ? 2 : 1);
	if (q->task)
		put(w, (uint64_t)q->task, 1);
}

static void put_addr(struct writer *w, const struct vm_addr *addr)
{
	switch (addr->base) {
	case VM_BASE_ARENA:
		put(w, addr->index, 1);
		break;
	case VM_BASE_NAME:
		put(w, BASE_NAME + addr->index, 1);
		break;
	case VM_BASE_TASK:
		put(w, BASE_TASK, 1);
		break;
	case VM_BASE_BRK:
		put(w, BASE_BRK, 1);
		break;
	case VM_BASE_VDSO:
		put(w, BASE_VDSO, 1);
		break;
	case VM_BASE_VVAR:
		put(w, BASE_VVAR, 1);
		break;
	default:
		put(w, BASE_NULL, 1);
		break;
	}
	put_quantity(w, &addr->off);
}

static void put_flags(struct writer *w, const struct vm_arg_desc *desc, uint64_t bits)
{
	uint64_t mask = 0, rest = bits;

	for (unsigned int i = 0; i < WORDS && desc->words[i].name; i++) {
		if ((bits & desc->words[i].bits) != desc->words[i].bits)
			continue;
		mask |= 1u << i;
		rest &= ~(uint64_t)desc->words[i].bits;
	}
	put(w, mask | (rest ? MORE : 0), 1);
	if (rest)
		put(w, rest, 4);
}

static void put_choice(struct writer *w, const struct vm_arg_desc *desc, uint64_t value)
{
	for (unsigned int i = 0; desc->words[i].name; i++) {
		if (desc->words[i].bits == value) {
			put(w, i, 1);
			return;
		}
	}
	put(w, NUMBER, 1);
	put(w, value, 4);
}

static void put_arg(struct writer *w, const struct vm_arg_desc *desc, const union vm_arg *arg)
{
	switch (desc->kind) {
	case VM_ARG_ADDR:
		put_addr(w, &arg->addr);
		break;
	case VM_ARG_LEN:
	case VM_ARG_OFFSET:
		put_quantity(w, &arg->len);
		break;
	case VM_ARG_PROT:
		put(w, (arg->bits & PROT_RWX) | (arg->bits & ~(uint64_t)PROT_RWX ? MORE : 0), 1);
		if (arg->bits & ~(uint64_t)PROT_RWX)
			put(w, arg->bits & ~(uint64_t)PROT_RWX, 4);
		break;
	case VM_ARG_FLAGS:
		put_flags(w, desc, arg->bits);
		break;
	case VM_ARG_OBJECT:
		put(w, arg->bits, 1);
		break;
	case VM_ARG_CHOICE:
		put_choice(w, desc, arg->bits);
		break;
	case VM_ARG_NONE:
		break;
	}
}

static void put_preamble(struct writer *w, const struct vm_preamble *p)
{
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		if (!vm_preamble_has(p, word))
			continue;
		put(w, word, 1);
		put_quantity(w, &p->value[word]);
	}
}

size_t vm_program_encode(const struct vm_program *prog, uint8_t *bytes, size_t cap)
{
	struct writer w = { bytes, cap, 0 };

	put(&w, VM_BYTES_VERSION, 1);
	put(&w, prog->observe, 1);
	put(&w, (uint64_t)__builtin_popcount(prog->preamble.words), 2);
	put_preamble(&w, &prog->preamble);
	for (unsigned int i = 0; i < prog->ncalls; i++) {
		const struct vm_call *call = &prog->call[i];
		const struct vm_call_desc *desc = vm_call_desc(call->op);

		put(&w, call->op, 1);
		put(&w, call->let | (call->fail_nth ? CONTROL_FAIL_NTH : 0), 1);
		if (call->fail_nth)
			put(&w, call->fail_nth, 2);
		for (unsigned int j = 0; j < desc->nargs; j++)
			put_arg(&w, &desc->arg[j], &call->arg[j]);
	}
	return w.len <= cap ? w.len : 0;
}
