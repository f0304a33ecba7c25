/* SPDX-License-Identifier: MIT */
/* Names that `let` gives to returned addresses. a..o are slots 1..15; others take what is left. */
#include <ctype.h>
#include <string.h>

#include "harness/program/text_parser.h"

static uint8_t letter_slot(const char *name, size_t len)
{
	if (len != 1 || *name < VM_FIRST_NAME || *name > VM_LAST_NAME)
		return 0;
	return (uint8_t)(*name - VM_FIRST_NAME + 1);
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

void vm_names_reserve(struct vm_parser *p, const char *text, size_t len)
{
	bool comment = false;

	for (size_t i = 0; i < len; i++) {
		uint8_t slot = letter_slot(text + i, 1);

		if (text[i] == '#')
			comment = true;
		else if (text[i] == '\n')
			comment = false;
		if (comment || !slot || (i && is_word_char(text[i - 1])) ||
		    (i + 1 < len && is_word_char(text[i + 1])))
			continue;
		p->taken |= (uint16_t)(1u << slot);
	}
}

/* Words of the grammar that may stand where an address may, or that would read as one. */
static bool is_reserved(const char *word, size_t len)
{
	static const char *const words[] = {
		"any",	   "expect",	"fail",	     "fill",	"let",	    "null",	"observe",
		"page",	   "pages",	"task",	     "to",	"from",	    "hint",	"ok",
		"mapped",  "unmapped",	"shared",    "private", "sealed",   "unsealed", "zero",
		"changed", "untouched", "deviation", "note",	"withheld", "full",	"maps",
		"end",	   "vmas",	"has",	     "lacks",	"rlimit",   "cap",	"sysctl",
		"fault",   "keep",	"drop"
	};
	uint64_t prot;
	size_t digits = 1;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], word, len))
			return true;
	while (digits < len && isdigit((unsigned char)word[digits]))
		digits++;
	if (word[0] == 'p' && len > 1 && digits == len)
		return true;
	for (unsigned int op = 0; op < VM_OP_COUNT; op++) {
		const struct vm_call_desc *desc = vm_call_desc((uint8_t)op);
		unsigned int i;
		const struct vm_arg_desc *flags = vm_row_flags(desc, &i);

		for (const struct vm_word *w = flags ? flags->words : NULL; w && w->name; w++)
			if (strlen(w->name) == len && !memcmp(w->name, word, len))
				return true;
	}
	return vm_call_by_name(word, len) >= 0 || vm_scan_prot_word(word, len, &prot);
}

uint8_t vm_names_find(const struct vm_parser *p, const char *name, size_t len)
{
	uint8_t slot = letter_slot(name, len);

	if (slot || !len)
		return slot;
	for (slot = 1; slot < VM_NAME_SLOTS; slot++)
		if (strlen(p->name[slot]) == len && !memcmp(p->name[slot], name, len))
			return slot;
	return 0;
}

bool vm_names_define(struct vm_parser *p, size_t len, uint8_t *slot)
{
	if (!len || !islower((unsigned char)*p->at) || len >= VM_NAME_MAX)
		return vm_scan_expected(
			p, p->at, "a name after let (a-z, then a-z, 0-9, _; up to 31 letters)");
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)p->at[i]))
			return vm_scan_expected(p, p->at, "a name of small letters after let");
	if (is_reserved(p->at, len))
		return vm_scan_expected(p, p->at,
					"a name that is no word of the grammar after let");
	*slot = vm_names_find(p, p->at, len);
	if (*slot)
		return true;
	for (*slot = 1; *slot < VM_NAME_SLOTS && p->taken & 1u << *slot; (*slot)++)
		;
	if (*slot == VM_NAME_SLOTS)
		return vm_scan_expected(p, p->at, "at most 15 names in a file");
	p->taken |= (uint16_t)(1u << *slot);
	memcpy(p->name[*slot], p->at, len);
	p->name[*slot][len] = '\0';
	return true;
}
