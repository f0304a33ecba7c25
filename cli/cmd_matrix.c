/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/matrix.h"
#include "fuzz/report/json.h"

enum { OPT_JSON = CLI_OPT_OWN, OPT_PAGE, OPT_FIND };

static const struct cli_option options[] = {
	{ "jobs", 'j', "N", "guests at a time; default: one a CPU" },
	{ "json", OPT_JSON, "FILE", "write the matrix as JSON" },
	{ "page", OPT_PAGE, "FILE", "write the matrix as a page in markdown" },
	{ "find", OPT_FIND, "TITLE",
	  "then fetch kernels in between until it is known where the title comes and goes" },
	CLI_JUDGE_OPTIONS,
	{ "inject", CLI_OPT_INJECT, "FAULT",
	  "make the executor behave like a broken kernel (`vmafuzz inject list`)" },
	{ "timeout", CLI_OPT_TIMEOUT, "MS", "of one program; default 2000" },
	{ "executor", CLI_OPT_EXECUTOR, "FILE",
	  "the executor; default: vmafuzz-executor beside this program" },
	{ "privileged", CLI_OPT_PRIVILEGED, NULL,
	  "run programs with the rights of the caller, not as nobody" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"matrix [KERNEL...] [PATH...] [options]",
	"Run the same programs on many kernels, and say which titles are on which. KERNEL is the\n"
	"name of one in the cache (debian-6.12; vmafuzz kernel list), or a target; default: all "
	"of\n"
	"Debian's in the cache. PATH is a .vma file or a folder; default: the conformance and\n"
	"regression programs. What is known of a kernel and a program is not run again.",
	options,
};

struct options {
	const char *json, *page, *find;
};

/* 0, or the code of cli_next() that ends it. */
static int parse(struct cli_matrix *m, struct options *o, int argc, char **argv)
{
	const char *arg;
	uint64_t jobs;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (id == OPT_JSON) {
			o->json = arg;
		} else if (id == OPT_PAGE) {
			o->page = arg;
		} else if (id == OPT_FIND) {
			o->find = arg;
		} else if (id == 'j') {
			if (cli_number("jobs", arg, 1, 64, &jobs))
				return CLI_BAD;
			m->jobs = (unsigned int)jobs;
		} else if (cli_target_option(&m->target, id, arg) < 0) {
			return CLI_BAD;
		}
	}
	return 0;
}

/* What was typed, on one line, without the page's own option. */
static void command_line(int argc, char **argv, char *text, size_t cap)
{
	size_t n = (size_t)snprintf(text, cap, "vmafuzz");

	for (int i = 0; i < argc && n < cap; i++) {
		const char *quote = strpbrk(argv[i], " '()") ? "\"" : "";

		n += (size_t)snprintf(text + n, cap - n, " %s%s%s", quote, argv[i], quote);
	}
}

static int write_page(const char *path, const struct vm_matrix *out, const char *command)
{
	char *text = NULL, err[512];
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int bad;

	if (!f) {
		cli_error("out of memory");
		return -1;
	}
	vm_matrix_page(out, command, f);
	bad = fclose(f);
	snprintf(err, sizeof(err), "out of memory");
	if (!bad)
		bad = vm_file_write(path, text, len, err, sizeof(err));
	free(text);
	if (bad)
		cli_error("%s", err);
	return bad ? -1 : 0;
}

static int write_json(const char *path, const struct vm_matrix *out)
{
	char *text = vm_matrix_json(out), err[512] = "out of memory";
	int bad = !text || vm_file_write(path, text, strlen(text), err, sizeof(err));

	free(text);
	if (bad)
		cli_error("%s", err);
	return bad ? -1 : 0;
}

static int run(struct cli_matrix *m, int argc, char **argv)
{
	struct options o = { 0 };
	struct vm_matrix out = { 0 };
	char line[1024];
	enum cli_exit ret;
	int code;

	/* getopt sorts the words. */
	command_line(argc, argv, line, sizeof(line));
	code = parse(m, &o, argc, argv);
	if (code)
		return code == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	if (cli_matrix_gather(m, argv + optind, argc - optind))
		return CLI_FAILED;
	ret = cli_matrix_run(m, &out);
	vm_matrix_print(&out, stdout);
	fflush(stdout);
	if ((o.json && write_json(o.json, &out)) || (o.page && write_page(o.page, &out, line)))
		ret = CLI_FAILED;
	if (o.find)
		ret = cli_matrix_find(m, &out, o.find);
	vm_matrix_free(&out);
	return (int)ret;
}

int cmd_matrix(int argc, char **argv)
{
	struct cli_matrix m = { 0 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int ret;

	cli_target_init(&m.target);
	m.jobs = cpus > 0 ? (unsigned int)cpus : 1;
	ret = run(&m, argc, argv);
	cli_matrix_free(&m);
	return ret;
}
