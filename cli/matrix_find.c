/* SPDX-License-Identifier: MIT */
/*
 * Between which two of Debian's packages a title comes or goes: where two neighbours of the matrix
 * differ, the packages between them are fetched and run by bisection. It takes the title to change
 * once between them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/matrix.h"
#include "harness/kernel/fetch.h"
#include "harness/kernel/version.h"

struct find {
	const struct cli_matrix *m;
	const char *title;
	struct vm_apt apt;
	struct vm_packages packages;
	struct cli_matrix few; /* the programs that gave it */
};

static void say(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "%s\n", line);
}

/* The row of the title, which may be given by a part of it; NULL, and said. */
static const struct vm_matrix_title *row_of(const struct vm_matrix *known, const char *title)
{
	const struct vm_matrix_title *found = NULL;

	for (size_t i = 0; i < known->ntitles; i++) {
		if (!strcmp(known->title[i].title, title))
			return &known->title[i];
		if (!strstr(known->title[i].title, title))
			continue;
		if (found) {
			cli_error("\"%s\" is part of more than one title: \"%s\", \"%s\"", title,
				  found->title, known->title[i].title);
			return NULL;
		}
		found = &known->title[i];
	}
	if (!found)
		cli_error("no kernel of the matrix gave the title \"%s\"", title);
	return found;
}

/* Keep the programs that gave the title on some kernel of the matrix. False without memory. */
static bool choose_programs(struct find *f)
{
	struct cli_matrix *few = &f->few;

	few->target = f->m->target;
	few->jobs = 1;
	few->program = calloc(f->m->nprograms, sizeof(*few->program));
	for (size_t p = 0; few->program && p < f->m->nprograms; p++) {
		bool gave = false;

		for (size_t i = 0; i < f->m->nkernels && !gave; i++)
			gave = cli_matrix_gave(f->m, i, f->m->program[p].key, f->title);
		if (gave)
			few->program[few->nprograms++] = f->m->program[p];
	}
	return few->program;
}

/* Fetch and run a package: 1 it gives the title, 0 not, -1 and said. */
static int ask(struct find *f, const struct vm_package *p)
{
	struct vm_fetch fetch = { .apt = &f->apt, .flavour = f->packages.flavour, .progress = say };
	struct cli_matrix_kernel k;
	struct vm_matrix out = { 0 };
	struct vm_kernel kernel;
	char err[1024];
	int ret = -1;

	if (vm_kernel_fetch(&fetch, p, &kernel, err, sizeof(err)) < 0 ||
	    cli_matrix_cached(&k, kernel.name, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	f->few.kernel = &k;
	f->few.nkernels = 1;
	if (cli_matrix_run(&f->few, &out) != CLI_FAILED) {
		ret = 0;
		for (size_t i = 0; i < out.ntitles; i++)
			ret |= !strcmp(out.title[i].title, f->title);
		printf("%s: %s\n", k.name, ret ? "yes" : "no");
		fflush(stdout);
	}
	vm_matrix_free(&out);
	return ret;
}

/* Of packages of one upstream version the newest is taken, as kernel fetch does. */
static bool is_newest_build(const struct vm_packages *p, size_t i)
{
	char upstream[VM_KERNEL_NAME];

	vm_version_upstream(p->list[i].version, upstream, sizeof(upstream));
	return vm_packages_newest(p, upstream) == &p->list[i];
}

/* Packages between two versions, both excluded: their indices, oldest first. */
static size_t between(const struct vm_packages *p, const char *from, const char *to, size_t *index)
{
	char upstream[VM_KERNEL_NAME];
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		vm_version_upstream(p->list[i].version, upstream, sizeof(upstream));
		if (is_newest_build(p, i) && vm_version_compare(upstream, from) > 0 &&
		    vm_version_compare(upstream, to) < 0)
			index[n++] = i;
	}
	return n;
}

/* The title is on one of the kernels `a` and `b` of the matrix alone. 0, or -1 and said. */
static int bisect(struct find *f, size_t a, size_t b, bool has_a)
{
	const struct cli_matrix_kernel *old = &f->m->kernel[a], *new = &f->m->kernel[b];
	size_t *index = calloc(f->packages.n, sizeof(*index));
	size_t low = 0, high = index ? between(&f->packages, old->order, new->order, index) : 0;
	char from[64], to[64];
	int got = index ? 0 : -1;

	snprintf(from, sizeof(from), "%s", old->order);
	snprintf(to, sizeof(to), "%s", new->order);
	while (low < high && got >= 0) {
		size_t mid = low + (high - low) / 2;
		const struct vm_package *p = &f->packages.list[index[mid]];
		char *edge;

		got = ask(f, p);
		edge = got == has_a ? from : to;
		if (got == has_a)
			low = mid + 1;
		else
			high = mid;
		vm_version_upstream(p->version, edge, sizeof(from));
	}
	free(index);
	if (got >= 0)
		printf("%s: %s between %s and %s\n", f->title, has_a ? "goes" : "comes", from, to);
	return got < 0 ? -1 : 0;
}

/* Every place where neighbours differ. */
static int find_all(struct find *f, const struct vm_matrix *known,
		    const struct vm_matrix_title *row)
{
	size_t last = known->nkernels, changes = 0;

	for (size_t i = 0; i < known->nkernels; i++) {
		bool has = row->cell[i].programs;

		if (known->kernel[i].error[0] || !f->m->kernel[i].order[0])
			continue;
		if (last < known->nkernels && has != (row->cell[last].programs > 0)) {
			changes++;
			if (bisect(f, last, i, !has))
				return -1;
		}
		last = i;
	}
	if (!changes)
		printf("%s: no two neighbours of the matrix differ\n", row->title);
	return 0;
}

enum cli_exit cli_matrix_find(const struct cli_matrix *m, const struct vm_matrix *known,
			      const char *title)
{
	const struct vm_matrix_title *row = row_of(known, title);
	const char *arch = vm_apt_native();
	struct find f = { .m = m, .title = row ? row->title : NULL };
	char flavour[32], err[1024];
	int bad;

	if (!row)
		return CLI_FAILED;
	snprintf(flavour, sizeof(flavour), "cloud-%s", arch ? arch : "amd64");
	if (vm_apt_open(&f.apt, arch ? arch : "amd64", NULL, err, sizeof(err)) ||
	    (!vm_apt_fresh(&f.apt) && vm_apt_update(&f.apt, err, sizeof(err))) ||
	    vm_apt_kernels(&f.apt, flavour, &f.packages, err, sizeof(err))) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	bad = !choose_programs(&f) || find_all(&f, known, row);
	free(f.few.program);
	vm_packages_free(&f.packages);
	return bad ? CLI_FAILED : CLI_CONFORMS;
}
