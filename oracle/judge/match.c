/* SPDX-License-Identifier: MIT */
/* One call: the set of outcomes in force, which of them was seen, and what it is called if none
 * was. */
#include "oracle/judge/judge.h"

#include <stdio.h>
#include <string.h>

static bool errno_of(const struct vm_event *e, int *err)
{
	*err = vm_event_errno(e);
	return *err;
}

static bool chosen_fits(const struct vm_judge *j, const struct vm_outcome *o, uint64_t addr)
{
	const struct vm_layout *l = &j->info->layout;
	uint64_t below = (uint64_t)o->value, gap = VM_STACK_GAP_PAGES * l->page_size;

	if (below && (addr < 1u << 30 || addr + o->len > below))
		return false;
	return addr % (o->align ? o->align : l->page_size) == 0 && o->len <= l->task_size &&
	       addr <= l->task_size - o->len && addr >= j->info->mmap_min_addr &&
	       vm_state_clear(j->before, addr, addr + o->len, gap) != VM_NO;
}

static bool result_matches(const struct vm_judge *j, const struct vm_outcome *o)
{
	const struct vm_event *e = j->e;
	int err;

	switch (o->kind) {
	case VM_RESULT_VALUE:
		return e->status == VM_STATUS_DONE && e->result == o->value;
	case VM_RESULT_ERRNO:
		return errno_of(e, &err) && err == o->value;
	case VM_RESULT_BITS:
		return e->status == VM_STATUS_DONE && e->result >= 0 &&
		       ((uint64_t)e->result & o->len) == (uint64_t)o->value;
	case VM_RESULT_CHOSEN:
		return e->status == VM_STATUS_DONE && !errno_of(e, &err) &&
		       chosen_fits(j, o, (uint64_t)e->result);
	default:
		return e->status == VM_STATUS_FAULTED && e->result == o->value &&
		       e->signo == o->signo && (o->sigcode == -1 || e->sigcode == o->sigcode);
	}
}

static void run_rule(struct vm_judge *j, const struct vm_profile *p, bool documented,
		     struct vm_outcomes *out)
{
	struct vm_rule r = { .s = j->before,
			     .sc = &j->e->sc,
			     .info = j->info,
			     .p = p,
			     .call = j->e->call,
			     .documented = documented,
			     .starved = j->e->injected,
			     .seen = j->present,
			     .work = j->work,
			     .objects = &j->scratch->objects,
			     .out = out };

	vm_outcomes(&r);
}

static bool same_effect(const struct vm_effect *a, const struct vm_effect *b)
{
	return a->n == b->n && !memcmp(a->step, b->step, a->n * sizeof(a->step[0]));
}

/* Versions agree on most. */
static void add_outcome(struct vm_outcomes *to, const struct vm_outcome *o)
{
	for (uint32_t i = 0; i < to->n; i++) {
		const struct vm_outcome *x = &to->o[i];

		if (x->kind == o->kind && x->value == o->value && x->len == o->len &&
		    x->licence == o->licence && x->lacking == o->lacking && x->cause == o->cause &&
		    x->signo == o->signo && x->sigcode == o->sigcode &&
		    same_effect(&x->effect, &o->effect))
			return;
	}
	if (to->n == VM_MAX_OUTCOMES)
		to->silent = true;
	else
		to->o[to->n++] = *o;
}

/*
 * The set that is in force. Documented: the union of what all known versions may show, since
 * documents do not order checks and promise no errno among several that apply.
 */
void vm_outcome_set(struct vm_judge *j)
{
	struct vm_outcomes *all = &j->scratch->outcomes, *more = &j->scratch->more;
	uint32_t objects = j->scratch->objects.n;
	bool first = true;

	if (j->contract == VM_CONTRACT_EXACT) {
		run_rule(j, j->profile, false, all);
		vm_objects_truncate(&j->scratch->objects, objects);
		return;
	}
	for (size_t i = 0; vm_profile_at(i); i++) {
		const struct vm_profile *p = vm_profile_at(i);

		if (!p->exact)
			continue;
		run_rule(j, p, true, first ? all : more);
		vm_objects_truncate(&j->scratch->objects, objects);
		all->silent |= !first && more->silent;
		for (uint32_t k = 0; !first && !all->silent && k < more->n; k++)
			add_outcome(all, &more->o[k]);
		first = false;
	}
}

