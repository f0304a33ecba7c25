/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/trace/preamble.h"
#include "oracle/model.h"
#include "tests/bench/guidance/faults.h"
#include "tests/bench/guidance/kernel.h"

#define MAX_VMAS  (VM_TRACE_MAX_EVENTS * VM_SNAPSHOT_MAX_VMAS)
#define MAX_PAGES (VM_TRACE_MAX_EVENTS * VM_SNAPSHOT_MAX_PAGES)

struct vm_kernel *vm_kernel_new(const struct vm_profile *profile)
{
	struct vm_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	vm_model_default_info(&k->given);
	k->profile = profile;
	k->trace.info = k->info = k->given;
	k->vma = malloc(MAX_VMAS * sizeof(*k->vma));
	k->page = malloc(MAX_PAGES * sizeof(*k->page));
	if (k->vma && k->page)
		return k;
	vm_kernel_free(k);
	return NULL;
}

void vm_kernel_free(struct vm_kernel *k)
{
	if (!k)
		return;
	vm_objects_free(&k->objects);
	free(k->vma);
	free(k->page);
	free(k);
}

/* ---- looking ---- */

static uint64_t shown_flags(const struct vm_area *a)
{
	uint64_t flags = a->flags & VM_TRACKED_FLAGS;

	flags |= a->prot & (VM_MODE_R | VM_MODE_W | VM_MODE_X); /* rd, wr, ex: the same bits */
	flags |= a->shared ? VM_BIT(3) | VM_BIT(7) : 0;		/* sh, ms */
	flags |= a->account != VM_NO ? VM_BIT(VM_FLAG_AC) : 0;
	return flags | (a->sealed == VM_YES ? VM_BIT(VM_FLAG_SL) : 0);
}

/* Where rules leave open if two areas are one VMA: they are if the memory goes on. */
static bool goes_on(const struct vm_area *b, const struct vm_area *a)
{
	return b->end == a->start && shown_flags(a) == shown_flags(b) && a->object == b->object &&
	       a->anon == b->anon && b->off + (b->end - b->start) == a->off;
}

static void decide_merges(struct vm_state *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct vm_area *a = &s->area[i];

		if (a->account == VM_MAYBE)
			a->account = VM_YES;
		if (a->begins == VM_MAYBE)
			a->begins = i && goes_on(a - 1, a) ? VM_NO : VM_YES;
	}
}

static void show_area(const struct vm_kernel *k, const struct vm_area *a, bool flags,
		      struct vm_vma *v)
{
	bool inode = k->objects.object[a->object].backed;

	*v = (struct vm_vma){
		.start = a->start,
		.end = a->end,
		.offset = inode ? a->off : 0,
		.inode = inode ? 1000 + a->object : 0,
		.dev = inode,
		.mode = (uint8_t)(a->prot | (a->shared ? VM_MODE_S : 0)),
		.flags_known = flags,
		.flags = flags ? shown_flags(a) : 0,
	};
}

static void look_layout(struct vm_kernel *k, bool flags, struct vm_snapshot *s)
{
	struct vm_vma *v = &k->vma[k->nvma];
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->now.n && n < VM_SNAPSHOT_MAX_VMAS; i++) {
		const struct vm_area *a = &k->now.area[i];

		if (n && a->begins == VM_NO)
			v[n - 1].end = a->end;
		else
			show_area(k, a, flags, &v[n++]);
	}
	k->nvma += n;
	s->vma = v;
	s->nvma = n;
	s->mask |= VM_SEEN_MAPS | (flags ? VM_SEEN_FLAGS : 0);
}

