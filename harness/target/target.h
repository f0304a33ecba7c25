/* SPDX-License-Identifier: MIT */
/*
 * A target: a place where programs run, seen from the host. It starts an executor, sends programs,
 * gives back traces, and starts it again when it dies.
 */
#ifndef VM_TARGET_H
#define VM_TARGET_H

#include "harness/trace/trace.h"
#include "harness/executor/protocol.h"

struct vm_target;

struct vm_target_options {
	const char *executor; /* path of vmafuzz-executor; NULL: beside the running program */
	const char *inject;   /* injected fault, or NULL */
	uint32_t timeout_ms;  /* of one program; 0: 2000 */
	uint32_t hello_ms;    /* how long an executor may take to start; 0: local 10 s, exec 60 s,
				 a guest 90 s a try */
	bool privileged;      /* keep the caller's user and capabilities (explicit flag only) */
};

/* Most requests that may be in flight. */
#define VM_TARGET_MAX_INFLIGHT 16

/*
 * Start a target: `local`, `exec:COMMAND` (the protocol over a shell command's stdin and stdout),
 * `qemu:IMAGE[,option=value...]` (a guest of its own; harness/guest/spec.h), `kernel:NAME[,...]`
 * (the same; harness/kernel/kernel.h), or what vm_target_keeper() says (the guest that another
 * process has started). NULL with one line in err.
 */
struct vm_target *vm_target_open(const char *spec, const struct vm_target_options *opt, char *err,
				 size_t errlen);

const struct vm_target_info *vm_target_info(const struct vm_target *t);

/* Stop the executor and everything it started. */
void vm_target_close(struct vm_target *t);

/*
 * Send a program (not more than VM_TARGET_MAX_INFLIGHT at a time). 0, or -1 with *err when the
 * executor is gone and cannot be started again.
 */
int vm_target_submit(struct vm_target *t, const struct vm_program *prog, uint32_t id,
		     uint32_t run_flags, char *err, size_t errlen);

/*
 * Wait for the next reply. 1: *id and *trace (reused across calls) are filled in. 0: the executor
 * died with request *id in flight, and has been started again: trace->exit says VM_EXIT_STATUS. -1:
 * it cannot be started again. A log that cannot be decoded counts as 0.
 */
int vm_target_wait(struct vm_target *t, uint32_t *id, struct vm_trace *trace, char *err,
		   size_t errlen);

/*
 * From now on kcov is to tell of these places only, of at most VM_MAX_PLACES ranges, in requests
 * with VM_RUN_COVER or VM_RUN_COMPARE. They must outlive the target.
 */
void vm_target_limit(struct vm_target *t, const struct vm_places *places);

/* Submit and wait, with nothing else in flight. As vm_target_wait. */
int vm_target_run(struct vm_target *t, const struct vm_program *prog, uint32_t run_flags,
		  struct vm_trace *trace, char *err, size_t errlen);

/* How long programs that are sent from now on may take; 0: 2000 ms. Returns what it was. */
uint32_t vm_target_set_timeout(struct vm_target *t, uint32_t timeout_ms);

/* ---- guests ---- */

/*
 * The file that the guest's console is written to, from all its starts, each begun by a line
 * "== vmafuzz: the guest is started, run N =="; it only grows, so an offset into it stays good.
 * NULL: the target has none. It goes when the target is closed.
 */
const char *vm_target_console(const struct vm_target *t);

/* A target's name with which other processes may share this guest, or NULL: it is none. */
const char *vm_target_keeper(const struct vm_target *t);

/*
 * End the guest and start it again (after a report on its console). Programs in flight, of all who
 * share it, are run again afterwards. 0, or -1 with err.
 */
int vm_target_reboot(struct vm_target *t, char *err, size_t errlen);

/*
 * For the owner of a guest that others use: listen to the keeper, and start it again should it have
 * ended. Call it now and then. 0, or -1 with err: there is no guest any more.
 */
int vm_target_tend(struct vm_target *t, char *err, size_t errlen);

#endif
