/* SPDX-License-Identifier: MIT */
/* Words: stable titles that carry the cause, and what was expected and observed. */
#include "oracle/judge/judge.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *call_name(const struct vm_judge *j)
{
	return vm_call_desc(j->e->sc.op)->name;
}

static bool within(const struct vm_range *r, uint64_t start, uint64_t end)
{
	return r->start < r->end && start >= r->start && end <= r->end;
}

const char *vm_place_name(const struct vm_judge *j, uint64_t start, uint64_t end)
{
	uint8_t op = j->e->sc.op;
	const struct vm_range *source = &j->range[0], *dest = &j->range[1];

	if (op == VM_OP_FORK || op == VM_OP_EXEC)
		return "child";
	if (op == VM_OP_MREMAP) {
		if (within(dest, start, end) || within(&j->range[2], start, end))
			return "destination";
		if (within(source, start, end))
			return start > source->start ? "source tail" : "source";
		/* growth in place maps beyond the old range */
		return "bystander";
	}
	if ((op == VM_OP_MMAP || op == VM_OP_SHMAT) &&
	    (within(source, start, end) || within(dest, start, end) ||
	     within(&j->range[2], start, end)))
		return "destination";
	return within(source, start, end) ? "range" : "bystander";
}

static const char *change_word(uint8_t kind)
{
	static const char *const words[] = {
		[VM_DIFF_LOST] = "lost",
		[VM_DIFF_APPEARED] = "mapped",
		[VM_DIFF_PROT] = "protection changed",
		[VM_DIFF_SHARING] = "sharing changed",
		[VM_DIFF_BACKING] = "replaced",
		[VM_DIFF_UNSEALED] = "seal lost",
		[VM_DIFF_SEALED] = "sealed",
		[VM_DIFF_FLAGS] = "VmFlags changed",
		[VM_DIFF_GUARD] = "guard pages changed",
		[VM_DIFF_JOINED] = "policy or name lost",
	};

	return words[kind];
}

static const char *wrong_word(uint8_t kind)
{
	static const char *const words[] = {
		[VM_DIFF_LOST] = "is not mapped",
		[VM_DIFF_APPEARED] = "is still mapped",
		[VM_DIFF_PROT] = "has other protection",
		[VM_DIFF_SHARING] = "has other sharing",
		[VM_DIFF_BACKING] = "has other backing",
		[VM_DIFF_UNSEALED] = "is not sealed",
		[VM_DIFF_SEALED] = "is sealed",
		[VM_DIFF_FLAGS] = "has other VmFlags",
		[VM_DIFF_GUARD] = "has other guard pages",
		[VM_DIFF_JOINED] = "is one VMA with what has another policy or name",
	};

	return words[kind];
}

/* "destination and source tail lost": each place once, in this order, with the first kind seen. */
static void places(const struct vm_judge *j, const struct vm_diffs *d, char *text, size_t cap)
{
	static const char *const order[] = { "destination", "source", "source tail", "range",
					     "bystander" };
	const char *word = "changed";
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (uint32_t k = 0; k < d->n; k++)
			if (!strcmp(vm_place_name(j, d->d[k].start, d->d[k].end), order[i])) {
				word = len ? word : change_word(d->d[k].kind);
				len += snprintf(text + len, cap - len, "%s%s", len ? " and " : "",
						order[i]);
				break;
			}
	snprintf(text + len, cap - len, " %s", word);
}

void vm_title_of_failure(const struct vm_judge *j, const struct vm_diffs *d,
			 const struct vm_cause *cause, const char *what, char *title)
{
	int error = vm_event_errno(j->e);
	char words[80], on[64] = "";

	if (what && cause)
		snprintf(words, sizeof(words), "%s", what);
	else if (what)
		snprintf(words, sizeof(words), "%s %s", what, change_word(d->d[0].kind));
	else
		places(j, d, words, sizeof(words));
	if (error)
		snprintf(on, sizeof(on), " on %s", vm_errno_name(error));
	if (cause)
		snprintf(title, VM_TITLE_MAX, "%s: %s%s (%s)", call_name(j), words, on,
			 cause->text);
	else
		snprintf(title, VM_TITLE_MAX, "%s: %s%s", call_name(j), words, on);
}

void vm_title_add_cause(char *title, const char *cause)
{
	size_t len = strlen(title);

	snprintf(title + len, VM_TITLE_MAX - len, " (%s)", cause);
}

/* "EFAULT", "success", "SIGSEGV", an address. */
static void result_word(const struct vm_event *e, char *text, size_t cap)
{
	if (e->status == VM_STATUS_FAULTED)
		snprintf(text, cap, "%s", e->signo == SIGBUS ? "SIGBUS" : "SIGSEGV");
	else if (vm_event_errno(e))
		snprintf(text, cap, "%s", vm_errno_name(vm_event_errno(e)));
	else
		snprintf(text, cap, "success");
}

void vm_title_of_success(const struct vm_judge *j, const struct vm_diffs *d, char *title)
{
	char seen[32];

	result_word(j->e, seen, sizeof(seen));
	snprintf(title, VM_TITLE_MAX, "%s: %s, but %s %s", call_name(j), seen,
		 vm_place_name(j, d->d[0].start, d->d[0].end), wrong_word(d->d[0].kind));
}

