/* SPDX-License-Identifier: MIT */
/* Lines of a preamble in .vma text: `rlimit as +4 pages`, `cap drop sys_admin`. */
#include <stdio.h>
#include <string.h>

#include "harness/program/text_parser.h"

#define LIST_MAX 128

static bool is_word(const struct vm_parser *p, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(word, p->at, len);
}

/* The first word of a group whose name is at the cursor, or VM_PREAMBLE_COUNT. */
static unsigned int find_group(const struct vm_parser *p)
{
	size_t len = vm_scan_word(p);
	unsigned int word = 0;

	while (word < VM_PREAMBLE_COUNT && !is_word(p, len, vm_preamble_desc(word)->group))
		word++;
	return word;
}

/* The name of a word of the group: steps over it. VM_PREAMBLE_COUNT, with an error, if none. */
static unsigned int parse_name(struct vm_parser *p, const char *group)
{
	char list[LIST_MAX] = "", what[LIST_MAX + 32];
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		const struct vm_preamble_desc *desc = vm_preamble_desc(word);
		size_t used = strlen(list);

		if (strcmp(desc->group, group) != 0)
			continue;
		if (is_word(p, len, desc->name)) {
			p->at += len;
			return word;
		}
		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", desc->name);
	}
	snprintf(what, sizeof(what), "a name after %s (%s)", group, list);
	vm_scan_expected(p, p->at, what);
	return VM_PREAMBLE_COUNT;
}

/* `+4 pages`, `-2`, `1pmd`: the unit may be said where all is pages. */
static bool parse_length(struct vm_parser *p, bool sum, struct vm_quantity *q)
{
	const char *sign;

	vm_scan_blanks(p);
	sign = p->at;
	if (sum && (sign == p->end || (*sign != '+' && *sign != '-')))
		return vm_scan_expected(p, sign, "'+' or '-' and how much more there may be");
	p->at += sum && *sign == '+';
	if (!vm_scan_quantity(p, "a length", q))
		return false;
	if (!q->bytes && !q->pmd && !q->pud && !q->task && !vm_scan_accept(p, "pages"))
		vm_scan_accept(p, "page");
	return true;
}

static bool parse_number(struct vm_parser *p, const struct vm_preamble_desc *desc,
			 struct vm_quantity *q)
{
	bool sum = desc->kind == VM_PREAMBLE_COUNTED, minus;
	char what[64];
	uint64_t value;

	vm_scan_blanks(p);
	minus = sum && p->at < p->end && *p->at == '-';
	if (sum && !minus && (p->at == p->end || *p->at != '+'))
		return vm_scan_expected(p, p->at, "'+' or '-' and how many more there may be");
	p->at += sum;
	snprintf(what, sizeof(what), "a number 0..%d", desc->max);
	if (!vm_scan_number(p, what, (uint64_t)desc->max, &value))
		return false;
	q->pages = minus ? -(int32_t)value : (int32_t)value;
	return true;
}

static bool parse_value(struct vm_parser *p, const struct vm_preamble_desc *desc,
			struct vm_quantity *q)
{
	if (desc->kind == VM_PREAMBLE_MORE || desc->kind == VM_PREAMBLE_LENGTH)
		return parse_length(p, desc->kind == VM_PREAMBLE_MORE, q);
	return parse_number(p, desc, q);
}

/* `cap keep NAME`, `cap drop NAME`: the value comes first. */
static bool parse_cap_value(struct vm_parser *p, struct vm_quantity *q)
{
	q->pages = vm_scan_accept(p, "keep");
	if (q->pages || vm_scan_accept(p, "drop"))
		return true;
	vm_scan_blanks(p);
	return vm_scan_expected(p, p->at, "keep or drop after cap");
}

static bool parse_line(struct vm_parser *p, const struct vm_preamble_desc *group)
{
	struct vm_preamble *preamble = &p->script->prog.preamble;
	struct vm_quantity value = { 0 };
	bool cap = group->kind == VM_PREAMBLE_CAP;
	const char *where;
	unsigned int word;

	if (cap && !parse_cap_value(p, &value))
		return false;
	vm_scan_blanks(p);
	where = p->at;
	word = parse_name(p, group->group);
	if (word == VM_PREAMBLE_COUNT)
		return false;
	if (vm_preamble_has(preamble, word))
		return vm_scan_expected(p, where, "each word of the preamble once");
	if (!cap && !parse_value(p, vm_preamble_desc(word), &value))
		return false;
	vm_preamble_set(preamble, word, &value);
	return vm_scan_at_end(p) || vm_scan_expected(p, p->at, "the end of the line");
}

bool vm_parse_preamble(struct vm_parser *p, bool *ok)
{
	const struct vm_script *s = p->script;
	const char *where = p->at;
	unsigned int word = find_group(p);

	if (word == VM_PREAMBLE_COUNT)
		return false;
	p->at += vm_scan_word(p);
	if (s->prog.ncalls || s->nstate)
		*ok = vm_scan_expected(p, where, "a call (a preamble stands before the first one)");
	else
		*ok = parse_line(p, vm_preamble_desc(word));
	return true;
}
