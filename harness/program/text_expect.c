/* SPDX-License-Identifier: MIT */
/* Expectations in .vma text: after `=>`, and the lines `expect RANGE WORDS`. */
#include <signal.h>
#include <string.h>

#include "harness/program/text_parser.h"

static bool is_profile_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '_';
}

/* Which profiles: "!", "<=", ">", or nothing. */
static uint8_t parse_relation(struct vm_parser *p)
{
	if (vm_scan_accept(p, "!"))
		return VM_PROFILE_NOT;
	if (vm_scan_accept(p, "<="))
		return VM_PROFILE_UPTO;
	return vm_scan_accept(p, ">") ? VM_PROFILE_ABOVE : VM_PROFILE_IS;
}

/* [ ["!" | "<=" | ">"] PROFILE ":" ]: a word with a colon behind it; other words stay where they
 * are. */
static bool parse_profile(struct vm_parser *p, struct vm_expect *e)
{
	const char *word, *end;
	uint8_t is = parse_relation(p);

	vm_scan_blanks(p);
	word = end = p->at;
	while (end < p->end && is_profile_char(*end))
		end++;
	p->at = end;
	if (end == word || !vm_scan_accept(p, ":")) {
		p->at = word;
		return is == VM_PROFILE_IS ||
		       vm_scan_expected(p, word, "a profile such as 6.12: after '!', '<=' or '>'");
	}
	if ((size_t)(end - word) >= sizeof(e->profile))
		return vm_scan_expected(p, word, "a profile name of at most 11 letters");
	memcpy(e->profile, word, (size_t)(end - word));
	e->profile_is = is;
	return true;
}

/* Results, by enum of vm_expect.result. */
enum { RESULT_OK = 1, RESULT_ERRNO, RESULT_SIGNAL, RESULT_WITHHELD };

/* A word that says the result. Returns false, with no error, if it is none. */
static bool result_word(const char *word, size_t len, int8_t *result, int32_t *value)
{
	static const struct {
		const char *word;
		int8_t result;
		int32_t value;
	} results[] = {
		{ "ok", RESULT_OK, 0 },
		{ "withheld", RESULT_WITHHELD, 0 },
		{ "SIGSEGV", RESULT_SIGNAL, SIGSEGV },
		{ "SIGBUS", RESULT_SIGNAL, SIGBUS },
	};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (strlen(results[i].word) == len && !memcmp(results[i].word, word, len)) {
			*result = results[i].result;
			*value = results[i].value;
			return true;
		}
	}
	*result = RESULT_ERRNO;
	*value = vm_errno_by_name(word, len);
	return *value > 0;
}

struct flag_word {
	const char *name;
	uint16_t bit;
	uint16_t excludes; /* words that contradict it */
};

static const struct flag_word *find_word(const struct flag_word *words, const char *word,
					 size_t len)
{
	for (; words->name; words++)
		if (strlen(words->name) == len && !memcmp(words->name, word, len))
			return words;
	return NULL;
}

static const struct flag_word expect_words[] = {
	{ "untouched", VM_EXPECT_UNTOUCHED, VM_EXPECT_CHANGED },
	{ "changed", VM_EXPECT_CHANGED, VM_EXPECT_UNTOUCHED },
	{ "deviation", VM_EXPECT_DEVIATION, VM_EXPECT_NOTE },
	{ "note", VM_EXPECT_NOTE, VM_EXPECT_DEVIATION },
	{ NULL, 0, 0 },
};

static bool parse_item(struct vm_parser *p, struct vm_expect *e)
{
	const struct flag_word *w;
	int32_t value;
	int8_t result;
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	w = find_word(expect_words, p->at, len);
	if (w) {
		if (e->words & w->excludes)
			return vm_scan_expected(p, p->at,
						"words that do not contradict each other");
		e->words |= w->bit;
	} else if (result_word(p->at, len, &result, &value)) {
		if (e->result)
			return vm_scan_expected(p, p->at, "one result (ok, an errno, a signal)");
		e->result = result;
		e->value = value;
	} else {
		return vm_scan_expected(p, p->at,
					"ok, an errno such as EINVAL, SIGSEGV, SIGBUS, withheld, "
					"untouched, changed, deviation or note");
	}
	p->at += len;
	return true;
}

bool vm_parse_expectations(struct vm_parser *p, unsigned int call)
{
	struct vm_script *s = p->script;

	do {
		struct vm_expect *e = &s->expect[call][s->nexpect[call]];
		const char *where;

		vm_scan_blanks(p);
		where = p->at;
		if (s->nexpect[call] == VM_MAX_EXPECT)
			return vm_scan_expected(p, where, "at most 4 expectations of a call");
		if (!parse_profile(p, e))
			return false;
		for (unsigned int i = 0; i < s->nexpect[call]; i++)
			if (!strcmp(s->expect[call][i].profile, e->profile) &&
			    s->expect[call][i].profile_is == e->profile_is)
				return vm_scan_expected(p, where, "one expectation a profile");
		do {
			if (!parse_item(p, e))
				return false;
		} while (vm_scan_accept(p, ","));
		s->nexpect[call]++;
	} while (vm_scan_accept(p, ";"));
	return true;
}

