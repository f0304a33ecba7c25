/* SPDX-License-Identifier: MIT */
/* Programs a second, beside the floor; in slices that alternate, since other work comes and goes.
 */
#include <stdio.h>

#include "tests/bench/bench.h"
#include "tests/bench/figures.h"
#include "tests/bench/programs.h"

#define SLICE 50 /* programs; short, so that all modes of a round meet the same other work */

static const struct mode {
	const char *name;
	uint8_t observe;
	uint32_t run_flags;
	bool judged;
	double aim; /* of the floor; 0: none */
} modes[] = {
	{ "floor", VM_OBSERVE_END, VM_RUN_UNOBSERVED, false, 0 },
	{ "maps", VM_OBSERVE_MAPS, 0, false, 0.75 },
	{ "full", VM_OBSERVE_FULL, 0, false, 0.45 },
	{ "maps, judged", VM_OBSERVE_MAPS, 0, true, 0 },
	{ "full, judged", VM_OBSERVE_FULL, 0, true, 0 },
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static void take_one(struct vm_bench *b, const struct mode *mode, struct vm_trace *trace)
{
	static struct vm_judgement judgement;
	char err[512];
	uint32_t id;

	if (vm_target_wait(b->target, &id, trace, err, sizeof(err)) != 1)
		vm_bench_die("%s", err);
	if (trace->exit != VM_EXIT_DONE)
		vm_bench_die("program %u did not end by itself", id);
	if (mode->judged)
		vm_judge(trace, &b->judging, b->scratch, &judgement);
}

/* Seconds for SLICE programs from number `first` on, with as many in flight as may be. */
static double slice(struct vm_bench *b, const struct mode *mode, uint32_t first,
		    struct vm_trace *trace)
{
	double start = vm_bench_now();
	uint32_t sent = 0;
	char err[512];

	for (uint32_t done = 0; done < SLICE; done++) {
		while (sent < SLICE && sent - done < VM_TARGET_MAX_INFLIGHT) {
			uint32_t i = (first + sent++) % b->nprograms;

			b->program[i].observe = mode->observe;
			if (vm_target_submit(b->target, &b->program[i], i, mode->run_flags, err,
					     sizeof(err)))
				vm_bench_die("%s", err);
		}
		take_one(b, mode, trace);
	}
	return vm_bench_now() - start;
}

static void print_mode(const struct mode *mode, struct vm_figure *rate, struct vm_figure *ratio)
{
	double median = vm_figure_at(rate, 50);

	printf("%-14s %10.0f %12.0f %8.2f   %.2f to %.2f\n", mode->name, median,
	       median * VM_BENCH_CALLS, vm_figure_at(ratio, 50), vm_figure_at(ratio, 25),
	       vm_figure_at(ratio, 75));
}

void vm_bench_running(struct vm_bench *b)
{
	static struct vm_figure rate[MODES], ratio[MODES];
	struct vm_trace trace = { 0 };

	for (uint32_t round = 0; round < b->rounds; round++) {
		double seconds[MODES];

		for (size_t m = 0; m < MODES; m++) {
			seconds[m] = slice(b, &modes[m], round * SLICE, &trace);
			vm_figure_add(&rate[m], SLICE / seconds[m]);
			vm_figure_add(&ratio[m], seconds[0] / seconds[m]);
		}
	}
	vm_trace_free(&trace);
	printf("%-14s %10s %12s %8s   %s\n", "observed", "programs/s", "calls/s", "of floor",
	       "middle half of the rounds");
	for (size_t m = 0; m < MODES; m++)
		print_mode(&modes[m], &rate[m], &ratio[m]);
	for (size_t m = 0; m < MODES; m++) {
		if (modes[m].aim > 0)
			vm_bench_print_aim(modes[m].name, vm_figure_at(&ratio[m], 50), modes[m].aim,
					   "of the floor");
	}
}
