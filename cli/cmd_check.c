/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail_nth.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/record.h"
#include "harness/target/process.h"
#include "harness/trace/preamble.h"

#define CORPUS "corpus/conformance"

enum { OPT_FAIL_ON = CLI_OPT_OWN, OPT_JUNIT, OPT_JSON, OPT_CAUSES, OPT_FAIL_NTH };

static const struct cli_option options[] = {
	{ "fail-on", OPT_FAIL_ON, "WHAT",
	  "what fails a program: violation, deviation (or worse), or crash" },
	{ "junit", OPT_JUNIT, "FILE", "write the results as JUnit XML" },
	{ "json", OPT_JSON, "FILE", "write the results as JSON" },
	{ "causes", OPT_CAUSES, NULL, "say which causes of the rules each program reaches" },
	{ "fail-nth", OPT_FAIL_NTH, "N|all",
	  "run each program once for each allocation in each of its calls, which then fails" },
	{ "verbose", 'v', NULL, "every call and the address space after it, notes, explanations" },
	CLI_TARGET_OPTIONS,
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"check [PATH...] [options]",
	"Run conformance programs and print KTAP. PATH is a .vma file or a folder; "
	"default:\n" CORPUS ", here or beside the folder of this program. Without --fail-on a\n"
	"program fails at an unmet expectation or a violation.",
	options,
};

struct check {
	struct cli_target target;
	bool expectations; /* an unmet one fails a program */
	enum vm_fail_on fail_on;
	bool verbose, causes;
	struct cli_record record;
	struct cli_suite suite;
	struct cli_run *run;
	struct cli_printer printer;
	struct cli_program prog;
	char why_skip[160];
	struct cli_fail_nth fail_nth;
	size_t number; /* of the last result line */
	size_t pass, fail, skip;
	uint64_t strictness[VM_OP_COUNT][VM_SILENT + 1]; /* calls judged */
	enum cli_exit status;
};

static int parse(struct check *c, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (id == 'v') {
			c->verbose = true;
		} else if (id == OPT_FAIL_ON) {
			if (cli_fail_on(arg, &c->fail_on))
				return CLI_BAD;
			c->expectations = false;
		} else if (id == OPT_JUNIT) {
			c->record.junit = arg;
		} else if (id == OPT_JSON) {
			c->record.json = arg;
		} else if (id == OPT_CAUSES) {
			c->causes = true;
		} else if (id == OPT_FAIL_NTH) {
			if (cli_fail_nth_parse(&c->fail_nth, arg))
				return CLI_BAD;
		} else if (cli_target_option(&c->target, id, arg) < 0) {
			return CLI_BAD;
		}
	}
	return 0;
}

/* Every program can be read, or nothing is run: a broken set-up is not a failed test. */
static int gather(struct check *c, char **path, int n)
{
	char standard[PATH_MAX], err[512] = "";
	int bad = 0;

	cli_corpus_path("conformance", standard, sizeof(standard));
	if (!n)
		bad = cli_suite_add(&c->suite, standard, err, sizeof(err));
	for (int i = 0; i < n && !bad; i++)
		bad = cli_suite_add(&c->suite, path[i], err, sizeof(err));
	if (bad)
		cli_error("%s", err);
	for (size_t i = 0; i < c->suite.n && !bad; i++) {
		if (cli_load(c->suite.test[i].path, &c->prog, err, sizeof(err))) {
			cli_error("%s", err);
			bad = -1;
		}
	}
	return bad;
}

/*
 * Does the program expect something of a seal? One that says what mseal does where there is none
 * (ENOSYS) runs everywhere.
 */
static bool needs_mseal(const struct vm_script *s)
{
	bool sealing = false, expects = false;

	for (unsigned int i = 0; i < s->prog.ncalls; i++) {
		sealing |= s->prog.call[i].op == VM_OP_MSEAL;
		expects |= sealing && s->nexpect[i];
		for (unsigned int k = 0; k < s->nexpect[i]; k++) {
			if (s->expect[i][k].result == 2 && s->expect[i][k].value == ENOSYS)
				return false;
		}
	}
	return sealing && (expects || s->nstate);
}

