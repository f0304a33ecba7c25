/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <time.h>

#include "tests/bench/figures.h"

void vm_figure_add(struct vm_figure *f, double value)
{
	if (f->n < VM_BENCH_MAX_ROUNDS)
		f->value[f->n++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double vm_figure_at(struct vm_figure *f, unsigned int percent)
{
	if (!f->n)
		return 0;
	qsort(f->value, f->n, sizeof(f->value[0]), compare);
	return f->value[((f->n - 1) * percent + 50) / 100];
}

double vm_bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
