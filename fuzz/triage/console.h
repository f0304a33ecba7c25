/* SPDX-License-Identifier: MIT */
/*
 * Reports in a kernel's console: text in, reports out; no I/O. Knows what Linux 6.1 to 7.3 print on
 * x86-64 and arm64 (docs/crashes.md).
 */
#ifndef VM_TRIAGE_CONSOLE_H
#define VM_TRIAGE_CONSOLE_H

#include "fuzz/triage/line.h"

#define VM_REPORT_TITLE	 128
#define VM_REPORT_FRAMES 16
#define VM_REPORT_CODE	 320

enum vm_report_kind {
	VM_REPORT_OTHER, /* a `BUG:` or `WARNING:` that no other kind describes */
	VM_REPORT_OOM,
	VM_REPORT_NO_PAGE, /* an allocation failed and said so */
	VM_REPORT_NULL,
	VM_REPORT_PAGE_FAULT,
	VM_REPORT_PROTECTION, /* general protection fault */
	VM_REPORT_OPCODE,
	VM_REPORT_DIVIDE,
	VM_REPORT_EXCEPTION, /* another one of the processor's */
	VM_REPORT_STACK,     /* overflow of the kernel's stack */
	VM_REPORT_BUG,
	VM_REPORT_VM_BUG, /* VM_BUG_ON_VMA and its like, with what they dump */
	VM_REPORT_WARNING,
	VM_REPORT_KASAN,
	VM_REPORT_KFENCE,
	VM_REPORT_KMSAN,
	VM_REPORT_KCSAN,
	VM_REPORT_UBSAN,
	VM_REPORT_LOCKDEP,
	VM_REPORT_SPINLOCK,
	VM_REPORT_ATOMIC, /* slept or scheduled where it must not */
	VM_REPORT_RCU_STALL,
	VM_REPORT_SOFT_LOCKUP,
	VM_REPORT_HARD_LOCKUP,
	VM_REPORT_WORKQUEUE,
	VM_REPORT_HUNG_TASK,
	VM_REPORT_MAPLE,
	VM_REPORT_BAD_MAP,  /* page table entries */
	VM_REPORT_BAD_PAGE, /* struct page */
	VM_REPORT_BAD_MM,   /* counters of a dying address space */
	VM_REPORT_LIST,
	VM_REPORT_REFCOUNT,
	VM_REPORT_USERCOPY,
	VM_REPORT_FORTIFY,
	VM_REPORT_SLAB,
	VM_REPORT_DEBUG_OBJECT,
	VM_REPORT_LEAK,
	VM_REPORT_PANIC,
};

const char *vm_report_kind_name(enum vm_report_kind kind);

/* What a report says of the kernel; each is worse than the one before. */
enum vm_report_severity {
	VM_REPORT_INFO,	   /* no fault of the kernel's: out of memory */
	VM_REPORT_STALLED, /* too slow: counts only if it repeats with more time */
	VM_REPORT_WARNED,  /* a fault, and the kernel goes on */
	VM_REPORT_BROKEN,  /* a task was killed or memory damaged: restart it */
	VM_REPORT_DEAD,	   /* panic */
};

const char *vm_report_severity_name(enum vm_report_severity severity);

struct vm_report {
	enum vm_report_kind kind;
	enum vm_report_severity severity;
	char title[VM_REPORT_TITLE];  /* kind and function: the same at each boot */
	char function[VM_SYMBOL_MAX]; /* the first that says something; "" if none was printed */
	bool after;		      /* the kernel was broken before: this may be a consequence */
	uint64_t begin, end; /* bytes of the stream that it takes up; others may lie between */
	uint64_t line;	     /* of the stream where it begins, from 1 */
	struct vm_place pc;  /* where it happened; symbol[0] is 0 if that was not printed */
	uint64_t pc_address; /* the same where the kernel knows no name; 0 if not printed */
	bool arm64;
	char code[VM_REPORT_CODE];		 /* after `Code: `; "" if it was not printed */
	struct vm_place frame[VM_REPORT_FRAMES]; /* of the first call trace, innermost first */
	unsigned int nframes;
};

struct vm_console;

/* A reader of a stream of which `offset` bytes went before; NULL without memory. */
struct vm_console *vm_console_new(uint64_t offset);
void vm_console_free(struct vm_console *c);

/* More of the stream, cut anywhere. */
void vm_console_feed(struct vm_console *c, const char *bytes, size_t len);

/*
 * The console is quiet, or the kernel gone: reports end here, and a last line without a newline
 * counts. More may be fed.
 */
void vm_console_settle(struct vm_console *c);

/* Has a report begun whose end was not seen? A caller may wait a moment before it settles. */
bool vm_console_unsettled(const struct vm_console *c);

/* The next report, in the order in which they begin within one settling; false if there is none. */
bool vm_console_next(struct vm_console *c, struct vm_report *r);

/* What KASLR added, by the last `Kernel Offset:` line (a panic's); 0 if off, false if not known. */
bool vm_console_kaslr(const struct vm_console *c, uint64_t *offset);

/* Reports that were lost since memory ran out. */
uint64_t vm_console_lost(const struct vm_console *c);

#endif
