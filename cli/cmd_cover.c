/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/suite.h"
#include "cli/vmlinux.h"
#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/cover/reach.h"

#define MOST_ALLOCATIONS 64 /* of one call that are made to fail */

enum {
	OPT_VMLINUX = CLI_OPT_OWN,
	OPT_FILES,
	OPT_FUNCTIONS,
	OPT_PCS,
	OPT_AGAINST,
	OPT_SAVE,
	OPT_UNREACHED,
	OPT_MISSING,
	OPT_FAIL_NTH,
	OPT_HTML,
	OPT_JSON
};

static const struct cli_option options[] = {
	{ "vmlinux", OPT_VMLINUX, "FILE",
	  "the uncompressed kernel that runs; default: that of --target kernel:NAME" },
	{ "files", OPT_FILES, "LIST",
	  "source files, commas between; default: mm/ mremap, mseal, vma, mmap, mprotect, "
	  "madvise" },
	{ "functions", OPT_FUNCTIONS, "LIST", "these functions instead of files" },
	{ "pcs", OPT_PCS, "FILE", "points that were reached, in hex; may be given more than once" },
	{ "against", OPT_AGAINST, "FILE", "the same of something else, for a second column" },
	{ "save", OPT_SAVE, "FILE", "write the points that were reached, for --pcs and --against" },
	{ "unreached", OPT_UNREACHED, "FILE",
	  "lines of a place and why it is not reached (mm/vma.c:120 REASON)" },
	{ "fail-nth", OPT_FAIL_NTH, NULL,
	  "run each program again with each allocation of each call made to fail, in turn" },
	{ "missing", OPT_MISSING, NULL, "each point that was not reached, with its code" },
	{ "html", OPT_HTML, "FILE", "all of it as a page" },
	{ "json", OPT_JSON, "FILE", "all of it as JSON (- is stdout, instead of text)" },
	CLI_TARGET_OPTIONS,
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"cover [--vmlinux FILE] [--target T] [DIR|FILE...] [options]",
	"Which instrumented points of the kernel were reached, of all that its vmlinux has, by\n"
	"function. With --target the programs of DIR (a campaign's --out, a corpus, a folder of\n"
	".vma files) or FILE are run there; without, the points are those that the campaign in "
	"DIR\n"
	"has noted (DIR/pcs).",
	options,
};

struct request {
	struct cli_target target;
	bool run; /* --target was given */
	const char *vmlinux, *files, *functions, *against, *save, *unreached, *html, *json;
	bool missing, fail_nth;
	struct vm_kernel kernel;
	struct vm_pcs pcs, other;
};

static int load_pcs(struct vm_pcs *pcs, const char *path)
{
	char err[512];

	if (!vm_pcs_load(pcs, path, err, sizeof(err)))
		return 0;
	cli_error("%s", err);
	return -1;
}

static int take(struct request *q, int id, const char *arg)
{
	switch (id) {
	case OPT_VMLINUX:
		q->vmlinux = arg;
		return 0;
	case OPT_FILES:
		q->files = arg;
		return 0;
	case OPT_FUNCTIONS:
		q->functions = arg;
		return 0;
	case OPT_PCS:
		return load_pcs(&q->pcs, arg);
	case OPT_AGAINST:
		q->against = arg;
		return load_pcs(&q->other, arg);
	case OPT_SAVE:
		q->save = arg;
		return 0;
	case OPT_UNREACHED:
		q->unreached = arg;
		return 0;
	case OPT_FAIL_NTH:
		q->fail_nth = true;
		return 0;
	case OPT_MISSING:
		q->missing = true;
		return 0;
	case OPT_HTML:
		q->html = arg;
		return 0;
	case OPT_JSON:
		q->json = arg;
		return 0;
	default:
		q->run |= id == CLI_OPT_TARGET;
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
	if (!q->vmlinux && q->run)
		q->vmlinux = cli_vmlinux_of(q->target.spec, &q->kernel);
	if (!q->vmlinux) {
		cli_error("cover needs --vmlinux, or a --target kernel:NAME that has one; see "
			  "vmafuzz cover --help");
		return CLI_BAD;
	}
	if (q->run && optind == argc) {
		cli_error(
			"cover needs programs to run on the target: a campaign's --out, or files");
		return CLI_BAD;
	}
	return 0;
}

/* ---- running programs ---- */

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The programs of an operand: a campaign's corpus, .vma files below a folder, or other files. */
static int load_programs(struct vm_corpus *corpus, const char *path, char *err, size_t errlen)
{
	char inner[VM_PATH_MAX];
	struct cli_suite suite = { 0 };
	struct vm_program prog;
	int ret = 0;

	vm_path(inner, "%s/corpus", path);
	if (is_folder(inner))
		return vm_corpus_load(corpus, inner, err, errlen);
	if (!is_folder(path) || cli_suite_add(&suite, path, err, errlen) || !suite.n)
		ret = vm_corpus_load(corpus, path, err, errlen);
	for (size_t i = 0; i < suite.n && !ret; i++) {
		ret = vm_corpus_read(suite.test[i].path, &prog, err, errlen);
		if (!ret && vm_corpus_add(corpus, &prog)) {
			snprintf(err, errlen, "no memory for the programs of %s", path);
			ret = -1;
		}
	}
	cli_suite_free(&suite);
	return ret;
}

/* What one run went through; how many of its calls have more than there was room for. */
static int note(struct vm_pcs *pcs, const struct vm_trace *trace, uint64_t *cut)
{
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_cover *c = &trace->event[i].cover;

		*cut += c->cut;
		for (uint32_t k = 0; k < c->nedges; k++)
			if (vm_pcs_add(pcs, c->edge[k].to) < 0)
				return -1;
	}
	return 0;
}

