/* SPDX-License-Identifier: MIT */
/* One report while its lines arrive; for console.c. */
#ifndef VM_TRIAGE_REPORT_H
#define VM_TRIAGE_REPORT_H

#include "fuzz/triage/headers.h"

struct vm_building {
	bool active;
	bool ended;	   /* only a panic may still be added */
	bool headed;	   /* more than a LEAD was seen */
	bool oops;	   /* the summary line of an exception was seen */
	bool tracing;	   /* in a call trace */
	bool traced;	   /* behind the first one */
	bool in_irq;	   /* in its part between <IRQ> and </IRQ> */
	bool code_follows; /* the registers that came last were the kernel's */
	unsigned int lines;
	const struct vm_header *header; /* that the title comes from */
	char message[VM_REPORT_TITLE];
	char access[8];		    /* " read", " write" or "" */
	struct vm_place at;	    /* named by the first line */
	struct vm_place held;	    /* where the innermost lock was taken */
	char file[VM_REPORT_TITLE]; /* named by the first line, without its number */
	struct vm_report report;
};

/* Begin with a first line, or add one that is of the same event. */
void vm_building_begin(struct vm_building *b, const struct vm_header *h, const char *text,
		       const char *message);
bool vm_building_continues(const struct vm_building *b, const struct vm_header *h,
			   const char *message);
void vm_building_merge(struct vm_building *b, const struct vm_header *h, const char *text,
		       const char *message);

/* Any other line; sets b->ended if it ends the report. True if it is a part of it. */
bool vm_building_line(struct vm_building *b, const char *text);

/* Make title and function. False if it was not a report after all. */
bool vm_building_finish(struct vm_building *b);

#endif
