/* SPDX-License-Identifier: MIT */
/* Reading one line of .vma text: words, numbers, quantities, addresses, errors. */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/program/text_parser.h"

#define FOUND_MAX 24 /* characters of the offending word that a message shows */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t vm_scan_word(const struct vm_parser *p)
{
	size_t len = 0;

	while (p->at + len < p->end && is_word_char(p->at[len]))
		len++;
	return len;
}

static void set_error(struct vm_parser *p, const char *where)
{
	p->err->line = p->line;
	p->err->column = (unsigned int)(where - p->start) + 1;
}

bool vm_scan_fail(struct vm_parser *p, const char *where, const char *fmt, ...)
{
	va_list ap;

	set_error(p, where);
	va_start(ap, fmt);
	vsnprintf(p->err->message, sizeof(p->err->message), fmt, ap);
	va_end(ap);
	return false;
}

bool vm_scan_expected(struct vm_parser *p, const char *where, const char *what)
{
	char found[FOUND_MAX + 1];
	size_t len = 0;

	while (where < p->end && (*where == ' ' || *where == '\t'))
		where++;
	if (where == p->end)
		return vm_scan_fail(p, where, "expected %s, found the end of the line", what);
	/* One word, or one character of any other kind. */
	do {
		char c = where[len];

		found[len++] = c > ' ' && c <= '~' ? c : '?';
	} while (len < FOUND_MAX && where + len < p->end && is_word_char(where[len - 1]) &&
		 is_word_char(where[len]));
	found[len] = '\0';
	return vm_scan_fail(p, where, "expected %s, found '%s'", what, found);
}

void vm_scan_blanks(struct vm_parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
		p->at++;
}

bool vm_scan_at_end(struct vm_parser *p)
{
	vm_scan_blanks(p);
	return p->at == p->end;
}

bool vm_scan_accept(struct vm_parser *p, const char *what)
{
	size_t len = strlen(what);
	const char *at = p->at;

	while (at < p->end && (*at == ' ' || *at == '\t'))
		at++;
	if ((size_t)(p->end - at) < len || memcmp(at, what, len) != 0)
		return false;
	if (is_word_char(what[len - 1]) && at + len < p->end && is_word_char(at[len]))
		return false;
	p->at = at + len;
	return true;
}

static int digit_of(char c, unsigned int base)
{
	int digit = -1;

	if (c >= '0' && c <= '9')
		digit = c - '0';
	else if (c >= 'a' && c <= 'f')
		digit = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		digit = c - 'A' + 10;
	return digit < (int)base ? digit : -1;
}

/* The digits [at, end) of a number; false if there are none or it does not fit. */
static bool digits_value(const char *at, const char *end, unsigned int base, uint64_t *value)
{
	*value = 0;
	if (at == end)
		return false;
	for (; at < end; at++)
		if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit_of(*at, base), value))
			return false;
	return true;
}

/*
 * Step over the digits at the cursor, and give their value. In hex a `b` at the end is the unit,
 * when `units` may follow: 0x10b is 16 bytes.
 */
static bool scan_digits(struct vm_parser *p, const char *what, bool units, uint64_t *value)
{
	const char *first = p->at, *last;
	unsigned int base = 10;

	if (p->end - first >= 2 && first[0] == '0' && first[1] == 'x') {
		base = 16;
		first += 2;
	}
	last = first;
	while (last < p->end && digit_of(*last, base) >= 0)
		last++;
	if (units && base == 16 && last > first && last[-1] == 'b')
		last--;
	if (first == last)
		return vm_scan_expected(p, base == 16 ? first : p->at,
					base == 16 ? "hex digits" : what);
	if (!digits_value(first, last, base, value))
		return vm_scan_fail(p, p->at, "expected %s, found a number above 64 bits", what);
	p->at = last;
	return true;
}

bool vm_scan_number(struct vm_parser *p, const char *what, uint64_t max, uint64_t *value)
{
	const char *where;

	vm_scan_blanks(p);
	where = p->at;
	if (!scan_digits(p, what, false, value))
		return false;
	if (vm_scan_word(p))
		return vm_scan_expected(p, where, what);
	if (*value > max)
		return vm_scan_fail(p, where, "expected %s, found %llu", what,
				    (unsigned long long)*value);
	return true;
}

static const struct unit {
	const char *name;
	int64_t min, max;
} units[] = {
	{ "", INT32_MIN, INT32_MAX },	 { "b", INT64_MIN, INT64_MAX },
	{ "pmd", INT16_MIN, INT16_MAX }, { "pud", INT16_MIN, INT16_MAX },
	{ "task", INT8_MIN, INT8_MAX },
};
#define NUNITS (sizeof(units) / sizeof(units[0]))

/* Signed sums of the parts, by unit. */
struct parts {
	int64_t sum[NUNITS];
};