struct runner {
	struct request *q;
	struct vm_target *target;
	struct vm_trace trace;
	uint64_t cut;
};

/* Run once; 0, or -1 and said: the target is gone, or memory. */
static int run_one(struct runner *r, const struct vm_program *prog)
{
	char err[512];
	int ret = vm_target_run(r->target, prog, VM_RUN_COVER, &r->trace, err, sizeof(err));

	if (ret <= 0)
		cli_error("%s", err);
	if (ret >= 0 && note(&r->q->pcs, &r->trace, &r->cut)) {
		cli_error("no memory for the points that were reached");
		ret = -1;
	}
	return ret < 0 ? -1 : 0;
}

static bool injected(const struct vm_trace *trace, unsigned int call)
{
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind == VM_EVENT_CALL && e->call == call)
			return e->injected;
	}
	return false;
}

/* Each allocation inside of each call fails once, until a call has no such one. */
static int run_failing(struct runner *r, struct vm_program *prog)
{
	for (unsigned int i = 0; i < prog->ncalls; i++) {
		for (unsigned int nth = 1; nth <= MOST_ALLOCATIONS; nth++) {
			prog->call[i].fail_nth = (uint16_t)nth;
			if (run_one(r, prog))
				return -1;
			if (!injected(&r->trace, i))
				break;
		}
		prog->call[i].fail_nth = 0;
	}
	return 0;
}

static int run_programs(struct request *q, struct vm_target *t, const struct vm_corpus *corpus)
{
	static struct runner r;
	struct vm_program prog;
	int ret = 0;

	r = (struct runner){ .q = q, .target = t };
	for (size_t i = 0; i < corpus->n && !ret; i++) {
		vm_corpus_get(corpus, i, &prog);
		ret = run_one(&r, &prog);
		if (!ret && q->fail_nth)
			ret = run_failing(&r, &prog);
	}
	if (r.cut)
		fprintf(stderr,
			"vmafuzz cover: %" PRIu64 " calls went through more than is told of one\n",
			r.cut);
	vm_trace_free(&r.trace);
	return ret;
}

static int run_all(struct request *q, const struct vm_points *points, char **path, int n)
{
	struct vm_places places = { 0 };
	struct vm_corpus corpus = { 0 };
	struct vm_target *t = NULL;
	char err[512] = "";
	int ret = 0;

	for (int i = 0; i < n && !ret; i++)
		ret = load_programs(&corpus, path[i], err, sizeof(err));
	if (!ret)
		t = vm_target_open(q->target.spec, &q->target.opt, err, sizeof(err));
	if (!t) {
		cli_error("%s", err);
		ret = -1;
	} else if (!(vm_target_info(t)->features & VM_HAS_KCOV)) {
		cli_error(
			"the target %s has no kcov: /sys/kernel/debug/kcov cannot be opened there "
			"(CONFIG_KCOV, debugfs mounted, an executor that starts as root)",
			q->target.spec);
		ret = -1;
	} else if (q->fail_nth && !(vm_target_info(t)->features & VM_HAS_FAIL_NTH)) {
		cli_error("--fail-nth: the target %s cannot let allocations fail "
			  "(CONFIG_FAULT_INJECTION, CONFIG_FAILSLAB)",
			  q->target.spec);
		ret = -1;
	} else if (vm_points_places(points, &places)) {
		cli_error("no memory for the functions of vmlinux");
		ret = -1;
	} else {
		vm_target_limit(t, &places);
		ret = run_programs(q, t, &corpus);
	}
	vm_target_close(t);
	vm_places_free(&places);
	vm_corpus_free(&corpus);
	return ret;
}

