/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/vmlinux.h"
#include "fuzz/campaign/distil.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/pcs.h"
#include "fuzz/campaign/supervise.h"
#include "fuzz/cover/points.h"

#define DEFAULT_CORPUS "corpus/seeds"

enum {
	OPT_ENGINE = CLI_OPT_OWN,
	OPT_TIME,
	OPT_PROGRAMS,
	OPT_JOBS,
	OPT_CORPUS,
	OPT_OUT,
	OPT_SEED,
	OPT_FAIL_ON,
	OPT_SYNC,
	OPT_MINIMIZE,
	OPT_VMLINUX,
	OPT_FILES,
	OPT_FUNCTIONS,
	OPT_JSON
};

static const struct cli_option options[] = {
	{ "engine", OPT_ENGINE, "NAME",
	  "afl, libfuzzer or random; default: the first that is there" },
	{ "time", OPT_TIME, "T", "end after T (90, 90s, 5m, 2h); default: at Ctrl-C" },
	{ "programs", OPT_PROGRAMS, "N", "end after N programs" },
	{ "jobs", OPT_JOBS, "N", "engine processes; default 1" },
	{ "corpus", OPT_CORPUS, "PATH",
	  "seeds, .vma or bytes; default: " DEFAULT_CORPUS " if there" },
	{ "out", OPT_OUT, "DIR", "corpus, findings, stats, log; goes on from there; default: out" },
	{ "seed", OPT_SEED, "N", "of all random choices; default 1" },
	{ "fail-on", OPT_FAIL_ON, "WHAT",
	  "what makes exit status 1: violation (default), deviation, crash" },
	{ "sync", OPT_SYNC, NULL,
	  "each program on the disk before it runs (slow; the host may panic)" },
	{ "minimize-corpus", OPT_MINIMIZE, NULL,
	  "no campaign: drop from OUT/corpus what adds no feature" },
	{ "vmlinux", OPT_VMLINUX, "FILE",
	  "with kcov: only --files of this kernel count; default: that of kernel:NAME, else all" },
	{ "files", OPT_FILES, "LIST",
	  "source files; default: mm/ mremap, mseal, vma, mmap, mprotect, madvise" },
	{ "functions", OPT_FUNCTIONS, "LIST", "these functions instead of files" },
	{ "json", OPT_JSON, NULL, "the summary as JSON on stdout, all else on stderr" },
	CLI_TARGET_OPTIONS,
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"fuzz [options]",
	"Run a campaign: an engine makes programs, a target runs them, the oracle judges what "
	"they\n"
	"did. Findings are kept in OUT/findings, one folder a title.",
	options,
};

struct request {
	struct vm_options opt;
	struct cli_target target;
	int engine; /* -1: not said */
	bool minimize;
	const char *vmlinux, *files, *functions; /* what limits kcov's edges */
};

static int take_engine(struct request *r, const char *arg)
{
	char why[512];

	r->engine = vm_engine_by_name(arg);
	if (r->engine < 0) {
		cli_error("there is no engine %s; there are afl, libfuzzer, random", arg);
		return -1;
	}
	if (vm_engine_found((enum vm_engine)r->engine, why, sizeof(why)))
		return 0;
	cli_error("the engine %s cannot run: %s", arg, why);
	return -1;
}

static int take_fail_on(struct request *r, const char *arg)
{
	int f = vm_fail_on_by_name(arg);

	if (f < 0) {
		cli_error("--fail-on %s: give violation, deviation or crash", arg);
		return -1;
	}
	r->opt.fail_on = (enum vm_fail_on)f;
	return 0;
}

static int take(struct request *r, int id, const char *arg)
{
	uint64_t n;

	switch (id) {
	case OPT_ENGINE:
		return take_engine(r, arg);
	case OPT_TIME:
		return cli_seconds("time", arg, &r->opt.seconds);
	case OPT_PROGRAMS:
		return cli_number("programs", arg, 1, UINT64_MAX / 2, &r->opt.programs);
	case OPT_JOBS:
		if (cli_number("jobs", arg, 1, 256, &n))
			return -1;
		r->opt.jobs = (uint32_t)n;
		return 0;
	case OPT_CORPUS:
		r->opt.corpus = arg;
		return 0;
	case OPT_OUT:
		r->opt.out = arg;
		return 0;
	case OPT_SEED:
		return cli_number("seed", arg, 0, INT64_MAX, &r->opt.seed);
	case OPT_FAIL_ON:
		return take_fail_on(r, arg);
	case OPT_SYNC:
		r->opt.sync = true;
		return 0;
	case OPT_MINIMIZE:
		r->minimize = true;
		return 0;
	case OPT_JSON:
		r->opt.json = true;
		return 0;
	case OPT_VMLINUX:
		r->vmlinux = arg;
		return 0;
	case OPT_FILES:
		r->files = arg;
		return 0;
	case OPT_FUNCTIONS:
		r->functions = arg;
		return 0;
	default:
		return cli_target_option(&r->target, id, arg) < 0 ? -1 : 0;
	}
}

static int parse(struct request *r, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (take(r, id, arg))
			return CLI_BAD;
	}
	if (optind < argc) {
		cli_error("fuzz takes no %s; seeds are given with --corpus", argv[optind]);
		return CLI_BAD;
	}
	return 0;
}

