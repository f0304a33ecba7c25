/* SPDX-License-Identifier: MIT */
/* `vmafuzz fuzz --minimize-corpus`: OUT/corpus without what adds no feature. */
#ifndef VM_DISTIL_H
#define VM_DISTIL_H

#include "fuzz/campaign/prepare.h"

struct vm_distilled {
	size_t before, after; /* programs */
	uint64_t features;    /* of the programs before, and of those after */
};

/*
 * Run every program of OUT/corpus once, choose few that have all the features, and put a folder
 * with these in the place of OUT/corpus in one step: a reader sees the old one or the new one. What
 * the runs show is stored as in a campaign. 0, or -1 with one line in err and OUT/corpus as it was.
 */
int vm_distil(const struct vm_campaign *c, struct vm_distilled *out, char *err, size_t errlen);

#endif