/* The range of the address that a call returned, if it chose or was given one. */
struct vm_range vm_result_range(const struct vm_judge *j)
{
	const struct vm_event *e = j->e;
	uint64_t page = j->info->layout.page_size, len;
	struct vm_range r = { 0, 0 };

	if (e->kind != VM_EVENT_CALL || e->status != VM_STATUS_DONE || e->result <= 0 ||
	    !vm_call_desc(e->sc.op)->returns_addr)
		return r;
	len = e->sc.op == VM_OP_MMAP	? vm_mmap_length(&e->sc, &j->info->layout)
	      : e->sc.op == VM_OP_SHMAT ? VM_OBJECT_PAGES * page
					: e->sc.arg[e->sc.op == VM_OP_MREMAP ? 2 : 1];
	r.start = (uint64_t)e->result;
	r.end = r.start + ((len + page - 1) & ~(page - 1));
	return r;
}

/* Cut differences where a range of the call begins or ends, so that each lies in one place. */
static void cut(struct vm_diffs *d, uint64_t at)
{
	for (uint32_t i = 0; i < d->n; i++) {
		if (at <= d->d[i].start || at >= d->d[i].end)
			continue;
		if (d->n == VM_MAX_DIFFS) {
			d->more = true;
			return;
		}
		memmove(&d->d[i + 1], &d->d[i], (d->n - i) * sizeof(d->d[0]));
		d->n++;
		d->d[i].end = d->d[i + 1].start = at;
		return;
	}
}

static void cut_at_ranges(const struct vm_judge *j, struct vm_diffs *d)
{
	for (int i = 0; d->n && i < 3; i++) {
		cut(d, j->range[i].start);
		cut(d, j->range[i].end);
	}
}

/* Differences between a believed state and a snapshot. */
void vm_against(struct vm_judge *j, const struct vm_state *s, const struct vm_snapshot *snap,
		struct vm_diffs *d)
{
	struct vm_run *a = j->scratch->run[0], *b = j->scratch->run[1];
	uint32_t na = vm_runs_of_state(s, &j->scratch->objects, false, a);
	uint32_t nb = vm_runs_of_snapshot(snap, j->info, b);
	vm_compare(a, na, b, nb, d);
	vm_compare_joined(s, snap, d);
	cut_at_ranges(j, d);
}

/* Differences between two beliefs. */
static void between(struct vm_judge *j, const struct vm_state *from, const struct vm_state *to,
		    struct vm_diffs *d)
{
	struct vm_run *a = j->scratch->run[0], *b = j->scratch->run[1];
	uint32_t na = vm_runs_of_state(from, &j->scratch->objects, true, a);
	uint32_t nb = vm_runs_of_state(to, &j->scratch->objects, true, b);
	vm_compare(a, na, b, nb, d);
	cut_at_ranges(j, d);
}

static void explain(struct vm_judge *j, struct vm_verdict *v, const struct vm_diffs *d)
{
	if (!v)
		return;
	vm_describe_outcomes(j, &j->scratch->outcomes, v->expected, sizeof(v->expected));
	vm_describe_result(j, v->observed, sizeof(v->observed));
	if (d && d->n) {
		size_t used = strlen(v->observed);

		vm_mark(v, d);
		vm_describe_diffs(j, d, v->observed + used, sizeof(v->observed) - used);
	}
}

static const char *basis_of(const struct vm_outcome *o)
{
	return o && o->cause ? o->cause->basis : "the call's documented effect";
}

