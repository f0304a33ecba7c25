/* SPDX-License-Identifier: MIT */
/* The oracle alone: calls a second from the stored traces. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/bench/figures.h"

#define ORACLE_AIM 500000

static void decode(const struct vm_bench *b, uint32_t i, struct vm_trace *trace)
{
	char err[256];

	if (vm_trace_decode(b->stored[i], b->stored_len[i], trace, err, sizeof(err)))
		vm_bench_die("stored trace %u: %s", i, err);
}

static double with_decoding(struct vm_bench *b, struct vm_trace *trace, struct vm_judgement *out)
{
	double start = vm_bench_now();

	for (uint32_t n = 0; n < b->nprograms; n++) {
		decode(b, n, trace);
		vm_judge(trace, &b->judging, b->scratch, out);
	}
	return vm_bench_now() - start;
}

static double without(struct vm_bench *b, const struct vm_trace *decoded, struct vm_judgement *out)
{
	double start = vm_bench_now();

	for (uint32_t n = 0; n < b->nprograms; n++)
		vm_judge(&decoded[n], &b->judging, b->scratch, out);
	return vm_bench_now() - start;
}

static void print_rate(const char *name, struct vm_figure *rate)
{
	printf("%-20s %12.0f   %.0f to %.0f\n", name, vm_figure_at(rate, 50),
	       vm_figure_at(rate, 25), vm_figure_at(rate, 75));
}

void vm_bench_oracle_alone(struct vm_bench *b)
{
	static struct vm_figure both, alone;
	static struct vm_judgement judgement;
	struct vm_trace *decoded = calloc(b->nprograms, sizeof(*decoded));
	struct vm_trace trace = { 0 };

	if (!decoded)
		vm_bench_die("out of memory");
	for (uint32_t i = 0; i < b->nprograms; i++)
		decode(b, i, &decoded[i]);
	for (uint32_t round = 0; round < b->rounds; round++) {
		double calls = (double)b->calls;

		vm_figure_add(&both, calls / with_decoding(b, &trace, &judgement));
		vm_figure_add(&alone, calls / without(b, decoded, &judgement));
	}
	printf("\n%-20s %12s   %s\n", "oracle, one thread", "calls/s", "middle half of the rounds");
	print_rate("decode and judge", &both);
	print_rate("judge", &alone);
	vm_bench_print_aim("decode and judge", vm_figure_at(&both, 50), ORACLE_AIM, "calls/s");
	for (uint32_t i = 0; i < b->nprograms; i++)
		vm_trace_free(&decoded[i]);
	vm_trace_free(&trace);
	free(decoded);
}
