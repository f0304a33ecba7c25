/* SPDX-License-Identifier: MIT */
/* The text of /proc/self/maps. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/snapshot/procfs.h"

void vm_lines_start(struct vm_lines *l, int fd, char *buf, size_t cap)
{
	*l = (struct vm_lines){ .fd = fd, .buf = buf, .cap = cap };
	l->failed = lseek(fd, 0, SEEK_SET) != 0;
}

/* Read more text behind what is unread; false at the end, or on an error. */
static bool lines_fill(struct vm_lines *l)
{
	ssize_t got;

	if (l->failed || l->eof)
		return false;
	if (l->from) {
		memmove(l->buf, l->buf + l->from, l->len - l->from);
		l->len -= l->from;
		l->from = 0;
	}
	if (l->len == l->cap) {
		l->failed = true; /* a line longer than the buffer */
		return false;
	}
	do {
		got = read(l->fd, l->buf + l->len, l->cap - l->len);
	} while (got < 0 && errno == EINTR);
	if (got <= 0) {
		l->failed = got < 0;
		l->eof = true;
		return false;
	}
	l->len += (size_t)got;
	return true;
}

bool vm_lines_next(struct vm_lines *l, const char **line, const char **end)
{
	char *nl;

	for (;;) {
		nl = memchr(l->buf + l->from, '\n', l->len - l->from);
		if (nl)
			break;
		if (!lines_fill(l))
			return false;
	}
	*line = l->buf + l->from;
	*end = nl;
	l->from = (size_t)(nl + 1 - l->buf);
	return true;
}

static bool parse_hex(const char **p, const char *end, uint64_t *out)
{
	const char *from = *p, *s = from;
	uint64_t v = 0;

	for (; s < end; s++) {
		unsigned int c = (unsigned char)*s;

		if (c - '0' < 10)
			v = v << 4 | (c - '0');
		else if (c - 'a' < 6)
			v = v << 4 | (c - 'a' + 10);
		else
			break;
	}
	*p = s;
	*out = v;
	return s != from && s - from <= 16;
}

static bool parse_char(const char **p, const char *end, char c)
{
	if (*p >= end || **p != c)
		return false;
	++*p;
	return true;
}

static bool parse_mode(const char **p, const char *end, uint8_t *mode)
{
	static const char letter[] = "rwxs";
	const char *s = *p;

	if (end - s < 4)
		return false;
	*mode = 0;
	for (unsigned int i = 0; i < 4; i++) {
		if (s[i] == letter[i])
			*mode |= (uint8_t)(1u << i);
		else if (s[i] != (i == 3 ? 'p' : '-'))
			return false;
	}
	*p = s + 4;
	return true;
}

static uint8_t parse_kind(const char *p, const char *end)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} names[] = {
		{ "[heap]", VM_KIND_HEAP },	    { "[stack]", VM_KIND_STACK },
		{ "[vdso]", VM_KIND_VDSO },	    { "[vvar", VM_KIND_VVAR },
		{ "[vsyscall]", VM_KIND_VSYSCALL }, { "/sys/kernel/debug/kcov", VM_KIND_KCOV },
	};

	while (p < end && *p == ' ')
		p++;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].name);

		if ((size_t)(end - p) >= len && !memcmp(p, names[i].name, len))
			return names[i].kind;
	}
	return VM_KIND_PLAIN;
}

bool vm_procfs_decimal(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

bool vm_maps_parse(const char *line, const char *end, struct vm_vma *vma)
{
	const char *p = line;
	uint64_t major, minor;

	memset(vma, 0, sizeof(*vma));
	if (!parse_hex(&p, end, &vma->start) || !parse_char(&p, end, '-') ||
	    !parse_hex(&p, end, &vma->end) || !parse_char(&p, end, ' ') ||
	    !parse_mode(&p, end, &vma->mode) || !parse_char(&p, end, ' ') ||
	    !parse_hex(&p, end, &vma->offset) || !parse_char(&p, end, ' ') ||
	    !parse_hex(&p, end, &major) || !parse_char(&p, end, ':') ||
	    !parse_hex(&p, end, &minor) || !parse_char(&p, end, ' ') ||
	    !vm_procfs_decimal(&p, end, &vma->inode))
		return false;
	vma->dev = (uint32_t)(major << 20 | minor);
	vma->kind = parse_kind(p, end);
	return true;
}

uint32_t vm_observe_text(struct vm_observer *o)
{
	const char *line, *end;
	bool own_full = false;
	struct vm_lines l;
	struct vm_vma vma;

	o->nvma = o->nown = o->npage = 0;
	if (!vm_procfs_open(&o->maps_fd, "/proc/self/maps"))
		return 0;
	vm_lines_start(&l, o->maps_fd, o->text, VM_OBSERVE_TEXT);
	while (vm_lines_next(&l, &line, &end)) {
		if (!vm_maps_parse(line, end, &vma))
			return 0;
		if (!vm_observer_add(o, &vma, &own_full) && !own_full)
			return 0;
	}
	if (l.failed)
		return 0;
	return VM_SEEN_MAPS | (own_full ? 0 : VM_SEEN_OWN);
}
