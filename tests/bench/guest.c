/* SPDX-License-Identifier: MIT */
/*
 * A target from its start to a verdict on the corpus: boot, round trip, programs a second by how
 * many are in flight, and the conformance programs from nothing to the last verdict.
 */
#include <fts.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/corpus.h"
#include "tests/bench/bench.h"
#include "tests/bench/figures.h"
#include "tests/bench/guest.h"
#include "tests/bench/programs.h"

#define SLICE	    50 /* programs */
#define TRIPS	    50
#define VERDICT_AIM 60.0 /* seconds */

static const char usage[] =
	"Usage: vmafuzz-bench target TARGET [OPTION]...\n"
	"Time a target (local, qemu:IMAGE, kernel:NAME, ...): its start, a round trip, programs "
	"of\n"
	"12 calls observed in full and judged, by how many are in flight, and PATH's programs.\n"
	"\n"
	"  --rounds N     measure so many times, alternating (20)\n"
	"  --corpus PATH  conformance programs (corpus/conformance)\n"
	"  --help         print this\n";

static const unsigned int depths[] = { 1, 2, 4, 8, 16 };
#define DEPTHS (sizeof(depths) / sizeof(depths[0]))

struct run {
	struct vm_target *target;
	struct vm_judge_options judging;
	struct vm_judge_scratch *scratch;
	struct vm_judgement judgement;
	struct vm_trace trace;
	struct vm_program program[SLICE];
	uint64_t calls; /* judged */
};

static void take_one(struct run *r)
{
	char err[512];
	uint32_t id;

	if (vm_target_wait(r->target, &id, &r->trace, err, sizeof(err)) != 1)
		vm_bench_die("%s", err);
	vm_judge(&r->trace, &r->judging, r->scratch, &r->judgement);
	r->calls += r->trace.nevents;
}

/* Seconds for n programs with so many in flight. */
static double slice(struct run *r, const struct vm_program *program, uint32_t n, unsigned int depth)
{
	double start = vm_bench_now();
	uint32_t sent = 0;
	char err[512];

	for (uint32_t done = 0; done < n; done++) {
		for (; sent < n && sent - done < depth; sent++)
			if (vm_target_submit(r->target, &program[sent], sent, 0, err, sizeof(err)))
				vm_bench_die("%s", err);
		take_one(r);
	}
	return vm_bench_now() - start;
}

/* A program of no call, observed as little as can be. */
static void round_trips(struct run *r)
{
	static struct vm_figure ms;
	struct vm_program none = { .observe = VM_OBSERVE_END };
	char err[512];

	for (int i = 0; i < TRIPS; i++) {
		double start = vm_bench_now();

		if (vm_target_run(r->target, &none, VM_RUN_UNOBSERVED, &r->trace, err,
				  sizeof(err)) != 1)
			vm_bench_die("%s", err);
		vm_figure_add(&ms, 1000 * (vm_bench_now() - start));
	}
	printf("%-26s %10.2f ms   %.2f to %.2f (a child that makes no call)\n", "round trip",
	       vm_figure_at(&ms, 50), vm_figure_at(&ms, 25), vm_figure_at(&ms, 75));
}

static void in_flight(struct run *r, uint32_t rounds)
{
	static struct vm_figure rate[DEPTHS], ratio[DEPTHS];

	for (uint32_t round = 0; round < rounds; round++) {
		double first = 0;

		for (size_t d = 0; d < DEPTHS; d++) {
			double seconds = slice(r, r->program, SLICE, depths[d]);

			first = d ? first : seconds;
			vm_figure_add(&rate[d], SLICE / seconds);
			vm_figure_add(&ratio[d], first / seconds);
		}
	}
	for (size_t d = 0; d < DEPTHS; d++)
		printf("%2u in flight %24.1f programs/s   %.2f of one at a time (%.2f to %.2f)\n",
		       depths[d], vm_figure_at(&rate[d], 50), vm_figure_at(&ratio[d], 50),
		       vm_figure_at(&ratio[d], 25), vm_figure_at(&ratio[d], 75));
}

