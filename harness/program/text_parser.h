/* SPDX-License-Identifier: MIT */
/* The parts of the .vma parser; not for others. */
#ifndef VM_TEXT_PARSER_H
#define VM_TEXT_PARSER_H

#include "harness/program/text.h"

#define VM_NAME_MAX 32

/*
 * A cursor over one line without its comment, and what is known so far. Functions that parse return
 * false after they filled in *err; those called accept_* return false if it is not there.
 */
struct vm_parser {
	const char *start, *at, *end; /* of the line */
	unsigned int line;	      /* from 1 */
	struct vm_script *script;
	struct vm_parse_error *err;
	uint16_t taken;			       /* name slots in use, as bits */
	char name[VM_NAME_SLOTS][VM_NAME_MAX]; /* of slots that are not called a..o; "" if none */
};

/* ---- text_scan.c: characters, words, numbers, addresses ---- */

/* Fail at `where`: "expected WHAT, found THAT". Always false. */
bool vm_scan_expected(struct vm_parser *p, const char *where, const char *what);

/* Fail at `where` with this message. Always false. */
bool vm_scan_fail(struct vm_parser *p, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void vm_scan_blanks(struct vm_parser *p);

/* After blanks: is the line at its end? */
bool vm_scan_at_end(struct vm_parser *p);

/* The length of the word of letters, digits and `_` at the cursor; 0 if there is none. */
size_t vm_scan_word(const struct vm_parser *p);

/* Step over blanks and `what`; a word must end there. */
bool vm_scan_accept(struct vm_parser *p, const char *what);

/* An unsigned decimal or 0x number of at most `max`; `what` is for the message. */
bool vm_scan_number(struct vm_parser *p, const char *what, uint64_t max, uint64_t *value);

/* `what` (with its article) is what the quantity is, for messages: "a length after '+'". */
bool vm_scan_quantity(struct vm_parser *p, const char *what, struct vm_quantity *q);

bool vm_scan_addr(struct vm_parser *p, struct vm_addr *addr);

/* An address, and `+` and a length; a lone address is one page. */
bool vm_scan_range(struct vm_parser *p, struct vm_addr *addr, struct vm_quantity *len);

/* Is this word of letters a protection (`none`, or r, w, x in this order)? Sets *prot. */
bool vm_scan_prot_word(const char *word, size_t len, uint64_t *prot);

/* ---- text_names.c: names given by let ---- */

/* Keep the slots of names a..o that the text uses. */
void vm_names_reserve(struct vm_parser *p, const char *text, size_t len);

/* The slot of a new or known name at the cursor (not moved); false if it may not be a name. */
bool vm_names_define(struct vm_parser *p, size_t len, uint8_t *slot);

/* The slot of a name, 0 if there is none of that name. */
uint8_t vm_names_find(const struct vm_parser *p, const char *name, size_t len);

/* ---- text_preamble.c ---- */

/*
 * A line of the preamble, if the word at the cursor begins one. False if it does not (the cursor
 * stays); else *ok says whether it could be parsed.
 */
bool vm_parse_preamble(struct vm_parser *p, bool *ok);

/* ---- text_expect.c ---- */

/* What follows `=>`, for call `call`. */
bool vm_parse_expectations(struct vm_parser *p, unsigned int call);

/* What follows the word `expect`. */
bool vm_parse_state(struct vm_parser *p);

#endif
