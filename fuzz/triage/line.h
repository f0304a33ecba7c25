/* SPDX-License-Identifier: MIT */
/* One line of a kernel console, without what printk() and the line discipline put around it. */
#ifndef VM_TRIAGE_LINE_H
#define VM_TRIAGE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_CALLER_MAX 12
#define VM_SYMBOL_MAX 64

struct vm_line {
	char caller[VM_CALLER_MAX]; /* "T123" or "C0" (CONFIG_PRINTK_CALLER); "" if it has none */
	const char *text;	    /* what was printed; points into the line that was given */
};

/*
 * Take a line apart, which ends with its NUL, changed in place: `<4>`, `[   12.345678]`, `[  T123]`
 * and trailing white space go. What stands before a time stamp, such as a program's output without
 * a newline, goes too.
 */
void vm_line_parse(char *line, struct vm_line *l);

/* A place in code as the kernel prints it: `name+0x12/0x340`, perhaps with ` [module]` behind. */
struct vm_place {
	char symbol[VM_SYMBOL_MAX]; /* without .isra.0, .constprop.0, .part.0, .cold; may be cut */
	char full[VM_SYMBOL_MAX];   /* with them, as the symbol table has it */
	char module[VM_SYMBOL_MAX]; /* "" for the kernel itself */
	uint64_t offset, size;
};

/* Read a place that `text` begins with; false if there is none. */
bool vm_place_parse(const char *text, struct vm_place *p);

/*
 * Copy text into `buf` so that it is the same on the next boot: numbers and addresses become `#`,
 * `name+0x12/0x340 [module]` becomes `name`.
 */
void vm_line_strip(const char *text, size_t textlen, char *buf, size_t len);

#endif