/* One term: a number and its unit. */
static bool scan_term(struct vm_parser *p, const char *what, bool negative, struct parts *parts)
{
	const char *where = p->at;
	uint64_t size = 0;
	size_t len, u = 0;
	__int128 sum;

	if (!scan_digits(p, what, true, &size))
		return false;
	len = vm_scan_word(p);
	while (u < NUNITS && (strlen(units[u].name) != len || memcmp(units[u].name, p->at, len)))
		u++;
	if (u == NUNITS)
		return vm_scan_expected(p, p->at, "b, pmd, pud, task or nothing after the number");
	p->at += len;
	sum = parts->sum[u] + (negative ? -(__int128)size : (__int128)size);
	if (sum < units[u].min || sum > units[u].max)
		return vm_scan_fail(p, where, "expected %lld..%lld %s, found a number out of range",
				    (long long)units[u].min, (long long)units[u].max,
				    len ? units[u].name : "pages");
	parts->sum[u] = (int64_t)sum;
	return true;
}

bool vm_scan_quantity(struct vm_parser *p, const char *what, struct vm_quantity *q)
{
	struct parts parts = { { 0 } };
	bool negative = p->at < p->end && *p->at == '-';

	p->at += negative;
	if (!scan_term(p, what, negative, &parts))
		return false;
	while (p->at < p->end && (*p->at == '+' || *p->at == '-')) {
		negative = *p->at == '-';
		if (negative && p->at + 1 < p->end && p->at[1] == '>')
			break; /* the arrow of mremap */
		p->at++;
		if (!scan_term(p, negative ? "a number after '-'" : "a number after '+'", negative,
			       &parts))
			return false;
	}
	memset(q, 0, sizeof(*q));
	q->pages = (int32_t)parts.sum[0];
	q->bytes = parts.sum[1];
	q->pmd = (int16_t)parts.sum[2];
	q->pud = (int16_t)parts.sum[3];
	q->task = (int8_t)parts.sum[4];
	return true;
}

/* p0..p127. False without an error if the word is not of this form. */
static bool is_arena_page(const char *word, size_t len, uint64_t *page)
{
	if (len < 2 || word[0] != 'p')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isdigit((unsigned char)word[i]))
			return false;
	if (!digits_value(word + 1, word + len, 10, page))
		*page = UINT64_MAX;
	return true;
}

static bool scan_base(struct vm_parser *p, struct vm_addr *addr)
{
	size_t len = vm_scan_word(p);
	uint64_t page;

	if (is_arena_page(p->at, len, &page)) {
		if (page >= VM_ARENA_PAGES)
			return vm_scan_expected(p, p->at, "an arena page p0..p127");
		addr->base = VM_BASE_ARENA;
		addr->index = (uint8_t)page;
	} else if (vm_scan_accept(p, "null")) {
		addr->base = VM_BASE_NULL;
		return true;
	} else if (vm_scan_accept(p, "task")) {
		addr->base = VM_BASE_TASK;
		return true;
	} else if (vm_scan_accept(p, "brk")) {
		addr->base = VM_BASE_BRK;
		return true;
	} else if (vm_scan_accept(p, "vdso")) {
		addr->base = VM_BASE_VDSO;
		return true;
	} else if (vm_scan_accept(p, "vvar")) {
		addr->base = VM_BASE_VVAR;
		return true;
	} else {
		addr->base = VM_BASE_NAME;
		addr->index = vm_names_find(p, p->at, len);
		if (!addr->index)
			return vm_scan_expected(p, p->at,
						"an address (p0..p127, null, task, brk, vdso, "
						"vvar or a name that an earlier let gives)");
	}
	p->at += len;
	return true;
}

bool vm_scan_addr(struct vm_parser *p, struct vm_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	vm_scan_blanks(p);
	if (!scan_base(p, addr))
		return false;
	if (p->at == p->end || *p->at != '[')
		return true;
	p->at++;
	if (!vm_scan_quantity(p, "an offset after '['", &addr->off))
		return false;
	if (p->at == p->end || *p->at != ']')
		return vm_scan_expected(p, p->at, "']' after the offset");
	p->at++;
	return true;
}

bool vm_scan_range(struct vm_parser *p, struct vm_addr *addr, struct vm_quantity *len)
{
	if (!vm_scan_addr(p, addr))
		return false;
	if (p->at < p->end && *p->at == '+') {
		p->at++;
		return vm_scan_quantity(p, "a length after '+'", len);
	}
	memset(len, 0, sizeof(*len));
	len->pages = 1;
	return true;
}

bool vm_scan_prot_word(const char *word, size_t len, uint64_t *prot)
{
	static const char letters[] = "rwx";
	size_t i = 0;

	*prot = 0;
	if (len == 4 && !memcmp(word, "none", 4))
		return true;
	for (unsigned int bit = 0; bit < 3; bit++) {
		if (i < len && word[i] == letters[bit]) {
			*prot |= 1u << bit;
			i++;
		}
	}
	return len && i == len;
}
