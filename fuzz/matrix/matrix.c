/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/matrix/matrix.h"

int vm_matrix_begin(struct vm_matrix *m, size_t nkernels)
{
	*m = (struct vm_matrix){ .kernel = calloc(nkernels + 1, sizeof(*m->kernel)),
				 .nkernels = nkernels };
	return m->kernel ? 0 : -1;
}

void vm_matrix_free(struct vm_matrix *m)
{
	for (size_t i = 0; i < m->ntitles; i++)
		free(m->title[i].cell);
	free(m->title);
	free(m->kernel);
	*m = (struct vm_matrix){ 0 };
}

static struct vm_matrix_title *find(struct vm_matrix *m, const char *title)
{
	for (size_t i = 0; i < m->ntitles; i++) {
		if (!strcmp(m->title[i].title, title))
			return &m->title[i];
	}
	return NULL;
}

static struct vm_matrix_title *append(struct vm_matrix *m, const char *title, const char *program)
{
	struct vm_matrix_title *t;

	if (!(m->ntitles & (m->ntitles - 1))) {
		t = realloc(m->title, (m->ntitles ? 2 * m->ntitles : 1) * sizeof(*t));
		if (!t)
			return NULL;
		m->title = t;
	}
	t = &m->title[m->ntitles];
	*t = (struct vm_matrix_title){ .cell = calloc(m->nkernels + 1, sizeof(*t->cell)) };
	if (!t->cell)
		return NULL;
	snprintf(t->title, sizeof(t->title), "%s", title);
	snprintf(t->program, sizeof(t->program), "%s", program);
	m->ntitles++;
	return t;
}

int vm_matrix_add(struct vm_matrix *m, size_t kernel, const char *title, uint8_t severity,
		  bool known, const char *program)
{
	struct vm_matrix_title *t = find(m, title);
	struct vm_matrix_cell *c;

	if (!t)
		t = append(m, title, program);
	if (!t)
		return -1;
	c = &t->cell[kernel];
	c->known = known && (c->known || !c->programs);
	c->programs++;
	if (severity > c->severity)
		c->severity = severity;
	return 0;
}

static bool was_run(const struct vm_matrix *m, size_t kernel)
{
	return !m->kernel[kernel].error[0];
}

char vm_matrix_letter(const struct vm_matrix *m, const struct vm_matrix_title *t, size_t kernel)
{
	const struct vm_matrix_cell *c = &t->cell[kernel];

	if (!was_run(m, kernel))
		return ' ';
	if (!c->programs)
		return '.';
	if (c->severity < VM_VIOLATION)
		return 'D';
	return c->known ? 'K' : 'V';
}

bool vm_matrix_explained(const struct vm_matrix *m, const struct vm_matrix_title *t)
{
	for (size_t i = 0; i < m->nkernels; i++) {
		if (vm_matrix_letter(m, t, i) == 'V')
			return false;
	}
	return true;
}

/* V, K, D: the worst letter of a row. */
static int rank(const struct vm_matrix *m, const struct vm_matrix_title *t)
{
	bool known = false;

	for (size_t i = 0; i < m->nkernels; i++)
		known |= vm_matrix_letter(m, t, i) == 'K';
	return !vm_matrix_explained(m, t) ? 0 : known ? 1 : 2;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct vm_matrix_title *x = a, *y = b;
	int diff = rank(arg, x) - rank(arg, y);

	return diff ? diff : strcmp(x->title, y->title);
}

void vm_matrix_sort(struct vm_matrix *m)
{
	if (m->ntitles)
		qsort_r(m->title, m->ntitles, sizeof(*m->title), compare, m);
}

struct text {
	char *buf;
	size_t cap, len;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
{
	size_t room = t->len < t->cap ? t->cap - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}

/* The next kernel from `i` on that was run, or nkernels. */
static size_t next_run(const struct vm_matrix *m, size_t i)
{
	while (i < m->nkernels && !was_run(m, i))
		i++;
	return i;
}

/* Kernels `from` to `last` have it, and `after`, if there is one, has not. */
static void add_range(const struct vm_matrix *m, struct text *out, size_t from, size_t last,
		      size_t after)
{
	const struct vm_matrix_kernel *k = m->kernel;
	bool begins = from == next_run(m, 0), ends = after == m->nkernels;

	if (out->len)
		add(out, "; ");
	if (begins && ends)
		add(out, "on all");
	else if (begins)
		add(out, "up to %s", k[last].label);
	else if (ends && from == last)
		add(out, "in %s", k[from].label);
	else if (ends)
		add(out, "from %s", k[from].label);
	else if (from == last)
		add(out, "in %s alone", k[from].label);
	else
		add(out, "%s to %s", k[from].label, k[last].label);
	if (!ends)
		add(out, ", gone in %s", k[after].label);
}

void vm_matrix_span(const struct vm_matrix *m, const struct vm_matrix_title *t, char *text,
		    size_t cap)
{
	struct text out = { text, cap, 0 };
	size_t i = next_run(m, 0);

	text[0] = '\0';
	while (i < m->nkernels) {
		size_t from = i, last = i;

		if (!t->cell[i].programs) {
			i = next_run(m, i + 1);
			continue;
		}
		while (i < m->nkernels && t->cell[i].programs) {
			last = i;
			i = next_run(m, i + 1);
		}
		add_range(m, &out, from, last, i);
	}
}