/* Does some call map droppable memory, and nothing else? */
static bool maps_droppable(const struct vm_script *s)
{
	const uint64_t type = 0xf;

	for (unsigned int i = 0; i < s->prog.ncalls; i++)
		if (s->prog.call[i].op == VM_OP_MMAP &&
		    (s->prog.call[i].arg[3].bits & type) == VM_MAP_DROPPABLE)
			return true;
	return false;
}

static bool has_call(const struct vm_script *s, uint8_t op)
{
	for (unsigned int i = 0; i < s->prog.ncalls; i++)
		if (s->prog.call[i].op == op)
			return true;
	return false;
}

static bool injects_failure(const struct vm_script *s)
{
	for (unsigned int i = 0; i < s->prog.ncalls; i++) {
		if (s->prog.call[i].fail_nth)
			return true;
	}
	return false;
}

/* Does the program expect some such call to end so (a vm_expect.result, an errno or 0)? */
static bool expects(const struct vm_script *s, uint8_t op, int8_t result, int32_t value)
{
	for (unsigned int i = 0; i < s->prog.ncalls; i++)
		for (unsigned int k = 0; k < s->nexpect[i]; k++)
			if (s->prog.call[i].op == op && s->expect[i][k].result == result &&
			    s->expect[i][k].value == value)
				return true;
	return false;
}

/* What a program expects of pkey_alloc it says of processors with keys, or of those without. */
static const char *wrong_processor(const struct vm_script *s, bool keys)
{
	bool given = expects(s, VM_OP_PKEY_ALLOC, 1, 0);

	if (!keys && given)
		return "processor has no protection keys";
	if (keys && !given && expects(s, VM_OP_PKEY_ALLOC, 2, ENOSPC))
		return "processor has protection keys";
	return NULL;
}

/* Programs that bind memory know one node, 0, unless they say that there is no mbind. */
static const char *wrong_nodes(const struct vm_script *s, uint64_t features)
{
	bool binds = false;

	for (unsigned int i = 0; i < s->prog.ncalls; i++)
		binds |= s->prog.call[i].op == VM_OP_MBIND || s->prog.call[i].op == VM_OP_HOME_NODE;
	if (!binds)
		return NULL;
	if (expects(s, VM_OP_MBIND, 2, ENOSYS))
		return features & VM_HAS_NUMA ? "kernel has NUMA" : NULL;
	if (!(features & VM_HAS_NUMA))
		return "kernel without NUMA";
	return features & VM_HAS_ONE_NODE ? NULL : "machine has other NUMA nodes than node 0";
}

static bool names_special(const struct vm_script *s)
{
	for (unsigned int i = 0; i < s->prog.ncalls; i++) {
		const struct vm_call *call = &s->prog.call[i];
		const struct vm_call_desc *desc = vm_call_desc(call->op);

		if (desc->nargs && desc->arg[0].kind == VM_ARG_ADDR &&
		    (call->arg[0].addr.base == VM_BASE_VDSO ||
		     call->arg[0].addr.base == VM_BASE_VVAR))
			return true;
	}
	return false;
}

/* Programs that name the vdso and vvar take them to have 2 and 4 pages, and no seal. */
static const char *wrong_special(const struct vm_script *s, const struct vm_target_info *info)
{
	const struct vm_layout *l = &info->layout;

	if (!names_special(s))
		return NULL;
	if (l->vdso.end - l->vdso.start != 2 * l->page_size ||
	    l->vvar.end - l->vvar.start != 4 * l->page_size)
		return "vdso and vvar are not there, or have not 2 and 4 pages";
	return info->features & VM_HAS_SEALED_SYSTEM ? "kernel seals its own mappings" : NULL;
}

