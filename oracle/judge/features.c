/* SPDX-License-Identifier: MIT */
/*
 * Feature ids: call x outcome x relation of its ranges to VMAs, seals and each other, in few
 * classes: a feature says that something new was reached, not that other numbers were tried.
 */
#include "oracle/judge/judge.h"

static uint32_t mix(uint32_t h, uint32_t v)
{
	for (int i = 0; i < 4; i++, v >>= 8)
		h = (h ^ (v & 0xff)) * 16777619u;
	return h;
}

static uint32_t mix_text(uint32_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

enum { REL_EMPTY, REL_UNMAPPED, REL_EXACT, REL_INSIDE, REL_MANY, REL_HOLE, REL_COUNT };

/* How a range lies to what is mapped: six shapes, x seals (none, some, all), x sharing. */
static uint32_t relation(const struct vm_state *s, const struct vm_range *r)
{
	uint32_t i, vmas = 0, seals = 0, sharing = 0, shape;
	uint64_t at = r->start, first;
	bool hole = false;

	if (r->start >= r->end)
		return REL_EMPTY;
	i = vm_state_from(s, r->start);
	if (i >= s->n || s->area[i].start >= r->end)
		return REL_UNMAPPED;
	first = s->area[i].start;
	for (; i < s->n && s->area[i].start < r->end; i++) {
		const struct vm_area *a = &s->area[i];

		hole |= a->start > at;
		at = a->end;
		vmas += vmas == 0 || a->begins == VM_YES;
		seals |= a->sealed == VM_YES ? 1 : 2;
		sharing |= a->shared ? 1 : 2;
	}
	shape = hole || at < r->end		    ? REL_HOLE
		: vmas > 1			    ? REL_MANY
		: first == r->start && at == r->end ? REL_EXACT
						    : REL_INSIDE;
	return shape + REL_COUNT * (seals + 4 * sharing);
}

static void add(struct vm_judge *j, uint32_t h)
{
	if (j->out->nfeatures < VM_MAX_FEATURES)
		j->out->feature[j->out->nfeatures++] = (uint16_t)((h ^ h >> 16) % VM_FEATURE_MAP);
}

/* The flag words of the row; all other bits are one class. */
static uint32_t flags_of(const struct vm_syscall *sc)
{
	const struct vm_call_desc *desc = vm_call_desc(sc->op);
	uint32_t known = 0, flags = 0;

	for (unsigned int i = 0; i < desc->nargs; i++) {
		if (desc->arg[i].kind == VM_ARG_PROT)
			flags = mix(flags, (uint32_t)sc->arg[i] & 7);
		if (desc->arg[i].kind == VM_ARG_CHOICE)
			flags = mix(flags, vm_choice_name(&desc->arg[i], sc->arg[i])
						   ? (uint32_t)sc->arg[i]
						   : UINT32_MAX);
		if (desc->arg[i].kind != VM_ARG_FLAGS)
			continue;
		for (const struct vm_word *w = desc->arg[i].words; w->name; w++)
			known |= w->bits;
		flags = mix(flags, (uint32_t)sc->arg[i] & known);
		flags = mix(flags, (sc->arg[i] & ~(uint64_t)known) != 0);
	}
	return flags;
}

void vm_add_features(struct vm_judge *j, const struct vm_outcome *o)
{
	const struct vm_event *e = j->e;
	bool failed = o->kind == VM_RESULT_ERRNO || o->kind == VM_RESULT_FAULT;
	uint32_t call = mix(2166136261u, e->sc.op), outcome;

	outcome = mix(mix(call, o->kind), failed ? (uint32_t)o->signo : 0);
	if (o->kind == VM_RESULT_ERRNO)
		outcome = mix(outcome, (uint32_t)o->value);
	outcome = mix_text(outcome, o->cause ? o->cause->text : "");
	add(j, outcome);
	add(j, mix(mix(outcome, relation(j->before, &j->range[0])), 1));
	add(j, mix(mix(outcome, relation(j->before, &j->range[1])), 2));
	add(j, mix(mix(mix(call, flags_of(&e->sc)), failed), 3));
	/* what came just before matters for what a state has become */
	add(j, mix(mix(outcome, j->last_call), 4));
	j->last_call = mix(call, failed);
}
