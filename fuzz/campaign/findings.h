/* SPDX-License-Identifier: MIT */
/*
 * Findings on disk: OUT/findings/SLUG/{program.vma,program.bin,trace.bin,explanation.txt,count},
 * and original.bin if program is a reduced one. A finding is written to OUT/pending the moment it
 * is seen, and moves to findings or flaky when a replay has told which.
 */
#ifndef VM_FINDINGS_H
#define VM_FINDINGS_H

#include "fuzz/campaign/stats.h"

/* What a finding's files say of the run it comes from. */
struct vm_finding_context {
	const char *out;
	const struct vm_profile *profile;
	enum vm_contract contract;
	uint64_t seed;
	const char *inject; /* or NULL */
};

/*
 * Write a verdict on `trace` (a run of `prog`) to OUT/pending/SLUG, whole or not at all. 0, or -1
 * with one line in err.
 */
int vm_finding_write(const struct vm_finding_context *ctx, const struct vm_title *title,
		     const struct vm_program *prog, const struct vm_program *original,
		     const struct vm_trace *trace, const struct vm_verdict *v, char *err,
		     size_t errlen);

/* Move OUT/pending/SLUG to OUT/findings (confirmed) or OUT/flaky; 0, or -1 with err. */
int vm_finding_settle(const char *out, const struct vm_title *title, bool confirmed, char *err,
		      size_t errlen);

/* Write the `count` file of every confirmed title; 0, or -1 with err. */
int vm_findings_counts(const char *out, const struct vm_stats *stats, char *err, size_t errlen);

/*
 * At the start of a run in a folder that was used before: enter the titles of OUT/findings in
 * `stats` with their counts, so that they are not reported as new.
 */
int vm_findings_load(const char *out, struct vm_stats *stats, char *err, size_t errlen);

/* One line for people: `Linux 6.18.44 x86_64`. */
void vm_target_name(const struct vm_target_info *info, char *buf, size_t len);

#endif
