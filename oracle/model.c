/* SPDX-License-Identifier: MIT */
#include "oracle/model.h"

#include "harness/trace/preamble.h"
#include "oracle/rules/rule.h"
#include "oracle/state/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vm_model {
	struct vm_target_info info, given; /* info: with the preamble of the program */
	const struct vm_profile *profile;
	struct vm_state state, work, parent; /* parent: while a forked child runs */
	bool forked, replaced;		     /* replaced: the child has become another program */
	struct vm_objects objects;
	struct vm_outcomes outcomes;
	uint64_t names[VM_NAME_SLOTS], parent_names[VM_NAME_SLOTS];
	struct vm_syscall made;
	struct vm_model_area area[VM_STATE_MAX_AREAS];
};

struct vm_model *vm_model_new(const struct vm_target_info *info, const struct vm_profile *profile)
{
	struct vm_model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	/* the model has none of the executor's VMAs, so what a preamble is on top of is nothing */
	m->given = *info;
	m->given.nown = 0;
	m->info = m->given;
	m->profile = profile;
	vm_model_reset(m);
	return m;
}

void vm_model_free(struct vm_model *m)
{
	if (!m)
		return;
	vm_objects_free(&m->objects);
	free(m);
}

const struct vm_target_info *vm_model_info(const struct vm_model *m)
{
	return &m->info;
}

void vm_model_start(struct vm_model *m, const struct vm_program *prog)
{
	m->info = m->given;
	vm_preamble_overlay(prog, &m->info);
	vm_model_reset(m);
}

void vm_model_reset(struct vm_model *m)
{
	m->state.process = vm_process_fresh(&m->info);
	m->state.n = 0;
	m->state.lost = false;
	m->forked = m->replaced = false;
	m->state.locks = (struct vm_locks){ 0 };
	m->state.guards_used = false;
	vm_objects_reset(&m->objects);
	vm_objects_name(&m->objects, VM_OBJECT_PAGES * m->info.layout.page_size);
	memset(m->names, 0, sizeof(m->names));
}

/* Highest free range of len bytes below the top of the search window: as a top-down kernel would.
 */
static uint64_t invent(const struct vm_model *m, const struct vm_outcome *o)
{
	/* MAP_32BIT has a limit of its own */
	uint64_t len = o->len, limit = (uint64_t)o->value;
	uint64_t top = limit ? limit : m->info.layout.task_size - m->info.layout.task_size / 8;
	uint64_t page = m->info.layout.page_size, gap = VM_STACK_GAP_PAGES * page;

	uint64_t mask = (o->align ? o->align : page) - 1;

	top &= ~(page - 1);
	for (uint32_t i = m->state.n; i-- > 0;) {
		const struct vm_area *a = &m->state.area[i];

		if (a->end <= top && top - a->end >= len && ((top - len) & ~mask) >= a->end)
			return (top - len) & ~mask;
		if (a->start < top)
			top = a->start - (vm_area_grows(a) == VM_NO ? 0 : gap);
	}
	return top >= len ? (top - len) & ~mask : 0;
}

/* A child begins or ends; false if the executor would make no such call. */
static bool change_space(struct vm_model *m, uint8_t op)
{
	if (m->forked == (op == VM_OP_FORK))
		return false;
	if (op == VM_OP_FORK) {
		vm_state_copy(&m->parent, &m->state);
		vm_objects_hold(&m->objects, &m->parent);
		memcpy(m->parent_names, m->names, sizeof(m->names));
	} else {
		vm_state_copy(&m->state, &m->parent);
		vm_objects_hold(&m->objects, NULL);
		memcpy(m->names, m->parent_names, sizeof(m->names));
	}
	m->forked = !m->forked;
	m->replaced = false;
	return true;
}

int64_t vm_model_step(struct vm_model *m, const struct vm_call *call, unsigned int index)
{
	struct vm_syscall sc = vm_call_resolve(call, &m->info.layout, m->names);
	struct vm_rule r = { .s = &m->state,
			     .sc = &sc,
			     .info = &m->info,
			     .p = m->profile,
			     .call = (uint8_t)index,
			     .work = &m->work,
			     .objects = &m->objects,
			     .out = &m->outcomes };
	uint32_t objects = m->objects.n;
	const struct vm_outcome *o;
	int64_t result;

	m->made = sc;
	if ((m->replaced && call->op != VM_OP_END) || (call->op == VM_OP_EXEC && !m->forked))
		return 0;
	m->replaced = call->op == VM_OP_EXEC;
	if ((call->op == VM_OP_FORK || call->op == VM_OP_END) && !change_space(m, call->op))
		return 0;
	if (vm_call_withheld(&sc, &m->info.layout, m->info.guard, m->info.nguard)) {
		m->names[call->let] = 0;
		return 0;
	}
	vm_outcomes(&r);
	vm_objects_truncate(&m->objects, objects);
	if (!m->outcomes.n)
		return 0;
	o = &m->outcomes.o[0];
	result = o->kind == VM_RESULT_ERRNO    ? -o->value
		 : o->kind == VM_RESULT_CHOSEN ? (int64_t)invent(m, o)
					       : o->value;
	vm_effect_apply(&o->effect, (uint64_t)result, &m->state, &m->objects,
			m->info.layout.page_size);
	vm_process_after(&m->state.process, &sc, result);
	if (m->state.lost)
		vm_model_reset(m);
	if (call->let)
		m->names[call->let] = result > 0 ? (uint64_t)result : 0;
	return result;
}

