/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/run.h"

enum { OPT_FAIL_ON = CLI_OPT_OWN };

static const struct cli_option options[] = {
	CLI_JUDGE_OPTIONS,
	{ "fail-on", OPT_FAIL_ON, "WHAT",
	  "what makes exit status 1: violation (default), deviation, crash" },
	{ "verbose", 'v', NULL, "every call, the address space after it, and notes explained" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"judge TRACE... [options]",
	"Judge stored traces (trace files, or folders of findings); nothing is run.",
	options,
};

struct request {
	struct cli_target target;
	enum vm_fail_on fail_on;
	bool verbose;
};

static int parse(struct request *q, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (id == 'v')
			q->verbose = true;
		else if (id == OPT_FAIL_ON ? cli_fail_on(arg, &q->fail_on)
					   : cli_target_option(&q->target, id, arg) < 0)
			return CLI_BAD;
	}
	if (optind < argc)
		return 0;
	cli_error("judge needs a trace; see vmafuzz judge --help");
	return CLI_BAD;
}

static void summarise(const struct vm_judgement *j)
{
	unsigned int n[VM_VIOLATION + 1] = { 0 };

	for (uint32_t i = 0; i < j->nverdicts; i++)
		n[j->verdict[i].severity]++;
	printf("violations %u, deviations %u, notes %u\n", n[VM_VIOLATION], n[VM_DEVIATION],
	       n[VM_NOTE]);
}

static enum cli_exit judge(const struct request *q, struct cli_run *r, struct cli_printer *p,
			   const char *path)
{
	char text[512];

	if (cli_load_trace(path, &r->trace, text, sizeof(text))) {
		fflush(stdout);
		cli_error("%s", text);
		return CLI_FAILED;
	}
	cli_run_judge(r);
	cli_run_describe(r, &r->trace.info, text, sizeof(text));
	printf("%s: %s\n", path, text);
	if (r->regressed)
		printf("violation: %s\n", r->regression);
	cli_print_trace(p, &r->trace, &r->judgement);
	summarise(&r->judgement);
	return cli_worse(cli_status_of(&r->judgement, &r->trace, q->fail_on),
			 r->regressed && q->fail_on != VM_FAIL_CRASH ? CLI_FOUND : CLI_CONFORMS);
}

int cmd_judge(int argc, char **argv)
{
	struct request q = { .fail_on = VM_FAIL_VIOLATION };
	struct cli_printer p = { .prefix = "" };
	enum cli_exit status = CLI_CONFORMS;
	struct cli_run *r;
	int ret;

	cli_target_init(&q.target);
	ret = parse(&q, argc, argv);
	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	p.calls = p.states = q.verbose;
	p.mention = VM_NOTE;
	p.explain = q.verbose ? VM_NOTE : VM_DEVIATION;
	r = cli_judge_open(&q.target);
	if (!r || !cli_printer_open(&p)) {
		cli_run_close(r);
		return CLI_FAILED;
	}
	for (int i = optind; i < argc; i++)
		status = cli_worse(status, judge(&q, r, &p, argv[i]));
	cli_printer_close(&p);
	cli_run_close(r);
	return status;
}
