/* SPDX-License-Identifier: MIT */
/* Verdicts, results and address spaces as text for people. */
#include "oracle/oracle.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vm_text_add(struct vm_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->len < t->cap ? t->buf + t->len : NULL,
		      t->len < t->cap ? t->cap - t->len : 0, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
}

void vm_explain_addr(uint64_t addr, const struct vm_target_info *info, struct vm_text *t)
{
	const struct vm_layout *l = &info->layout;
	uint64_t off = addr - l->arena_base;

	if (addr >= l->arena_base && off < l->arena_size) {
		vm_text_add(t, "p%llu", (unsigned long long)(off / l->page_size));
		if (off % l->page_size)
			vm_text_add(t, "[%llub]", (unsigned long long)(off % l->page_size));
	} else if (l->brk_base && addr >= l->brk_base && addr - l->brk_base < l->pud_size) {
		vm_text_add(t, "brk[%llu]",
			    (unsigned long long)((addr - l->brk_base) / l->page_size));
	} else {
		vm_text_add(t, "%#llx", (unsigned long long)addr);
	}
}

static const char *signal_code(const struct vm_event *e)
{
	if (e->signo == SIGBUS)
		return e->sigcode == BUS_ADRERR ? "SIGBUS/ADRERR" : "SIGBUS";
	return e->sigcode == SEGV_MAPERR   ? "SIGSEGV/MAPERR"
	       : e->sigcode == SEGV_ACCERR ? "SIGSEGV/ACCERR"
					   : "SIGSEGV";
}

void vm_explain_result(const struct vm_event *e, const struct vm_target_info *info,
		       struct vm_text *t)
{
	switch (e->status) {
	case VM_STATUS_RUNNING:
		vm_text_add(t, "never returned");
		return;
	case VM_STATUS_WITHHELD:
		vm_text_add(t, "withheld (%s)",
			    e->result == VM_WITHHELD_MEMORY	 ? "too much memory"
			    : e->result == VM_WITHHELD_PRIVILEGE ? "harmful with this privilege"
			    : e->result == VM_WITHHELD_FORK	 ? "no such child"
								 : "executor's memory");
		return;
	case VM_STATUS_FAULTED:
		vm_text_add(t, "%s at ", signal_code(e));
		vm_explain_addr(e->sigaddr, info, t);
		return;
	default:
		break;
	}
	if (vm_event_errno(e))
		vm_text_add(t, "%s", vm_errno_name(vm_event_errno(e)));
	else if (vm_call_desc(e->sc.op)->returns_addr)
		vm_explain_addr((uint64_t)e->result, info, t);
	else
		vm_text_add(t, "%lld", (long long)e->result);
}

/* Ranges that a picture points at. */
struct marks {
	const struct vm_range *range;
	uint32_t n;
};

static bool marked(const struct vm_vma *v, const struct marks *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (v->start < m->range[i].end && m->range[i].start < v->end)
			return true;
	return false;
}

/* Marked pages of [from, to), where nothing is mapped. */
static void holes(uint64_t from, uint64_t to, const struct vm_target_info *info,
		  const struct marks *m, struct vm_text *t)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct vm_range r = { .start = from > m->range[i].start ? from : m->range[i].start,
				      .end = to < m->range[i].end ? to : m->range[i].end };

		if (r.start >= r.end)
			continue;
		vm_text_add(t, "    ");
		vm_explain_addr(r.start, info, t);
		vm_text_add(t, "+%llu  (not mapped)   <--\n",
			    (unsigned long long)((r.end - r.start) / info->layout.page_size));
	}
}

/* What is in the pages of a VMA, at most six: enough to see bytes move. `fill 3.0` is call 3, page
 * 0. */
static void contents(const struct vm_snapshot *s, const struct vm_vma *v, struct vm_text *t)
{
	static const char *const names[] = { "other bytes", "zero", "fill", "write" };
	enum vm_origin last = VM_ORIGIN_UNKNOWN;
	uint32_t shown = 0;

	if (!(s->mask & VM_SEEN_CONTENTS))
		return;
	for (uint32_t i = 0; i < s->npage; i++) {
		unsigned int call;
		uint64_t page;
		enum vm_origin o;

		if (s->page[i].addr < v->start || s->page[i].addr >= v->end)
			continue;
		if (++shown > 6) {
			vm_text_add(t, " ...");
			return;
		}
		o = vm_content_origin(s->page[i].content.head, &call, &page);
		if (shown == 1 || o != last)
			vm_text_add(t, "  %s", names[o]);
		if (o >= VM_ORIGIN_FILL)
			vm_text_add(t, " %u.%llu", call + 1, (unsigned long long)page);
		last = o;
	}
}

