/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/run.h"
#include "fuzz/campaign/folder.h"
#include "harness/trace/preamble.h"

enum { OPT_FAIL_ON = CLI_OPT_OWN, OPT_TIMES, OPT_SAVE };

static const struct cli_option options[] = {
	{ "times", OPT_TIMES, "N", "run each program N times, say how often each title came up" },
	{ "save-trace", OPT_SAVE, "FILE", "store the trace of the first run" },
	{ "verbose", 'v', NULL, "the address space after every call, and notes explained" },
	CLI_TARGET_OPTIONS,
	{ "fail-on", OPT_FAIL_ON, "WHAT",
	  "what makes exit status 1: violation (default), deviation, crash" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"replay FILE... [options]",
	"Run programs and explain each step: the call, its result, the address space after it "
	"where\n"
	"it changed, and the verdict. FILE is .vma text, program bytes, a trace (its program is "
	"run\n"
	"again) or the folder of a finding.",
	options,
};

struct request {
	struct cli_target target;
	enum vm_fail_on fail_on;
	bool verbose, count;
	uint64_t times;
	const char *save;
};

/* A title, and in how many runs it came up. */
struct tally {
	char title[VM_TITLE_MAX];
	uint8_t severity;
	uint64_t runs, last; /* last: the run that was counted last, from 1 */
};

struct tallies {
	struct tally *t;
	size_t n;
};

static int take(struct request *q, int id, const char *arg)
{
	switch (id) {
	case 'v':
		q->verbose = true;
		return 0;
	case OPT_FAIL_ON:
		return cli_fail_on(arg, &q->fail_on);
	case OPT_SAVE:
		q->save = arg;
		return 0;
	case OPT_TIMES:
		q->count = true;
		return cli_number("times", arg, 1, 1000000000, &q->times);
	default:
		return cli_target_option(&q->target, id, arg) < 0 ? -1 : 0;
	}
}

static int parse(struct request *q, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (take(q, id, arg))
			return CLI_BAD;
	}
	if (optind == argc) {
		cli_error("replay needs a program; see vmafuzz replay --help");
		return CLI_BAD;
	}
	if (q->save && optind + 1 < argc) {
		cli_error("--save-trace takes one program at a time");
		return CLI_BAD;
	}
	return 0;
}

static void tally_title(struct tallies *all, const struct vm_verdict *v, uint64_t run)
{
	struct tally *t = all->t, *more;

	while (t < all->t + all->n && strcmp(t->title, v->title))
		t++;
	if (t == all->t + all->n) {
		more = realloc(all->t, (all->n + 1) * sizeof(*more));
		if (!more)
			return;
		all->t = more;
		t = &more[all->n++];
		*t = (struct tally){ .severity = v->severity };
		memcpy(t->title, v->title, sizeof(t->title));
	}
	if (t->last != run)
		t->runs++;
	t->last = run;
}

static void print_tallies(const struct tallies *all, uint64_t times)
{
	for (size_t i = 0; i < all->n; i++)
		printf("reproduced %llu of %llu: %s: %s\n", (unsigned long long)all->t[i].runs,
		       (unsigned long long)times, vm_severity_name(all->t[i].severity),
		       all->t[i].title);
	if (!all->n)
		printf("nothing to report in %llu runs\n", (unsigned long long)times);
}

static void print_unmet(struct cli_run *r, const struct cli_program *prog, struct cli_printer *p)
{
	if (!r->trace.nevents)
		return;
	if (vm_expect_check(&prog->script, &r->trace, &r->judgement, r->profile, &p->text)) {
		printf("expectations that were not met:\n");
		cli_print_text(p);
	}
}

/* One run, printed if it is the first. */
static int run_once(const struct request *q, struct cli_run *r, struct cli_printer *p,
		    const struct cli_program *prog, bool first, enum cli_exit *status)
{
	char err[512];
	int ret = cli_run_program(r, &prog->script.prog, err, sizeof(err));

	if (ret <= 0) {
		fflush(stdout);
		cli_error("%s", err);
		*status = cli_worse(*status, CLI_FAILED);
		if (ret < 0)
			return -1;
	}
	*status = cli_worse(*status, cli_status_of(&r->judgement, &r->trace, q->fail_on));
	if (!first)
		return 0;
	cli_print_trace(p, &r->trace, &r->judgement);
	cli_print_reports(p, &r->watch);
	print_unmet(r, prog, p);
	if (!q->save || !vm_trace_save(q->save, &r->trace, err, sizeof(err)))
		return 0;
	cli_error("%s", err);
	*status = cli_worse(*status, CLI_FAILED);
	return -1;
}

/* The programs that ran before, if the folder of the program has them: a finding's batch. */
static int find_batch(const struct cli_program *prog, char ***path, size_t *n)
{
	char folder[PATH_MAX], err[512];
	char *slash;

	*n = 0;
	*path = NULL;
	snprintf(folder, sizeof(folder), "%s", prog->path);
	slash = strrchr(folder, '/');
	if (!slash || strcmp(slash, "/program.vma"))
		return 0;
	*slash = '\0';
	if (!vm_folder_list(folder, ".bin", path, n, err, sizeof(err)))
		return 0;
	cli_error("%s", err);
	return -1;
}