/* Why the program cannot be judged on this target, or NULL. */
static const char *skip_reason(struct check *c, const struct vm_script *s)
{
	const struct vm_target_info *info = vm_target_info(c->run->target);
	const char *why;

	if (vm_preamble_refused(&s->prog, info, c->why_skip, sizeof(c->why_skip)))
		return c->why_skip;
	if (s->machine[0] && strcmp(s->machine, info->machine)) {
		snprintf(c->why_skip, sizeof(c->why_skip), "of %s alone, and this is %s",
			 s->machine, info->machine);
		return c->why_skip;
	}
	if (!(info->features & VM_HAS_MSEAL) && needs_mseal(s))
		return "kernel has no mseal";
	if (info->features & VM_LACKS_MDWE && has_call(s, VM_OP_MDWE))
		return "kernel has no PR_SET_MDWE";
	if (info->features & VM_LACKS_DROPPABLE && maps_droppable(s))
		return "kernel has no MAP_DROPPABLE";
	if ((c->fail_nth.on || injects_failure(s)) && !(info->features & VM_HAS_FAIL_NTH))
		return "allocations cannot be made to fail (CONFIG_FAULT_INJECTION, "
		       "vmafuzz-executor --whole-machine)";
	why = wrong_nodes(s, info->features);
	why = why ? why : wrong_special(s, info);
	return why ? why : wrong_processor(s, info->features & VM_HAS_PKU);
}

static void count_calls(struct check *c)
{
	const struct vm_trace *t = &c->run->trace;

	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct vm_event *e = &t->event[i];

		if (e->kind == VM_EVENT_CALL &&
		    (e->status == VM_STATUS_DONE || e->status == VM_STATUS_FAULTED))
			c->strictness[e->sc.op][c->run->judgement.call[i].strictness]++;
	}
}

static const struct vm_verdict *worst_verdict(const struct vm_judgement *j)
{
	const struct vm_verdict *worst = NULL;

	for (uint32_t i = 0; i < j->nverdicts; i++) {
		if (!worst || j->verdict[i].severity > worst->severity)
			worst = &j->verdict[i];
	}
	return worst;
}

static void print_result(struct check *c, bool ok, const char *name, const char *reason)
{
	printf("%s %zu %s%s%s\n", ok ? "ok" : "not ok", ++c->number, name, reason ? " # " : "",
	       reason ? reason : "");
	fflush(stdout);
}

/* Why a program failed: its worst verdict, else its first unmet expectation, else how it ended. */
static void give_reason(const struct check *c, const char *unmet, bool died, char *reason,
			size_t cap)
{
	const struct vm_verdict *worst = worst_verdict(&c->run->judgement);
	char ended[128];

	if (worst && (worst->severity == VM_VIOLATION || !unmet[0]))
		snprintf(reason, cap, "%s: %s", vm_severity_name(worst->severity), worst->title);
	else if (unmet[0])
		snprintf(reason, cap, "%.*s", (int)strcspn(unmet, "\n"), unmet);
	else if (!died && cli_exit_text(&c->run->trace, ended, sizeof(ended)))
		snprintf(reason, cap, "%s", ended);
	else
		snprintf(reason, cap, "the executor died");
}

/* `# cause RULE: TEXT` for each cause that the program reached. */
static void print_causes(const struct check *c)
{
	const char *line = c->record.causes.buf;

	for (size_t len; *line; line += len + 1) {
		len = strcspn(line, "\n");
		printf("# cause %.*s\n", (int)len, line);
	}
}

/*
 * After the program ran, in `ms`: diagnostics, then its line. `died`: how the executor ended, or
 * NULL. False without memory.
 */