static enum vm_engine choose_engine(const struct request *r)
{
	char why[512];

	if (r->engine >= 0)
		return (enum vm_engine)r->engine;
	for (int e = 0; e < VM_ENGINE_COUNT; e++) {
		if (vm_engine_found((enum vm_engine)e, why, sizeof(why)))
			return (enum vm_engine)e;
	}
	return VM_ENGINE_RANDOM;
}

static void introduce(const struct vm_campaign *c, enum vm_engine engine)
{
	FILE *to = c->opt.json ? stderr : stdout;
	char kernel[256];

	vm_target_name(&c->info, kernel, sizeof(kernel));
	fprintf(to, "target %s: %s, profile %s (%s)\n", c->opt.target, kernel, c->profile->name,
		c->why);
	if (c->info.inject[0])
		fprintf(to, "injected fault: %s\n", c->info.inject);
	fprintf(to, "engine %s, contract %s, seed %llu; %zu seeds%s%s", vm_engine_name(engine),
		vm_contract_name(c->contract), (unsigned long long)c->opt.seed, c->seeds,
		c->opt.corpus ? " from " : "", c->opt.corpus ? c->opt.corpus : "");
	if (c->resumed)
		fprintf(to, ", going on with %zu programs", c->resumed);
	fprintf(to, "; results in %s\n", c->opt.out);
	if (c->regressed)
		fprintf(to, "violation: %s\n", c->regression);
	fflush(to);
}

static int minimize(const struct vm_campaign *c)
{
	struct vm_distilled d;
	char err[512];

	if (vm_distil(c, &d, err, sizeof(err))) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	if (c->opt.json)
		printf("{\"before\": %zu, \"after\": %zu, \"features\": %llu}\n", d.before, d.after,
		       (unsigned long long)d.features);
	else
		printf("%s/corpus: %zu programs before, %zu after, with the same %llu features\n",
		       c->opt.out, d.before, d.after, (unsigned long long)d.features);
	return CLI_CONFORMS;
}

/* Limit kcov's edges to the code that was chosen of a vmlinux; 0, or -1 with one line in err. */
static int limit_to(const struct request *r, const char *vmlinux, char *err, size_t errlen)
{
	struct vm_places places = { 0 };
	struct vm_points points = { 0 };
	struct vm_vmlinux *v = vm_vmlinux_open(vmlinux, err, errlen);
	int ret = -1;

	if (v && !vm_points_find(&points, v, r->functions, r->files, err, errlen)) {
		if (vm_points_places(&points, &places))
			snprintf(err, errlen, "no memory for the functions of %s", vmlinux);
		else
			ret = vm_places_save(r->opt.out, &places, err, errlen);
	}
	vm_places_free(&places);
	vm_points_free(&points);
	vm_vmlinux_close(v);
	return ret;
}

/* A kernel of the cache brings its vmlinux along; without one all counts that kcov tells of. */
static int limit_edges(const struct request *r, const struct vm_campaign *c, char *err,
		       size_t errlen)
{
	const struct vm_places all = { 0 };
	struct vm_kernel kernel;
	const char *beside = cli_vmlinux_of(r->opt.target, &kernel);

	if (vm_places_save(r->opt.out, &all, err, errlen))
		return -1;
	if (!(c->info.features & VM_HAS_KCOV)) {
		if (r->vmlinux)
			snprintf(err, errlen, "--vmlinux: the target %s has no kcov",
				 r->opt.target);
		return r->vmlinux ? -1 : 0;
	}
	if (r->vmlinux)
		return limit_to(r, r->vmlinux, err, errlen);
	if (beside && limit_to(r, beside, err, errlen))
		fprintf(stderr, "vmafuzz fuzz: all instrumented code counts: %s\n", err);
	return 0;
}

int cmd_fuzz(int argc, char **argv)
{
	struct request r = { .engine = -1, .files = VM_COVER_FILES };
	struct vm_campaign campaign;
	enum vm_engine engine;
	char err[512];
	int ret;

	vm_options_default(&r.opt);
	cli_target_init(&r.target);
	if (!access(DEFAULT_CORPUS, R_OK))
		r.opt.corpus = DEFAULT_CORPUS;
	ret = parse(&r, argc, argv);
	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	r.opt.target = r.target.spec;
	r.opt.profile = r.target.profile;
	r.opt.contract = r.target.contract;
	r.opt.inject = r.target.opt.inject;
	r.opt.executor = r.target.opt.executor;
	r.opt.timeout_ms = r.target.opt.timeout_ms;
	r.opt.privileged = r.target.opt.privileged;
	engine = choose_engine(&r);
	if (vm_campaign_prepare(&campaign, &r.opt, err, sizeof(err)) ||
	    limit_edges(&r, &campaign, err, sizeof(err))) {
		cli_error("%s", err);
		ret = CLI_FAILED;
	} else if (r.minimize) {
		ret = minimize(&campaign);
	} else {
		introduce(&campaign, engine);
		ret = vm_supervise(&campaign, engine);
	}
	vm_campaign_release(&campaign);
	return ret;
}