static void outcome_word(const struct vm_outcome *o, char *text, size_t cap)
{
	if (o->kind == VM_RESULT_ERRNO)
		snprintf(text, cap, "%s", vm_errno_name((int)o->value));
	else if (o->kind == VM_RESULT_FAULT)
		snprintf(text, cap, "%s", o->signo == SIGBUS ? "SIGBUS" : "SIGSEGV");
	else
		snprintf(text, cap, "success");
}

const struct vm_outcome *vm_nearest_outcome(const struct vm_judge *j,
					    const struct vm_outcomes *outs)
{
	char seen[32], word[32];

	result_word(j->e, seen, sizeof(seen));
	for (uint32_t i = 0; i < outs->n; i++) {
		outcome_word(&outs->o[i], word, sizeof(word));
		if (!strcmp(word, seen))
			return &outs->o[i];
	}
	return outs->n ? &outs->o[0] : NULL;
}

void vm_title_of_result(const struct vm_judge *j, const struct vm_outcomes *outs, char *title)
{
	const struct vm_known_bug *bug = vm_known_bug(j);
	const struct vm_outcome *o;
	char seen[32], wanted[32] = "nothing";
	const char *cause;

	result_word(j->e, seen, sizeof(seen));
	o = vm_nearest_outcome(j, outs);
	cause = bug ? bug->cause : o && o->cause ? o->cause->text : NULL;
	if (bug && j->e->result < 0 && (outs->n != 1 || o->kind != VM_RESULT_ERRNO))
		snprintf(wanted, sizeof(wanted), "success");
	else if (o)
		outcome_word(o, wanted, sizeof(wanted));
	if (o && o->cause && o->cause->seal && j->e->result >= 0)
		snprintf(title, VM_TITLE_MAX, "%s: seal ignored, success instead of %s (%s)",
			 call_name(j), wanted, cause);
	else if (!strcmp(seen, wanted) && j->e->status == VM_STATUS_DONE)
		snprintf(title, VM_TITLE_MAX, "%s: wrong value returned%s%s%s", call_name(j),
			 bug ? " (" : "", bug ? bug->cause : "", bug ? ")" : "");
	else if (!strcmp(seen, wanted))
		snprintf(title, VM_TITLE_MAX,
			 "%s: %s at the wrong page or with the wrong code%s%s%s", call_name(j),
			 seen, bug ? " (" : "", bug ? bug->cause : "", bug ? ")" : "");
	else if (cause)
		snprintf(title, VM_TITLE_MAX, "%s: %s instead of %s (%s)", call_name(j), seen,
			 wanted, cause);
	else
		snprintf(title, VM_TITLE_MAX, "%s: %s instead of %s", call_name(j), seen, wanted);
}

void vm_title_of_content(const struct vm_judge *j, uint64_t addr, const char *what, char *title)
{
	bool call = j->e->kind == VM_EVENT_CALL;

	snprintf(title, VM_TITLE_MAX, "%s: content of %s %s", call ? call_name(j) : "program",
		 call ? vm_place_name(j, addr, addr + j->info->layout.page_size) : "a page", what);
}

/* Do two outcomes read the same? */
static bool reads_as(const struct vm_outcome *a, const struct vm_outcome *b)
{
	char one[32], other[32];

	outcome_word(a, one, sizeof(one));
	outcome_word(b, other, sizeof(other));
	return !strcmp(one, other) && a->cause == b->cause && !a->effect.n == !b->effect.n;
}

static bool said(const struct vm_outcomes *outs, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (reads_as(&outs->o[k], &outs->o[i]))
			return true;
	return false;
}

void vm_describe_outcomes(const struct vm_judge *j, const struct vm_outcomes *outs, char *text,
			  size_t cap)
{
	size_t len = 0;

	(void)j;
	for (uint32_t i = 0; i < outs->n && len < cap; i++) {
		const struct vm_outcome *o = &outs->o[i];
		char word[32];

		if (said(outs, i))
			continue;
		outcome_word(o, word, sizeof(word));
		len += snprintf(text + len, cap - len, "%s%s", i ? ", or " : "", word);
		if (o->cause && len < cap)
			len += snprintf(text + len, cap - len, " (%s)%s", o->cause->text,
					o->kind != VM_RESULT_ERRNO || o->effect.n
						? ""
						: ", nothing changed");
	}
}

void vm_describe_result(const struct vm_judge *j, char *text, size_t cap)
{
	result_word(j->e, text, cap);
}

void vm_describe_diffs(const struct vm_judge *j, const struct vm_diffs *d, char *text, size_t cap)
{
	struct vm_text t = { .buf = text, .cap = cap };

	for (uint32_t i = 0; i < d->n; i++) {
		vm_text_add(&t, "; ");
		vm_explain_addr(d->d[i].start, j->info, &t);
		vm_text_add(&t, "+%llu",
			    (unsigned long long)((d->d[i].end - d->d[i].start) /
						 j->info->layout.page_size));
		vm_text_add(&t, " %s", change_word(d->d[i].kind));
	}
	if (d->more)
		vm_text_add(&t, "; and more");
}
