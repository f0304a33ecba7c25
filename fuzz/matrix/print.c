/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz/matrix/matrix.h"

#define SPAN_MAX 1024

static char column(size_t kernel)
{
	return (char)(kernel < 26 ? 'a' + kernel : kernel < 52 ? 'A' + kernel - 26 : '?');
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void print_kernels(const struct vm_matrix *m, FILE *to)
{
	for (size_t i = 0; i < m->nkernels; i++) {
		const struct vm_matrix_kernel *k = &m->kernel[i];

		if (k->error[0])
			fprintf(to, "  %c  %-24s not run: %s\n", column(i), k->name, k->error);
		else
			fprintf(to, "  %c  %-24s %-34s profile %s, %s\n", column(i), k->name,
				k->release, k->profile, k->contract);
	}
}

void vm_matrix_print(const struct vm_matrix *m, FILE *to)
{
	char span[SPAN_MAX];

	print_kernels(m, to);
	fprintf(to, "\n     V violation, K known bug, D deviation from the strict contract, ? not "
		    "explained\n\n     ");
	for (size_t i = 0; i < m->nkernels; i++)
		fputc(column(i), to);
	fputs("  title\n", to);
	for (size_t i = 0; i < m->ntitles; i++) {
		const struct vm_matrix_title *t = &m->title[i];

		fprintf(to, "  %c  ", vm_matrix_explained(m, t) ? ' ' : '?');
		for (size_t k = 0; k < m->nkernels; k++)
			fputc(vm_matrix_letter(m, t, k), to);
		vm_matrix_span(m, t, span, sizeof(span));
		fprintf(to, "  %s\n     %*s    %s (%s)\n", t->title, (int)m->nkernels, "", span,
			t->program);
	}
	if (!m->ntitles)
		fprintf(to, "     no kernel gave a title\n");
}

/* ---- a page ---- */

static void page_kernels(const struct vm_matrix *m, FILE *to)
{
	fputs("| | kernel | it says | package | profile | contract | programs |\n"
	      "|---|---|---|---|---|---|---|\n",
	      to);
	for (size_t i = 0; i < m->nkernels; i++) {
		const struct vm_matrix_kernel *k = &m->kernel[i];

		if (k->error[0]) {
			fprintf(to, "| %c | %s | not run: %s | | | | |\n", column(i), k->name,
				k->error);
			continue;
		}
		fprintf(to, "| %c | %s | %s | %s | %s | %s | %u", column(i), k->name, k->release,
			k->version, k->profile, k->contract, k->programs);
		if (k->skipped)
			fprintf(to, ", %u skipped", k->skipped);
		fputs(" |\n", to);
	}
}

static void page_titles(const struct vm_matrix *m, FILE *to)
{
	char span[SPAN_MAX];

	fputs("| `", to);
	for (size_t i = 0; i < m->nkernels; i++)
		fputc(column(i), to);
	fputs("` | title | where | program |\n|---|---|---|---|\n", to);
	for (size_t i = 0; i < m->ntitles; i++) {
		const struct vm_matrix_title *t = &m->title[i];

		fputs("| `", to);
		for (size_t k = 0; k < m->nkernels; k++)
			fputc(vm_matrix_letter(m, t, k), to);
		vm_matrix_span(m, t, span, sizeof(span));
		fprintf(to, "` | %s%s | %s | %s |\n", t->title,
			vm_matrix_explained(m, t) ? "" : " **(not explained yet)**", span,
			t->program);
	}
}

void vm_matrix_page(const struct vm_matrix *m, const char *command, FILE *to)
{
	uint32_t most = 0;

	for (size_t i = 0; i < m->nkernels; i++) {
		if (m->kernel[i].programs > most)
			most = m->kernel[i].programs;
	}
	fprintf(to,
		"# Matrix\n\nThe same %u program%s on %zu kernel%s, made by\n\n    %s\n\n"
		"A letter a kernel: V a violation, K a bug that the oracle knows of this version, "
		"D a "
		"deviation (meant by\nthis version, against the strict contract that a failed call "
		"changes nothing), `.` neither.\nWhat is *not explained yet* is a violation that "
		"no "
		"profile and no known bug covers: a kernel's bug, or\nours. A kernel without a "
		"profile of its own is judged by what documents promise, and by the hard\n"
		"invariants.\n\n## Titles\n\n",
		most, plural(most), m->nkernels, plural((uint32_t)m->nkernels), command);
	page_titles(m, to);
	fputs("\n## Kernels\n\n", to);
	page_kernels(m, to);
}