/* A sealed page that is not what it was; the first one found, as a difference from before. */
static bool seal_broken(const struct vm_judge *j, const struct vm_diffs *changed,
			struct vm_diffs *only)
{
	only->n = 0;
	only->more = false;
	for (uint32_t i = 0; i < changed->n; i++) {
		const struct vm_diff *d = &changed->d[i];

		/* advice that discards nothing may change flags of sealed pages: mseal.rst */
		if (d->kind == VM_DIFF_APPEARED || d->kind == VM_DIFF_SEALED ||
		    j->e->sc.op == VM_OP_EXEC ||
		    (d->kind == VM_DIFF_FLAGS && !strcmp(vm_rule_name(j->e->sc.op), "madvise")))
			continue;
		for (uint32_t k = vm_state_from(j->before, d->start);
		     k < j->before->n && j->before->area[k].start < d->end; k++)
			if (j->before->area[k].sealed == VM_YES) {
				only->d[only->n++] = *d;
				break;
			}
	}
	return only->n;
}

/* Other flags: they show themselves, or in what has become one VMA. */
static bool about_flags(const struct vm_diff *d)
{
	return d->kind == VM_DIFF_FLAGS || d->kind == VM_DIFF_JOINED;
}

static bool bystander_hit(const struct vm_judge *j, const struct vm_diffs *changed,
			  struct vm_diffs *only)
{
	only->n = 0;
	only->more = false;
	for (uint32_t i = 0; i < changed->n; i++)
		if (!strcmp(vm_place_name(j, changed->d[i].start, changed->d[i].end), "bystander"))
			only->d[only->n++] = changed->d[i];
	return only->n;
}

/* No outcome of the set explains what was seen. `fit` is the one with this result, if any. */
static void violation(struct vm_judge *j, const struct vm_outcome *fit,
		      const struct vm_diffs *wrong)
{
	const struct vm_outcomes *outs = &j->scratch->outcomes;
	struct vm_diffs changed = { 0 }, only;
	const struct vm_known_bug *bug = vm_known_bug(j);
	const struct vm_diffs *shown = &changed;
	struct vm_cause bug_cause = { .text = bug ? bug->cause : "not an expected errno" };
	const char *invariant;
	char title[VM_TITLE_MAX];
	struct vm_verdict *v;
	int err;

	if (j->e->after.mask & VM_SEEN_MAPS) {
		vm_against(j, j->before, &j->e->after, &changed);
		j->out->call[j->event].changed = changed.n > 0;
	}
	if (seal_broken(j, &changed, &only)) {
		invariant = "sealed";
		shown = &only;
		vm_title_of_failure(j, &only, NULL, "sealed page", title);
	} else if (bystander_hit(j, &changed, &only)) {
		invariant = "bystander";
		shown = &only;
		vm_title_of_failure(j, &only, NULL, "bystander", title);
		if (bug && about_flags(&only.d[0]))
			vm_title_add_cause(title, bug->cause);
	} else if (errno_of(j->e, &err) && changed.n) {
		invariant = "failure";
		/* of what the outcome does not explain */
		shown = fit ? wrong : &changed;
		vm_title_of_failure(j, shown, fit && !bug ? fit->cause : &bug_cause, NULL, title);
	} else if (fit && wrong->n) {
		invariant = "success";
		shown = wrong;
		vm_title_of_success(j, wrong, title);
		if (bug && about_flags(&wrong->d[0]))
			vm_title_add_cause(title, bug->cause);
	} else {
		invariant = j->e->status == VM_STATUS_FAULTED ||
					    vm_nearest_outcome(j, outs)->kind == VM_RESULT_FAULT
				    ? "access"
				    : "errno";
		vm_title_of_result(j, outs, title);
	}
	v = vm_report(j, VM_VIOLATION, invariant, basis_of(fit ? fit : &outs->o[0]));
	explain(j, v, shown);
	if (v) {
		memcpy(v->title, title, sizeof(title));
		v->known = bug ? bug->text : NULL;
	}
	j->doubt_locks = bug && bug->about_locks;
	j->judged = true;
}

