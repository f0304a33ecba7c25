/* SPDX-License-Identifier: MIT */
/* What the oracle says: severities, contracts, titles. Pure. */
#ifndef VM_VERDICT_H
#define VM_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/program/program.h"

enum vm_severity {
	VM_OK,
	VM_NOTE,      /* a partial effect that documents allow */
	VM_DEVIATION, /* meant by this version, breaks the strict contract undocumented */
	VM_VIOLATION, /* breaks a hard invariant or the profile */
};

enum vm_contract { VM_CONTRACT_EXACT, VM_CONTRACT_DOCUMENTED, VM_CONTRACT_STRICT };

/* How sure a rule was about a call's outcome before it saw it. */
enum vm_strictness { VM_EXACT, VM_SET_VALUED, VM_SILENT };

#define VM_TITLE_MAX	 128
#define VM_VERDICT_MARKS 6

struct vm_verdict {
	uint8_t severity;	  /* enum vm_severity */
	uint8_t event;		  /* index in trace->event */
	char title[VM_TITLE_MAX]; /* stable; carries the cause */
	const char *rule;	  /* e.g. "mremap" */
	const char *invariant;	  /* "sealed", "bystander", "content", "access", "views agree",
				     "failure", "success", "errno", "survival" */
	const char *basis;	  /* kernel function or document that the rule rests on */
	const char *known; /* a known bug of this kernel version: since when and why; else NULL */
	char expected[256];
	char observed[256];
	uint64_t start, end; /* pages that it is about: the first difference; 0, 0 if none */
	uint32_t nmarks;
	struct vm_range
		mark[VM_VERDICT_MARKS]; /* all of them, as far as there is room: for pictures */
};

const char *vm_severity_name(enum vm_severity s);
const char *vm_contract_name(enum vm_contract c);
/* -1 if there is no such contract. */
int vm_contract_by_name(const char *name);
const char *vm_errno_name(int err);

#endif