/* Points that campaigns have noted. */
static int load_all(struct request *q, char **path, int n)
{
	char pcs[VM_PATH_MAX];

	for (int i = 0; i < n; i++) {
		vm_path(pcs, "%s/pcs", path[i]);
		if (is_folder(path[i]) && access(pcs, F_OK)) {
			cli_error("there is no %s: run `vmafuzz fuzz` on a target with kcov and "
				  "this --out, or give --target",
				  pcs);
			return -1;
		}
		if (load_pcs(&q->pcs, is_folder(path[i]) ? pcs : path[i]))
			return -1;
	}
	return 0;
}

/* ---- reporting ---- */

static int store(const char *path, char *text)
{
	char err[512];
	int ret = 0;

	if (!text)
		snprintf(err, sizeof(err), "no memory for %s", path);
	if (!text || (strcmp(path, "-") ? vm_file_write(path, text, strlen(text), err, sizeof(err))
					: fputs(text, stdout) < 0)) {
		cli_error("%s", err);
		ret = -1;
	}
	free(text);
	return ret;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The set as lines, sorted, malloc()ed; NULL without memory. */
static char *lines_of(const struct vm_pcs *pcs)
{
	uint64_t *all = calloc(pcs->n + 1, sizeof(*all));
	size_t n = 0, len;
	char *text = NULL;
	FILE *to = all ? open_memstream(&text, &len) : NULL;

	for (size_t i = 0; to && i < pcs->cap; i++)
		if (pcs->slot[i])
			all[n++] = pcs->slot[i];
	if (to) {
		qsort(all, n, sizeof(*all), by_value);
		for (size_t i = 0; i < n; i++)
			fprintf(to, "%" PRIx64 "\n", all[i]);
		fclose(to);
	}
	free(all);
	return text;
}

static int report(const struct request *q, const struct vm_reach *r)
{
	int bad = 0;

	if (q->save)
		bad |= store(q->save, lines_of(&q->pcs));
	if (q->json)
		bad |= store(q->json, vm_reach_json(r));
	if (q->html)
		bad |= store(q->html, vm_reach_html(r, "Kernel coverage of vmafuzz"));
	if (!q->json || strcmp(q->json, "-"))
		vm_reach_print(stdout, r, q->missing);
	return bad;
}

static int measure(struct request *q, struct vm_reach *r, char *err, size_t errlen)
{
	if (vm_reach_mark(r, &q->pcs, false, err, errlen) ||
	    (q->against && vm_reach_mark(r, &q->other, true, err, errlen)) ||
	    (q->unreached && vm_reach_excuse(r, q->unreached, err, errlen)))
		return -1;
	if (!vm_reach_count(r))
		return 0;
	snprintf(err, errlen, "no memory to count");
	return -1;
}

int cmd_cover(int argc, char **argv)
{
	struct request q = { .files = VM_COVER_FILES };
	struct vm_vmlinux *v = NULL;
	struct vm_reach r = { 0 };
	char err[512];
	int ret, bad;

	cli_target_init(&q.target);
	ret = parse(&q, argc, argv);
	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	v = vm_vmlinux_open(q.vmlinux, err, sizeof(err));
	bad = !v || vm_reach_open(&r, v, q.functions, q.files, err, sizeof(err));
	if (bad)
		cli_error("%s", err);
	if (!bad)
		bad = q.run ? run_all(&q, &r.points, argv + optind, argc - optind)
			    : load_all(&q, argv + optind, argc - optind);
	if (!bad) {
		bad = measure(&q, &r, err, sizeof(err));
		if (bad)
			cli_error("%s", err);
	}
	if (!bad)
		bad = report(&q, &r);
	vm_reach_close(&r);
	vm_vmlinux_close(v);
	vm_pcs_free(&q.pcs);
	vm_pcs_free(&q.other);
	return bad ? CLI_FAILED : CLI_CONFORMS;
}
