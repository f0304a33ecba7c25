/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/pcs.h"

#define FILE_MAX ((size_t)64 << 20)

static size_t find(const struct vm_pcs *pcs, uint64_t pc)
{
	size_t at = (size_t)(pc * 0x9e3779b97f4a7c15ull >> 32) & (pcs->cap - 1);

	while (pcs->slot[at] && pcs->slot[at] != pc)
		at = (at + 1) & (pcs->cap - 1);
	return at;
}

static int grow(struct vm_pcs *pcs)
{
	struct vm_pcs more = { .cap = pcs->cap ? pcs->cap * 2 : 4096, .n = pcs->n };

	more.slot = calloc(more.cap, sizeof(*more.slot));
	if (!more.slot)
		return -1;
	for (size_t i = 0; i < pcs->cap; i++)
		if (pcs->slot[i])
			more.slot[find(&more, pcs->slot[i])] = pcs->slot[i];
	free(pcs->slot);
	*pcs = more;
	return 0;
}

int vm_pcs_add(struct vm_pcs *pcs, uint64_t pc)
{
	size_t at;

	if (!pc || vm_pcs_have(pcs, pc))
		return 0;
	if (pcs->n * 2 >= pcs->cap && grow(pcs))
		return -1;
	at = find(pcs, pc);
	pcs->slot[at] = pc;
	pcs->n++;
	return 1;
}

bool vm_pcs_have(const struct vm_pcs *pcs, uint64_t pc)
{
	return pcs->cap && pc && pcs->slot[find(pcs, pc)] == pc;
}

void vm_pcs_free(struct vm_pcs *pcs)
{
	free(pcs->slot);
	*pcs = (struct vm_pcs){ 0 };
}

/* The numbers of a text of hex numbers; *end: where the first word that is none begins, or NULL. */
static int each_number(const char *text, int (*take)(void *to, uint64_t value), void *to,
		       const char **end)
{
	char *next;

	*end = NULL;
	for (; *text; text = next) {
		uint64_t value = strtoull(text, &next, 16);

		if (next == text) {
			text += strspn(text, " \t\r\n");
			if (*text)
				*end = text;
			return 0;
		}
		if (take(to, value))
			return -1;
	}
	return 0;
}

static int add_pc(void *to, uint64_t value)
{
	return vm_pcs_add(to, value) < 0 ? -1 : 0;
}

int vm_pcs_load(struct vm_pcs *pcs, const char *path, char *err, size_t errlen)
{
	const char *odd;
	uint8_t *text;
	size_t len;
	int ret;

	text = vm_file_read(path, FILE_MAX, &len, err, errlen);
	if (!text)
		return -1;
	ret = each_number((const char *)text, add_pc, pcs, &odd);
	if (ret)
		snprintf(err, errlen, "no memory for the points of %s", path);
	else if (odd) {
		snprintf(err, errlen, "%s: \"%.16s\" is no hex number: is it a campaign's pcs?",
			 path, odd);
		ret = -1;
	}
	free(text);
	return ret;
}

struct lines {
	char text[1 << 16];
	size_t len;
};

/* One write() a buffer, with O_APPEND: lines of several processes do not mix. */
static int flush_lines(struct lines *l, const char *out, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];
	int fd;

	if (!l->len)
		return 0;
	vm_path(path, "%s/pcs", out);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, l->text, l->len) != (ssize_t)l->len) {
		snprintf(err, errlen, "cannot write %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	l->len = 0;
	return 0;
}

static int note_point(struct vm_pcs *pcs, uint64_t pc, struct lines *l, const char *out, char *err,
		      size_t errlen)
{
	int fresh = vm_pcs_add(pcs, pc);

	if (fresh < 0)
		snprintf(err, errlen, "no memory for the points that were reached");
	if (fresh <= 0)
		return fresh;
	l->len += (size_t)snprintf(l->text + l->len, sizeof(l->text) - l->len, "%" PRIx64 "\n", pc);
	return l->len > sizeof(l->text) - 32 ? flush_lines(l, out, err, errlen) : 0;
}

int vm_pcs_note(struct vm_pcs *pcs, const char *out, const struct vm_trace *trace, char *err,
		size_t errlen)
{
	struct lines l;

	l.len = 0;
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_cover *c = &trace->event[i].cover;

		for (uint32_t k = 0; k < c->nedges; k++)
			if (note_point(pcs, c->edge[k].to, &l, out, err, errlen) < 0)
				return -1;
	}
	return flush_lines(&l, out, err, errlen);
}

/* ---- places ---- */

int vm_places_save(const char *out, const struct vm_places *places, char *err, size_t errlen)
{
	char path[VM_PATH_MAX], *text = NULL;
	size_t len = 0;
	FILE *to;
	int ret = -1;

	vm_path(path, "%s/places", out);
	if (!places->n) {
		if (!unlink(path) || errno == ENOENT)
			return 0;
		snprintf(err, errlen, "cannot delete %s: %s", path, strerror(errno));
		return -1;
	}
	to = open_memstream(&text, &len);
	for (uint32_t i = 0; to && i < places->n; i++)
		fprintf(to, "%" PRIx64 " %" PRIx64 "\n", places->range[i].start,
			places->range[i].end);
	if (to && !fclose(to))
		ret = vm_file_write(path, text, len, err, errlen);
	else
		snprintf(err, errlen, "no memory for %s", path);
	free(text);
	return ret;
}

struct numbers {
	uint64_t *value;
	size_t n;
};

static int add_number(void *to, uint64_t value)
{
	struct numbers *list = to;
	uint64_t *more = realloc(list->value, (list->n + 1) * sizeof(*more));

	if (!more)
		return -1;
	list->value = more;
	list->value[list->n++] = value;
	return 0;
}

static bool in_order(const struct numbers *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (list->value[i] <= list->value[i - 1])
			return false;
	return list->n % 2 == 0;
}

int vm_places_load(const char *out, struct vm_places *places, char *err, size_t errlen)
{
	struct numbers list = { 0 };
	char path[VM_PATH_MAX];
	const char *odd;
	uint8_t *text;
	size_t len;
	int ret;

	*places = (struct vm_places){ 0 };
	vm_path(path, "%s/places", out);
	if (access(path, F_OK))
		return 0;
	text = vm_file_read(path, FILE_MAX, &len, err, errlen);
	if (!text)
		return -1;
	ret = each_number((const char *)text, add_number, &list, &odd);
	free(text);
	if (!ret && !odd && in_order(&list) && list.n / 2 <= VM_MAX_PLACES) {
		/* Two numbers in a row are a range in memory, too. */
		places->range = (struct vm_range *)list.value;
		places->n = (uint32_t)(list.n / 2);
		return 0;
	}
	snprintf(err, errlen, "%s is damaged; start again with `vmafuzz fuzz`", path);
	free(list.value);
	return -1;
}

void vm_places_free(struct vm_places *places)
{
	free(places->range);
	*places = (struct vm_places){ 0 };
}
