/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "oracle/model.h"
#include "tests/unit/oracle_text.h"

static void set_object(struct vm_area *a, uint32_t index, uint64_t off, struct vm_objects *o)
{
	struct vm_object *x;

	while (o->n <= index)
		assert_true(vm_object_new(o, a->shared, true, a->shared ? 0 : UINT64_MAX) !=
			    UINT32_MAX);
	x = &o->object[index];
	x->backed = a->shared;
	x->size = a->shared ? x->size == UINT64_MAX ? 0 : x->size : UINT64_MAX;
	x->identified = a->shared;
	x->dev = a->shared ? 1 : 0;
	x->inode = a->shared ? index + 1 : 0;
	if (a->shared && off + (a->end - a->start) > x->size)
		x->size = off + (a->end - a->start);
	a->object = index;
	a->anon = VM_NO_OBJECT;
	a->off = off;
}

static void set_prot(const char *word, struct vm_area *a)
{
	for (; *word; word++)
		if (*word == 'r')
			a->prot |= VM_MODE_R;
		else if (*word == 'w')
			a->prot |= VM_MODE_W;
		else if (*word == 'x')
			a->prot |= VM_MODE_X;
		else
			fail_msg("unknown word in a state: %s", word);
}

static void area_of_text(char *text, struct vm_area *a, struct vm_objects *o)
{
	bool charged = true, object = false;
	char *save = NULL, *end;
	const char *word = strtok_r(text, " ", &save);
	uint64_t value;

	assert_non_null(word);
	value = strtoull(word + 1, &end, word[0] == 'x' ? 16 : 10);
	a->start = word[0] == 'x' ? value : ARENA(value);
	assert_int_equal(*end, '+');
	a->end = a->start + strtoull(end + 1, &end, 10) * PAGE;
	a->account = VM_NO;
	a->anon = VM_NO_OBJECT;
	a->flags = VM_MAY_ALL;
	while ((word = strtok_r(NULL, " ", &save))) {
		if (!strcmp(word, "shared")) {
			a->shared = 1;
		} else if (!strcmp(word, "sealed")) {
			a->sealed = VM_YES;
		} else if (!strcmp(word, "sealed?")) {
			a->sealed = VM_MAYBE;
		} else if (!strncmp(word, "ac", 2)) {
			a->account = word[2] ? VM_MAYBE : VM_YES;
		} else if (!strcmp(word, "noac")) {
			charged = false;
		} else if (!strcmp(word, "own")) {
			a->own = VM_OWN;
		} else if (!strcmp(word, "special")) {
			a->own = VM_OWN_SPECIAL;
		} else if (!strcmp(word, "lo") || !strcmp(word, "lf")) {
			a->flags |= word[1] == 'o' ? VM_BIT(VM_FLAG_LO) : VM_LOCK_FLAGS;
		} else if (!strcmp(word, "lo?")) {
			a->flags_maybe |= VM_BIT(VM_FLAG_LO);
		} else if (!strcmp(word, "gd") || !strcmp(word, "dp")) {
			a->flags |= VM_BIT(word[0] == 'g' ? VM_FLAG_GD : VM_FLAG_DP);
		} else if (!strcmp(word, "ht") || !strcmp(word, "ht1g")) {
			a->flags |= VM_BIT(VM_FLAG_HT) | VM_BIT(VM_FLAG_NR);
			a->huge = word[2] ? 30 : 21;
			charged = false;
		} else if (!strcmp(word, "ht?")) {
			a->flags_maybe |= VM_BIT(VM_FLAG_HT);
		} else if (!strcmp(word, "gd?")) {
			a->flags_maybe |= VM_BIT(VM_FLAG_GD);
		} else if (word[0] == 'o') {
			value = strtoull(word + 1, &end, 10);
			set_object(a, (uint32_t)value, strtoull(end + 1, NULL, 10) * PAGE, o);
			object = true;
		} else if (strcmp(word, "none")) {
			set_prot(word, a);
		}
	}
	if (charged && a->account == VM_NO && !a->shared && a->prot & VM_MODE_W)
		a->account = VM_YES;
	if (!object)
		set_object(a, o->n, (a->flags | a->flags_maybe) & VM_BIT(VM_FLAG_GD) ? a->start : 0,
			   o);
}

