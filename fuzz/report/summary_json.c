/* SPDX-License-Identifier: MIT */
/*
 * OUT/stats.json and `--json`. The put functions return 0, or -1 when memory ran out; jansson
 * passes a missing value on as such an error.
 */
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/report/summary.h"
#include "harness/program/call_table.h"

/* jansson's integers are signed: no count comes so far, and --seed goes no further. */
static int put_number(json_t *to, const char *key, uint64_t n)
{
	return json_object_set_new(to, key, json_integer((json_int_t)n));
}

/* Paths and what a target says of itself may be any bytes, JSON is UTF-8: `?` for what is not. */
static int put_text(json_t *to, const char *key, const char *text)
{
	json_t *value = json_string(text);
	char *plain;

	if (!value) {
		plain = strdup(text);
		for (char *c = plain; c && *c; c++)
			if ((unsigned char)*c >= 0x80)
				*c = '?';
		value = json_string(plain);
		free(plain);
	}
	return json_object_set_new(to, key, value);
}

static int put_campaign(json_t *to, const struct vm_campaign *c, const struct vm_outcome *o)
{
	char kernel[256];
	int bad;

	vm_target_name(&c->info, kernel, sizeof(kernel));
	bad = put_text(to, "engine", o->engine);
	bad |= put_text(to, "target", c->opt.target);
	bad |= put_text(to, "kernel", kernel);
	bad |= put_text(to, "kernel_version", c->info.version);
	bad |= put_text(to, "profile", c->profile->name);
	bad |= put_text(to, "profile_why", c->why);
	bad |= put_text(to, "contract", vm_contract_name(c->contract));
	bad |= put_text(to, "inject", c->info.inject);
	bad |= put_number(to, "seed", c->opt.seed);
	bad |= put_number(to, "jobs", c->opt.jobs);
	bad |= put_number(to, "milliseconds", o->ms);
	bad |= json_object_set_new(to, "finished", json_boolean(o->finished));
	bad |= put_number(to, "exit_status", (uint64_t)o->status);
	return bad;
}

static int put_numbers(json_t *to, const struct vm_stats *s)
{
	int bad;

	bad = put_number(to, "programs", atomic_load(&s->programs));
	bad |= put_number(to, "calls", atomic_load(&s->calls));
	bad |= put_number(to, "withheld", atomic_load(&s->withheld));
	bad |= put_number(to, "replays", atomic_load(&s->replays));
	bad |= put_number(to, "corpus", atomic_load(&s->corpus));
	bad |= put_number(to, "features", atomic_load(&s->feedback.count));
	bad |= put_number(to, "notes", atomic_load(&s->notes));
	bad |= put_number(to, "deviations", vm_stats_titles(s, VM_DEVIATION));
	bad |= put_number(to, "violations", vm_stats_titles(s, VM_VIOLATION));
	bad |= put_number(to, "children_died", atomic_load(&s->died));
	bad |= put_number(to, "children_timed_out", atomic_load(&s->timeouts));
	bad |= put_number(to, "children_stuck", atomic_load(&s->stuck));
	bad |= put_number(to, "executor_restarts", atomic_load(&s->executor_restarts));
	bad |= put_number(to, "engine_restarts", atomic_load(&s->engine_restarts));
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
		      put_number(rule, "exact", atomic_load(&n[VM_EXACT])) ||
		      put_number(rule, "set", atomic_load(&n[VM_SET_VALUED])) ||
		      put_number(rule, "silent", atomic_load(&n[VM_SILENT]));
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
	bad = put_text(title, "title", t->title);
	bad |= put_text(title, "severity", vm_severity_name(t->severity));
	bad |= put_text(title, "state", state_name[state]);
	bad |= put_number(title, "programs", atomic_load(&t->count));
	if (t->slug[0]) {
		vm_path(path, "%s/%s/%s", out, vm_title_folder(state), t->slug);
		bad |= put_text(title, "folder", path);
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
	char *text = NULL, *line = NULL;
	int bad = put_campaign(root, c, o) || put_numbers(root, c->stats);

	if (!bad && o->afl_stability[0])
		bad = put_text(root, "afl_stability", o->afl_stability) ||
		      put_number(root, "afl_crashes", o->afl_crashes);
	bad = bad || put_strictness(root, c->stats) || put_titles(root, c);
	if (!bad)
		text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
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
