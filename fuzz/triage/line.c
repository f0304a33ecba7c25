/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/triage/line.h"

/* The length of `[   12.345678] ` at p, or 0. */
static size_t stamp_at(const char *p)
{
	const char *q = p;

	if (*q++ != '[')
		return 0;
	while (*q == ' ')
		q++;
	if (!isdigit((unsigned char)*q))
		return 0;
	while (isdigit((unsigned char)*q))
		q++;
	if (*q++ != '.' || strspn(q, "0123456789") != 6 || q[6] != ']')
		return 0;
	q += 7;
	return (size_t)(q + (*q == ' ') - p);
}

/* Take `[  T123] ` off. */
static const char *take_caller(const char *p, char caller[VM_CALLER_MAX])
{
	const char *q = p, *begin;
	size_t n;

	if (*q++ != '[')
		return p;
	while (*q == ' ')
		q++;
	begin = q;
	if (*q != 'T' && *q != 'C')
		return p;
	n = 1 + strspn(q + 1, "0123456789");
	q += n;
	if (n < 2 || n >= VM_CALLER_MAX || *q != ']')
		return p;
	memcpy(caller, begin, n);
	caller[n] = '\0';
	return q + 1 + (q[1] == ' ');
}

static const char *after_stamp(const char *line)
{
	for (const char *p = strchr(line, '['); p; p = strchr(p + 1, '[')) {
		size_t n = stamp_at(p);

		if (n)
			return p + n;
	}
	return line;
}

void vm_line_parse(char *line, struct vm_line *l)
{
	size_t len = strlen(line);
	const char *p;

	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
	l->caller[0] = '\0';
	p = line;
	if (p[0] == '<' && isdigit((unsigned char)p[1])) {
		size_t n = strspn(p + 1, "0123456789");

		if (p[1 + n] == '>')
			p += n + 2;
	}
	l->text = take_caller(after_stamp(p), l->caller);
}

static bool is_symbol(int c)
{
	return isalnum(c) || c == '_' || c == '.' || c == '$';
}

/* What a compiler adds to the name of a function that it made several of. */
static size_t base_length(const char *name, size_t len)
{
	static const char *const suffix[] = { ".isra.", ".constprop.", ".part.", ".cold",
					      ".llvm." };

	for (size_t i = 1; i < len; i++) {
		for (size_t j = 0; name[i] == '.' && j < sizeof(suffix) / sizeof(suffix[0]); j++) {
			size_t n = strlen(suffix[j]);

			if (len - i >= n && !strncmp(name + i, suffix[j], n))
				return i;
		}
	}
	return len;
}

static void copy_name(char to[VM_SYMBOL_MAX], const char *from, size_t len)
{
	if (len >= VM_SYMBOL_MAX)
		len = VM_SYMBOL_MAX - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* The length of `+0x12/0x340` at p, or 0. */
static size_t offset_at(const char *p, uint64_t *offset, uint64_t *size)
{
	char *end;

	if (strncmp(p, "+0x", 3) || !isxdigit((unsigned char)p[3]))
		return 0;
	*offset = strtoull(p + 1, &end, 16);
	if (strncmp(end, "/0x", 3) || !isxdigit((unsigned char)end[3]))
		return 0;
	*size = strtoull(end + 1, &end, 16);
	return (size_t)(end - p);
}

bool vm_place_parse(const char *text, struct vm_place *p)
{
	size_t len = 0, n;
	const char *q;

	while (is_symbol((unsigned char)text[len]))
		len++;
	if (!len || isdigit((unsigned char)text[0]))
		return false;
	n = offset_at(text + len, &p->offset, &p->size);
	if (!n)
		return false;
	copy_name(p->full, text, len);
	copy_name(p->symbol, text, base_length(text, len));
	p->module[0] = '\0';
	q = text + len + n;
	if (q[0] == ' ' && q[1] == '[' && is_symbol((unsigned char)q[2]))
		copy_name(p->module, q + 2, strcspn(q + 2, " ]"));
	return true;
}

/* The length of a number at p, which follows what is no name; 0 if there is none. */
static size_t number_at(const char *p, const char *end)
{
	size_t n = 0, digits;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		n = 2;
	while (p + n < end && isxdigit((unsigned char)p[n]))
		n++;
	if (n > 2 && p[1] == 'x')
		return n;
	digits = strspn(p, "0123456789");
	if (n >= 8 && (p + n == end || !is_symbol((unsigned char)p[n])))
		return n;
	return digits < (size_t)(end - p) ? digits : (size_t)(end - p);
}

void vm_line_strip(const char *text, size_t textlen, char *buf, size_t len)
{
	const char *p = text, *end = text + textlen;
	size_t at = 0;

	while (p < end && at + 1 < len) {
		bool in_name = p > text && is_symbol((unsigned char)p[-1]);
		uint64_t offset, size;
		size_t n = offset_at(p, &offset, &size);

		if (n) {
			p += n;
			if (end - p > 2 && p[0] == ' ' && p[1] == '[' &&
			    is_symbol((unsigned char)p[2]))
				p += strcspn(p, "]") + 1;
			if (p > end)
				p = end;
			continue;
		}
		n = in_name ? 0 : number_at(p, end);
		if (!n) {
			buf[at++] = *p++;
			continue;
		}
		p += n;
		if (!at || buf[at - 1] != '#')
			buf[at++] = '#';
	}
	while (at && strchr(" .:,;!", buf[at - 1]))
		at--;
	buf[at] = '\0';
}