static bool is_in_batch(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strncmp(name, "/batch-", 7);
}

/*
 * All of the batch, one after the other, in a fresh guest: the number of the program after which
 * the kernel had something to say, 0 if it had not, -1 and said.
 */
static int run_batch(struct cli_run *r, struct cli_printer *p, char **path, size_t n, int *ran)
{
	struct cli_program *prog = calloc(1, sizeof(*prog));
	char err[512];
	int ret = 0;

	*ran = 0;
	if (!prog || cli_run_reboot(r, err, sizeof(err))) {
		cli_error("%s", prog ? err : "out of memory");
		free(prog);
		return -1;
	}
	for (size_t i = 0; i < n && !ret; i++) {
		if (!is_in_batch(path[i]))
			continue;
		++*ran;
		if (cli_load(path[i], prog, err, sizeof(err)) ||
		    cli_run_program(r, &prog->script.prog, err, sizeof(err)) < 0) {
			cli_error("%s", err);
			ret = -1;
		} else if (r->watch.n) {
			ret = *ran;
			cli_print_reports(p, &r->watch);
		}
	}
	free(prog);
	return ret;
}

/* Where the program alone did not make a guest's kernel complain, the batch before it may. */
static int replay_batch(struct cli_run *r, struct cli_printer *p, const struct cli_program *prog,
			enum cli_exit *status)
{
	char **path;
	size_t n;
	int ran, at;

	if (!cli_run_has_console(r) || r->nreports)
		return 0;
	if (find_batch(prog, &path, &n))
		return -1;
	at = n ? run_batch(r, p, path, n, &ran) : 0;
	if (at > 0) {
		printf("reproduced by the batch of programs before it, at number %d: %s\n", at,
		       r->watch.report[0].title);
		*status = cli_worse(*status, CLI_CRASHED);
	} else if (!at && n && ran) {
		printf("not reproduced by the batch of %d programs before it\n", ran);
	}
	vm_folder_list_free(path, n);
	return at < 0 ? -1 : 0;
}

static int replay(const struct request *q, struct cli_run *r, struct cli_printer *p,
		  const struct cli_program *prog, enum cli_exit *status)
{
	const struct vm_program *program = &prog->script.prog;
	struct tallies all = { 0 };
	uint64_t run = 0;
	char why[160];
	int ret = 0;

	printf("%s: %u calls\n", prog->path, program->ncalls);
	if (vm_preamble_refused(program, vm_target_info(r->target), why, sizeof(why))) {
		fflush(stdout);
		cli_error("%s: not run: %s", prog->path, why);
		*status = cli_worse(*status, CLI_FAILED);
		return 0;
	}
	while (!ret && run < q->times) {
		ret = run_once(q, r, p, prog, !run, status);
		run++;
		for (uint32_t i = 0; !ret && i < r->judgement.nverdicts; i++)
			tally_title(&all, &r->judgement.verdict[i], run);
	}
	if (q->count && !ret)
		print_tallies(&all, q->times);
	free(all.t);
	return ret ? ret : replay_batch(r, p, prog, status);
}

/* All programs, read before the first one runs; NULL, and said, if one cannot be. */
static struct cli_program *load_all(char **path, size_t n)
{
	struct cli_program *prog = calloc(n, sizeof(*prog));
	char err[512];

	if (!prog) {
		cli_error("out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		if (!cli_load(path[i], &prog[i], err, sizeof(err)))
			continue;
		cli_error("%s", err);
		free(prog);
		return NULL;
	}
	return prog;
}

static enum cli_exit replay_all(const struct request *q, const struct cli_program *prog, size_t n)
{
	struct cli_printer p = { .prefix = "",
				 .calls = true,
				 .states = q->verbose,
				 .mention = VM_NOTE,
				 .explain = q->verbose ? VM_NOTE : VM_DEVIATION };
	struct cli_run *r = cli_run_open(&q->target);
	enum cli_exit status = CLI_CONFORMS;
	char text[512];

	if (!r || !cli_printer_open(&p)) {
		cli_run_close(r);
		return CLI_FAILED;
	}
	/* Each run in a guest that has not complained yet: WARN_ON_ONCE() is silent later. */
	r->fresh = VM_REPORT_STALLED;
	cli_run_describe(r, vm_target_info(r->target), text, sizeof(text));
	printf("target %s: %s\n", r->spec, text);
	if (r->regressed) {
		printf("violation: %s\n", r->regression);
		status = q->fail_on == VM_FAIL_CRASH ? CLI_CONFORMS : CLI_FOUND;
	}
	for (size_t i = 0; i < n; i++) {
		if (replay(q, r, &p, &prog[i], &status))
			break;
	}
	cli_printer_close(&p);
	cli_run_close(r);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	struct request q = { .fail_on = VM_FAIL_VIOLATION, .times = 1 };
	struct cli_program *prog;
	enum cli_exit status;
	int ret;

	cli_target_init(&q.target);
	ret = parse(&q, argc, argv);
	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	prog = load_all(argv + optind, (size_t)(argc - optind));
	if (!prog)
		return CLI_FAILED;
	status = replay_all(&q, prog, (size_t)(argc - optind));
	free(prog);
	return status;
}