void state_of_text(const char *text, struct vm_state *s, struct vm_objects *o)
{
	enum vm_tri begins = VM_YES;

	s->n = 0;
	s->lost = false;
	s->locks = (struct vm_locks){ 0 };
	s->guards_used = false;
	while (*text) {
		size_t len = strcspn(text, "|~?");
		char area[128];

		/* the `?` of `sealed?` and `ac?` follows a letter, a separator a blank */
		while (text[len] == '?' && text[len - 1] != ' ')
			len += 1 + strcspn(text + len + 1, "|~?");
		assert_true(len < sizeof(area));
		memcpy(area, text, len);
		area[len] = 0;
		s->area[s->n] = (struct vm_area){ .begins = begins,
						  .anon = VM_NO_OBJECT,
						  .flags = VM_MAY_ALL };
		area_of_text(area, &s->area[s->n], o);
		assert_true(!s->n || s->area[s->n - 1].end <= s->area[s->n].start);
		if (s->n && s->area[s->n - 1].end != s->area[s->n].start)
			s->area[s->n].begins = VM_YES;
		s->n++;
		text += len;
		begins = *text == '~' ? VM_NO : *text == '?' ? VM_MAYBE : VM_YES;
		text += *text != 0;
	}
}

static const struct vm_target_info *default_info(void)
{
	static struct vm_target_info info;

	if (!info.layout.page_size)
		vm_model_default_info(&info);
	return &info;
}

static void add_range(struct vm_text *t, uint64_t start, uint64_t end)
{
	vm_explain_addr(start, default_info(), t);
	vm_text_add(t, "+%lld", (long long)((end - start) / PAGE));
}

static void add_prot(struct vm_text *t, uint8_t prot)
{
	vm_text_add(t, " %s%s%s%s", prot ? "" : "none", prot & VM_MODE_R ? "r" : "",
		    prot & VM_MODE_W ? "w" : "", prot & VM_MODE_X ? "x" : "");
}

static void add_locks(struct vm_text *t, uint64_t flags)
{
	if (flags & VM_BIT(VM_FLAG_LO))
		vm_text_add(t, flags & VM_BIT(VM_FLAG_LF) ? " lf" : " lo");
}

const char *text_of_state(const struct vm_state *s)
{
	static const char *const separator[] = { " ~ ", " | ", " ? " };
	static char buf[4096];
	struct vm_text t = { .buf = buf, .cap = sizeof(buf) };

	buf[0] = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct vm_area *a = &s->area[i];
		bool charged = !a->shared && a->prot & VM_MODE_W;
		uint64_t off = a->off - (a->flags & VM_BIT(VM_FLAG_GD) ? a->start : 0);

		vm_text_add(&t, "%s", i ? separator[a->begins] : "");
		add_range(&t, a->start, a->end);
		add_prot(&t, a->prot);
		vm_text_add(&t, "%s%s%s", a->shared ? " shared" : "", a->own ? " own" : "",
			    a->sealed == VM_YES	    ? " sealed"
			    : a->sealed == VM_MAYBE ? " sealed?"
						    : "");
		if (a->account == VM_MAYBE)
			vm_text_add(&t, " ac?");
		else if ((a->account == VM_YES) != charged)
			vm_text_add(&t, charged ? " noac" : " ac");
		add_locks(&t, a->flags);
		vm_text_add(&t, "%s", a->flags & VM_BIT(VM_FLAG_GD) ? " gd" : "");
		vm_text_add(&t, " o%u@%llu", a->object, (unsigned long long)(off / PAGE));
	}
	return s->lost ? "lost" : buf;
}

struct bench *bench_open(const char *state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	vm_model_default_info(&b->info);
	bench_state(b, state);
	return b;
}

void bench_state(struct bench *b, const char *state)
{
	vm_objects_reset(&b->objects);
	for (unsigned int i = 0; i < VM_OBJECT_COUNT; i++)
		b->objects.named[i] = VM_NO_OBJECT;
	state_of_text(state, &b->state, &b->objects);
}

void bench_close(struct bench *b)
{
	vm_objects_free(&b->objects);
	free(b);
}

struct vm_syscall syscall_of_text(const char *call, const struct vm_layout *layout)
{
	static struct vm_script script;
	const uint64_t names[VM_NAME_SLOTS] = { 0 };
	struct vm_parse_error err;

	if (vm_text_parse(call, strlen(call), &script, &err))
		fail_msg("%s: %s", call, err.message);
	assert_int_equal(script.prog.ncalls, 1);
	return vm_call_resolve(&script.prog.call[0], layout, names);
}