/*
 * Seals are for ever: one seen at this address by event `upto` still holds, though this look did
 * not read flags.
 */
static bool sealed(const struct vm_vma *v, const struct vm_trace *trace, uint32_t upto)
{
	if (v->flags_known || !trace)
		return v->flags_known && v->flags >> VM_FLAG_SL & 1;
	for (uint32_t i = 0; i <= upto; i++) {
		const struct vm_snapshot *s = &trace->event[i].after;

		for (uint32_t k = 0; s->mask & VM_SEEN_FLAGS && k < s->nvma; k++)
			if (s->vma[k].start <= v->start && v->start < s->vma[k].end &&
			    s->vma[k].flags >> VM_FLAG_SL & 1)
				return true;
	}
	return false;
}

static void picture(const struct vm_snapshot *s, const struct vm_target_info *info,
		    const struct marks *marks, const struct vm_trace *trace, uint32_t upto,
		    struct vm_text *t)
{
	uint64_t at = 0;

	if (!(s->mask & VM_SEEN_MAPS)) {
		vm_text_add(t, "    (not observed)\n");
		return;
	}
	for (uint32_t i = 0; i < s->nvma; i++) {
		const struct vm_vma *v = &s->vma[i];

		holes(at, v->start, info, marks, t);
		vm_text_add(t, "    ");
		vm_explain_addr(v->start, info, t);
		vm_text_add(t, "+%llu  %c%c%c %s%s",
			    (unsigned long long)((v->end - v->start) / info->layout.page_size),
			    v->mode & VM_MODE_R ? 'r' : '-', v->mode & VM_MODE_W ? 'w' : '-',
			    v->mode & VM_MODE_X ? 'x' : '-',
			    v->mode & VM_MODE_S ? "shared" : "private",
			    sealed(v, trace, upto) ? " sealed" : "");
		contents(s, v, t);
		vm_text_add(t, marked(v, marks) ? "   <--\n" : "\n");
		at = v->end;
	}
	holes(at, info->layout.task_size, info, marks, t);
	if (!s->nvma && !marks->n)
		vm_text_add(t, "    (nothing mapped)\n");
}

void vm_explain_snapshot(const struct vm_snapshot *s, const struct vm_target_info *info,
			 const struct vm_range *mark, struct vm_text *t)
{
	struct marks marks = { mark, mark != NULL };

	picture(s, info, &marks, NULL, 0, t);
}

/* The last observed layout before an event. */
static const struct vm_snapshot *before(const struct vm_trace *trace, uint32_t event)
{
	static const struct vm_snapshot none;

	while (event-- > 0)
		if (trace->event[event].after.mask & VM_SEEN_MAPS)
			return &trace->event[event].after;
	return &none;
}

void vm_explain_verdict(const struct vm_trace *trace, const struct vm_verdict *v, struct vm_text *t)
{
	const struct vm_event *e = v->event < trace->nevents ? &trace->event[v->event] : NULL;
	struct vm_range one = { v->start, v->end };
	struct marks marks = { v->nmarks ? v->mark : &one, v->nmarks ? v->nmarks : v->end != 0 };
	char call[256];

	vm_text_add(t, "%s: %s\n", vm_severity_name(v->severity), v->title);
	vm_text_add(t, "  kernel     %s %s %s\n", trace->info.sysname, trace->info.release,
		    trace->info.machine);
	if (v->known)
		vm_text_add(t, "  known bug  %s\n", v->known);
	if (trace->info.inject[0])
		vm_text_add(t, "  injected   %s\n", trace->info.inject);
	if (e && e->kind == VM_EVENT_CALL) {
		vm_text_print_call(&trace->prog.call[e->call], call, sizeof(call));
		vm_text_add(t, "  call %-2u    %s\n", e->call + 1, call);
		vm_text_print_syscall(&e->sc, &trace->info.layout, call, sizeof(call));
		vm_text_add(t, "  as made    %s = ", call);
		vm_explain_result(e, &trace->info, t);
		vm_text_add(t, "\n");
		if (e->injected)
			vm_text_add(t, "  failed     allocation %u: %s\n",
				    trace->prog.call[e->call].fail_nth,
				    e->site ? e->site : "not known where");
	}
	vm_text_add(t, "  expected   %s\n  observed   %s\n", v->expected, v->observed);
	vm_text_add(t, "  invariant  %s\n  rests on   %s\n", v->invariant, v->basis);
	if (!e)
		return;
	vm_text_add(t, "  before\n");
	picture(before(trace, v->event), &trace->info, &marks, trace, v->event, t);
	vm_text_add(t, "  after\n");
	picture(&e->after, &trace->info, &marks, trace, v->event, t);
}
