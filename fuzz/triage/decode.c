/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "fuzz/triage/code_line.h"
#include "fuzz/triage/decode.h"

#define BEFORE	  48 /* bytes shown in front of the pc where only vmlinux has them */
#define BEHIND	  24
#define SAME_NAME 16
#define INSN_MAX  16

struct work {
	const struct vm_report *r;
	struct vm_vmlinux *v;
	struct vm_decoded *d;
	struct vm_code code;
	csh cs;
	cs_insn *insn;
	uint64_t base; /* the address of code.byte[0] */
	uint8_t linked[sizeof(((struct vm_code *)0)->byte)];
	size_t nlinked;
};

/* One instruction at byte `at`; its length, or 0. */
static size_t step(struct work *w, const uint8_t *bytes, size_t len, size_t at, uint64_t base)
{
	const uint8_t *p = bytes + at;
	size_t left = len - at;
	uint64_t address = base + at;

	return at < len && cs_disasm_iter(w->cs, &p, &left, &address, w->insn) ? w->insn->size : 0;
}

/* Does decoding from `at` come by the pc? */
static bool reaches_pc(struct work *w, size_t at)
{
	while (at < w->code.pc) {
		size_t n = step(w, w->code.byte, w->code.len, at, w->base);

		if (!n)
			return false;
		at += n;
	}
	return at == w->code.pc;
}

/*
 * Where the first whole instruction begins. Code of x86 can only be read forward: from the
 * function's beginning if vmlinux has it, else from the first byte that leads to the pc.
 */
static size_t first_whole(struct work *w)
{
	const struct vm_function *f = &w->d->function;
	uint8_t bytes[4096];
	size_t at = 0, len;

	if (w->d->linked && f->begin >= w->base)
		return (size_t)(f->begin - w->base) <= w->code.pc ? f->begin - w->base : 0;
	if (w->d->linked && w->base - f->begin < sizeof(bytes)) {
		len = vm_vmlinux_bytes(w->v, f->begin, bytes, sizeof(bytes));
		while (f->begin + at < w->base) {
			size_t n = step(w, bytes, len, at, f->begin);

			if (!n)
				break;
			at += n;
		}
		if (f->begin + at >= w->base && reaches_pc(w, f->begin + at - w->base))
			return f->begin + at - w->base;
		at = 0;
	}
	/* What lies before the function that the log names is of another. */
	if (w->r->pc.symbol[0] && w->r->pc.offset < w->code.pc)
		at = w->code.pc - w->r->pc.offset;
	for (; at < w->code.pc; at++) {
		if (reaches_pc(w, at))
			return at;
	}
	return w->code.pc;
}

static void add(struct work *w, size_t at, size_t n)
{
	struct vm_instruction *i = &w->d->insn[w->d->n++];

	memset(i, 0, sizeof(*i));
	i->address = w->base + at;
	i->len = (uint8_t)n;
	memcpy(i->bytes, w->code.byte + at, n);
	i->at_pc = at == w->code.pc;
	i->patched = at + n <= w->nlinked && memcmp(w->linked + at, i->bytes, n) != 0;
	snprintf(i->text, sizeof(i->text), "%s%s%s", w->insn->mnemonic, *w->insn->op_str ? " " : "",
		 w->insn->op_str);
}

static void disassemble(struct work *w)
{
	size_t at = first_whole(w);

	while (w->d->n < VM_DECODED_MAX) {
		size_t n = step(w, w->code.byte, w->code.len, at, w->base);

		if (w->d->linked && w->base + at >= w->d->function.begin + w->d->function.size)
			break;
		if (!n || n > sizeof(w->d->insn[0].bytes))
			break;
		add(w, at, n);
		at += n;
	}
}

static unsigned int same_bytes(struct work *w, uint64_t base)
{
	uint8_t bytes[sizeof(w->code.byte)];
	size_t n = vm_vmlinux_bytes(w->v, base, bytes, w->code.len);
	unsigned int same = 0;

	for (size_t i = 0; i < n; i++)
		same += bytes[i] == w->code.byte[i];
	return same;
}