static void look_pages(struct vm_kernel *k, const struct vm_area *a, struct vm_snapshot *s)
{
	struct vm_object *copies =
		&k->objects.object[a->anon != VM_NO_OBJECT ? a->anon : a->object];
	uint64_t end = a->off + (a->end - a->start);

	for (uint32_t i = vm_object_from(copies, a->off);
	     i < copies->npages && copies->page[i].off < end; i++) {
		if (!copies->page[i].known || s->npage == VM_SNAPSHOT_MAX_PAGES)
			continue;
		k->page[k->npage + s->npage++] =
			(struct vm_page){ .addr = a->start + (copies->page[i].off - a->off),
					  .content = copies->page[i].content };
	}
}

/* Pages that were touched through this mapping's memory. */
static void look_contents(struct vm_kernel *k, struct vm_snapshot *s)
{
	s->page = &k->page[k->npage];
	for (uint32_t i = 0; i < k->now.n; i++)
		look_pages(k, &k->now.area[i], s);
	k->npage += s->npage;
	s->mask |= VM_SEEN_CONTENTS;
}

static void look(struct vm_kernel *k, struct vm_event *e, uint8_t level)
{
	bool flags = e->sc.op == VM_OP_MSEAL || (k->sealed && e->result == -EPERM);
	struct vm_snapshot *s = &e->after;

	if (e->kind == VM_EVENT_CALL && level == VM_OBSERVE_END)
		return;
	if (e->kind == VM_EVENT_END)
		flags = true;
	else if (e->kind == VM_EVENT_START || level != VM_OBSERVE_FULL)
		flags = false;
	look_layout(k, flags, s);
	if (e->kind == VM_EVENT_END || (e->kind == VM_EVENT_CALL && level == VM_OBSERVE_FULL))
		look_contents(k, s);
}

/* ---- running ---- */

static struct vm_event *event(struct vm_kernel *k, uint8_t kind)
{
	struct vm_event *e = &k->trace.event[k->trace.nevents];

	*e = (struct vm_event){ .kind = kind,
				.seq_begin = 2 * k->trace.nevents,
				.seq_end = 2 * k->trace.nevents + 1 };
	k->trace.nevents++;
	return e;
}

static void begin(struct vm_kernel *k, const struct vm_program *prog)
{
	k->now.n = 0;
	k->now.lost = false;
	k->info = k->given;
	vm_preamble_overlay(prog, &k->info);
	vm_objects_reset(&k->objects);
	vm_objects_name(&k->objects, VM_OBJECT_PAGES * k->info.layout.page_size);
	memset(k->names, 0, sizeof(k->names));
	k->sealed = false;
	k->tripped = 0;
	k->ncalls = 0;
	k->nvma = k->npage = 0;
	k->trace.prog = *prog;
	k->trace.nevents = 0;
	k->trace.exit = VM_EXIT_DONE;
}

/* Where what must stay free below a mapping begins. include/linux/mm.h vm_start_gap(). */
static uint64_t gap_start(const struct vm_kernel *k, const struct vm_area *a)
{
	uint64_t gap = VM_STACK_GAP_PAGES * k->info.layout.page_size;

	if (!(a->flags & VM_BIT(VM_FLAG_GD)))
		return a->start;
	return a->start > gap ? a->start - gap : 0;
}

/* Highest free range of len bytes below `top`; 0 if there is none. */
static uint64_t free_below(const struct vm_kernel *k, uint64_t top, uint64_t len)
{
	for (uint32_t i = k->now.n; i-- > 0;) {
		const struct vm_area *a = &k->now.area[i];

		if (a->end <= top && top - a->end >= len)
			return top - len;
		if (gap_start(k, a) < top)
			top = gap_start(k, a);
	}
	return top >= len ? top - len : 0;
}

/* As a top-down search from below the stack's gap finds it, and then one from the top. */
static uint64_t choose(const struct vm_kernel *k, const struct vm_outcome *o)
{
	uint64_t page = k->info.layout.page_size, task = k->info.layout.task_size;
	uint64_t at, len = o->len;

	if (o->value) /* MAP_32BIT: below this address */
		return free_below(k, (uint64_t)o->value, len);
	at = free_below(k, (task - task / 8) & ~(page - 1), len);
	return at >= k->info.mmap_min_addr ? at : free_below(k, task & ~(page - 1), len);
}

