/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/guidance/arms.h"
#include "tests/bench/guidance/guidance.h"

#define MAX_SEEDS 100
#define AIM	  3.0

static const char usage[] =
	"Usage: vmafuzz-bench guidance [OPTION]...\n"
	"Count the programs until planted faults are found: by random bytes, by the generator\n"
	"alone, with the feedback of each engine. The kernel is played by the oracle's rules:\n"
	"nothing is executed.\n"
	"\n"
	"  --programs N   give up after N programs (1000000)\n"
	"  --seeds N      repeat with so many seeds (10)\n"
	"  --seed N       the first of them (1)\n"
	"  --held-out     the faults that tuning did not look at\n"
	"  --arm NAME     only bytes, generator, feedback (the random engine), libfuzzer or afl\n"
	"  --help         print this\n";

struct request {
	uint64_t budget, seed;
	uint32_t seeds, from, to;
	int arm; /* -1: all */
};

static struct vm_search result[VM_ARM_COUNT][MAX_SEEDS];

static int arm_by_name(const char *name)
{
	for (int i = 0; i < VM_ARM_COUNT; i++)
		if (!strcmp(vm_arm_name((enum vm_arm)i), name))
			return i;
	vm_bench_die("--arm %s: there are bytes, generator, feedback, libfuzzer, afl", name);
}

static void parse(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "programs", required_argument, NULL, 'p' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "held-out", no_argument, NULL, 'o' },
		{ "arm", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			r->budget = vm_bench_number("--programs", optarg, 1, UINT32_MAX);
			break;
		case 'n':
			r->seeds = (uint32_t)vm_bench_number("--seeds", optarg, 1, MAX_SEEDS);
			break;
		case 's':
			r->seed = vm_bench_number("--seed", optarg, 0, UINT32_MAX);
			break;
		case 'o':
			r->from = VM_FAULTS;
			r->to = VM_FAULTS_TOTAL;
			break;
		case 'a':
			r->arm = arm_by_name(optarg);
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

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Programs until found, over the seeds, sorted; not found: one more than the budget. */
static uint32_t sorted(const struct request *r, int arm, uint32_t fault, uint64_t value[MAX_SEEDS])
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < r->seeds; i++) {
		value[i] = result[arm][i].found[fault];
		found += value[i] != 0;
		if (!value[i])
			value[i] = r->budget + 1;
	}
	qsort(value, r->seeds, sizeof(value[0]), ascending);
	return found;
}

static double median(const uint64_t *value, uint32_t n)
{
	uint32_t low = (n - 1) / 2, high = n / 2;

	return ((double)value[low] + (double)value[high]) / 2;
}

static void print_count(const struct request *r, double programs)
{
	if (programs > (double)r->budget)
		printf(" >%-9llu", (unsigned long long)r->budget);
	else
		printf(" %-10.0f", programs);
}

/*
 * The median; the interval between the second smallest and second largest of ten holds the true one
 * with a probability of 98%.
 */
static double print_arm(const struct request *r, int arm, uint32_t fault)
{
	uint64_t value[MAX_SEEDS];
	uint32_t found = sorted(r, arm, fault, value), out = r->seeds >= 10;

	printf("%-16s %-10s", vm_fault_name(fault), vm_arm_name((enum vm_arm)arm));
	print_count(r, median(value, r->seeds));
	print_count(r, (double)value[out]);
	print_count(r, (double)value[r->seeds - 1 - out]);
	printf(" %u/%u\n", found, r->seeds);
	return median(value, r->seeds);
}

/* The median, over the faults, of how far an arm with feedback is ahead of the generator. */
static void print_ahead(const struct request *r, int arm, const double (*at)[VM_ARM_COUNT])
{
	uint64_t ratio[VM_FAULTS_TOTAL];
	uint32_t n = 0;
	char what[64];

	printf("\n");
	for (uint32_t fault = r->from; fault < r->to; fault++) {
		double ahead = at[fault][VM_ARM_GENERATOR] / at[fault][arm];

		printf("%-16s %s is %.1f times ahead of the generator\n", vm_fault_name(fault),
		       vm_arm_name((enum vm_arm)arm), ahead);
		ratio[n++] = (uint64_t)(ahead * 1000);
	}
	qsort(ratio, n, sizeof(ratio[0]), ascending);
	snprintf(what, sizeof(what), "on the median fault, %s", vm_arm_name((enum vm_arm)arm));
	vm_bench_print_aim(what, median(ratio, n) / 1000, AIM, "times ahead of the generator");
}

static void compare(const struct request *r)
{
	static double at[VM_FAULTS_TOTAL][VM_ARM_COUNT];

	printf("\n%-16s %-10s %-10s %-10s %-10s %s\n", "fault", "arm", "median", "from", "to",
	       "found");
	for (uint32_t fault = r->from; fault < r->to; fault++)
		for (int arm = 0; arm < VM_ARM_COUNT; arm++)
			if (r->arm < 0 || r->arm == arm)
				at[fault][arm] = print_arm(r, arm, fault);
	for (int arm = VM_ARM_FEEDBACK; arm < VM_ARM_COUNT && r->arm < 0; arm++)
		print_ahead(r, arm, at);
}

int vm_bench_guidance(int argc, char **argv)
{
	struct request r = {
		.budget = 1000000, .seed = 1, .seeds = 10, .to = VM_FAULTS, .arm = -1
	};

	parse(argc, argv, &r);
	printf("programs until a planted fault is found; %u seeds from %llu, at most %llu "
	       "programs\n",
	       r.seeds, (unsigned long long)r.seed, (unsigned long long)r.budget);
	for (int arm = 0; arm < VM_ARM_COUNT; arm++) {
		uint64_t programs = 0, calls = 0, features = 0, kept = 0;

		if (r.arm >= 0 && r.arm != arm)
			continue;
		for (uint32_t i = 0; i < r.seeds; i++) {
			vm_search_run((enum vm_arm)arm, r.seed + i, r.budget, r.from, r.to,
				      &result[arm][i]);
			programs += result[arm][i].programs;
			calls += result[arm][i].calls;
			features += result[arm][i].features;
			kept += result[arm][i].kept;
		}
		printf("%-10s %llu programs of %.1f calls; %llu features, %llu programs kept a "
		       "seed\n",
		       vm_arm_name((enum vm_arm)arm), (unsigned long long)programs,
		       (double)calls / (double)programs, (unsigned long long)(features / r.seeds),
		       (unsigned long long)(kept / r.seeds));
		fflush(stdout);
	}
	compare(&r);
	return 0;
}
