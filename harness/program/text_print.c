/* SPDX-License-Identifier: MIT */
/* Programs and calls as canonical text, driven by the rows' syntax. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/program/text.h"

/* Byte counts from here on are easier to read in hex. */
#define HEX_FROM 4096u

/* Text that grows as snprintf's does; a blank that is owed comes before the next piece, if any. */
struct out {
	char *buf;
	size_t cap, len;
	bool blank;
};

/* What is printed: a call of a program, or run-time values (layout may be NULL). */
struct subject {
	const struct vm_call_desc *desc;
	const struct vm_call *call;
	const struct vm_syscall *sc;
	const struct vm_layout *layout;
	unsigned int used; /* arguments printed so far, as bits */
};

static void __attribute__((format(printf, 2, 3))) add(struct out *o, const char *fmt, ...)
{
	size_t room;
	va_list ap;
	int n;

	if (o->blank) {
		o->blank = false;
		add(o, " ");
	}
	room = o->len < o->cap ? o->cap - o->len : 0;
	va_start(ap, fmt);
	n = vsnprintf(room ? o->buf + o->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		o->len += (size_t)n;
}

/* One part of a sum; *first says whether it is the first, and is cleared. */
static void add_part(struct out *o, int64_t value, const char *unit, bool *first)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	if (!value)
		return;
	if (value < 0)
		add(o, "-");
	else if (!*first)
		add(o, "+");
	if (*unit == 'b' && size >= HEX_FROM)
		add(o, "0x%" PRIx64 "%s", size, unit);
	else
		add(o, "%" PRIu64 "%s", size, unit);
	*first = false;
}

static void add_quantity(struct out *o, const struct vm_quantity *q)
{
	bool first = true;

	add_part(o, q->task, "task", &first);
	add_part(o, q->pud, "pud", &first);
	add_part(o, q->pmd, "pmd", &first);
	add_part(o, q->pages, "", &first);
	add_part(o, q->bytes, "b", &first);
	if (first)
		add(o, "0");
}

bool vm_quantity_is_zero(const struct vm_quantity *q)
{
	return !q->bytes && !q->pages && !q->pmd && !q->pud && !q->task;
}

static bool only_pages(const struct vm_quantity *q)
{
	return !q->bytes && !q->pmd && !q->pud && !q->task;
}

static void add_addr(struct out *o, const struct vm_addr *addr)
{
	switch (addr->base) {
	case VM_BASE_ARENA:
		add(o, "p%u", addr->index);
		break;
	case VM_BASE_NAME:
		add(o, "%c", VM_FIRST_NAME + addr->index - 1);
		break;
	case VM_BASE_TASK:
		add(o, "task");
		break;
	case VM_BASE_BRK:
		add(o, "brk");
		break;
	case VM_BASE_VDSO:
		add(o, "vdso");
		break;
	case VM_BASE_VVAR:
		add(o, "vvar");
		break;
	default:
		add(o, "null");
		break;
	}
	if (only_pages(&addr->off) && !addr->off.pages)
		return;
	add(o, "[");
	add_quantity(o, &addr->off);
	add(o, "]");
}

/* A run-time address in the heap, if it lies there. */
static bool add_raw_heap(struct out *o, uint64_t addr, const struct vm_layout *layout)
{
	uint64_t off = layout ? addr - layout->brk_base : 0;

	if (!layout || !layout->brk_base || addr < layout->brk_base || off >= layout->pud_size)
		return false;
	add(o, "brk");
	if (off && off % layout->page_size)
		add(o, "[%" PRIu64 "+%" PRIu64 "b]", off / layout->page_size,
		    off % layout->page_size);
	else if (off)
		add(o, "[%" PRIu64 "]", off / layout->page_size);
	return true;
}