static void add_step(struct vm_text *t, const struct vm_step *st)
{
	static const char *const names[] = {
		[VM_STEP_UNMAP] = "unmap",	   [VM_STEP_MAP] = "map",
		[VM_STEP_PROTECT] = "protect",	   [VM_STEP_SEAL] = "seal",
		[VM_STEP_MOVE] = "move",	   [VM_STEP_EXTEND] = "extend",
		[VM_STEP_DUPLICATE] = "duplicate", [VM_STEP_SPLIT] = "split",
		[VM_STEP_FLAGS] = "flags",	   [VM_STEP_RESIZE] = "resize",
		[VM_STEP_FILL] = "fill",	   [VM_STEP_WRITE] = "write",
		[VM_STEP_FORK] = "fork",	   [VM_STEP_COPY] = "copy",
		[VM_STEP_EXEC] = "exec",	   [VM_STEP_LOCK] = "lock",
		[VM_STEP_DEFAULT] = "default",	   [VM_STEP_DROP] = "drop",
		[VM_STEP_FREE] = "free",	   [VM_STEP_PUNCH] = "punch",
		[VM_STEP_GROW] = "grow",	   [VM_STEP_POLICY] = "policy",
		[VM_STEP_EXEC_KEY] = "exec key",   [VM_STEP_GUARD] = "guard",
		[VM_STEP_UNGUARD] = "unguard",
	};

	vm_text_add(t, "%s", names[st->kind]);
	if (st->kind == VM_STEP_FORK || st->kind == VM_STEP_EXEC)
		return;
	vm_text_add(t, " ");
	if (st->chosen && st->kind != VM_STEP_MOVE)
		vm_text_add(t, "chosen%+lld+%lld", (long long)(st->start / PAGE),
			    (long long)((st->end - st->start) / PAGE));
	else
		add_range(t, st->start, st->end);
	if (st->kind == VM_STEP_MAP || st->kind == VM_STEP_PROTECT)
		add_prot(t, st->prot);
	if (st->shared)
		vm_text_add(t, " shared");
	add_locks(t, st->flags);
	if (st->kind == VM_STEP_MOVE && st->chosen) {
		vm_text_add(t, " to chosen%+lld", (long long)(st->to / PAGE));
	} else if (st->kind == VM_STEP_MOVE || st->kind == VM_STEP_DUPLICATE) {
		vm_text_add(t, st->kind == VM_STEP_MOVE ? " to " : " of ");
		vm_explain_addr(st->to, default_info(), t);
	}
	if (st->keep)
		vm_text_add(t, " keep");
}

static void add_outcome(struct vm_text *t, const struct vm_outcome *o)
{
	if (o->kind == VM_RESULT_ERRNO)
		vm_text_add(t, "%s", vm_errno_name((int)o->value));
	else if (o->kind == VM_RESULT_CHOSEN)
		vm_text_add(t, "chosen %llu", (unsigned long long)(o->len / PAGE));
	else if (o->kind == VM_RESULT_FAULT)
		vm_text_add(t, "%s/%d after %lld", o->signo == 7 ? "SIGBUS" : "SIGSEGV", o->sigcode,
			    (long long)o->value);
	else if (o->value < 4096)
		vm_text_add(t, "= %lld", (long long)o->value);
	else {
		vm_text_add(t, "= ");
		vm_explain_addr((uint64_t)o->value, default_info(), t);
	}
	if (o->cause)
		vm_text_add(t, " (%s)", o->cause->text);
	for (uint32_t i = 0; i < o->effect.n; i++) {
		vm_text_add(t, i ? ", " : " {");
		add_step(t, &o->effect.step[i]);
	}
	if (o->effect.n)
		vm_text_add(t, o->licence == VM_DOCUMENTED ? "} documented" : "}");
}

const char *bench_ask(struct bench *b, const char *profile, bool documented, const char *call)
{
	static char buf[4096];
	struct vm_text t = { .buf = buf, .cap = sizeof(buf) };
	struct vm_syscall sc = syscall_of_text(call, &b->info.layout);
	uint32_t objects = b->objects.n;
	struct vm_rule r = { .s = &b->state,
			     .sc = &sc,
			     .info = &b->info,
			     .p = vm_profile_by_name(profile),
			     .documented = documented,
			     .work = &b->work,
			     .objects = &b->objects,
			     .out = &b->out };

	assert_non_null(r.p);
	vm_outcomes(&r);
	vm_objects_truncate(&b->objects, objects);
	buf[0] = 0;
	if (b->out.silent)
		vm_text_add(&t, "silent: %s", b->out.why_silent);
	for (uint32_t i = 0; !b->out.silent && i < b->out.n; i++) {
		vm_text_add(&t, i ? "; " : "");
		add_outcome(&t, &b->out.o[i]);
	}
	return buf;
}