/*
 * The first outcome, or, where it is that the kernel chooses an address and there is none above
 * mmap_min_addr, the next that is not.
 */
static const struct vm_outcome *first_possible(const struct vm_kernel *k)
{
	const struct vm_outcome *o = k->outcomes.o;
	uint32_t i = 0;

	while (i + 1 < k->outcomes.n && o[i].kind == VM_RESULT_CHOSEN &&
	       choose(k, &o[i]) < k->info.mmap_min_addr)
		i++;
	return &o[i];
}

static void result_of(struct vm_kernel *k, struct vm_event *e)
{
	const struct vm_outcome *o = k->did;

	e->status = o->kind == VM_RESULT_FAULT ? VM_STATUS_FAULTED : VM_STATUS_DONE;
	e->result = o->kind == VM_RESULT_ERRNO	  ? -o->value
		    : o->kind == VM_RESULT_CHOSEN ? (int64_t)choose(k, o)
						  : o->value;
	if (o->kind != VM_RESULT_FAULT)
		return;
	e->signo = o->signo;
	e->sigcode = o->sigcode < 0 ? 1 : o->sigcode;
	e->sigaddr = (e->sc.arg[0] & ~(k->info.layout.page_size - 1)) +
		     (uint64_t)o->value * k->info.layout.page_size;
}

static void perform(struct vm_kernel *k, struct vm_event *e)
{
	uint32_t objects = k->objects.n;
	struct vm_rule r = { .s = &k->now,
			     .sc = &e->sc,
			     .info = &k->info,
			     .p = k->profile,
			     .call = e->call,
			     .work = &k->work,
			     .objects = &k->objects,
			     .out = &k->outcomes };

	vm_outcomes(&r);
	vm_objects_truncate(&k->objects, objects);
	k->did = first_possible(k);
	vm_state_copy(&k->before, &k->now);
	result_of(k, e);
	vm_effect_apply(&k->did->effect, (uint64_t)e->result, &k->now, &k->objects,
			k->info.layout.page_size);
	decide_merges(&k->now);
	if (e->sc.op == VM_OP_MSEAL && e->result == 0)
		k->sealed = true;
}

/* The calls that the faults are about; others are not made. */
static bool played(uint8_t op)
{
	return op <= VM_OP_TRUNCATE;
}

static void run_call(struct vm_kernel *k, unsigned int i, int planted)
{
	const struct vm_call *call = &k->trace.prog.call[i];
	struct vm_event *e = event(k, VM_EVENT_CALL);
	enum vm_withheld withheld;

	e->call = (uint8_t)i;
	e->sc = vm_call_resolve(call, &k->info.layout, k->names);
	withheld = played(call->op) ? vm_call_withheld(&e->sc, &k->info.layout, NULL, 0)
				    : VM_WITHHELD_GUARD;
	if (withheld) {
		e->status = VM_STATUS_WITHHELD;
		e->result = withheld;
		k->did = NULL;
	} else {
		perform(k, e);
	}
	if (call->let)
		k->names[call->let] =
			e->status == VM_STATUS_DONE && e->result > 0 ? (uint64_t)e->result : 0;
	k->past[k->ncalls++] =
		(struct vm_past_call){ .sc = e->sc, .made = !withheld, .result = e->result };
	if (!withheld)
		k->tripped |= vm_faults_check(k, planted);
	look(k, e, k->trace.prog.observe);
}

void vm_kernel_run(struct vm_kernel *k, const struct vm_program *prog, int planted)
{
	begin(k, prog);
	look(k, event(k, VM_EVENT_START), prog->observe);
	for (unsigned int i = 0; i < prog->ncalls && !k->now.lost; i++)
		run_call(k, i, planted);
	look(k, event(k, VM_EVENT_END), prog->observe);
}