/* A run-time address: by its page where it lies in the arena or in the heap. */
static void add_raw_addr(struct out *o, uint64_t addr, const struct vm_layout *layout)
{
	uint64_t page, rest;

	if (!addr) {
		add(o, "null");
		return;
	}
	if (add_raw_heap(o, addr, layout))
		return;
	if (!layout || addr < layout->arena_base ||
	    addr - layout->arena_base >= layout->arena_size) {
		add(o, "0x%" PRIx64, addr);
		return;
	}
	page = (addr - layout->arena_base) / layout->page_size;
	rest = (addr - layout->arena_base) % layout->page_size;
	if (page < VM_ARENA_PAGES && !rest)
		add(o, "p%" PRIu64, page);
	else if (page < VM_ARENA_PAGES)
		add(o, "p%" PRIu64 "[%" PRIu64 "b]", page, rest);
	else if (!rest)
		add(o, "p0[%" PRIu64 "]", page);
	else
		add(o, "p0[%" PRIu64 "+%" PRIu64 "b]", page, rest);
}

/* A run-time length: in pages if it is whole pages and not absurd. Returns how many, or -1. */
static int64_t add_raw_len(struct out *o, uint64_t len, const struct vm_layout *layout)
{
	if (!len) {
		add(o, "0");
		return 0;
	}
	if (!layout || len % layout->page_size || len / layout->page_size > INT32_MAX) {
		add(o, "0x%" PRIx64 "b", len);
		return -1;
	}
	add(o, "%" PRIu64, len / layout->page_size);
	return (int64_t)(len / layout->page_size);
}

static void add_addr_arg(struct out *o, const struct subject *s, unsigned int i)
{
	if (s->call)
		add_addr(o, &s->call->arg[i].addr);
	else
		add_raw_addr(o, s->sc->arg[i], s->layout);
}

/* Returns the unit that may be named after it: "pages", "page", or NULL if it is not in pages. */
static const char *add_len_arg(struct out *o, const struct subject *s, unsigned int i)
{
	const struct vm_quantity *q;
	int64_t pages;

	if (!s->call) {
		pages = add_raw_len(o, s->sc->arg[i], s->layout);
		return pages < 0 ? NULL : pages == 1 ? "page" : "pages";
	}
	q = &s->call->arg[i].len;
	add_quantity(o, q);
	if (!only_pages(q))
		return NULL;
	return q->pages == 1 ? "page" : "pages";
}

static uint64_t bits_of(const struct subject *s, unsigned int i)
{
	return s->call ? s->call->arg[i].bits : s->sc->arg[i];
}

/* Is this address argument just `null`? */
static bool is_null(const struct subject *s, unsigned int i)
{
	const struct vm_addr *addr;

	if (!s->call)
		return !s->sc->arg[i];
	addr = &s->call->arg[i].addr;
	return addr->base == VM_BASE_NULL && only_pages(&addr->off) && !addr->off.pages;
}

/* Does the kernel choose the address (`any`): null, and no placement bit? */
static bool is_any(const struct subject *s)
{
	uint32_t place = vm_row_placement(s->desc);
	unsigned int addr_used = 0, flags;

	return place && vm_row_flags(s->desc, &flags) && !(bits_of(s, flags) & place) &&
	       is_null(s, vm_row_take(s->desc, VM_ARG_ADDR, &addr_used));
}

static void add_prot(struct out *o, uint64_t prot)
{
	uint64_t rest = prot & ~(uint64_t)7;

	if (prot & 7)
		add(o, "%s%s%s", prot & 1 ? "r" : "", prot & 2 ? "w" : "", prot & 4 ? "x" : "");
	else if (!rest)
		add(o, "none");
	if (rest)
		add(o, "%s0x%" PRIx64, prot & 7 ? "|" : "", rest);
}