static bool report(struct check *c, const struct cli_test *test, const char *died, uint64_t ms)
{
	struct cli_run *r = c->run;
	enum cli_exit status = cli_status_of(&r->judgement, &r->trace, c->fail_on);
	enum vm_check_result result;
	char reason[256];
	int unmet = 0;
	bool ok;

	cli_print_trace(&c->printer, &r->trace, &r->judgement);
	cli_print_reports(&c->printer, &r->watch);
	if (died)
		printf("# %s\n", died);
	else
		unmet = vm_expect_check(&c->prog.script, &r->trace, &r->judgement, r->profile,
					&c->printer.text);
	if (unmet && c->expectations)
		status = cli_worse(status, CLI_FOUND);
	if (died)
		status = cli_worse(status, CLI_FAILED);
	give_reason(c, c->printer.text.buf, died, reason, sizeof(reason));
	cli_record_judged(&c->record, r, c->printer.text.buf);
	result = status == CLI_CONFORMS ? VM_CHECK_PASS
		 : status == CLI_FAILED ? VM_CHECK_ERROR
					: VM_CHECK_FAIL;
	ok = cli_record_add(&c->record, test, c->prog.script.doc, result,
			    status == CLI_CONFORMS ? "" : reason, c->printer.text.buf, ms);
	cli_print_text(&c->printer);
	if (c->causes)
		print_causes(c);
	c->status = cli_worse(c->status, status);
	*(status == CLI_CONFORMS ? &c->pass : &c->fail) += 1;
	print_result(c, status == CLI_CONFORMS, test->name, status == CLI_CONFORMS ? NULL : reason);
	return ok;
}

/* A program that could not be run: the checking ends here. */
static int bail_out(struct check *c, const struct cli_test *test, const char *err)
{
	printf("Bail out! %s\n", err);
	cli_record_add(&c->record, test, "", VM_CHECK_ERROR, err, "", 0);
	return -1;
}

/* Each allocation of each call fails once: what is expected of the program does not hold then. */
static int check_failing(struct check *c, const struct cli_test *test)
{
	long long began = vm_now_ms();
	enum vm_check_result result;
	struct cli_walk w;
	char err[512];

	if (cli_fail_nth_walk(&c->fail_nth, c->run, &c->printer, &c->prog.script.prog, test->name,
			      c->fail_on, &w, err, sizeof(err)))
		return bail_out(c, test, err);
	result = w.status == CLI_CONFORMS ? VM_CHECK_PASS
		 : w.status == CLI_FAILED ? VM_CHECK_ERROR
					  : VM_CHECK_FAIL;
	c->status = cli_worse(c->status, w.status);
	*(w.status == CLI_CONFORMS ? &c->pass : &c->fail) += 1;
	printf("# %llu allocations failed\n", (unsigned long long)w.failed);
	print_result(c, w.status == CLI_CONFORMS, test->name, w.reason[0] ? w.reason : NULL);
	cli_record_judged(&c->record, c->run, "");
	return cli_record_add(&c->record, test, c->prog.script.doc, result, w.reason, "",
			      (uint64_t)(vm_now_ms() - began))
		       ? 0
		       : -1;
}

/* A program that says nothing of this target. As check_one(). */
static int pass_over(struct check *c, const struct cli_test *test, const char *why)
{
	char skip[192];

	snprintf(skip, sizeof(skip), "SKIP %s", why);
	c->skip++;
	print_result(c, true, test->name, skip);
	return cli_record_add(&c->record, test, c->prog.script.doc, VM_CHECK_SKIP, why, "", 0) ? 0
											       : -1;
}

/* -1 if the target is gone. */
static int check_one(struct check *c, const struct cli_test *test)
{
	char err[512];
	const char *why;
	long long began;
	int ret;

	if (cli_load(test->path, &c->prog, err, sizeof(err)))
		return bail_out(c, test, err);
	why = skip_reason(c, &c->prog.script);
	if (why)
		return pass_over(c, test, why);
	if (c->fail_nth.on)
		return check_failing(c, test);
	began = vm_now_ms();
	ret = cli_run_program(c->run, &c->prog.script.prog, err, sizeof(err));
	if (ret < 0)
		return bail_out(c, test, err);
	if (ret > 0 && c->run->trace.exit == VM_EXIT_SKIPPED)
		return pass_over(c, test,
				 cli_skip_text(&c->run->trace, c->why_skip, sizeof(c->why_skip)));
	count_calls(c);
	return report(c, test, ret ? NULL : err, (uint64_t)(vm_now_ms() - began)) ? 0 : -1;
}

