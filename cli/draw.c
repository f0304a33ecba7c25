/* SPDX-License-Identifier: MIT */
/*
 * Every start and end of a span in any row is a cut. Between two cuts each row is uniform, so that
 * a field, the pages between two cuts, can be drawn with fewer columns than it has pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/draw.h"

#define LABEL_MIN    44 /* columns that calls get at least */
#define NUMBER_WIDTH 4
#define GAP_PAGES    8 /* what is mapped in no row is drawn with as many columns at most */

struct field {
	uint64_t start, end;
	unsigned int columns;
	bool joint;  /* in some row a VMA ends where this field starts and another begins */
	bool mapped; /* in some row */
	char label[24];
};

struct grid {
	const struct cli_drawing *d;
	const struct vm_layout *layout;
	struct field *field;
	size_t n;
	const char *prefix;
	bool cut_off; /* fields at the end had no room */
};

struct cli_row *cli_draw_row(struct cli_drawing *d, size_t n)
{
	struct cli_row *more = realloc(d->row, (d->n + 1) * sizeof(*more));
	struct cli_span *span = calloc(n ? n : 1, sizeof(*span));

	if (more)
		d->row = more;
	if (!more || !span) {
		free(span);
		return NULL;
	}
	more[d->n] = (struct cli_row){ .span = span, .n = n };
	return &more[d->n++];
}

void cli_draw_free(struct cli_drawing *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->row[i].span);
	free(d->row);
	d->row = NULL;
	d->n = 0;
}

void cli_carry_flags(struct vm_vma *vma, size_t n, const struct vm_vma *before, size_t nbefore)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		while (k < nbefore && before[k].end <= vma[i].start)
			k++;
		if (vma[i].flags_known || k == nbefore || before[k].start > vma[i].start)
			continue;
		vma[i].flags_known = before[k].flags_known;
		vma[i].flags = before[k].flags;
	}
}

