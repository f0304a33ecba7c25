/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"

#define MORE_TIME 10 /* times the time limit, for what was too slow in a guest */

struct cli_run *cli_judge_open(const struct cli_target *t)
{
	struct cli_run *r = calloc(1, sizeof(*r));

	if (r)
		r->scratch = vm_judge_scratch_new();
	if (!r || !r->scratch) {
		cli_error("out of memory");
		cli_run_close(r);
		return NULL;
	}
	r->spec = t->spec;
	r->pinned = t->profile;
	r->wanted = t->contract;
	r->watch.fd = -1;
	r->fresh = VM_REPORT_BROKEN;
	return r;
}

static void choose(struct cli_run *r, const struct vm_target_info *info)
{
	r->regressed = false;
	if (r->pinned) {
		r->profile = vm_profile_by_name(r->pinned);
		snprintf(r->why, sizeof(r->why), "pinned by --profile");
	} else {
		r->profile = vm_profile_choose(info, r->why, sizeof(r->why), &r->regressed,
					       r->regression, sizeof(r->regression));
	}
	r->contract = vm_profile_contract(r->profile, r->wanted);
}

struct cli_run *cli_run_open(const struct cli_target *t)
{
	struct cli_run *r = cli_judge_open(t);
	char err[512];

	if (!r)
		return NULL;
	r->target = vm_target_open(t->spec, &t->opt, err, sizeof(err));
	if (!r->target ||
	    vm_watch_open(&r->watch, vm_target_console(r->target), err, sizeof(err))) {
		cli_error("%s", err);
		cli_run_close(r);
		return NULL;
	}
	choose(r, vm_target_info(r->target));
	return r;
}

void cli_run_close(struct cli_run *r)
{
	if (!r)
		return;
	vm_watch_close(&r->watch);
	vm_target_close(r->target);
	vm_judge_scratch_free(r->scratch);
	vm_trace_free(&r->trace);
	free(r);
}

void cli_run_judge(struct cli_run *r)
{
	struct vm_judge_options opt = { .contract = r->wanted };

	if (!r->target)
		choose(r, &r->trace.info);
	opt.profile = r->profile;
	vm_judge(&r->trace, &opt, r->scratch, &r->judgement);
	vm_watch_judge(&r->watch, &r->judgement);
}

bool cli_run_has_console(const struct cli_run *r)
{
	return r->watch.fd >= 0;
}

void cli_run_look(struct cli_run *r)
{
	unsigned int n = vm_watch_look(&r->watch);

	if (n && !r->nreports)
		memcpy(r->first_report, r->watch.report[0].title, sizeof(r->first_report));
	r->nreports += n;
}

int cli_run_reboot(struct cli_run *r, char *err, size_t errlen)
{
	return vm_target_reboot(r->target, err, errlen);
}

/* As cli_run_program(), once; a guest that a report leaves in a bad state is started again. */
static int run_once(struct cli_run *r, const struct vm_program *prog, char *err, size_t errlen)
{
	int ret = vm_target_run(r->target, prog, 0, &r->trace, err, errlen);

	if (ret < 0)
		return -1;
	cli_run_look(r);
	cli_run_judge(r);
	if (ret && r->watch.n && vm_watch_worst(&r->watch) >= r->fresh &&
	    cli_run_reboot(r, err, errlen))
		return -1;
	return ret;
}

/* Was it only too slow? A guest on a busy machine starves. */
static bool is_slow(const struct cli_run *r)
{
	enum vm_report_severity worst = vm_watch_worst(&r->watch);

	if (!cli_run_has_console(r) || worst > VM_REPORT_STALLED)
		return false;
	return worst == VM_REPORT_STALLED || r->trace.exit == VM_EXIT_TIMEOUT ||
	       r->trace.exit == VM_EXIT_STUCK;
}

int cli_run_program(struct cli_run *r, const struct vm_program *prog, char *err, size_t errlen)
{
	uint64_t before = r->nreports;
	int ret = run_once(r, prog, err, errlen);
	uint32_t timeout;

	if (ret < 0 || !is_slow(r))
		return ret;
	r->nreports = before;
	if (cli_run_reboot(r, err, errlen))
		return -1;
	timeout = vm_target_set_timeout(r->target, 0);
	vm_target_set_timeout(r->target, timeout * MORE_TIME);
	ret = run_once(r, prog, err, errlen);
	vm_target_set_timeout(r->target, timeout);
	return ret;
}

void cli_run_describe(const struct cli_run *r, const struct vm_target_info *info, char *buf,
		      size_t cap)
{
	snprintf(buf, cap, "%s %s %s, profile %s (%s), contract %s%s%s", info->sysname,
		 info->release, info->machine, r->profile->name, r->why,
		 vm_contract_name(r->contract), info->inject[0] ? ", injected fault " : "",
		 info->inject);
}

static bool counts(const struct vm_verdict *v, enum vm_fail_on fail_on)
{
	return (fail_on == VM_FAIL_VIOLATION && v->severity >= VM_VIOLATION) ||
	       (fail_on == VM_FAIL_DEVIATION && v->severity >= VM_DEVIATION);
}

enum cli_exit cli_status_of(const struct vm_judgement *j, const struct vm_trace *trace,
			    enum vm_fail_on fail_on)
{
	enum cli_exit status = CLI_CONFORMS;

	if (trace->exit == VM_EXIT_STATUS || trace->exit == VM_EXIT_LOG_FULL ||
	    trace->exit == VM_EXIT_SKIPPED)
		status = CLI_FAILED;
	for (uint32_t i = 0; i < j->nverdicts; i++) {
		const struct vm_verdict *v = &j->verdict[i];

		if (!strcmp(v->invariant, "survival"))
			return CLI_CRASHED;
		if (counts(v, fail_on))
			status = CLI_FOUND;
	}
	return status;
}

enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b)
{
	static const int rank[] = {
		[CLI_CONFORMS] = 0, [CLI_FAILED] = 1, [CLI_FOUND] = 2, [CLI_CRASHED] = 3
	};

	return rank[a] >= rank[b] ? a : b;
}

int cli_fail_on(const char *word, enum vm_fail_on *f)
{
	int n = vm_fail_on_by_name(word);

	if (n < 0) {
		cli_error("--fail-on %s: give violation, deviation or crash", word);
		return -1;
	}
	*f = (enum vm_fail_on)n;
	return 0;
}
