/* SPDX-License-Identifier: MIT */
/* What a run of conformance programs found, as files that CI reads: JUnit XML and JSON. */
#ifndef VM_REPORT_CHECK_H
#define VM_REPORT_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum vm_check_result {
	VM_CHECK_PASS,
	VM_CHECK_FAIL,	/* an expectation was not met, or a verdict counts */
	VM_CHECK_ERROR, /* the program was not seen to its end */
	VM_CHECK_SKIP,	/* it says nothing of this target */
	VM_CHECK_RESULTS
};

/* One program. Texts are never NULL; `lines` are texts whose every line ends with a newline. */
struct vm_check_case {
	enum vm_check_result result;
	uint64_t ms;	      /* from sending the program to the end of judging it */
	const char *name;     /* "mremap/fixed_grow" */
	const char *path;     /* of its file */
	const char *doc;      /* its first comment */
	const char *reason;   /* one line; "" for a program that passed */
	const char *verdicts; /* lines: "deviation: mremap: ..." */
	const char *unmet;    /* lines: "line 4: expected EFAULT, got 0" */
	const char *causes;   /* lines: "mremap: source is sealed", each once */
	const char *details;  /* explained verdicts and unmet expectations, for people */
};

/* Starts zeroed but for the texts of the target, which stay the caller's. */
struct vm_check_report {
	const char *target, *kernel, *kernel_version, *profile, *profile_why, *contract, *inject;
	int exit_status;
	size_t n, cap;
	struct vm_check_case *test; /* copies */
};

/* Copy a program's result into the report; 0, or -1 without memory. */
int vm_check_add(struct vm_check_report *r, const struct vm_check_case *test);

size_t vm_check_count(const struct vm_check_report *r, enum vm_check_result result);

void vm_check_free(struct vm_check_report *r);

/* The whole report, malloc()ed; NULL without memory. */
char *vm_check_junit(const struct vm_check_report *r);
char *vm_check_json(const struct vm_check_report *r);

#endif