/* Of functions with the same name, the one whose bytes are most like those that were printed. */
static bool find_by_name(struct work *w)
{
	struct vm_function f[SAME_NAME];
	unsigned int n = vm_vmlinux_find(w->v, &w->r->pc, f, SAME_NAME), best = 0, most = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int same = same_bytes(w, f[i].begin + w->r->pc.offset - w->code.pc);

		if (same > most) {
			most = same;
			best = i;
		}
	}
	if (!n)
		return false;
	w->d->function = f[best];
	w->d->pc = f[best].begin + w->r->pc.offset;
	return true;
}

static bool find_pc(struct work *w, uint64_t kaslr)
{
	struct vm_decoded *d = w->d;

	if (vm_vmlinux_is_arm64(w->v) != w->r->arm64) {
		snprintf(d->note, sizeof(d->note), "vmlinux is for another machine than the log");
		return false;
	}
	if (w->r->pc.module[0]) {
		snprintf(d->note, sizeof(d->note), "in module %s, which vmlinux does not have",
			 w->r->pc.module);
		return false;
	}
	if (w->r->pc.symbol[0] && find_by_name(w))
		return true;
	d->pc = w->r->pc_address - kaslr;
	if (w->r->pc_address && vm_vmlinux_at(w->v, d->pc, &d->function))
		return true;
	snprintf(d->note, sizeof(d->note), "vmlinux has no such place: it is of another build");
	return false;
}

/* With no `Code:` line: the bytes that vmlinux has around the pc. */
static void bytes_from_vmlinux(struct work *w)
{
	uint64_t before = w->d->pc - w->d->function.begin;

	if (before > BEFORE)
		before = BEFORE;
	w->code.pc = before;
	w->code.len = vm_vmlinux_bytes(w->v, w->d->pc - before, w->code.byte, before + BEHIND);
}

/* Bytes that differ in a few places were patched at run time; in most, it is another kernel. */
static void compare(struct work *w)
{
	w->nlinked = vm_vmlinux_bytes(w->v, w->base, w->linked, w->code.len);
	if (w->nlinked == w->code.len && 2 * same_bytes(w, w->base) >= w->code.len)
		return;
	w->nlinked = 0;
	w->d->linked = false;
	snprintf(w->d->note, sizeof(w->d->note),
		 "the bytes at this place of vmlinux are others: it is of another build");
}

static bool open_capstone(struct work *w)
{
	bool arm = w->r->arm64;

	if (cs_open(arm ? CS_ARCH_ARM64 : CS_ARCH_X86, arm ? CS_MODE_ARM : CS_MODE_64, &w->cs)) {
		snprintf(w->d->note, sizeof(w->d->note), "Capstone cannot decode %s",
			 arm ? "arm64" : "x86-64");
		return false;
	}
	w->insn = cs_malloc(w->cs);
	return w->insn != NULL;
}

bool vm_decode(const struct vm_report *r, struct vm_vmlinux *v, uint64_t kaslr,
	       struct vm_decoded *d)
{
	struct work w = { .r = r, .v = v, .d = d };
	bool printed;

	memset(d, 0, sizeof(*d));
	printed = vm_code_parse(r->code, &w.code);
	if (v && (r->pc.symbol[0] || r->pc_address))
		d->linked = find_pc(&w, kaslr);
	if (!printed && d->linked)
		bytes_from_vmlinux(&w);
	if (!w.code.len) {
		if (!d->note[0])
			snprintf(d->note, sizeof(d->note), "the log has no code for it");
		return false;
	}
	w.base = (d->linked ? d->pc : 0) - w.code.pc;
	if (d->linked)
		compare(&w);
	if (!d->linked)
		w.base = 0 - (uint64_t)w.code.pc;
	if (!open_capstone(&w))
		return false;
	disassemble(&w);
	cs_free(w.insn, 1);
	cs_close(&w.cs);
	if (d->linked)
		vm_vmlinux_source(v, d->pc, d->source, sizeof(d->source));
	return d->n > 0;
}

bool vm_decode_frame(struct vm_vmlinux *v, const struct vm_place *frame, char *buf, size_t len)
{
	struct vm_function f;

	*buf = '\0';
	if (frame->module[0] || !frame->offset || vm_vmlinux_find(v, frame, &f, 1) != 1)
		return false;
	return vm_vmlinux_source(v, f.begin + frame->offset - 1, buf, len);
}
