/* SPDX-License-Identifier: MIT */
/* Everything before the first engine starts: the folder, the target, the profile, the seeds. */
#ifndef VM_PREPARE_H
#define VM_PREPARE_H

#include "fuzz/campaign/guests.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/stats.h"

/* A campaign that is ready to start. */
struct vm_campaign {
	struct vm_options opt;
	struct vm_target_info info;
	const struct vm_profile *profile;
	enum vm_contract contract; /* the one in force */
	char why[256];		   /* why this profile */
	bool regressed;
	char regression[VM_TITLE_MAX]; /* the title, if regressed */
	size_t seeds, resumed;	       /* programs from --corpus, and from an earlier run */
	struct vm_stats *stats;
	struct vm_guests guests;
	int lock; /* on OUT/lock */
};

/*
 * Make or take up c->opt.out, ask the target who it is, choose the profile, gather the seeds in
 * OUT/seeds. 0, or -1 with one line in err.
 */
int vm_campaign_prepare(struct vm_campaign *c, const struct vm_options *opt, char *err,
			size_t errlen);

/* After the engines have ended in order: nothing is in flight any more. Ends the guests. */
void vm_campaign_release(struct vm_campaign *c);

/* The profile that opt names, or the one of the target. */
const struct vm_profile *vm_options_profile(const struct vm_options *opt,
					    const struct vm_target_info *info);

/* OUT/target.info, for the processes that have no target of their own; 0, or -1 with err. */
int vm_target_info_save(const char *out, const struct vm_target_info *info, char *err,
			size_t errlen);
int vm_target_info_load(const char *out, struct vm_target_info *info, char *err, size_t errlen);

#endif
