/* SPDX-License-Identifier: MIT */
/* A figure measured in every round: what lies in the middle, and how far the rounds differ. */
#ifndef VM_BENCH_FIGURES_H
#define VM_BENCH_FIGURES_H

#include <stddef.h>

#define VM_BENCH_MAX_ROUNDS 1000

struct vm_figure {
	size_t n;
	double value[VM_BENCH_MAX_ROUNDS];
};

/* Beyond VM_BENCH_MAX_ROUNDS nothing is added. */
void vm_figure_add(struct vm_figure *f, double value);

/* The value below which `percent` of 100 lie; sorts the values. 0 if there are none. */
double vm_figure_at(struct vm_figure *f, unsigned int percent);

/* CLOCK_MONOTONIC in seconds. */
double vm_bench_now(void);

#endif