/* %f and %w: the words of the bits, then other bits in hex; `none` if that is nothing. */
static void add_flags(struct out *o, const struct subject *s, unsigned int i, const char *separator,
		      const char *none)
{
	uint64_t bits = bits_of(s, i), place = vm_row_placement(s->desc);
	bool hint = place && !(bits & place) && !is_any(s);
	const char *before = "";

	if (place && (bits & place) == vm_word_bits(&s->desc->arg[i], "fixed"))
		bits &= ~place; /* what a range means without a word */
	for (const struct vm_word *w = s->desc->arg[i].words; w->name; w++) {
		if ((bits & w->bits) != w->bits)
			continue;
		add(o, "%s%s", before, w->name);
		bits &= ~(uint64_t)w->bits;
		before = separator;
	}
	if (bits) {
		add(o, "%s0x%" PRIx64, before, bits);
		before = separator;
	}
	if (hint)
		add(o, "%shint", before);
	else if (!*before && *none)
		add(o, "%s", none);
}

/* %r and %g. */
static void add_range(struct out *o, struct subject *s)
{
	unsigned int addr = vm_row_take(s->desc, VM_ARG_ADDR, &s->used);
	unsigned int len = vm_row_take(s->desc, VM_ARG_LEN, &s->used);

	if (is_any(s))
		add(o, "any");
	else
		add_addr_arg(o, s, addr);
	add(o, "+");
	add_len_arg(o, s, len);
}

/* %m: `SOURCE+OLD -> DEST+NEW`, or `SOURCE+OLD to NEW pages` if the destination is null. */
static void add_move(struct out *o, struct subject *s)
{
	unsigned int from = vm_row_take(s->desc, VM_ARG_ADDR, &s->used);
	unsigned int old_len = vm_row_take(s->desc, VM_ARG_LEN, &s->used);
	unsigned int new_len = vm_row_take(s->desc, VM_ARG_LEN, &s->used);
	unsigned int to = vm_row_take(s->desc, VM_ARG_ADDR, &s->used);
	const char *unit;

	add_addr_arg(o, s, from);
	add(o, "+");
	add_len_arg(o, s, old_len);
	if (is_null(s, to)) {
		add(o, " to ");
		unit = add_len_arg(o, s, new_len);
		if (unit)
			add(o, " %s", unit);
		return;
	}
	add(o, " -> ");
	add_addr_arg(o, s, to);
	add(o, "+");
	add_len_arg(o, s, new_len);
}

/* %o: the object, and where in it if not at its start: `m0@2`. Nothing for no object. */
static void add_object(struct out *o, struct subject *s)
{
	unsigned int i = vm_row_take(s->desc, VM_ARG_OBJECT, &s->used);
	bool offset = i + 1 < s->desc->nargs && s->desc->arg[i + 1].kind == VM_ARG_OFFSET;
	const char *name = vm_object_name(bits_of(s, i));

	if (offset &&
	    (s->call ? !vm_quantity_is_zero(&s->call->arg[i + 1].len) : s->sc->arg[i + 1])) {
		add(o, "%s@", *name ? name : "none");
		add_len_arg(o, s, i + 1);
	} else if (*name || !offset) {
		add(o, "%s", *name ? name : "none");
	}
}

/* %c */
static void add_choice(struct out *o, struct subject *s)
{
	unsigned int i = vm_row_take(s->desc, VM_ARG_CHOICE, &s->used);
	uint64_t value = bits_of(s, i);
	const char *name = vm_choice_name(&s->desc->arg[i], value);

	if (name)
		add(o, "%s", name);
	else
		add(o, value < HEX_FROM ? "%" PRIu64 : "0x%" PRIx64, value);
}

/* The name and the arguments, as the row's syntax says. */
static void add_subject(struct out *o, struct subject *s)
{
	add(o, "%s", s->desc->name);
	o->blank = true;
	for (const char *c = s->desc->syntax; *c; c++) {
		if (*c == ' ') {
			o->blank = true;
			continue;
		}
		switch (*++c) {
		case 'r':
		case 'g':
			add_range(o, s);
			break;
		case 'm':
			add_move(o, s);
			break;
		case 'p':
			add_prot(o, bits_of(s, vm_row_take(s->desc, VM_ARG_PROT, &s->used)));
			break;
		case 'o':
			add_object(o, s);
			break;
		case 'a':
			add_addr_arg(o, s, vm_row_take(s->desc, VM_ARG_ADDR, &s->used));
			break;
		case 'c':
			add_choice(o, s);
			break;
		case 'l':
			add_len_arg(o, s, vm_row_take(s->desc, VM_ARG_LEN, &s->used));
			break;
		case 'f':
			add_flags(o, s, vm_row_take(s->desc, VM_ARG_FLAGS, &s->used), "|", "0");
			break;
		default: /* w */
			add_flags(o, s, vm_row_take(s->desc, VM_ARG_FLAGS, &s->used), " ", "");
			break;
		}
	}
	o->blank = false;
}

