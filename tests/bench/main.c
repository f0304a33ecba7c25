/* SPDX-License-Identifier: MIT */
/* vmafuzz-bench: how fast programs run, are looked at and are judged. docs/bench.md. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate/rng.h"
#include "tests/bench/bench.h"
#include "tests/bench/figures.h"
#include "tests/bench/guest.h"
#include "tests/bench/guidance/guidance.h"
#include "tests/bench/guidance/player.h"
#include "tests/bench/programs.h"

static const char usage[] =
	"Usage: vmafuzz-bench [OPTION]...\n"
	"       vmafuzz-bench guidance [OPTION]...\n"
	"       vmafuzz-bench target TARGET [OPTION]...\n"
	"Time programs of 12 calls on this kernel: the calls alone (floor), with the observation\n"
	"of maps, with full observation, with the oracle; then the oracle alone. Noise is in the\n"
	"figures: compare ratios of one run. Exit status: 0, whatever was measured; 3 cannot run.\n"
	"\n"
	"  --rounds N     measure so many times, alternating (200)\n"
	"  --programs N   of so many different programs (200)\n"
	"  --seed N       which programs (1)\n"
	"  --help         print this\n";

struct options {
	uint32_t rounds, programs;
	uint64_t seed;
};

void vm_bench_die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "vmafuzz-bench: ");
	va_start(args, fmt);
	/* Started above; clang-tidy 14 forgets that when it is given several files. */
	vfprintf(stderr, fmt, args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(args);
	fprintf(stderr, "\n");
	exit(3);
}

void vm_bench_print_aim(const char *what, double got, double aim, const char *unit)
{
	int digits = aim < 10 ? 2 : 0;

	printf("aim: %s at least %.*f %s: %s (%.*f)\n", what, digits, aim, unit,
	       got >= aim ? "met" : "not met", digits, got);
}

uint64_t vm_bench_number(const char *name, const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*end || end == text || *text == '-' || value < least || value > most)
		vm_bench_die("%s %s: a number from %llu to %llu is expected", name, text,
			     (unsigned long long)least, (unsigned long long)most);
	return value;
}

static void parse_options(int argc, char **argv, struct options *opt)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "programs", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			opt->rounds = (uint32_t)vm_bench_number("--rounds", optarg, 1,
								VM_BENCH_MAX_ROUNDS);
			break;
		case 'p':
			opt->programs = (uint32_t)vm_bench_number("--programs", optarg, 1, 1000);
			break;
		case 's':
			opt->seed = vm_bench_number("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(3); /* getopt has said why */
		}
	}
	if (optind < argc)
		vm_bench_die("unexpected argument %s; see --help", argv[optind]);
}

static void prepare(struct vm_bench *b, const struct options *opt)
{
	struct vm_target_options defaults = { 0 };
	struct vm_rng rng;
	char err[512];

	b->rounds = opt->rounds;
	b->nprograms = opt->programs;
	b->judging.contract = VM_CONTRACT_EXACT;
	b->scratch = vm_judge_scratch_new();
	b->program = calloc(b->nprograms, sizeof(*b->program));
	b->stored = calloc(b->nprograms, sizeof(*b->stored));
	b->stored_len = calloc(b->nprograms, sizeof(*b->stored_len));
	if (!b->scratch || !b->program || !b->stored || !b->stored_len)
		vm_bench_die("out of memory");
	vm_rng_seed(&rng, opt->seed);
	for (uint32_t i = 0; i < b->nprograms; i++)
		vm_bench_program(&rng, &b->program[i]);
	b->target = vm_target_open("local", &defaults, err, sizeof(err));
	if (!b->target)
		vm_bench_die("%s", err);
}

static void release(struct vm_bench *b)
{
	vm_target_close(b->target);
	vm_judge_scratch_free(b->scratch);
	for (uint32_t i = 0; i < b->nprograms; i++)
		free(b->stored[i]);
	free(b->stored);
	free(b->stored_len);
	free(b->program);
}

int main(int argc, char **argv)
{
	struct options opt = { .rounds = 200, .programs = 200, .seed = 1 };
	struct vm_bench b = { 0 };
	const struct vm_target_info *info;

	if (argc > 1 && !strcmp(argv[1], "guidance"))
		return vm_bench_guidance(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "target"))
		return vm_bench_guest(argc - 1, argv + 1);
	if (argc == 3 && !strcmp(argv[1], "player")) /* started by guidance */
		return vm_bench_player(argv[2]);
	parse_options(argc, argv, &opt);
	prepare(&b, &opt);
	vm_bench_store(&b);
	info = vm_target_info(b.target);
	printf("%s %s %s\n%u programs of %d calls, seed %llu, %u rounds; %.1f%% of the calls "
	       "succeed, %llu violations\n\n",
	       info->sysname, info->release, info->machine, b.nprograms, VM_BENCH_CALLS,
	       (unsigned long long)opt.seed, b.rounds,
	       100.0 * (double)b.succeeded / (double)b.calls, (unsigned long long)b.verdicts);
	fflush(stdout);
	vm_bench_running(&b);
	fflush(stdout);
	vm_bench_oracle_alone(&b);
	release(&b);
	return 0;
}
