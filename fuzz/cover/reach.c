/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/cover/reach.h"

#define EXCUSES_MAX (1u << 20)

/* A line of the function's own file, so that one sees which of the calls of a helper it is. */
static void find_source(struct vm_reach *r, uint32_t i)
{
	const struct vm_point *p = &r->points.point[i];
	const char *file = r->points.file[r->points.function[p->function].file];
	char *buf = r->at[i].source;

	if (file[0])
		vm_vmlinux_source_in(r->v, p->pc - 1, file, buf, VM_COVER_SOURCE);
	else
		vm_vmlinux_source(r->v, p->pc - 1, buf, VM_COVER_SOURCE);
}

int vm_reach_open(struct vm_reach *r, struct vm_vmlinux *v, const char *functions,
		  const char *files, char *err, size_t errlen)
{
	r->v = v;
	if (vm_points_find(&r->points, v, functions, files, err, errlen))
		return -1;
	r->at = calloc(r->points.npoints, sizeof(*r->at));
	if (!r->at) {
		snprintf(err, errlen, "no memory for %u points", r->points.npoints);
		vm_reach_close(r);
		return -1;
	}
	/* The call itself: what follows it may be of another line. */
	for (uint32_t i = 0; i < r->points.npoints; i++)
		find_source(r, i);
	return 0;
}

void vm_reach_close(struct vm_reach *r)
{
	vm_points_free(&r->points);
	free(r->at);
	free(r->row);
	free(r->excuses);
	*r = (struct vm_reach){ 0 };
}

/* A function that an address is in which is no point; NULL if there is none. */
static const struct vm_cover_function *strange(const struct vm_points *p, uint64_t pc)
{
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		const struct vm_function *f = &p->function[i].code;

		if (pc > f->begin && pc < f->begin + f->size)
			return &p->function[i];
	}
	return NULL;
}

int vm_reach_mark(struct vm_reach *r, const struct vm_pcs *pcs, bool there, char *err,
		  size_t errlen)
{
	r->compared |= there;
	for (size_t i = 0; i < pcs->cap; i++) {
		const struct vm_point *point = vm_points_at(&r->points, pcs->slot[i]);
		const struct vm_cover_function *f =
			point ? NULL : strange(&r->points, pcs->slot[i]);

		if (f) {
			snprintf(err, errlen,
				 "%" PRIx64 " was reached but is no instrumented point of %s: this "
				 "is not the vmlinux of the kernel that ran",
				 pcs->slot[i], f->code.name);
			return -1;
		}
		if (point && there)
			r->at[point - r->points.point].there = true;
		else if (point)
			r->at[point - r->points.point].here = true;
	}
	return 0;
}

/* ---- excuses ---- */

/* A place of the list: a function, or lines of a file. */
struct where {
	char name[VM_COVER_SOURCE];
	unsigned long from, to; /* 0: a function */
};

static void read_where(const char *text, size_t len, struct where *w)
{
	char *colon, *dash;

	snprintf(w->name, sizeof(w->name), "%.*s", (int)len, text);
	w->from = w->to = 0;
	colon = strrchr(w->name, ':');
	if (!colon)
		return;
	*colon = '\0';
	w->from = w->to = strtoul(colon + 1, &dash, 10);
	if (*dash == '-')
		w->to = strtoul(dash + 1, NULL, 10);
}

static bool is_there(const struct vm_reach *r, uint32_t i, const struct where *w)
{
	const char *source = r->at[i].source, *colon = strrchr(source, ':');
	size_t len = colon ? (size_t)(colon - source) : 0;
	unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (!w->from)
		return !strcmp(r->points.function[r->points.point[i].function].name, w->name);
	return strlen(w->name) == len && !strncmp(source, w->name, len) && line >= w->from &&
	       line <= w->to;
}

static bool excuse(struct vm_reach *r, const struct where *w, const char *reason)
{
	bool any = false;

	for (uint32_t i = 0; i < r->points.npoints; i++) {
		if (!is_there(r, i, w))
			continue;
		any = true;
		if (!r->at[i].excuse || w->from)
			r->at[i].excuse = reason; /* a line says more than a function */
	}
	return any;
}

int vm_reach_excuse(struct vm_reach *r, const char *path, char *err, size_t errlen)
{
	unsigned int number = 0;
	struct where w;
	size_t len;

	free(r->excuses);
	r->excuses = (char *)vm_file_read(path, EXCUSES_MAX, &len, err, errlen);
	if (!r->excuses)
		return -1;
	for (char *line = r->excuses, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		len = strcspn(line, " \t");
		if (line[0] == '#' || !line[strspn(line, " \t")])
			continue;
		read_where(line, len, &w);
		if (!line[len] || !excuse(r, &w, line + len + strspn(line + len, " \t"))) {
			snprintf(err, errlen, "%s:%u: %s", path, number,
				 line[len] ? "no instrumented point is there; correct the place"
					   : "a place, blanks, and the reason are expected");
			return -1;
		}
	}
	return 0;
}

/* ---- counting ---- */

static struct vm_cover_row *row_of(struct vm_reach *r, const struct vm_cover_function *f)
{
	struct vm_cover_row *row;

	for (uint32_t i = 0; i < r->nrows; i++)
		if (r->row[i].file == f->file && !strcmp(r->row[i].name, f->name))
			return &r->row[i];
	row = &r->row[r->nrows++];
	*row = (struct vm_cover_row){ .name = f->name, .file = f->file };
	return row;
}

int vm_reach_count(struct vm_reach *r)
{
	const struct vm_points *p = &r->points;

	free(r->row);
	r->nrows = 0;
	r->row = calloc(p->nfunctions + 1, sizeof(*r->row));
	if (!r->row)
		return -1;
	for (uint32_t i = 0; i < p->npoints; i++) {
		struct vm_cover_row *row = row_of(r, &p->function[p->point[i].function]);

		row->npoints++;
		row->here += r->at[i].here;
		row->there += r->at[i].there;
		row->excused += !r->at[i].here && r->at[i].excuse;
	}
	return 0;
}

struct vm_cover_row vm_reach_sum(const struct vm_reach *r, uint32_t file)
{
	struct vm_cover_row sum = { .name = "", .file = file };

	for (uint32_t i = 0; i < r->nrows; i++) {
		const struct vm_cover_row *row = &r->row[i];

		if (file != UINT32_MAX && row->file != file)
			continue;
		sum.npoints += row->npoints;
		sum.here += row->here;
		sum.there += row->there;
		sum.excused += row->excused;
	}
	return sum;
}