static const struct flag_word state_words[] = {
	{ "unmapped", VM_STATE_UNMAPPED, (uint16_t)~VM_STATE_UNMAPPED },
	{ "mapped", VM_STATE_MAPPED, VM_STATE_UNMAPPED },
	{ "shared", VM_STATE_SHARED, VM_STATE_UNMAPPED | VM_STATE_PRIVATE },
	{ "private", VM_STATE_PRIVATE, VM_STATE_UNMAPPED | VM_STATE_SHARED },
	{ "sealed", VM_STATE_SEALED, VM_STATE_UNMAPPED | VM_STATE_UNSEALED },
	{ "unsealed", VM_STATE_UNSEALED, VM_STATE_UNMAPPED | VM_STATE_SEALED },
	{ "zero", VM_STATE_ZERO, VM_STATE_UNMAPPED | VM_STATE_FROM },
	{ "from", VM_STATE_FROM, VM_STATE_UNMAPPED | VM_STATE_ZERO },
	{ "vmas", VM_STATE_VMAS, VM_STATE_UNMAPPED | VM_STATE_VMAS },
	{ "has", VM_STATE_FLAGS, VM_STATE_UNMAPPED },
	{ "lacks", VM_STATE_FLAGS, VM_STATE_UNMAPPED },
	{ NULL, 0, 0 },
};

/* The two letters of a VmFlag; what names there are, only the oracle knows. */
static bool parse_vm_flag(struct vm_parser *p, struct vm_state_expect *s, bool lacks)
{
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	if (len != 2)
		return vm_scan_expected(p, p->at, "the two letters of a VmFlag such as nr");
	if (s->nflags == VM_STATE_MAX_FLAGS)
		return vm_scan_expected(p, p->at, "at most 4 VmFlags on a line");
	memcpy(s->flag[s->nflags].name, p->at, len);
	s->flag[s->nflags++].lacks = lacks;
	p->at += len;
	return true;
}

static bool parse_vmas(struct vm_parser *p, struct vm_state_expect *s)
{
	uint64_t n;

	if (!vm_scan_number(p, "a number of VMAs after vmas", UINT16_MAX, &n))
		return false;
	s->vmas = (uint16_t)n;
	return true;
}

/* What stands behind the word, where something does. */
static bool parse_state_operand(struct vm_parser *p, struct vm_state_expect *s,
				const struct flag_word *w)
{
	switch (w->bit) {
	case VM_STATE_FROM:
		return vm_scan_addr(p, &s->from);
	case VM_STATE_VMAS:
		return parse_vmas(p, s);
	case VM_STATE_FLAGS:
		return parse_vm_flag(p, s, w->name[0] == 'l');
	default:
		return true;
	}
}

static bool parse_state_word(struct vm_parser *p, struct vm_state_expect *s)
{
	static const struct flag_word prot_word = { "", VM_STATE_PROT,
						    VM_STATE_UNMAPPED | VM_STATE_PROT };
	const struct flag_word *w;
	uint64_t prot;
	size_t len;

	vm_scan_blanks(p);
	len = vm_scan_word(p);
	w = find_word(state_words, p->at, len);
	if (!w && vm_scan_prot_word(p->at, len, &prot)) {
		w = &prot_word;
		s->prot = (uint8_t)prot;
	}
	if (!w)
		return vm_scan_expected(p, p->at,
					"unmapped, mapped, a protection, shared, private, sealed, "
					"unsealed, zero, from, vmas, has or lacks");
	if (s->words & w->excludes)
		return vm_scan_expected(p, p->at, "words that do not contradict each other");
	s->words |= w->bit;
	p->at += len;
	return parse_state_operand(p, s, w);
}

bool vm_parse_state(struct vm_parser *p)
{
	struct vm_script *script = p->script;
	struct vm_state_expect *s = &script->state[script->nstate];

	vm_scan_blanks(p);
	if (script->nstate == VM_MAX_STATE_EXPECT)
		return vm_scan_expected(p, p->at, "at most 64 expect lines");
	s->after = script->prog.ncalls;
	if (!parse_profile(p, &s->when) || !vm_scan_range(p, &s->start, &s->len))
		return false;
	do {
		if (!parse_state_word(p, s))
			return false;
	} while (!vm_scan_at_end(p));
	script->nstate++;
	return true;
}
