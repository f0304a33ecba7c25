/* SPDX-License-Identifier: MIT */
/* The lines that reports begin with. */
#ifndef VM_TRIAGE_HEADERS_H
#define VM_TRIAGE_HEADERS_H

#include "fuzz/triage/console.h"

/* What a line does to a report. */
enum vm_header_role {
	VM_HEAD,  /* begins one */
	VM_LEAD,  /* begins one, and a HEAD that follows is of the same event */
	VM_OOPS,  /* the summary line of an exception: part of what came before, or a HEAD */
	VM_PANIC, /* often the end of another report */
};

/* Where a report ends. */
enum vm_header_end {
	VM_END_LINE,  /* with its first line */
	VM_END_STACK, /* with its call trace */
	VM_END_RULE,  /* at a line of = */
	VM_END_TRACE, /* at `---[ end ` */
	VM_END_OPEN,  /* nothing says so */
};

struct vm_header {
	const char *text;  /* what the line begins with */
	const char *has;   /* and has behind that, or NULL */
	const char *until; /* what ends its message, or NULL: the line's end */
	uint8_t kind, severity, role, end;
	/*
	 * The title: %m is the message (between text and until, stripped), %a " read" or " write",
	 * and " in %f" the function; what has none goes without.
	 */
	const char *title;
};

/* The first row that describes the line, or NULL; *message is what follows its `text`. */
const struct vm_header *vm_header_find(const char *text, const char **message);

/* Is it a line that comes just before a first one (`cut here`, `=====`, a page's dump)? */
bool vm_header_leads(const char *text);

/* Functions that reports pass through whatever went wrong. */
bool vm_frame_is_generic(const char *symbol);

#endif
