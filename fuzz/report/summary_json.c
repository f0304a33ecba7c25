/* SPDX-License-Identifier: MIT */
/* OUT/stats.json and `--json`. */
#include <stdatomic.h>
#include <stdio.h>

#include "fuzz/campaign/findings.h"
#include "fuzz/report/json.h"
#include "fuzz/report/summary.h"
#include "harness/program/call_table.h"

static void put_strictness(struct vm_json *j, const struct vm_stats *s)
{
	vm_json_open(j, "strictness", '{');
	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		vm_json_open(j, vm_call_desc((uint8_t)op)->name, '{');
		vm_json_number(j, "exact", atomic_load(&s->strictness[op][VM_EXACT]));
		vm_json_number(j, "set", atomic_load(&s->strictness[op][VM_SET_VALUED]));
		vm_json_number(j, "silent", atomic_load(&s->strictness[op][VM_SILENT]));
		vm_json_close(j, '}');
	}
	vm_json_close(j, '}');
}

static void put_title(struct vm_json *j, const struct vm_title *t, const char *out)
{
	static const char *const state_name[] = {
		[VM_TITLE_PENDING] = "pending",
		[VM_TITLE_CONFIRMED] = "confirmed",
		[VM_TITLE_FLAKY] = "flaky",
	};
	uint32_t state = atomic_load(&t->state);
	char path[1200];

	if (state <= VM_TITLE_CLAIMED)
		return;
	vm_json_open(j, NULL, '{');
	vm_json_text(j, "title", t->title);
	vm_json_text(j, "severity", vm_severity_name(t->severity));
	vm_json_text(j, "state", state_name[state]);
	vm_json_number(j, "programs", atomic_load(&t->count));
	if (t->slug[0]) {
		snprintf(path, sizeof(path), "%s/%s/%s", out, vm_title_folder(state), t->slug);
		vm_json_text(j, "folder", path);
	}
	vm_json_close(j, '}');
}

static void put_campaign(struct vm_json *j, const struct vm_campaign *c, const struct vm_outcome *o)
{
	char kernel[256];

	vm_target_name(&c->info, kernel, sizeof(kernel));
	vm_json_text(j, "engine", o->engine);
	vm_json_text(j, "target", c->opt.target);
	vm_json_text(j, "kernel", kernel);
	vm_json_text(j, "kernel_version", c->info.version);
	vm_json_text(j, "profile", c->profile->name);
	vm_json_text(j, "profile_why", c->why);
	vm_json_text(j, "contract", vm_contract_name(c->contract));
	vm_json_text(j, "inject", c->info.inject);
	vm_json_number(j, "seed", c->opt.seed);
	vm_json_number(j, "jobs", c->opt.jobs);
	vm_json_number(j, "milliseconds", o->ms);
	vm_json_bool(j, "finished", o->finished);
	vm_json_number(j, "exit_status", (uint64_t)o->status);
}

static void put_numbers(struct vm_json *j, const struct vm_stats *s)
{
	vm_json_number(j, "programs", atomic_load(&s->programs));
	vm_json_number(j, "calls", atomic_load(&s->calls));
	vm_json_number(j, "withheld", atomic_load(&s->withheld));
	vm_json_number(j, "replays", atomic_load(&s->replays));
	vm_json_number(j, "corpus", atomic_load(&s->corpus));
	vm_json_number(j, "features", atomic_load(&s->feedback.count));
	vm_json_number(j, "notes", atomic_load(&s->notes));
	vm_json_number(j, "deviations", vm_stats_titles(s, VM_DEVIATION));
	vm_json_number(j, "violations", vm_stats_titles(s, VM_VIOLATION));
	vm_json_number(j, "children_died", atomic_load(&s->died));
	vm_json_number(j, "children_timed_out", atomic_load(&s->timeouts));
	vm_json_number(j, "children_stuck", atomic_load(&s->stuck));
	vm_json_number(j, "executor_restarts", atomic_load(&s->executor_restarts));
	vm_json_number(j, "engine_restarts", atomic_load(&s->engine_restarts));
}

char *vm_summary_json(const struct vm_campaign *c, const struct vm_outcome *o)
{
	struct vm_json j = { 0 };

	vm_json_open(&j, NULL, '{');
	put_campaign(&j, c, o);
	put_numbers(&j, c->stats);
	if (o->afl_stability[0]) {
		vm_json_text(&j, "afl_stability", o->afl_stability);
		vm_json_number(&j, "afl_crashes", o->afl_crashes);
	}
	put_strictness(&j, c->stats);
	vm_json_open(&j, "titles", '[');
	for (int i = 0; i < VM_MAX_TITLES; i++)
		put_title(&j, &c->stats->title[i], c->opt.out);
	vm_json_close(&j, ']');
	vm_json_close(&j, '}');
	return vm_json_finish(&j);
}
