/* SPDX-License-Identifier: MIT */
/* A script's own expectations against what was observed and judged. */
#include "oracle/oracle.h"

#include <stdlib.h>
#include <string.h>

/* "6.12" as a number that grows with versions. */
static unsigned long version(const char *name)
{
	char *end;
	unsigned long major = strtoul(name, &end, 10);

	return major * 1000 + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0);
}

static bool applies(const struct vm_expect *x, const struct vm_profile *p)
{
	bool same = !strcmp(x->profile, p->name);

	if (!x->profile[0])
		return true;
	/* what is said of some versions says nothing of a kernel without a profile */
	if (!p->exact)
		return false;
	switch (x->profile_is) {
	case VM_PROFILE_NOT:
		return !same;
	case VM_PROFILE_UPTO:
		return version(p->name) <= version(x->profile);
	case VM_PROFILE_ABOVE:
		return version(p->name) > version(x->profile);
	default:
		return same;
	}
}

static const struct vm_event *event_of_call(const struct vm_trace *trace, unsigned int call,
					    uint32_t *index)
{
	for (uint32_t i = 0; i < trace->nevents; i++)
		if (trace->event[i].kind == VM_EVENT_CALL && trace->event[i].call == call) {
			*index = i;
			return &trace->event[i];
		}
	return NULL;
}

static bool result_met(const struct vm_expect *x, const struct vm_event *e)
{
	int error = vm_event_errno(e);

	switch (x->result) {
	case 1:
		return e->status == VM_STATUS_DONE && !error;
	case 2:
		return error && error == x->value;
	case 3:
		return e->status == VM_STATUS_FAULTED && e->signo == x->value;
	case 4:
		return e->status == VM_STATUS_WITHHELD;
	default:
		return true;
	}
}

static void say_result(const struct vm_expect *x, struct vm_text *t)
{
	if (x->result == 1)
		vm_text_add(t, "ok");
	else if (x->result == 2)
		vm_text_add(t, "%s", vm_errno_name(x->value));
	else if (x->result == 3)
		vm_text_add(t, x->value == 7 ? "SIGBUS" : "SIGSEGV");
	else
		vm_text_add(t, "withheld");
}

static int unmet(struct vm_text *t, unsigned int line, const char *what)
{
	vm_text_add(t, "line %u: %s\n", line, what);
	return 1;
}

static int check_call(const struct vm_script *script, unsigned int call, const struct vm_expect *x,
		      const struct vm_trace *trace, const struct vm_judgement *j, struct vm_text *t)
{
	uint32_t index;
	const struct vm_event *e = event_of_call(trace, call, &index);
	unsigned int line = script->line[call];
	int n = 0;

	if (!e)
		return unmet(t, line, "the call was never made");
	if (!result_met(x, e)) {
		vm_text_add(t, "line %u: expected ", line);
		say_result(x, t);
		vm_text_add(t, ", got ");
		vm_explain_result(e, &trace->info, t);
		vm_text_add(t, "\n");
		n++;
	}
	if (x->words & VM_EXPECT_UNTOUCHED && j->call[index].changed != 0)
		n += unmet(t, line,
			   j->call[index].changed == 1 ? "expected untouched, but pages changed"
						       : "expected untouched, not observed");
	if (x->words & VM_EXPECT_CHANGED && j->call[index].changed != 1)
		n += unmet(t, line, "expected changed, but no page changed");
	if (x->words & VM_EXPECT_DEVIATION && j->call[index].severity != VM_DEVIATION)
		n += unmet(t, line, "expected a deviation, there is none");
	if (x->words & VM_EXPECT_NOTE && j->call[index].severity != VM_NOTE)
		n += unmet(t, line, "expected a note, there is none");
	return n;
}

/* Names that a forked child gave are gone with it. */
static uint64_t value_of(const struct vm_addr *a, const struct vm_trace *trace, unsigned int after)
{
	uint64_t names[VM_NAME_SLOTS] = { 0 }, parents[VM_NAME_SLOTS] = { 0 };
	uint16_t space = 0;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];
		uint8_t let = e->kind == VM_EVENT_CALL ? trace->prog.call[e->call].let : 0;

		if (e->kind != VM_EVENT_CALL || e->call >= after)
			continue;
		if (e->space != space) {
			memcpy(space ? names : parents, space ? parents : names, sizeof(names));
			space = e->space;
		}
		if (let)
			names[let] = e->status == VM_STATUS_DONE && e->result > 0
					     ? (uint64_t)e->result
					     : 0;
	}
	return vm_addr_value(a, &trace->info.layout, names);
}

static const struct vm_vma *vma_at(const struct vm_snapshot *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nvma; i++)
		if (s->vma[i].start <= addr && addr < s->vma[i].end)
			return &s->vma[i];
	return NULL;
}

