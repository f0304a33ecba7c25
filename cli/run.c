/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"

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
	if (!r->target) {
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
}

int cli_run_program(struct cli_run *r, const struct vm_program *prog, char *err, size_t errlen)
{
	int ret = vm_target_run(r->target, prog, 0, &r->trace, err, errlen);

	if (ret >= 0)
		cli_run_judge(r);
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
