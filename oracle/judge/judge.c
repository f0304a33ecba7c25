/* SPDX-License-Identifier: MIT */
#include "oracle/judge/judge.h"
#include "harness/trace/preamble.h"
#include "oracle/state/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vm_judge_scratch *vm_judge_scratch_new(void)
{
	return calloc(1, sizeof(struct vm_judge_scratch));
}

void vm_judge_scratch_free(struct vm_judge_scratch *s)
{
	if (!s)
		return;
	vm_objects_free(&s->objects);
	free(s);
}

struct vm_verdict *vm_report(struct vm_judge *j, enum vm_severity severity, const char *invariant,
			     const char *basis)
{
	struct vm_judged_call *call = &j->out->call[j->event];
	struct vm_verdict *v;

	if (severity > call->severity)
		call->severity = severity;
	if (severity > j->out->worst)
		j->out->worst = severity;
	if (j->out->nverdicts == VM_MAX_VERDICTS)
		return NULL;
	v = &j->out->verdict[j->out->nverdicts++];
	memset(v, 0, sizeof(*v));
	v->severity = severity;
	v->event = j->event;
	v->rule = j->e && j->e->kind == VM_EVENT_CALL ? vm_rule_name(j->e->sc.op) : "layout";
	v->invariant = invariant;
	v->basis = basis;
	return v;
}

void vm_mark(struct vm_verdict *v, const struct vm_diffs *d)
{
	v->start = d->d[0].start;
	v->end = d->d[0].end;
	for (v->nmarks = 0; v->nmarks < d->n && v->nmarks < VM_VERDICT_MARKS; v->nmarks++)
		v->mark[v->nmarks] =
			(struct vm_range){ d->d[v->nmarks].start, d->d[v->nmarks].end };
}

static const char *const survival_basis = "a permitted call must not end the process that makes it";

static void judge_survival(struct vm_judge *j)
{
	const struct vm_trace *t = j->trace;
	const char *call =
		j->e && j->e->kind == VM_EVENT_CALL ? vm_call_desc(j->e->sc.op)->name : "program";
	struct vm_verdict *v;

	if (t->exit == VM_EXIT_DONE || t->exit == VM_EXIT_LOG_FULL || t->exit == VM_EXIT_STATUS ||
	    t->exit == VM_EXIT_SKIPPED)
		return;
	v = vm_report(j, VM_VIOLATION, "survival", survival_basis);
	if (!v)
		return;
	if (t->exit == VM_EXIT_SIGNAL)
		snprintf(v->title, sizeof(v->title), "%s: process killed by signal %d", call,
			 t->exit_value);
	else
		snprintf(v->title, sizeof(v->title), "%s: %s", call,
			 t->exit == VM_EXIT_TIMEOUT ? "process did not end in time"
						    : "process cannot be killed");
	snprintf(v->expected, sizeof(v->expected), "the program runs to its end");
	snprintf(v->observed, sizeof(v->observed), "the process ended at or after this call");
}

/* A loss that is seen late is pinned to the calls in which it can have happened. */
static void judge_late(struct vm_judge *j, const struct vm_snapshot *snap)
{
	const struct vm_known_bug *bug;
	struct vm_diffs d;
	struct vm_verdict *v;

	vm_against(j, j->before, snap, &d);
	if (!d.n || j->judged)
		return;
	v = vm_report(j, VM_VIOLATION, "success", "the effects of calls that were not looked at");
	j->judged = true;
	if (!v)
		return;
	j->late = true;
	bug = d.d[0].kind == VM_DIFF_FLAGS ? vm_known_bug(j) : NULL;
	j->late = false;
	v->known = bug ? bug->text : NULL;
	snprintf(v->title, sizeof(v->title), "late: %s between looks",
		 d.d[0].kind == VM_DIFF_LOST	   ? "pages lost"
		 : d.d[0].kind == VM_DIFF_APPEARED ? "pages mapped"
		 : d.d[0].kind == VM_DIFF_UNSEALED ? "seal lost"
		 : d.d[0].kind == VM_DIFF_SEALED   ? "pages sealed"
		 : d.d[0].kind == VM_DIFF_FLAGS	   ? "VmFlags changed"
						   : "pages changed");
	if (bug)
		vm_title_add_cause(v->title, bug->cause);
	if (j->unobserved_since)
		snprintf(v->expected, sizeof(v->expected), "the effects of events %u to %u",
			 j->unobserved_since, j->event);
	else
		snprintf(v->expected, sizeof(v->expected), "what was believed after the last call");
	vm_mark(v, &d);
	vm_describe_diffs(j, &d, v->observed, sizeof(v->observed));
}

/* After the layout of an event is judged: take over what was seen. */
static void look(struct vm_judge *j)
{
	const struct vm_snapshot *snap = &j->e->after;

	/* what a child does to shared objects meanwhile is not known */
	if (j->space && j->before->lost)
		j->parent->lost = true;
	j->present = snap->mask & VM_SEEN_CONTENTS ? snap : NULL;
	if (snap->mask & VM_SEEN_MAPS) {
		vm_check_views(j, snap);
		vm_adopt(j, snap);
		j->last_maps = snap;
		j->unobserved_since = 0;
	} else if (!j->unobserved_since) {
		j->unobserved_since = j->event;
	}
	if (snap->mask & VM_SEEN_CONTENTS)
		vm_check_contents(j, snap);
	if (j->doubt_locks || (!(snap->mask & VM_SEEN_FLAGS) && vm_locks_doubtful(j)))
		vm_state_doubt_locks(j->before, snap->mask & VM_SEEN_MAPS);
}