/* The call failed as it may, and something changed: how is that meant? */
static void changed_by_failure(struct vm_judge *j, const struct vm_outcome *o,
			       const struct vm_diffs *changed)
{
	enum vm_severity severity = o->licence == VM_DOCUMENTED ? VM_NOTE : VM_DEVIATION;
	struct vm_verdict *v;

	if (j->contract == VM_CONTRACT_STRICT)
		severity = VM_VIOLATION;
	v = vm_report(j, severity, "failure", basis_of(o));
	explain(j, v, changed);
	if (v)
		vm_title_of_failure(j, changed, o->cause, o->what, v->title);
}

/* A failed call left the pages alone, but VMAs more than there were. */
static void note_split(struct vm_judge *j, const struct vm_outcome *o,
		       const struct vm_snapshot *snap)
{
	struct vm_verdict *v;

	if (!j->last_maps || !(j->last_maps->mask & VM_SEEN_MAPS) ||
	    snap->nvma <= j->last_maps->nvma)
		return;
	v = vm_report(j, VM_NOTE, "failure", "mm/vma.c vms_gather_munmap_vmas(): split is kept");
	explain(j, v, NULL);
	if (v)
		snprintf(v->title, sizeof(v->title), "%s: split left behind on %s",
			 vm_call_desc(j->e->sc.op)->name, vm_errno_name((int)o->value));
}

/* It said that it succeeded, and did less than that. */
static void succeeded_lacking(struct vm_judge *j, const struct vm_outcome *o)
{
	const struct vm_outcomes *outs = &j->scratch->outcomes;
	struct vm_diffs missing = { 0 };
	struct vm_verdict *v;

	for (uint32_t i = 0; i < outs->n; i++) {
		const struct vm_outcome *whole = &outs->o[i];

		if (whole->lacking || whole->kind != o->kind || whole->value != o->value)
			continue;
		vm_state_copy(j->work, j->before);
		vm_effect_apply(&whole->effect, (uint64_t)j->e->result, j->work,
				&j->scratch->objects, j->info->layout.page_size);
		vm_against(j, j->work, &j->e->after, &missing);
		break;
	}
	if (!missing.n)
		return;
	v = vm_report(j, j->contract == VM_CONTRACT_STRICT ? VM_VIOLATION : VM_DEVIATION, "success",
		      basis_of(o));
	explain(j, v, &missing);
	if (!v)
		return;
	vm_title_of_success(j, &missing, v->title);
	vm_title_add_cause(v->title, o->cause->text);
}

static void accept(struct vm_judge *j, const struct vm_outcome *o, bool observed)
{
	struct vm_diffs changed;
	int err;

	j->out->call[j->event].cause = o->cause ? o->cause->text : NULL;
	vm_add_features(j, o);
	if (!observed)
		return;
	if (o->lacking)
		succeeded_lacking(j, o);
	if (!o->effect.n) {
		j->out->call[j->event].changed = 0;
		if (errno_of(j->e, &err))
			note_split(j, o, &j->e->after);
		return;
	}
	if (j->e->sc.op == VM_OP_FORK) /* the child's memory is a copy: compare what it shows */
		vm_against(j, j->before, &j->e->after, &changed);
	else
		between(j, j->before, j->after, &changed);
	j->out->call[j->event].changed = changed.n > 0;
	if (!errno_of(j->e, &err))
		return;
	if (changed.n)
		changed_by_failure(j, o, &changed);
	else
		note_split(j, o, &j->e->after);
}

/* j->after becomes belief with the effect of o. */
static void apply(struct vm_judge *j, const struct vm_outcome *o)
{
	vm_state_copy(j->after, j->before);
	vm_effect_apply(&o->effect, (uint64_t)j->e->result, j->after, &j->scratch->objects,
			j->info->layout.page_size);
}

static bool unchanged_snapshot(const struct vm_judge *j)
{
	const struct vm_snapshot *a = j->last_maps, *b = &j->e->after;

	return a && a->vma == b->vma && a->nvma == b->nvma;
}

/*
 * Outside the exact contract a failed call may have changed its own ranges in ways that no outcome
 * says: a deviation, not a violation.
 */
