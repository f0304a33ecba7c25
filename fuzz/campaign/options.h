/* SPDX-License-Identifier: MIT */
/*
 * What a campaign was asked to do. The supervisor fills it in from the command line; engines that
 * are processes of their own get it through the environment (VMAFUZZ_*).
 */
#ifndef VM_OPTIONS_H
#define VM_OPTIONS_H

#include "oracle/oracle.h"

enum vm_fail_on { VM_FAIL_VIOLATION, VM_FAIL_DEVIATION, VM_FAIL_CRASH };

struct vm_options {
	const char *target;  /* as vm_target_open() */
	const char *profile; /* a profile's name, or NULL: chosen for the target */
	enum vm_contract contract;
	const char *out;      /* the campaign's folder */
	const char *corpus;   /* folder or file of seeds, or NULL */
	const char *inject;   /* injected fault, or NULL */
	const char *executor; /* path, or NULL */
	uint64_t seed;
	uint64_t programs;   /* of all jobs together; 0: no limit */
	uint32_t seconds;    /* 0: no limit */
	uint32_t jobs;	     /* engine processes */
	uint32_t job;	     /* of this engine process, from 0 */
	uint32_t timeout_ms; /* of one program; 0: the target's default */
	enum vm_fail_on fail_on;
	bool privileged;
	bool sync; /* each program on the disk, not only in the page cache, before it runs */
	bool json;
};

void vm_options_default(struct vm_options *opt);

/* Into the environment, for an engine to come; 0 or -1. */
int vm_options_export(const struct vm_options *opt);

/* From the environment (strings point into it); 0, or -1 with one line in err. */
int vm_options_import(struct vm_options *opt, char *err, size_t errlen);

/* -1 if there is no such word; the words of --fail-on. */
int vm_fail_on_by_name(const char *name);
const char *vm_fail_on_name(enum vm_fail_on f);

#endif