const struct vm_syscall *vm_model_made(const struct vm_model *m)
{
	return &m->made;
}

size_t vm_model_areas(struct vm_model *m, const struct vm_model_area **areas)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->state.n; i++) {
		const struct vm_area *a = &m->state.area[i];

		if (n && m->area[n - 1].end == a->start && a->begins == VM_NO) {
			m->area[n - 1].end = a->end;
			continue;
		}
		m->area[n++] = (struct vm_model_area){ .start = a->start,
						       .end = a->end,
						       .prot = a->prot,
						       .shared = a->shared,
						       .sealed = a->sealed == VM_YES,
						       .begins = a->begins == VM_YES,
						       .flags = a->flags & ~a->flags_maybe };
	}
	*areas = m->area;
	return n;
}

struct vm_quantity vm_model_quantity(const struct vm_model *m, uint64_t value)
{
	uint64_t page = m->info.layout.page_size;
	int64_t pages = (int64_t)value / (int64_t)page;
	struct vm_quantity q = { 0 };

	if (pages > INT32_MAX || pages < INT32_MIN) {
		q.bytes = (int64_t)value;
		return q;
	}
	q.pages = (int32_t)pages;
	q.bytes = (int64_t)value - pages * (int64_t)page;
	return q;
}

/* The name that lies nearest below the address, within one pmd. */
static uint8_t nearest_name(const struct vm_model *m, uint64_t value)
{
	uint64_t best = m->info.layout.pmd_size;
	uint8_t slot = 0;

	for (uint8_t i = 1; i < VM_NAME_SLOTS; i++)
		if (m->names[i] && value - m->names[i] < best) {
			best = value - m->names[i];
			slot = i;
		}
	return slot;
}

struct vm_addr vm_model_addr(const struct vm_model *m, uint64_t value)
{
	const struct vm_layout *l = &m->info.layout;
	struct vm_addr a = { .base = VM_BASE_NULL };
	uint64_t off = value - l->arena_base, page = off / l->page_size;
	uint8_t slot = nearest_name(m, value);

	if (slot) {
		a.base = VM_BASE_NAME;
		a.index = slot;
		a.off = vm_model_quantity(m, value - m->names[slot]);
	} else if (off < l->arena_size) {
		a.base = VM_BASE_ARENA;
		a.index = page < VM_ARENA_PAGES ? (uint8_t)page : VM_ARENA_PAGES - 1;
		a.off = vm_model_quantity(m, off - a.index * l->page_size);
	} else if (l->brk_base && value >= l->brk_base && value - l->brk_base < l->pud_size) {
		a.base = VM_BASE_BRK;
		a.off = vm_model_quantity(m, value - l->brk_base);
	} else {
		a.off = vm_model_quantity(m, value);
	}
	return a;
}

void vm_model_default_info(struct vm_target_info *info)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->sysname, sizeof(info->sysname), "Linux");
	snprintf(info->release, sizeof(info->release), "6.18.0");
	snprintf(info->machine, sizeof(info->machine), "x86_64");
	info->layout = (struct vm_layout){ .page_size = 4096,
					   .pmd_size = 2ull << 20,
					   .pud_size = 1ull << 30,
					   .task_size = (1ull << 47) - 4096,
					   .arena_base = 1ull << 45,
					   .arena_size = 8ull << 30,
					   .brk_base = 5ull << 20 };
	info->features = VM_HAS_MSEAL | VM_HAS_PROCMAP_QUERY | VM_HAS_PAGEMAP | VM_HAS_PROC_MEM |
			 VM_HAS_SMAPS | VM_HAS_SMAPS_SEAL | VM_HAS_SYSV_SHM;
	info->mmap_min_addr = info->hint_min_addr = 65536;
	info->max_map_count = 65530;
	info->total_pages = (16ull << 30) / 4096;
	info->rlimit_as = info->rlimit_data = UINT64_MAX;
	info->rlimit_memlock = info->rlimit_stack = 8ull << 20;
	info->uid = info->gid = 65534;
}