static void print_totals(const struct check *c)
{
	printf("# pass %zu, fail %zu, skip %zu\n", c->pass, c->fail, c->skip);
	if (c->fail_nth.on)
		return;
	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		const uint64_t *n = c->strictness[op];

		if (n[VM_EXACT] + n[VM_SET_VALUED] + n[VM_SILENT])
			printf("# rule %s: exact %llu, set %llu, silent %llu\n",
			       vm_call_desc((uint8_t)op)->name, (unsigned long long)n[VM_EXACT],
			       (unsigned long long)n[VM_SET_VALUED],
			       (unsigned long long)n[VM_SILENT]);
	}
}

/* A result of its own: the console, from the start of the target to the last program. */
static void check_console(struct check *c)
{
	static const struct cli_test console = { .path = "", .name = "kernel log clean" };
	char reason[2 * VM_REPORT_TITLE] = "";
	bool ok;

	cli_run_look(c->run);
	cli_print_reports(&c->printer, &c->run->watch);
	ok = !c->run->nreports;
	if (!ok)
		snprintf(reason, sizeof(reason), "%llu reports, the first: %s",
			 (unsigned long long)c->run->nreports, c->run->first_report);
	*(ok ? &c->pass : &c->fail) += 1;
	if (!ok)
		c->status = cli_worse(c->status, CLI_CRASHED);
	print_result(c, ok, console.name, ok ? NULL : reason);
	cli_record_add(&c->record, &console, "", ok ? VM_CHECK_PASS : VM_CHECK_FAIL, reason, "", 0);
}

/* That the kernel behaves older than its release is a result of its own. */
static void record_profile(struct check *c, bool ok)
{
	static const struct cli_test profile = { .path = "", .name = "profile" };
	const char *why = c->run->regression;

	cli_record_judged(&c->record, c->run, why);
	cli_record_add(&c->record, &profile, "", ok ? VM_CHECK_PASS : VM_CHECK_FAIL, ok ? "" : why,
		       "", 0);
}

static void check_all(struct check *c)
{
	char text[512];

	cli_run_describe(c->run, vm_target_info(c->run->target), text, sizeof(text));
	printf("KTAP version 1\n1..%zu\n# target %s: %s\n",
	       c->suite.n + c->run->regressed + cli_run_has_console(c->run), c->run->spec, text);
	fflush(stdout);
	if (c->run->regressed) {
		bool ok = c->fail_on == VM_FAIL_CRASH;

		*(ok ? &c->pass : &c->fail) += 1;
		c->status = ok ? CLI_CONFORMS : CLI_FOUND;
		print_result(c, ok, "profile", c->run->regression);
		record_profile(c, ok);
	}
	for (size_t i = 0; i < c->suite.n; i++) {
		if (check_one(c, &c->suite.test[i])) {
			c->status = cli_worse(c->status, CLI_FAILED);
			break;
		}
	}
	if (cli_run_has_console(c->run))
		check_console(c);
	print_totals(c);
	if (c->fail_nth.on)
		cli_fail_nth_print(&c->fail_nth);
	if (!cli_record_write(&c->record, c->run, c->status))
		c->status = cli_worse(c->status, CLI_FAILED);
}

static int run(struct check *c, int argc, char **argv)
{
	int ret = parse(c, argc, argv);

	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	if (gather(c, argv + optind, argc - optind))
		return CLI_FAILED;
	c->printer = (struct cli_printer){ .prefix = "# ",
					   .calls = c->verbose,
					   .explain = c->verbose ? VM_NOTE : VM_VIOLATION,
					   .mention = VM_DEVIATION };
	c->run = cli_run_open(&c->target);
	if (!c->run || !cli_printer_open(&c->printer) || !cli_record_open(&c->record))
		return CLI_FAILED;
	check_all(c);
	return (int)c->status;
}

int cmd_check(int argc, char **argv)
{
	struct check *c = calloc(1, sizeof(*c));
	int ret;

	if (!c) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	cli_target_init(&c->target);
	c->expectations = true;
	c->fail_on = VM_FAIL_VIOLATION;
	ret = run(c, argc, argv);
	cli_printer_close(&c->printer);
	cli_record_close(&c->record);
	cli_run_close(c->run);
	cli_suite_free(&c->suite);
	vm_sites_free(&c->fail_nth.sites);
	free(c);
	return ret;
}