/* All programs at and below a folder. */
static void load(struct vm_corpus *corpus, const char *path)
{
	char *const paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *fts = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	struct vm_program prog;
	char err[512];
	FTSENT *e;

	while (fts && (e = fts_read(fts))) {
		if (e->fts_info != FTS_F || !strstr(e->fts_name, ".vma"))
			continue;
		if (vm_corpus_read(e->fts_path, &prog, err, sizeof(err)))
			vm_bench_die("%s", err);
		if (vm_corpus_add(corpus, &prog))
			vm_bench_die("out of memory");
	}
	if (fts)
		fts_close(fts);
	if (!corpus->n)
		vm_bench_die("there are no programs in %s", path);
}

/* Seconds for all programs of the corpus, several in flight. */
static double conformance(struct run *r, const char *path)
{
	struct vm_corpus corpus = { 0 };
	struct vm_program *prog;
	double seconds;

	load(&corpus, path);
	prog = calloc(corpus.n, sizeof(*prog));
	if (!prog)
		vm_bench_die("out of memory");
	for (size_t i = 0; i < corpus.n; i++)
		vm_corpus_get(&corpus, i, &prog[i]);
	r->calls = 0;
	seconds = slice(r, prog, (uint32_t)corpus.n, VM_TARGET_MAX_INFLIGHT);
	printf("%-26s %10.1f s    %zu programs, %.0f checked calls/s\n", "conformance programs",
	       seconds, corpus.n, (double)r->calls / seconds);
	free(prog);
	vm_corpus_free(&corpus);
	return seconds;
}

struct options {
	const char *target, *corpus;
	uint32_t rounds;
};

static void parse(int argc, char **argv, struct options *opt)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "corpus", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		if (c == 'c')
			opt->corpus = optarg;
		else if (c == 'r')
			opt->rounds = (uint32_t)vm_bench_number("--rounds", optarg, 1,
								VM_BENCH_MAX_ROUNDS);
		else
			exit(3); /* getopt has said why */
	}
	if (optind + 1 != argc)
		vm_bench_die("give one target; see vmafuzz-bench target --help");
	opt->target = argv[optind];
}

static void measure(struct run *r, const struct options *opt)
{
	double start = vm_bench_now(), boot, whole;
	char err[512], why[256], title[VM_TITLE_MAX];
	const struct vm_target_info *info;
	bool regressed;

	r->target = vm_target_open(opt->target, NULL, err, sizeof(err));
	if (!r->target)
		vm_bench_die("%s", err);
	boot = vm_bench_now() - start;
	info = vm_target_info(r->target);
	r->judging.profile =
		vm_profile_choose(info, why, sizeof(why), &regressed, title, sizeof(title));
	printf("%s: %s %s %s\n\n", opt->target, info->sysname, info->release, info->machine);
	printf("%-26s %10.1f s\n", "start", boot);
	whole = boot + conformance(r, opt->corpus);
	round_trips(r);
	in_flight(r, opt->rounds);
	printf("aim: from the image to all verdicts within %.0f s: %s (%.1f)\n", VERDICT_AIM,
	       whole <= VERDICT_AIM ? "met" : "not met", whole);
}

int vm_bench_guest(int argc, char **argv)
{
	struct options opt = { .corpus = "corpus/conformance", .rounds = 20 };
	struct run *r = calloc(1, sizeof(*r));
	struct vm_rng rng;

	parse(argc, argv, &opt);
	if (r)
		r->scratch = vm_judge_scratch_new();
	if (!r || !r->scratch)
		vm_bench_die("out of memory");
	r->judging.contract = VM_CONTRACT_EXACT;
	vm_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < SLICE; i++)
		vm_bench_program(&rng, &r->program[i]);
	measure(r, &opt);
	vm_target_close(r->target);
	vm_judge_scratch_free(r->scratch);
	vm_trace_free(&r->trace);
	free(r);
	return 0;
}
