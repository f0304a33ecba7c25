/* SPDX-License-Identifier: MIT */
/* .vma text to programs: lines, calls and their arguments, driven by the rows' syntax. */
#include <stdio.h>
#include <string.h>

#include "harness/program/text_parser.h"

#define LIST_MAX    256 /* characters of a list of words in a message */
#define CALLS_NAMED 8	/* of all calls, in a message on one that there is not */

/* A call being parsed, and what only text knows of it. */
struct draft {
	const struct vm_call_desc *desc;
	struct vm_call *call;
	unsigned int used; /* arguments parsed so far, as bits */
	const char *any;   /* where `any` was written, or NULL */
	const char *hint;  /* where `hint` was written, or NULL */
};

static void list_add(char *list, const char *word)
{
	size_t len = strlen(list);

	if (len > 3 && !strcmp(list + len - 3, "..."))
		return;
	if (len + strlen(word) + sizeof(", , ...") > LIST_MAX)
		word = "...";
	snprintf(list + len, LIST_MAX - len, "%s%s", len ? ", " : "", word);
}

/* Changes (insert, drop, replace a letter) that make `name` of `word`; both are short. */
static unsigned int distance(const char *word, size_t len, const char *name)
{
	unsigned int row[VM_NAME_MAX + 1];
	size_t n = strlen(name);

	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; i < len; i++) {
		unsigned int corner = row[0]++;

		for (size_t j = 0; j < n; j++) {
			unsigned int best = corner + (word[i] != name[j]);

			corner = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (corner + 1 < best)
				best = corner + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

static bool unknown_call(struct vm_parser *p, size_t len)
{
	char list[LIST_MAX] = "", what[LIST_MAX + 32];
	const char *nearest = NULL;
	unsigned int least = 3;

	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		const char *name = vm_call_desc((uint8_t)op)->name;
		unsigned int d = len && len < VM_NAME_MAX ? distance(p->at, len, name) : least;

		if (d < least) {
			least = d;
			nearest = name;
		}
		if (op < CALLS_NAMED)
			list_add(list, name);
	}
	if (nearest)
		snprintf(what, sizeof(what), "a call such as '%s'", nearest);
	else
		snprintf(what, sizeof(what), "a call (%s, ...)", list);
	return vm_scan_expected(p, p->at, what);
}

/* Is `what` next? The cursor stays. */
static bool next_is(struct vm_parser *p, const char *what)
{
	const char *at = p->at;
	bool yes = vm_scan_accept(p, what);

	p->at = at;
	return yes;
}

/* Numbers in place of words: bits in hex, or 0. */
static bool bits_are_next(const struct vm_parser *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool parse_bits(struct vm_parser *p, uint32_t legal, uint64_t *bits)
{
	const char *where = p->at;
	uint64_t value;

	if (!vm_scan_number(p, "bits that fit in 32", UINT32_MAX, &value))
		return false;
	if (value & ~(uint64_t)legal)
		return vm_scan_fail(p, where, "expected bits within 0x%x, found 0x%llx", legal,
				    (unsigned long long)value);
	*bits |= value;
	return true;
}

static bool unknown_flag(struct vm_parser *p, const struct draft *d, const struct vm_arg_desc *arg)
{
	char list[LIST_MAX] = "", what[LIST_MAX + 32];

	for (const struct vm_word *w = arg->words; w->name; w++)
		list_add(list, w->name);
	if (vm_row_placement(d->desc))
		list_add(list, "hint, fill");
	if (arg->legal == UINT32_MAX)
		list_add(list, "0x...");
	snprintf(what, sizeof(what), "a flag (%s)", list);
	return vm_scan_expected(p, p->at, what);
}

static bool parse_flag(struct vm_parser *p, struct draft *d, const struct vm_arg_desc *arg,
		       uint64_t *bits)
{
	size_t len;

	vm_scan_blanks(p);
	if (bits_are_next(p))
		return parse_bits(p, arg->legal, bits);
	len = vm_scan_word(p);
	for (const struct vm_word *w = arg->words; w->name; w++) {
		if (strlen(w->name) == len && !memcmp(w->name, p->at, len)) {
			*bits |= w->bits;
			p->at += len;
			return true;
		}
	}
	if (vm_row_placement(d->desc) && next_is(p, "hint")) {
		d->hint = p->at;
		return vm_scan_accept(p, "hint");
	}
	return unknown_flag(p, d, arg);
}

/*
 * %f and %w: flags up to what may follow a call; `joined`: more arguments follow, so that these end
 * where no `|` is.
 */
static bool parse_flags(struct vm_parser *p, struct draft *d, bool required, bool joined)
{
	unsigned int i = vm_row_take(d->desc, VM_ARG_FLAGS, &d->used);
	const struct vm_arg_desc *arg = &d->desc->arg[i];
	bool more = required;

	for (;;) {
		if (!more && (vm_scan_at_end(p) || next_is(p, "=>") || next_is(p, "fail-nth") ||
			      (vm_row_placement(d->desc) && next_is(p, "fill"))))
			return true;
		if (!parse_flag(p, d, arg, &d->call->arg[i].bits))
			return false;
		more = vm_scan_accept(p, "|");
		if (joined && !more)
			return true;
	}
}

/* %p */
static bool parse_prot(struct vm_parser *p, struct draft *d)
{
	uint64_t *bits = &d->call->arg[vm_row_take(d->desc, VM_ARG_PROT, &d->used)].bits;
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	if (!bits_are_next(p)) {
		if (!vm_scan_prot_word(p->at, len, bits))
			return vm_scan_expected(p, p->at,
						"a protection (none, r, w, x, rw, rx, wx, rwx)");
		p->at += len;
		if (!vm_scan_accept(p, "|"))
			return true;
	}
	do {
		vm_scan_blanks(p);
		if (!parse_bits(p, UINT32_MAX, bits))
			return false;
	} while (vm_scan_accept(p, "|"));
	return true;
}

/* %r and %g */
static bool parse_range(struct vm_parser *p, struct draft *d, bool placed)
{
	struct vm_addr *addr = &d->call->arg[vm_row_take(d->desc, VM_ARG_ADDR, &d->used)].addr;
	struct vm_quantity *len = &d->call->arg[vm_row_take(d->desc, VM_ARG_LEN, &d->used)].len;

	vm_scan_blanks(p);
	if (!placed || !next_is(p, "any"))
		return vm_scan_range(p, addr, len);
	d->any = p->at;
	addr->base = VM_BASE_NULL;
	p->at += strlen("any");
	if (p->at == p->end || *p->at != '+')
		return vm_scan_expected(p, p->at, "'+' and a length after any");
	p->at++;
	return vm_scan_quantity(p, "a length after '+'", len);
}

/* `to NEWLEN [pages]` */
static bool parse_resize(struct vm_parser *p, struct vm_quantity *new_len)
{
	vm_scan_blanks(p);
	if (!vm_scan_quantity(p, "a new length after to", new_len))
		return false;
	if (!new_len->bytes && !new_len->pmd && !new_len->pud && !new_len->task &&
	    !vm_scan_accept(p, "pages"))
		vm_scan_accept(p, "page");
	return true;
}

/* %m */
static bool parse_move(struct vm_parser *p, struct draft *d)
{
	struct vm_addr *from = &d->call->arg[vm_row_take(d->desc, VM_ARG_ADDR, &d->used)].addr;
	struct vm_quantity *old_len = &d->call->arg[vm_row_take(d->desc, VM_ARG_LEN, &d->used)].len;
	struct vm_quantity *new_len = &d->call->arg[vm_row_take(d->desc, VM_ARG_LEN, &d->used)].len;
	struct vm_addr *to = &d->call->arg[vm_row_take(d->desc, VM_ARG_ADDR, &d->used)].addr;

	if (!vm_scan_addr(p, from))
		return false;
	if (p->at == p->end || *p->at != '+')
		return vm_scan_expected(p, p->at, "'+' and the old length");
	p->at++;
	if (!vm_scan_quantity(p, "the old length after '+'", old_len))
		return false;
	if (vm_scan_accept(p, "to")) {
		to->base = VM_BASE_NULL;
		return parse_resize(p, new_len);
	}
	if (!vm_scan_accept(p, "->"))
		return vm_scan_expected(p, p->at, "'->' and a destination, or to and a new length");
	if (!vm_scan_addr(p, to))
		return false;
	*new_len = *old_len;
	if (p->at == p->end || *p->at != '+')
		return true;
	p->at++;
	return vm_scan_quantity(p, "a new length after '+'", new_len);
}

/* %o: an object, `none`, or nothing where an offset may follow; then `@` and the offset. */
static bool parse_object(struct vm_parser *p, struct draft *d)
{
	unsigned int i = vm_row_take(d->desc, VM_ARG_OBJECT, &d->used), k;
	bool offset = i + 1 < d->desc->nargs && d->desc->arg[i + 1].kind == VM_ARG_OFFSET;
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	for (k = 1; k < VM_OBJECT_COUNT; k++)
		if (strlen(vm_object_name(k)) == len && !memcmp(vm_object_name(k), p->at, len))
			break;
	if (k < VM_OBJECT_COUNT) {
		d->call->arg[i].bits = k;
		p->at += len;
	} else if (!vm_scan_accept(p, "none")) {
		return offset || vm_scan_expected(p, p->at, "an object (m0, m1, f0, r0, s0, none)");
	}
	if (!offset || p->at == p->end || *p->at != '@')
		return true;
	p->at++;
	return vm_scan_quantity(p, "an offset after '@'", &d->call->arg[i + 1].len);
}

/* %c: a word of the row, or a number */
static bool parse_choice(struct vm_parser *p, struct draft *d)
{
	unsigned int i = vm_row_take(d->desc, VM_ARG_CHOICE, &d->used);
	const struct vm_arg_desc *arg = &d->desc->arg[i];
	char what[LIST_MAX];
	size_t len;

	vm_scan_blanks(p);
	snprintf(what, sizeof(what), "%s (a word such as '%s', or a number)", arg->name,
		 arg->words[0].name);
	if (bits_are_next(p))
		return vm_scan_number(p, what, UINT32_MAX, &d->call->arg[i].bits);
	len = vm_scan_word(p);
	for (const struct vm_word *w = arg->words; w->name; w++) {
		if (strlen(w->name) == len && !memcmp(w->name, p->at, len)) {
			d->call->arg[i].bits = w->bits;
			p->at += len;
			return true;
		}
	}
	return vm_scan_expected(p, p->at, what);
}

/* What the words (or none) say about placement, as MAP_FIXED and MAP_FIXED_NOREPLACE. */
static bool settle_placement(struct vm_parser *p, struct draft *d)
{
	uint32_t place = vm_row_placement(d->desc);
	const struct vm_arg_desc *arg;
	unsigned int i;

	arg = vm_row_flags(d->desc, &i);
	if (!place || !arg)
		return true;
	if (d->call->arg[i].bits & place) {
		if (d->any)
			return vm_scan_expected(p, d->any, "an address for fixed or noreplace");
		if (d->hint)
			return vm_scan_expected(p, d->hint, "no hint beside fixed or noreplace");
	} else if (!d->any && !d->hint) {
		d->call->arg[i].bits |= vm_word_bits(arg, "fixed");
	}
	return true;
}

static bool parse_args(struct vm_parser *p, struct draft *d)
{
	for (const char *c = d->desc->syntax; *c; c++) {
		bool ok = true;

		if (*c == ' ')
			continue;
		switch (*++c) {
		case 'r':
		case 'g':
			ok = parse_range(p, d, *c == 'g');
			break;
		case 'm':
			ok = parse_move(p, d);
			break;
		case 'p':
			ok = parse_prot(p, d);
			break;
		case 'o':
			ok = parse_object(p, d);
			break;
		case 'a':
			vm_scan_blanks(p);
			ok = vm_scan_addr(
				p, &d->call->arg[vm_row_take(d->desc, VM_ARG_ADDR, &d->used)].addr);
			break;
		case 'c':
			ok = parse_choice(p, d);
			break;
		case 'l':
			vm_scan_blanks(p);
			ok = vm_scan_quantity(
				p, "a length",
				&d->call->arg[vm_row_take(d->desc, VM_ARG_LEN, &d->used)].len);
			break;
		default: /* f, w */
			ok = parse_flags(p, d, *c == 'f', *c == 'f' && c[1]);
			break;
		}
		if (!ok)
			return false;
	}
	return settle_placement(p, d);
}

/* A new call of the program, or NULL with an error. */
static struct vm_call *new_call(struct vm_parser *p, const char *where)
{
	struct vm_program *prog = &p->script->prog;

	if (prog->ncalls == VM_PROGRAM_MAX_CALLS) {
		vm_scan_fail(p, where, "expected at most %d calls, found one more",
			     VM_PROGRAM_MAX_CALLS);
		return NULL;
	}
	p->script->line[prog->ncalls] = p->line < UINT16_MAX ? (uint16_t)p->line : UINT16_MAX;
	return &prog->call[prog->ncalls++];
}

/* The word `fill` after mmap: a call that fills what it mapped. */
static bool add_fill(struct vm_parser *p, const struct draft *d, const char *where)
{
	const struct vm_call *mapped = d->call;
	struct vm_call *fill;

	if ((d->any || d->hint) && !mapped->let)
		return vm_scan_expected(p, where, "a range or let NAME = for fill");
	fill = new_call(p, where);
	if (!fill)
		return false;
	fill->op = VM_OP_FILL;
	fill->arg[0].addr = mapped->arg[0].addr;
	fill->arg[1].len = mapped->arg[1].len;
	if (d->any || d->hint) {
		memset(&fill->arg[0].addr, 0, sizeof(fill->arg[0].addr));
		fill->arg[0].addr.base = VM_BASE_NAME;
		fill->arg[0].addr.index = mapped->let;
	}
	return true;
}

/* `let NAME =`: the name stays where it is until the call is parsed, which must not use it yet. */
static bool parse_let(struct vm_parser *p, const char **name, size_t *len)
{
	vm_scan_blanks(p);
	*name = p->at;
	*len = vm_scan_word(p);
	if (!*len)
		return vm_scan_expected(p, p->at, "a name after let");
	p->at += *len;
	if (!vm_scan_accept(p, "="))
		return vm_scan_expected(p, p->at, "'=' after the name");
	return true;
}

static bool define_name(struct vm_parser *p, const char *name, size_t len, uint8_t *slot)
{
	const char *at = p->at;
	bool ok;

	p->at = name;
	ok = vm_names_define(p, len, slot);
	if (ok)
		p->at = at;
	return ok;
}

/* What may stand after the arguments. */
static bool parse_tail(struct vm_parser *p, const struct draft *d, unsigned int index)
{
	const char *fill = NULL;
	uint64_t nth;

	vm_scan_blanks(p);
	if (vm_row_placement(d->desc) && next_is(p, "fill")) {
		fill = p->at;
		vm_scan_accept(p, "fill");
	}
	if (vm_scan_accept(p, "fail-nth")) {
		vm_scan_blanks(p);
		if (!vm_scan_number(p, "a number 1..65535 after fail-nth", UINT16_MAX, &nth))
			return false;
		if (!nth)
			return vm_scan_fail(p, p->at - 1, "expected a number 1..65535, found 0");
		d->call->fail_nth = (uint16_t)nth;
	}
	if (vm_scan_accept(p, "=>") && !vm_parse_expectations(p, index))
		return false;
	if (!vm_scan_at_end(p))
		return vm_scan_expected(p, p->at, "fail-nth, '=>' or the end of the line");
	return !fill || add_fill(p, d, fill);
}

static bool parse_call(struct vm_parser *p)
{
	unsigned int index = p->script->prog.ncalls;
	struct draft d = { 0 };
	const char *name = NULL;
	size_t len, name_len = 0;
	int op;

	if (vm_scan_accept(p, "let") && !parse_let(p, &name, &name_len))
		return false;
	vm_scan_blanks(p);
	len = vm_scan_word(p);
	op = vm_call_by_name(p->at, len);
	if (op < 0)
		return unknown_call(p, len);
	d.desc = vm_call_desc((uint8_t)op);
	if (name && !d.desc->returns_addr)
		return vm_scan_expected(p, p->at, "a call that returns an address after let");
	d.call = new_call(p, p->at);
	if (!d.call)
		return false;
	d.call->op = (uint8_t)op;
	p->at += len;
	if (!parse_args(p, &d))
		return false;
	if (name && !define_name(p, name, name_len, &d.call->let))
		return false;
	return parse_tail(p, &d, index);
}

static bool is_machine_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool parse_observe(struct vm_parser *p)
{
	if (vm_scan_accept(p, "full"))
		p->script->prog.observe = VM_OBSERVE_FULL;
	else if (vm_scan_accept(p, "maps"))
		p->script->prog.observe = VM_OBSERVE_MAPS;
	else if (vm_scan_accept(p, "end"))
		p->script->prog.observe = VM_OBSERVE_END;
	else
		return vm_scan_expected(p, p->at, "full, maps or end after observe");
	if (!vm_scan_at_end(p))
		return vm_scan_expected(p, p->at, "the end of the line");
	return true;
}

/* machine WORD: as uname -m says it. */
static bool parse_machine(struct vm_parser *p)
{
	char *machine = p->script->machine;
	const char *word;
	size_t len = 0;

	vm_scan_blanks(p);
	for (word = p->at; p->at < p->end && is_machine_char(*p->at); p->at++)
		len++;
	if (!len || len >= sizeof(p->script->machine))
		return vm_scan_expected(p, word, "a machine such as x86_64, of at most 11 letters");
	if (machine[0])
		return vm_scan_fail(p, word, "expected one machine line, found another");
	memcpy(machine, word, len);
	return vm_scan_at_end(p) || vm_scan_expected(p, p->at, "the end of the line");
}

/* One line; `first` says that nothing but comments came before it. */
static bool parse_line(struct vm_parser *p, bool first)
{
	const char *where;
	bool ok;

	vm_scan_blanks(p);
	where = p->at;
	if (vm_scan_accept(p, "observe")) {
		if (first)
			return parse_observe(p);
		return vm_scan_expected(p, where, "a call (observe is for the first line)");
	}
	if (vm_parse_preamble(p, &ok))
		return ok;
	if (vm_scan_accept(p, "machine"))
		return parse_machine(p);
	if (vm_scan_accept(p, "expect"))
		return vm_parse_state(p);
	return parse_call(p);
}

/* The first block of comment lines, joined by blanks, as far as it fits. */
static void read_doc(const char *text, const char *end, struct vm_script *script)
{
	size_t len = 0;

	while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
		text++;
	while (text < end && *text == '#') {
		while (text < end && (*text == '#' || *text == ' ' || *text == '\t'))
			text++;
		if (len && len + 1 < sizeof(script->doc))
			script->doc[len++] = ' ';
		for (; text < end && *text != '\n'; text++)
			if (*text != '\r' && len + 1 < sizeof(script->doc))
				script->doc[len++] = *text;
		while (text < end && *text != '#' && (*text == '\n' || *text == ' ')) {
			if (*text++ == '\n' && text < end && *text == '\n')
				return;
		}
	}
}

int vm_text_parse(const char *text, size_t len, struct vm_script *script,
		  struct vm_parse_error *err)
{
	struct vm_parser p = { .script = script, .err = err };
	const char *end = text + len;
	bool first = true;

	memset(script, 0, sizeof(*script));
	memset(err, 0, sizeof(*err));
	if (!len)
		return 0;
	read_doc(text, end, script);
	vm_names_reserve(&p, text, len);
	for (const char *at = text; at < end; at++) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *comment;

		eol = eol ? eol : end;
		comment = memchr(at, '#', (size_t)(eol - at));
		p.line++;
		p.start = p.at = at;
		p.end = comment ? comment : eol;
		if (!comment && p.end > at && p.end[-1] == '\r')
			p.end--;
		at = eol;
		if (vm_scan_at_end(&p))
			continue;
		if (!parse_line(&p, first))
			return -1;
		first = false;
	}
	return 0;
}
