/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/model.h"
#include "tests/unit/trace_builder.h"

#define MAX_VMAS  16
#define MAX_PAGES 16

struct trace_builder {
	struct vm_trace trace;
	struct vm_vma vma[VM_TRACE_MAX_EVENTS][MAX_VMAS];
	struct vm_page page[VM_TRACE_MAX_EVENTS][MAX_PAGES];
	struct vm_state state;
	struct vm_objects objects;
	struct vm_judge_scratch *scratch;
	struct vm_judgement judgement;
	char text[4096];
};

struct trace_builder *tb_open(const char *release)
{
	struct trace_builder *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	vm_model_default_info(&t->trace.info);
	snprintf(t->trace.info.release, sizeof(t->trace.info.release), "%s", release);
	t->scratch = vm_judge_scratch_new();
	assert_non_null(t->scratch);
	return t;
}

void tb_close(struct trace_builder *t)
{
	vm_judge_scratch_free(t->scratch);
	vm_objects_free(&t->objects);
	free(t);
}

struct vm_trace *tb_trace(struct trace_builder *t)
{
	return &t->trace;
}

struct vm_event *tb_last(struct trace_builder *t)
{
	return &t->trace.event[t->trace.nevents - 1];
}

const struct vm_judgement *tb_judgement(const struct trace_builder *t)
{
	return &t->judgement;
}

static struct vm_vma vma_of(const struct vm_area *a, const struct vm_objects *o)
{
	struct vm_vma v = { .start = a->start,
			    .end = a->end,
			    .mode = a->prot | (a->shared ? VM_MODE_S : 0),
			    .flags_known = 1,
			    .flags = a->prot | a->flags };

	if (a->shared) {
		v.offset = a->off;
		v.dev = o->object[a->object].dev;
		v.inode = o->object[a->object].inode;
		v.flags |= 1u << 7;
	}
	v.flags |= (uint64_t)(a->account == VM_YES) << VM_FLAG_AC;
	v.flags |= (uint64_t)(a->sealed == VM_YES) << VM_FLAG_SL;
	return v;
}

static void look(struct trace_builder *t, struct vm_event *e, const char *layout)
{
	uint32_t i = t->trace.nevents;
	struct vm_snapshot *s = &e->after;

	if (!strcmp(layout, "-"))
		return;
	if (!strcmp(layout, "same")) {
		assert_true(i > 0);
		*s = t->trace.event[i - 1].after;
		return;
	}
	vm_objects_reset(&t->objects);
	state_of_text(layout, &t->state, &t->objects);
	assert_true(t->state.n <= MAX_VMAS);
	for (uint32_t k = 0; k < t->state.n; k++)
		t->vma[i][k] = vma_of(&t->state.area[k], &t->objects);
	s->mask = VM_SEEN_MAPS | VM_SEEN_FLAGS | VM_SEEN_CONTENTS;
	s->nvma = t->state.n;
	s->vma = t->vma[i];
	s->page = t->page[i];
}

static struct vm_event *add(struct trace_builder *t, uint8_t kind, const char *layout)
{
	struct vm_event *e = &t->trace.event[t->trace.nevents];

	assert_true(t->trace.nevents < VM_TRACE_MAX_EVENTS);
	e->kind = kind;
	e->seq_begin = 2 * t->trace.nevents;
	e->seq_end = e->seq_begin + 1;
	look(t, e, layout);
	t->trace.nevents++;
	return e;
}

void tb_start(struct trace_builder *t, const char *layout)
{
	add(t, VM_EVENT_START, layout);
}

void tb_end(struct trace_builder *t, const char *layout)
{
	add(t, VM_EVENT_END, layout);
}

void tb_call(struct trace_builder *t, const char *call, int64_t result, const char *layout)
{
	static struct vm_script script;
	struct vm_event *e = add(t, VM_EVENT_CALL, layout);
	struct vm_program *prog = &t->trace.prog;
	struct vm_parse_error err;

	if (vm_text_parse(call, strlen(call), &script, &err))
		fail_msg("%s: %s", call, err.message);
	e->call = prog->ncalls;
	prog->call[prog->ncalls++] = script.prog.call[0];
	e->sc = syscall_of_text(call, &t->trace.info.layout);
	e->result = result;
}

void tb_fault(struct trace_builder *t, const char *call, int64_t done, int signo, int code,
	      const char *layout)
{
	struct vm_event *e;

	tb_call(t, call, done, layout);
	e = tb_last(t);
	e->status = VM_STATUS_FAULTED;
	e->signo = signo;
	e->sigcode = code;
	e->sigaddr = (e->sc.arg[0] & ~(PAGE - 1)) + (uint64_t)done * PAGE;
}

void tb_bytes(struct trace_builder *t, uint64_t page, uint64_t head, uint64_t rest)
{
	struct vm_snapshot *s = &tb_last(t)->after;

	assert_true(s->npage < MAX_PAGES && s->page == t->page[t->trace.nevents - 1]);
	t->page[t->trace.nevents - 1][s->npage++] =
		(struct vm_page){ .addr = ARENA(page), .content = { head, rest } };
}

void tb_filled(struct trace_builder *t, uint64_t page, unsigned int call, uint64_t index)
{
	struct vm_content c = vm_content_of_tag(vm_fill_tag(call, index), PAGE);

	tb_bytes(t, page, c.head, c.rest);
}

const char *tb_judge(struct trace_builder *t, const char *profile, enum vm_contract contract)
{
	const struct vm_judge_options opt = { .profile =
						      profile ? vm_profile_by_name(profile) : NULL,
					      .contract = contract };
	struct vm_text text = { .buf = t->text, .cap = sizeof(t->text) };

	memset(&t->judgement, 0xee, sizeof(t->judgement));
	vm_judge(&t->trace, &opt, t->scratch, &t->judgement);
	t->text[0] = 0;
	for (uint32_t i = 0; i < t->judgement.nverdicts; i++) {
		const struct vm_verdict *v = &t->judgement.verdict[i];

		vm_text_add(&text, "%s%u %s %s: %s", i ? "; " : "", v->event,
			    vm_severity_name(v->severity), v->invariant, v->title);
	}
	return t->text;
}