static const struct vm_page *page_at(const struct vm_snapshot *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->npage; i++)
		if (s->page[i].addr == addr)
			return &s->page[i];
	return NULL;
}

/* Which forked child, counted from 1, runs after the first `after` calls; 0: none. */
static unsigned int child_after(const struct vm_trace *trace, unsigned int after)
{
	unsigned int child = 0, children = 0;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind != VM_EVENT_CALL || e->call >= after)
			continue;
		children += e->space && !child;
		child = e->space ? children : 0;
	}
	return child;
}

/*
 * The tag that the last fill before `after` left at an address; 0 if there was none. What a forked
 * child fills counts in other processes only in shared mappings.
 */
static uint64_t tag_at(const struct vm_trace *trace, uint64_t addr, unsigned int after, bool shared)
{
	unsigned int child = child_after(trace, after);
	uint64_t tag = 0, page = trace->info.layout.page_size;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];
		uint64_t start = e->sc.arg[0] & ~(page - 1), filled;

		if (e->kind != VM_EVENT_CALL || e->sc.op != VM_OP_FILL || e->call >= after ||
		    (e->status != VM_STATUS_DONE && e->status != VM_STATUS_FAULTED) ||
		    (e->space && !shared && child_after(trace, e->call + 1u) != child))
			continue;
		/* the result of a touch is the number of pages that it got to */
		filled = (uint64_t)e->result;
		if (addr >= start && (addr - start) / page < filled)
			tag = vm_fill_tag(e->call, (addr - start) / page);
	}
	return tag;
}

static uint8_t prot_of(const struct vm_vma *v)
{
	/* PROT_READ, PROT_WRITE, PROT_EXEC have the bits of VM_MODE_R, W, X */
	return v->mode & (VM_MODE_R | VM_MODE_W | VM_MODE_X);
}

static unsigned int flag_by_name(const char *name)
{
	static const char names[VM_FLAG_COUNT][3] = { VM_FLAG_NAMES };
	unsigned int i = 0;

	while (i < VM_FLAG_COUNT && strcmp(names[i], name))
		i++;
	return i;
}

/* NULL if the VMA has, or lacks, the VmFlags that the line names. */
static const char *check_flags(const struct vm_state_expect *x, const struct vm_vma *v,
			       const struct vm_target_info *info)
{
	for (unsigned int i = 0; i < x->nflags; i++) {
		unsigned int flag = flag_by_name(x->flag[i].name);

		if (flag == VM_FLAG_COUNT)
			return "is to have a VmFlag that there is not";
		if (!v->flags_known)
			return "was not looked at for VmFlags";
		if (flag == VM_FLAG_LF && info->features & VM_SMAPS_LACKS_LF)
			continue;
		if ((v->flags >> flag & 1) == x->flag[i].lacks)
			return x->flag[i].lacks ? "has a VmFlag that it should lack"
						: "lacks a VmFlag";
	}
	return NULL;
}

/* NULL if the mapping of the page is as expected, bytes apart, else what is wrong. */
static const char *check_mapping(const struct vm_state_expect *x, const struct vm_vma *v,
				 const struct vm_target_info *info)
{
	if (x->words & VM_STATE_PROT && prot_of(v) != x->prot)
		return "has other protection";
	if (x->words & VM_STATE_SHARED && !(v->mode & VM_MODE_S))
		return "is private";
	if (x->words & VM_STATE_PRIVATE && v->mode & VM_MODE_S)
		return "is shared";
	if (x->words & (VM_STATE_SEALED | VM_STATE_UNSEALED) && !v->flags_known)
		return "was not looked at for a seal";
	if (x->words & VM_STATE_SEALED && !(v->flags >> VM_FLAG_SL & 1))
		return "is not sealed";
	if (x->words & VM_STATE_UNSEALED && v->flags >> VM_FLAG_SL & 1)
		return "is sealed";
	return check_flags(x, v, info);
}

/* Can this kernel be asked for the bytes of all that is mapped? */
static bool could_look(const struct vm_trace *trace, const struct vm_snapshot *s)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < s->nvma; i++)
		pages += (s->vma[i].end - s->vma[i].start) / trace->info.layout.page_size;
	return trace->info.features & VM_HAS_PROC_MEM &&
	       (trace->info.features & VM_HAS_PAGEMAP_SCAN || pages <= VM_OBSERVE_MAX_LOOKUP);
}