static void add_call(struct out *o, const struct vm_call *call)
{
	struct subject s = { .desc = vm_call_desc(call->op), .call = call };

	if (call->let)
		add(o, "let %c = ", VM_FIRST_NAME + call->let - 1);
	add_subject(o, &s);
	if (call->fail_nth)
		add(o, " fail-nth %u", call->fail_nth);
}

size_t vm_text_print_call(const struct vm_call *call, char *buf, size_t cap)
{
	struct out o = { .buf = buf, .cap = cap };

	if (cap)
		buf[0] = '\0';
	add_call(&o, call);
	return o.len;
}

size_t vm_text_print_syscall(const struct vm_syscall *sc, const struct vm_layout *layout, char *buf,
			     size_t cap)
{
	struct out o = { .buf = buf, .cap = cap };
	struct subject s = { .desc = vm_call_desc(sc->op), .sc = sc, .layout = layout };

	if (cap)
		buf[0] = '\0';
	add_subject(&o, &s);
	return o.len;
}

/* The value of a word of the preamble: `+4 pages`, `2pmd`, `keep`, `+3`, `1`. */
static void add_preamble_value(struct out *o, const struct vm_quantity *q, bool sum)
{
	bool minus = q->task	? q->task < 0
		     : q->pud	? q->pud < 0
		     : q->pmd	? q->pmd < 0
		     : q->pages ? q->pages < 0
				: q->bytes < 0;

	if (sum && !minus)
		add(o, "+");
	add_quantity(o, q);
	if (only_pages(q))
		add(o, q->pages == 1 || q->pages == -1 ? " page" : " pages");
}

static void add_preamble_line(struct out *o, const struct vm_preamble *p, unsigned int word)
{
	const struct vm_preamble_desc *desc = vm_preamble_desc(word);
	const struct vm_quantity *q = &p->value[word];

	if (desc->kind == VM_PREAMBLE_CAP) {
		add(o, "%s %s %s", desc->group, q->pages ? "keep" : "drop", desc->name);
		return;
	}
	add(o, "%s %s ", desc->group, desc->name);
	if (desc->kind == VM_PREAMBLE_COUNTED)
		add(o, "%+d", q->pages);
	else if (desc->kind == VM_PREAMBLE_NUMBER)
		add(o, "%d", q->pages);
	else
		add_preamble_value(o, q, desc->kind == VM_PREAMBLE_MORE);
}

size_t vm_text_print_preamble(const struct vm_preamble *p, unsigned int word, char *buf, size_t cap)
{
	struct out o = { .buf = buf, .cap = cap };

	if (cap)
		buf[0] = '\0';
	add_preamble_line(&o, p, word);
	return o.len;
}

size_t vm_text_print(const struct vm_program *prog, char *buf, size_t cap)
{
	static const char *const observe[VM_OBSERVE_COUNT] = { "full", "maps", "end" };
	struct out o = { .buf = buf, .cap = cap };

	if (cap)
		buf[0] = '\0';
	if (prog->observe != VM_OBSERVE_FULL)
		add(&o, "observe %s\n", observe[prog->observe]);
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		if (!vm_preamble_has(&prog->preamble, word))
			continue;
		add_preamble_line(&o, &prog->preamble, word);
		add(&o, "\n");
	}
	for (unsigned int i = 0; i < prog->ncalls; i++) {
		add_call(&o, &prog->call[i]);
		add(&o, "\n");
	}
	return o.len;
}
