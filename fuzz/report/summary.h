/* SPDX-License-Identifier: MIT */
/* The end of a campaign, for people and for machines. */
#ifndef VM_SUMMARY_H
#define VM_SUMMARY_H

#include <stdio.h>

#include "fuzz/campaign/prepare.h"

/* What is not in vm_stats. */
struct vm_outcome {
	const char *engine;
	uint64_t ms;		/* how long it ran */
	bool finished;		/* no engine runs any more: `status` is final */
	int status;		/* exit status */
	uint64_t afl_crashes;	/* files in AFL++'s crashes folders */
	char afl_stability[16]; /* "99.87%", as AFL++ says it, or "" */
};

void vm_summary_print(FILE *to, const struct vm_campaign *c, const struct vm_outcome *o);

/* The same as JSON. */
void vm_summary_print_json(FILE *to, const struct vm_campaign *c, const struct vm_outcome *o);

/* OUT/stats.json, the same again; whole or as it was. 0, or -1 with one line in err. */
int vm_summary_store(const struct vm_campaign *c, const struct vm_outcome *o, char *err,
		     size_t errlen);

#endif
