/* SPDX-License-Identifier: MIT */
/*
 * The guests of a campaign: one a job, owned by the supervisor, so that an engine that ends and is
 * started again finds its guest as it was. Targets that are no guests have none.
 */
#ifndef VM_GUESTS_H
#define VM_GUESTS_H

#include "fuzz/campaign/options.h"
#include "harness/target/target.h"

struct vm_guests {
	struct vm_target **guest;
	uint32_t n;
};

/*
 * Take over a target that was opened from opt->target; closed if it is no guest. 0, or -1 with one
 * line in err (the target is closed).
 */
int vm_guests_adopt(struct vm_guests *g, struct vm_target *target, char *err, size_t errlen);

/*
 * Start what is missing for opt->jobs. A guest that does not start is not missed: its job shares
 * the first one's, which is said on stderr. 0, or -1 with err.
 */
int vm_guests_start(struct vm_guests *g, const struct vm_options *opt, char *err, size_t errlen);

/* The target that the engine of a job is to open: `otherwise` where there is no guest. */
const char *vm_guests_target(const struct vm_guests *g, uint32_t job, const char *otherwise);

/* Look after the keepers; 0, or -1 with err when one cannot be started again. */
int vm_guests_tend(struct vm_guests *g, char *err, size_t errlen);

void vm_guests_close(struct vm_guests *g);

/* How options say a target is to be opened. */
struct vm_target_options vm_options_of_target(const struct vm_options *opt);

#endif
