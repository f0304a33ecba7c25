/* SPDX-License-Identifier: MIT */
/* Feature ids: call x outcome x relation of its ranges to VMAs, seals and each other. */
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

/* How a range lies to what is mapped, in few classes. */
static uint32_t relation(const struct vm_state *s, const struct vm_range *r)
{
	uint32_t i, vmas = 0, rel, prots = 0, seals = 0;
	bool hole = false;
	uint64_t at = r->start;

	if (r->start >= r->end)
		return 0;
	for (i = vm_state_from(s, r->start); i < s->n && s->area[i].start < r->end; i++) {
		const struct vm_area *a = &s->area[i];

		hole |= a->start > at;
		at = a->end;
		vmas += vmas == 0 || a->begins == VM_YES;
		prots |= 1u << (a->prot & 7) | (a->shared ? 0x100 : 0x200);
		seals |= a->sealed == VM_YES ? 1 : 2;
	}
	if (!vmas)
		return 1;
	hole |= at < r->end;
	rel = 2 | (hole ? 4 : 0) | (vmas > 3 ? 3 : vmas) << 3 | seals << 5;
	i = vm_state_from(s, r->start);
	rel |= s->area[i].start < r->start ? 0x80 : 0; /* starts inside */
	rel |= at > r->end ? 0x100 : 0;		       /* ends inside */
	return rel | (prots & 0x300) << 2 | (prots & 0xff) << 12;
}

static void add(struct vm_judge *j, uint32_t h)
{
	if (j->out->nfeatures < VM_MAX_FEATURES)
		j->out->feature[j->out->nfeatures++] = (uint16_t)((h ^ h >> 16) % VM_FEATURE_MAP);
}

void vm_add_features(struct vm_judge *j, const struct vm_outcome *o)
{
	const struct vm_event *e = j->e;
	uint32_t h = mix(2166136261u, e->sc.op), result, a, b;

	h = mix(h, o->kind);
	result = o->kind == VM_RESULT_ERRNO || o->kind == VM_RESULT_FAULT ? (uint32_t)o->value : 0;
	h = mix_text(mix(h, result), o->cause ? o->cause->text : "");
	add(j, h);
	a = relation(j->before, &j->range[0]);
	b = relation(j->before, &j->range[1]);
	add(j, mix(mix(h, a), 1));
	add(j, mix(mix(h, b), 2));
	/* flags matter for what a call does: MAP_*, MREMAP_*, prot */
	add(j, mix(mix(mix(h, (uint32_t)e->sc.arg[3]), a & 0x7f), b & 0x7f));
}
