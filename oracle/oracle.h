/* SPDX-License-Identifier: MIT */
/*
 * The oracle: trace in, verdicts out. No system call, no I/O, no global state, libc only.
 * docs/oracle.md.
 */
#ifndef VM_ORACLE_H
#define VM_ORACLE_H

#include "harness/trace/trace.h"
#include "oracle/profiles/profile.h"
#include "oracle/verdict.h"

#define VM_MAX_VERDICTS 64
#define VM_MAX_FEATURES 768
#define VM_FEATURE_MAP	65536 /* slots of the feedback map that are features */

/* Per event, whether the rule was sure. */
struct vm_judged_call {
	uint8_t strictness; /* enum vm_strictness */
	uint8_t severity;   /* worst verdict on this event */
	uint8_t changed;   /* 1: the call was seen to change some page; 0: it did not; 2: unknown */
	const char *cause; /* of the outcome that was matched, or NULL */
};

struct vm_judgement {
	uint32_t nverdicts;
	struct vm_verdict verdict[VM_MAX_VERDICTS];
	uint32_t nfeatures; /* feature ids, each below VM_FEATURE_MAP; deterministic */
	uint32_t feature[VM_MAX_FEATURES];
	uint8_t feature_call[VM_MAX_FEATURES]; /* index in the program of the call that gave it */
	struct vm_judged_call call[VM_TRACE_MAX_EVENTS]; /* by event */
	enum vm_severity worst;
};

struct vm_judge_options {
	const struct vm_profile *profile; /* NULL: chosen by vm_profile_choose() */
	enum vm_contract contract;
};

/*
 * Judge a trace. Allocates nothing that outlives the call. `scratch` (vm_judge_scratch_new) can be
 * kept and reused for speed, one a thread.
 */
struct vm_judge_scratch;
struct vm_judge_scratch *vm_judge_scratch_new(void);
void vm_judge_scratch_free(struct vm_judge_scratch *s);
void vm_judge(const struct vm_trace *trace, const struct vm_judge_options *opt,
	      struct vm_judge_scratch *scratch, struct vm_judgement *out);

/* A growing text that never writes beyond its buffer; len is what it would need. */
struct vm_text {
	char *buf;
	size_t cap, len;
};
void vm_text_add(struct vm_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * oracle/explain.c. A verdict as text: title, severity, the call, expected, observed, basis, and
 * the address space before and after as a picture.
 */
void vm_explain_verdict(const struct vm_trace *trace, const struct vm_verdict *v,
			struct vm_text *t);

/* The picture of one snapshot, relative to the arena; pages in `mark` (may be NULL) are underlined.
 */
void vm_explain_snapshot(const struct vm_snapshot *s, const struct vm_target_info *info,
			 const struct vm_range *mark, struct vm_text *t);

/* What a call returned, as text: `0`, `EFAULT`, `p16`, `SIGSEGV/ACCERR at p4`, `withheld (guard)`.
 */
void vm_explain_result(const struct vm_event *e, const struct vm_target_info *info,
		       struct vm_text *t);

/* An address as text relative to the arena where it lies in it: `p16`, `p3+0x10`, or hex. */
void vm_explain_addr(uint64_t addr, const struct vm_target_info *info, struct vm_text *t);

/*
 * oracle/expect.c. Check a script's expectations against a judged trace. Returns the number unmet,
 * each a line in t: `line 4: expected EFAULT, got 0`.
 */
int vm_expect_check(const struct vm_script *script, const struct vm_trace *trace,
		    const struct vm_judgement *j, const struct vm_profile *profile,
		    struct vm_text *t);

#endif
