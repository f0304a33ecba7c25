/* SPDX-License-Identifier: MIT */
/*
 * What every engine does with a program: keep it on disk, run it, judge it, feed back, store what
 * was found. One session an engine process.
 *
 * An engine that runs one program at a time calls vm_session_run(). One that sends programs ahead
 * calls submit and wait, absorbs results in an order of its own, and confirms when nothing is in
 * flight.
 */
#ifndef VM_SESSION_H
#define VM_SESSION_H

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/options.h"
#include "fuzz/feedback/edges.h"
#include "fuzz/mutate/operand.h"
#include "harness/target/target.h"

#define VM_MAX_PENDING 8
#define VM_MAX_IDS     (VM_MAX_FEATURES + VM_MAX_EDGE_IDS)

/* The outcome of one program. */
struct vm_result {
	uint32_t id;
	bool executor_died;
	bool new_violation; /* a violation whose title this campaign had not seen; set by confirm */
	uint32_t nfeatures; /* slots of the feedback map: features, then edges */
	uint32_t feature[VM_MAX_IDS];
	uint8_t feature_call[VM_MAX_IDS];
	uint32_t noperands; /* of a program that was sent with vm_session_ask() */
	struct vm_operand operand[VM_MAX_OPERANDS];
};

struct vm_session;

/*
 * Open a session in opt->out, which the supervisor has prepared; `opt` must outlive it.
 * `keep_corpus`: programs with new features are written to OUT/corpus (an engine may do that
 * itself). NULL with one line in err.
 */
struct vm_session *vm_session_open(const struct vm_options *opt, bool keep_corpus, char *err,
				   size_t errlen);
void vm_session_close(struct vm_session *s);

const struct vm_target_info *vm_session_info(const struct vm_session *s);
const struct vm_profile *vm_session_profile(const struct vm_session *s);
struct vm_stats *vm_session_stats(struct vm_session *s);

/* Run, judge, store, confirm. 0; -1 with err when the target or the disk is gone: end the campaign.
 */
int vm_session_run(struct vm_session *s, const struct vm_program *prog, struct vm_result *result,
		   char *err, size_t errlen);

/*
 * Send a program ahead; `prog` must stay as it is until it was waited for. At most
 * VM_TARGET_MAX_INFLIGHT, with ids that differ modulo it.
 */
int vm_session_submit(struct vm_session *s, const struct vm_program *prog, uint32_t id, char *err,
		      size_t errlen);

/*
 * The same, to ask what the kernel compares its arguments with: the result has operands instead of
 * edges. Only where vm_session_asks() says so (there is kcov).
 */
int vm_session_ask(struct vm_session *s, const struct vm_program *prog, uint32_t id, char *err,
		   size_t errlen);
bool vm_session_asks(const struct vm_session *s);

/* The next result, judged; findings are on disk, as pending. */
int vm_session_wait(struct vm_session *s, struct vm_result *result, char *err, size_t errlen);

/*
 * Add a result's features to the map and count; keep the program if one was new. Returns the number
 * of new ones, or -1 with err.
 */
int vm_session_absorb(struct vm_session *s, const struct vm_program *prog,
		      const struct vm_result *result, char *err, size_t errlen);

/* Are there findings that wait for a replay? */
bool vm_session_pending(const struct vm_session *s);

/*
 * Replay what is pending, each in a fresh child; nothing may be in flight. *new_violation is set if
 * a violation was confirmed. 0 or -1 with err.
 */
int vm_session_confirm(struct vm_session *s, bool *new_violation, char *err, size_t errlen);

#endif