/* NULL if the page is as expected, else what is wrong. */
static const char *check_page(const struct vm_state_expect *x, const struct vm_trace *trace,
			      const struct vm_snapshot *s, uint64_t addr, uint64_t off)
{
	const struct vm_vma *v = vma_at(s, addr);
	const struct vm_page *p = page_at(s, addr);
	const char *wrong;
	uint64_t tag, from;

	if (x->words & VM_STATE_UNMAPPED)
		return v ? "is mapped" : NULL;
	if (!v) /* a number of VMAs alone says nothing of holes */
		return x->words == VM_STATE_VMAS ? NULL : "is not mapped";
	wrong = check_mapping(x, v, &trace->info);
	if (wrong)
		return wrong;
	if (x->words & (VM_STATE_ZERO | VM_STATE_FROM) && !(s->mask & VM_SEEN_CONTENTS))
		return could_look(trace, s) ? "has unobserved bytes" : NULL;
	if (x->words & VM_STATE_ZERO && !p && v->mode & VM_MODE_S)
		return "is not present: read it first to see its bytes";
	if (x->words & VM_STATE_ZERO && p && (p->content.head || p->content.rest))
		return "is not zero";
	if (!(x->words & VM_STATE_FROM))
		return NULL;
	from = value_of(&x->from, trace, x->after) + off;
	v = vma_at(s, from) ? vma_at(s, from) : v;
	tag = tag_at(trace, from, x->after, v->mode & VM_MODE_S);
	if (!tag)
		return "has no fill to compare with";
	if (!p)
		return "is not present: read it first to see its bytes";
	return p->content.head == tag ? NULL : "has other bytes";
}

/* Which forked child an event that is no call belongs to: that of the last call before it. */
static unsigned int child_of(const struct vm_trace *trace, const struct vm_event *e)
{
	while (e > trace->event && e->kind != VM_EVENT_CALL)
		e--;
	return e->kind == VM_EVENT_CALL ? child_after(trace, e->call + 1u) : 0;
}

/* Is an `expect` line after `after` calls about what the last look of the event's process saw? */
static bool about_last_look(const struct vm_trace *trace, const struct vm_event *e,
			    unsigned int after)
{
	const struct vm_program *prog = &trace->prog;

	if (e->kind != VM_EVENT_END)
		return false;
	if (!e->space)
		return after >= prog->ncalls;
	return after < prog->ncalls && prog->call[after].op == VM_OP_END &&
	       child_after(trace, after) && child_of(trace, e) == child_after(trace, after);
}

/*
 * The snapshot that an `expect` line is about: after the last call before it; where that one did
 * not look at flags or contents and no call of its process follows, the last look.
 */
static const struct vm_snapshot *snapshot_for(const struct vm_state_expect *x,
					      const struct vm_trace *trace)
{
	const struct vm_snapshot *s = NULL;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind == VM_EVENT_CALL && e->call >= x->after)
			break; /* later children have ends, too */
		if (e->kind == VM_EVENT_START || (e->kind == VM_EVENT_CALL && e->call < x->after) ||
		    about_last_look(trace, e, x->after))
			s = e->after.mask & VM_SEEN_MAPS ? &e->after : s;
	}
	return s;
}

static int check_vmas(const struct vm_state_expect *x, const struct vm_snapshot *s, uint64_t start,
		      uint64_t end, struct vm_text *t)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < s->nvma; i++)
		n += s->vma[i].start < end && start < s->vma[i].end;
	if (!(x->words & VM_STATE_VMAS) || n == x->vmas)
		return 0;
	vm_text_add(t, "expect after call %u: %u VMAs, not %u\n", x->after, n, x->vmas);
	return 1;
}

static int check_state(const struct vm_state_expect *x, const struct vm_trace *trace,
		       struct vm_text *t)
{
	const struct vm_snapshot *s = snapshot_for(x, trace);
	uint64_t page = trace->info.layout.page_size;
	uint64_t start = value_of(&x->start, trace, x->after);
	uint64_t len = vm_quantity_value(&x->len, &trace->info.layout);

	if (!s) {
		vm_text_add(t, "expect after call %u: nothing was observed\n", x->after);
		return 1;
	}
	for (uint64_t off = 0; off < len; off += page) {
		const char *wrong = check_page(x, trace, s, start + off, off);

		if (!wrong)
			continue;
		vm_text_add(t, "expect after call %u: ", x->after);
		vm_explain_addr(start + off, &trace->info, t);
		vm_text_add(t, " %s\n", wrong);
		return 1;
	}
	return check_vmas(x, s, start, start + len, t);
}

int vm_expect_check(const struct vm_script *script, const struct vm_trace *trace,
		    const struct vm_judgement *j, const struct vm_profile *profile,
		    struct vm_text *t)
{
	int n = 0;

	for (unsigned int c = 0; c < script->prog.ncalls; c++)
		for (unsigned int i = 0; i < script->nexpect[c]; i++)
			if (applies(&script->expect[c][i], profile))
				n += check_call(script, c, &script->expect[c][i], trace, j, t);
	for (unsigned int i = 0; i < script->nstate; i++)
		if (applies(&script->state[i].when, profile))
			n += check_state(&script->state[i], trace, t);
	return n;
}