static void swap_states(struct vm_judge *j)
{
	struct vm_state *t = j->before;

	j->before = j->after;
	j->after = t;
}

/* What a touch may make grow down is in its range, up to where that began. */
static void widen_touch(struct vm_judge *j)
{
	struct vm_range *range = &j->range[0];
	const struct vm_state *s = j->before;
	uint32_t i = vm_state_from(s, range->end - 1);

	if (range->start < range->end && i < s->n && s->area[i].start >= range->end &&
	    vm_area_grows(&s->area[i]) != VM_NO)
		range->end = s->area[i].start;
}

static void judge_call(struct vm_judge *j)
{
	struct vm_judged_call *call = &j->out->call[j->event];
	const struct vm_event *e = j->e;
	vm_call_desc(e->sc.op)->footprint(&e->sc, &j->info->layout, j->range);
	if (vm_call_is_touch(e->sc.op))
		widen_touch(j);
	if (vm_call_desc(e->sc.op)->whole)
		j->range[0] = (struct vm_range){ 0, j->info->layout.task_size };
	j->range[2] = vm_result_range(j);
	call->changed = 2;
	if (e->status == VM_STATUS_RUNNING)
		return; /* judge_survival() */
	if (e->status == VM_STATUS_WITHHELD) {
		call->cause = "withheld";
		vm_state_copy(j->after, j->before);
		/* a call that was not made changes nothing */
		if (e->after.mask & VM_SEEN_MAPS && !j->before->lost)
			judge_late(j, &e->after);
	} else if (j->before->lost) {
		call->strictness = VM_SILENT;
		vm_state_copy(j->after, j->before);
	} else {
		vm_outcome_set(j);
		call->strictness = j->scratch->outcomes.silent	? VM_SILENT
				   : j->scratch->outcomes.n > 1 ? VM_SET_VALUED
								: VM_EXACT;
		if (j->scratch->outcomes.silent) {
			vm_state_copy(j->after, j->before);
			j->after->lost = true;
		} else if (e->after.mask & VM_SEEN_MAPS) {
			vm_match_observed(j);
		} else {
			vm_match_unobserved(j);
		}
	}
	swap_states(j);
	if (e->status == VM_STATUS_DONE)
		vm_process_after(&j->before->process, &e->sc, e->result);
	look(j);
}

/* A forked child comes (the event is the fork that returns in it), or it is gone. */
static void change_space(struct vm_judge *j)
{
	if (j->e->space && !j->space) {
		vm_state_copy(j->parent, j->before);
		vm_objects_hold(&j->scratch->objects, j->parent);
		j->parent_maps = j->last_maps;
		j->parent_unobserved_since = j->unobserved_since;
	} else if (!j->e->space && j->space) {
		vm_state_copy(j->before, j->parent);
		vm_objects_hold(&j->scratch->objects, NULL);
		j->last_maps = j->parent_maps;
		j->unobserved_since = j->parent_unobserved_since;
	}
	j->space = j->e->space;
}

static void judge_event(struct vm_judge *j)
{
	if (j->space != j->e->space)
		change_space(j);
	memset(j->range, 0, sizeof(j->range));
	j->judged = j->doubt_locks = false;
	switch (j->e->kind) {
	case VM_EVENT_START:
		vm_begin(j, j->e);
		break;
	case VM_EVENT_CALL:
		judge_call(j);
		break;
	case VM_EVENT_END:
		vm_state_copy(j->after, j->before);
		if (j->e->after.mask & VM_SEEN_MAPS) {
			vm_check_end(j, j->e);
			if (!j->before->lost)
				judge_late(j, &j->e->after);
		}
		vm_check_totals(j, &j->e->after);
		look(j);
		break;
	}
}

void vm_judge(const struct vm_trace *trace, const struct vm_judge_options *opt,
	      struct vm_judge_scratch *scratch, struct vm_judgement *out)
{
	char why[160], title[VM_TITLE_MAX];
	bool regressed = false;
	struct vm_judge j = { .trace = trace,
			      .info = &trace->info,
			      .profile = opt->profile,
			      .scratch = scratch,
			      .out = out,
			      .before = &scratch->state[0],
			      .after = &scratch->state[1],
			      .next = &scratch->state[2],
			      .work = &scratch->state[3],
			      .parent = &scratch->state[4] };

	if (trace->prog.preamble.words) {
		scratch->info = trace->info;
		vm_preamble_overlay(&trace->prog, &scratch->info);
		j.info = &scratch->info;
	}
	out->nverdicts = out->nfeatures = 0;
	out->worst = VM_OK;
	memset(out->call, 0, trace->nevents * sizeof(out->call[0]));
	if (!j.profile)
		j.profile = vm_profile_choose(&trace->info, why, sizeof(why), &regressed, title,
					      sizeof(title));
	j.contract = vm_profile_contract(j.profile, opt->contract);
	vm_objects_reset(&scratch->objects);
	vm_past_clear(&scratch->past);
	vm_begin(&j, NULL);
	for (uint32_t i = 0; i < trace->nevents; i++) {
		j.event = i;
		j.e = &trace->event[i];
		judge_event(&j);
	}
	vm_check_committed(&j);
	judge_survival(&j);
	if (regressed) {
		struct vm_verdict *v = vm_report(&j, VM_VIOLATION, "profile", "oracle/profiles");

		if (v)
			memcpy(v->title, title, sizeof(v->title));
	}
}
