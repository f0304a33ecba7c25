/* SPDX-License-Identifier: MIT */
/*
 * A kernel's console while programs run: after each program, what is new in it. The file only grows
 * (vm_target_console()), so that looking costs one fstat() when nothing was printed.
 */
#ifndef VM_TRIAGE_WATCH_H
#define VM_TRIAGE_WATCH_H

#include "fuzz/triage/console.h"
#include "oracle/oracle.h"

#define VM_REPORT_PREFIX "kernel: " /* of the titles of verdicts that are reports */
#define VM_WATCH_REPORTS 8	    /* kept of one look; the worst are never dropped */

struct vm_watch {
	int fd; /* -1: no console, nothing is ever seen */
	struct vm_console *console;
	uint64_t offset; /* bytes read */
	unsigned int n;
	struct vm_report
		report[VM_WATCH_REPORTS]; /* of the last look, informational ones left out */
};

/*
 * Watch a file from its end on; NULL: a target without a console. 0, or -1 with one line in err.
 */
int vm_watch_open(struct vm_watch *w, const char *path, char *err, size_t errlen);
void vm_watch_close(struct vm_watch *w);

/*
 * Read what was printed since the last look. Where a report has begun, this waits until the console
 * is quiet, three seconds at most. Returns the number of reports, 0 in nearly all cases.
 */
unsigned int vm_watch_look(struct vm_watch *w);

/* The worst that the last look found (VM_REPORT_INFO if it found nothing). */
enum vm_report_severity vm_watch_worst(const struct vm_watch *w);

/* A report's part of the console, malloc()ed, its length in *len; NULL if it cannot be read. */
char *vm_watch_excerpt(const struct vm_watch *w, const struct vm_report *r, size_t *len);

/* A report as a verdict: a violation of "survival", VM_REPORT_PREFIX and its title. */
void vm_report_verdict(const struct vm_report *r, struct vm_verdict *v);

/*
 * Add what the last look found to a judgement, but for consequences of an earlier report. What the
 * oracle says of survival goes if a task died of it or the kernel did: that is the same event.
 */
void vm_watch_judge(const struct vm_watch *w, struct vm_judgement *j);

/* The report of the last look whose verdict this is; NULL if it is another verdict. */
const struct vm_report *vm_watch_report_of(const struct vm_watch *w, const struct vm_verdict *v);

#endif