static bool own_ranges_only(struct vm_judge *j, const struct vm_outcome *o)
{
	struct vm_diffs changed, only;
	int err;

	if (j->contract == VM_CONTRACT_EXACT || !errno_of(j->e, &err))
		return false;
	vm_against(j, j->before, &j->e->after, &changed);
	if (!changed.n || seal_broken(j, &changed, &only) || bystander_hit(j, &changed, &only))
		return false;
	j->out->call[j->event].changed = 1;
	changed_by_failure(j, o, &changed);
	return true;
}

/*
 * Other outcomes with this result may have had effects that were not looked at: what either would
 * change is unknown from here on.
 */
static void doubt_others(struct vm_judge *j, const struct vm_outcome *taken)
{
	const struct vm_outcomes *outs = &j->scratch->outcomes;
	bool sure = true;

	for (uint32_t i = 0; i < outs->n; i++) {
		const struct vm_outcome *o = &outs->o[i];

		if (o == taken || !result_matches(j, o) || same_effect(&o->effect, &taken->effect))
			continue;
		if (sure && vm_effect_is_hidden(&taken->effect)) {
			vm_state_copy(j->after, j->before);
			vm_effect_doubt(&taken->effect, j->after, &j->scratch->objects);
		}
		sure = false;
		vm_effect_doubt(&o->effect, j->after, &j->scratch->objects);
	}
}

/* The layout after the call was observed: find the outcome that explains it. */
void vm_match_observed(struct vm_judge *j)
{
	const struct vm_outcomes *outs = &j->scratch->outcomes;
	const struct vm_outcome *first = NULL;
	struct vm_diffs d, wrong = { 0 };
	uint32_t objects = j->scratch->objects.n;

	for (uint32_t i = 0; i < outs->n; i++) {
		const struct vm_outcome *o = &outs->o[i];

		if (!result_matches(j, o))
			continue;
		apply(j, o);
		if (!o->effect.n && unchanged_snapshot(j) && !j->unobserved_since)
			d.n = 0;
		else
			vm_against(j, j->after, &j->e->after, &d);
		if (!d.n) {
			accept(j, o, true);
			doubt_others(j, o);
			return;
		}
		if (!first) {
			first = o;
			wrong = d;
		}
		vm_objects_truncate(&j->scratch->objects, objects);
	}
	if (!first || !own_ranges_only(j, first))
		violation(j, first, &wrong);
	if (first)
		apply(j, first);
	else
		vm_state_copy(j->after, j->before);
}

/* Nothing was looked at: believe the one effect that the result leaves possible. */
/*
 * Did a call fail that has nothing to do with what is mapped, or by a known bug that counts locks
 * which are gone, so that locks are all that is in doubt?
 */
static bool leaves_memory(const struct vm_judge *j)
{
	const struct vm_call_desc *desc = vm_call_desc(j->e->sc.op);
	struct vm_range range[2] = { 0 };

	if (!vm_event_errno(j->e))
		return false;
	if (j->doubt_locks)
		return true;
	if (desc->whole)
		return false;
	desc->footprint(&j->e->sc, &j->info->layout, range);
	return range[0].start >= range[0].end && range[1].start >= range[1].end;
}

void vm_match_unobserved(struct vm_judge *j)
{
	const struct vm_outcomes *outs = &j->scratch->outcomes;
	const struct vm_outcome *only = NULL;
	bool several = false;

	for (uint32_t i = 0; i < outs->n; i++) {
		if (!result_matches(j, &outs->o[i]))
			continue;
		if (!only)
			only = &outs->o[i];
		else if (!same_effect(&only->effect, &outs->o[i].effect))
			several = true;
	}
	if (!only) {
		struct vm_diffs none = { 0 };
		violation(j, NULL, &none);
		vm_state_copy(j->after, j->before);
		j->after->lost = !leaves_memory(j);
		return;
	}
	apply(j, only);
	accept(j, only, false);
	if (several)
		j->after->lost = true;
}