static const struct cli_span *span_at(const struct cli_row *row, uint64_t addr)
{
	for (size_t i = 0; i < row->n; i++) {
		if (row->span[i].start <= addr && addr < row->span[i].end)
			return &row->span[i];
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* All starts and ends, sorted, each once; NULL without memory. */
static uint64_t *find_cuts(const struct cli_drawing *d, size_t *n)
{
	uint64_t *cut;
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < d->n; i++)
		total += 2 * d->row[i].n;
	cut = malloc((total ? total : 1) * sizeof(*cut));
	if (!cut)
		return NULL;
	*n = 0;
	for (size_t i = 0; i < d->n; i++) {
		for (size_t k = 0; k < d->row[i].n; k++) {
			cut[(*n)++] = d->row[i].span[k].start;
			cut[(*n)++] = d->row[i].span[k].end;
		}
	}
	if (*n)
		qsort(cut, *n, sizeof(*cut), by_value);
	for (size_t i = 0; i < *n; i++) {
		if (!kept || cut[kept - 1] != cut[i])
			cut[kept++] = cut[i];
	}
	*n = kept;
	return cut;
}

/* Not in the arena, and mapped in some row. */
static bool is_region(const struct grid *g, const struct field *f)
{
	return f->mapped && f->start - g->layout->arena_base >= g->layout->arena_size;
}

static char name_of(const struct grid *g, uint64_t addr)
{
	for (unsigned int i = 1; i < VM_NAME_SLOTS; i++) {
		if (g->d->name[i] == addr)
			return (char)('a' + i - 1);
	}
	return '\0';
}

/* `p4`, `a`, `@1`: the page in the arena, the name of an address, or the number of a region. */
static void set_label(struct grid *g, size_t i, unsigned int *regions)
{
	const struct vm_layout *l = g->layout;
	struct field *f = &g->field[i];
	char name = name_of(g, f->start);

	if (f->start - l->arena_base < l->arena_size)
		snprintf(f->label, sizeof(f->label), "p%llu",
			 (unsigned long long)((f->start - l->arena_base) / l->page_size));
	else if (name && f->mapped)
		snprintf(f->label, sizeof(f->label), "%c", name);
	else if (f->mapped && (!i || !is_region(g, f - 1)))
		snprintf(f->label, sizeof(f->label), "@%u", ++*regions);
}

static bool make_fields(struct grid *g)
{
	unsigned int regions = 0;
	size_t ncuts;
	uint64_t *cut = find_cuts(g->d, &ncuts);

	g->n = cut && ncuts ? ncuts - 1 : 0;
	g->field = calloc(g->n ? g->n : 1, sizeof(*g->field));
	for (size_t i = 0; g->field && cut && i < g->n; i++) {
		struct field *f = &g->field[i];

		f->start = cut[i];
		f->end = cut[i + 1];
		for (size_t k = 0; k < g->d->n; k++) {
			const struct cli_span *s = span_at(&g->d->row[k], f->start);

			f->mapped |= !!s;
			f->joint |=
				s && s->start == f->start && span_at(&g->d->row[k], f->start - 1);
		}
		set_label(g, i, &regions);
	}
	free(cut);
	return cut && g->field;
}

static unsigned int total_columns(const struct grid *g)
{
	unsigned int n = 0;

	for (size_t i = 0; i < g->n; i++)
		n += g->field[i].columns + g->field[i].joint;
	return n;
}

/* As many columns as pages, then fewer and fewer until the line fits; at last fewer fields. */
static void set_columns(struct grid *g, unsigned int room)
{
	for (unsigned int most = 64; most; most /= 2) {
		for (size_t i = 0; i < g->n; i++) {
			struct field *f = &g->field[i];
			uint64_t pages = (f->end - f->start) / g->layout->page_size;
			unsigned int cap = f->mapped ? most : most < GAP_PAGES ? most : GAP_PAGES;

			/* a field drawn short shows at least that it is */
			if (pages > cap && cap >= 3 && !f->mapped)
				cap = 3;
			f->columns = pages < cap ? (unsigned int)pages : cap;
		}
		if (total_columns(g) <= room)
			return;
	}
	for (; g->n && total_columns(g) > room; g->n--)
		g->cut_off = true;
}

static char letter(const struct cli_span *s)
{
	char c;

	if (!s)
		return '.';
	if (s->prot & VM_MODE_W)
		c = s->prot & VM_MODE_X ? 'a' : 'w';
	else
		c = s->prot & VM_MODE_X ? 'x' : s->prot & VM_MODE_R ? 'r' : '-';
	if (!s->sealed)
		return c;
	return c == '-' ? '=' : (char)(c - 'a' + 'A');
}

static void draw_row(const struct grid *g, const struct cli_row *row, size_t number)
{
	unsigned int used = NUMBER_WIDTH, room;
	int label = (int)strlen(row->label);

	printf("%s%2zu  ", g->prefix, number);
	for (size_t i = 0; i < g->n; i++) {
		const struct field *f = &g->field[i];
		const struct cli_span *s = span_at(row, f->start);
		uint64_t pages = (f->end - f->start) / g->layout->page_size;

		if (f->joint)
			putchar(s && s->start == f->start && span_at(row, f->start - 1) ? '|'
											: ' ');
		for (unsigned int c = 0; c < f->columns; c++)
			putchar(pages > f->columns && c == f->columns / 2 && (c || !s) ? '~'
										       : letter(s));
		used += f->columns + f->joint;
	}
	if (g->cut_off)
		putchar('>');
	used += g->cut_off;
	room = g->d->width > used + 4 ? g->d->width - used - 4 : 0;
	if ((unsigned int)label <= room)
		printf("  %s\n", row->label);
	else
		printf("  %.*s...\n", room > 3 ? (int)room - 3 : 0, row->label);
}

/* The labels of fields, each where its first column is; one that would run into the last is left
 * out. */
static void draw_ruler(const struct grid *g)
{
	unsigned int at = 0, column = 0;

	printf("%s%*s", g->prefix, NUMBER_WIDTH, "");
	for (size_t i = 0; i < g->n; i++) {
		const struct field *f = &g->field[i];

		column += f->joint;
		if (f->label[0] && f->mapped && (!at || column > at)) {
			at += (unsigned int)printf("%*s%s", (int)(column - at), "", f->label);
		}
		column += f->columns;
	}
	putchar('\n');
}

static void draw_legend(const struct grid *g)
{
	bool shortened = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct field *f = &g->field[i];

		shortened |= (f->end - f->start) / g->layout->page_size > f->columns;
		if (f->label[0] && is_region(g, f))
			printf("%s%*s%s = %#llx\n", g->prefix, NUMBER_WIDTH, "", f->label,
			       (unsigned long long)f->start);
	}
	printf("%s%*sa column is a page: w rw, r, x exec, a rwx, - none, . not mapped; capitals "
	       "and =\n"
	       "%s%*sare sealed; | two VMAs meet%s%s\n",
	       g->prefix, NUMBER_WIDTH, "", g->prefix, NUMBER_WIDTH, "",
	       shortened ? "; ~ pages left out" : "", g->cut_off ? "; > no room for the rest" : "");
}

bool cli_draw(const struct cli_drawing *d, const struct vm_layout *layout, const char *prefix)
{
	struct grid g = { .d = d, .layout = layout, .prefix = prefix };
	unsigned int taken = (unsigned int)strlen(prefix) + NUMBER_WIDTH + LABEL_MIN;
	bool ok = make_fields(&g);

	if (ok) {
		set_columns(&g, d->width > taken + 16 ? d->width - taken : 16);
		if (g.n)
			draw_ruler(&g);
		for (size_t i = 0; i < d->n; i++)
			draw_row(&g, &d->row[i], i + 1);
		if (g.n)
			draw_legend(&g);
	}
	free(g.field);
	return ok;
}
