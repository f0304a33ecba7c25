/* SPDX-License-Identifier: MIT */
/* OUT/stats.json and `--json`. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/report/json.h"
#include "fuzz/report/summary.h"
#include "harness/program/call_table.h"

static int put_campaign(json_t *to, const struct vm_campaign *c, const struct vm_outcome *o)
{
	char kernel[256];
	int bad;

	vm_target_name(&c->info, kernel, sizeof(kernel));
	bad = vm_json_text(to, "engine", o->engine);
	bad |= vm_json_text(to, "target", c->opt.target);
	bad |= vm_json_text(to, "kernel", kernel);
	bad |= vm_json_text(to, "kernel_version", c->info.version);
	bad |= vm_json_text(to, "profile", c->profile->name);
	bad |= vm_json_text(to, "profile_why", c->why);
	bad |= vm_json_text(to, "contract", vm_contract_name(c->contract));
	bad |= vm_json_text(to, "inject", c->info.inject);
	bad |= vm_json_number(to, "seed", c->opt.seed);
	bad |= vm_json_number(to, "jobs", c->opt.jobs);
	bad |= vm_json_number(to, "milliseconds", o->ms);
	bad |= json_object_set_new(to, "finished", json_boolean(o->finished));
	bad |= vm_json_number(to, "exit_status", (uint64_t)o->status);
	return bad;
}

static int put_numbers(json_t *to, const struct vm_stats *s)
{
	int bad;

	bad = vm_json_number(to, "programs", atomic_load(&s->programs));
	bad |= vm_json_number(to, "calls", atomic_load(&s->calls));
	bad |= vm_json_number(to, "withheld", atomic_load(&s->withheld));
	bad |= vm_json_number(to, "replays", atomic_load(&s->replays));
	bad |= vm_json_number(to, "corpus", atomic_load(&s->corpus));
	bad |= vm_json_number(to, "features", atomic_load(&s->feedback.count));
	bad |= vm_json_number(to, "kernel_edges", atomic_load(&s->feedback.edges));
	bad |= vm_json_number(to, "notes", atomic_load(&s->notes));
	bad |= vm_json_number(to, "deviations", vm_stats_titles(s, VM_DEVIATION));
	bad |= vm_json_number(to, "violations", vm_stats_titles(s, VM_VIOLATION));
	bad |= vm_json_number(to, "children_died", atomic_load(&s->died));
	bad |= vm_json_number(to, "children_timed_out", atomic_load(&s->timeouts));
	bad |= vm_json_number(to, "children_stuck", atomic_load(&s->stuck));
	bad |= vm_json_number(to, "programs_skipped", atomic_load(&s->skipped));
	bad |= vm_json_number(to, "executor_restarts", atomic_load(&s->executor_restarts));
	bad |= vm_json_number(to, "engine_restarts", atomic_load(&s->engine_restarts));
	return bad;
}

static int put_strictness(json_t *to, const struct vm_stats *s)
{
	json_t *rules = json_object();
	int bad = json_object_set_new(to, "strictness", rules);

	for (unsigned int op = 0; !bad && op < VM_OP_COUNT; op++) {
		const _Atomic uint64_t *n = s->strictness[op];
		json_t *rule = json_object();

		bad = json_object_set_new(rules, vm_call_desc((uint8_t)op)->name, rule) ||
		      vm_json_number(rule, "exact", atomic_load(&n[VM_EXACT])) ||
		      vm_json_number(rule, "set", atomic_load(&n[VM_SET_VALUED])) ||
		      vm_json_number(rule, "silent", atomic_load(&n[VM_SILENT]));
	}
	return bad ? -1 : 0;
}

static int put_calls(json_t *to, const struct vm_stats *s)
{
	json_t *calls = json_array();
	int bad = json_object_set_new(to, "calls_by_cause", calls);

	for (unsigned int i = 0; !bad && i < VM_MAX_CELLS; i++) {
		const struct vm_cell *cell = &s->cell[i];
		const char *result = vm_errno_name(cell->error);
		json_t *one;

		if (atomic_load(&cell->state) != 2)
			continue;
		if (cell->error < 0)
			result = cell->error == -SIGBUS ? "SIGBUS" : "SIGSEGV";
		one = json_object();
		bad = json_array_append_new(calls, one) ||
		      vm_json_text(one, "call", vm_call_desc(cell->op)->name) ||
		      vm_json_text(one, "result", result) ||
		      vm_json_text(one, "cause", cell->cause) ||
		      vm_json_number(one, "count", atomic_load(&cell->count));
	}
	return bad ? -1 : 0;
}

static int put_title(json_t *titles, const struct vm_title *t, const char *out)
{
	static const char *const state_name[] = {
		[VM_TITLE_PENDING] = "pending",
		[VM_TITLE_CONFIRMED] = "confirmed",
		[VM_TITLE_FLAKY] = "flaky",
	};
	uint32_t state = atomic_load(&t->state);
	char path[VM_PATH_MAX];
	json_t *title;
	int bad;

	if (state <= VM_TITLE_CLAIMED)
		return 0;
	title = json_object();
	if (json_array_append_new(titles, title))
		return -1;
	bad = vm_json_text(title, "title", t->title);
	bad |= vm_json_text(title, "severity", vm_severity_name(t->severity));
	bad |= vm_json_text(title, "state", state_name[state]);
	bad |= vm_json_number(title, "programs", atomic_load(&t->count));
	if (t->slug[0]) {
		vm_path(path, "%s/%s/%s", out, vm_title_folder(state), t->slug);
		bad |= vm_json_text(title, "folder", path);
	}
	return bad;
}

static int put_titles(json_t *to, const struct vm_campaign *c)
{
	json_t *titles = json_array();
	int bad = json_object_set_new(to, "titles", titles);

	for (int i = 0; !bad && i < VM_MAX_TITLES; i++)
		bad = put_title(titles, &c->stats->title[i], c->opt.out);
	return bad;
}

/* The whole of it, with a final newline, malloc()ed; NULL without memory. */
static char *summary(const struct vm_campaign *c, const struct vm_outcome *o)
{
	json_t *root = json_object();
	int bad = put_campaign(root, c, o) || put_numbers(root, c->stats);

	if (!bad && o->afl_stability[0])
		bad = vm_json_text(root, "afl_stability", o->afl_stability) ||
		      vm_json_number(root, "afl_crashes", o->afl_crashes);
	bad = bad || put_strictness(root, c->stats) || put_calls(root, c->stats) ||
	      put_titles(root, c);
	if (!bad)
		return vm_json_dump(root);
	json_decref(root);
	return NULL;
}

int vm_summary_store(const struct vm_campaign *c, const struct vm_outcome *o, char *err,
		     size_t errlen)
{
	char *text = summary(c, o), path[VM_PATH_MAX];
	int ret = -1;

	vm_path(path, "%s/stats.json", c->opt.out);
	if (text)
		ret = vm_file_write(path, text, strlen(text), err, errlen);
	else
		snprintf(err, errlen, "no memory for %s", path);
	free(text);
	return ret;
}

void vm_summary_print_json(FILE *to, const struct vm_campaign *c, const struct vm_outcome *o)
{
	char *text = summary(c, o);

	if (text)
		fputs(text, to);
	else
		fputs("vmafuzz: no memory for the summary\n", stderr);
	free(text);
}
