/* SPDX-License-Identifier: MIT */
/*
 * The engines, seen from the supervisor. An engine process makes programs and consumes feedback
 * (fuzz/campaign/session.h); it is started by engine_start() and ended by a signal.
 */
#ifndef VM_ENGINE_H
#define VM_ENGINE_H

#include <sys/types.h>

#include "fuzz/campaign/options.h"

enum vm_engine { VM_ENGINE_AFL, VM_ENGINE_LIBFUZZER, VM_ENGINE_RANDOM, VM_ENGINE_COUNT };

const char *vm_engine_name(enum vm_engine e);

/* -1 if there is no such engine. */
int vm_engine_by_name(const char *name);

/*
 * Is all there that the engine needs (binaries beside this one, afl-fuzz in PATH)? If not, one line
 * in `why` says what is missing and what to do.
 */
bool vm_engine_found(enum vm_engine e, char *why, size_t whylen);

/*
 * Start the engine process of opt->job: seeds are in OUT/seeds, its output goes to OUT/log. Its
 * pid, or -1 with one line in err. It ends when its work is done, at SIGTERM, and with this
 * process.
 */
pid_t vm_engine_start(enum vm_engine e, const struct vm_options *opt, char *err, size_t errlen);

/* Exit status of engine processes. */
#define VM_ENGINE_DONE	 0
#define VM_ENGINE_BROKEN 3 /* one line about it is in vm_stats.error */

/* In an engine process: leave the line in vm_stats.error for the supervisor, and in the log. */
void vm_engine_complain(const struct vm_options *opt, const char *line);

/*
 * In a process that was just forked by `parent`: get `sig` when the parent dies, and end now if it
 * has died already.
 */
void vm_engine_die_with(pid_t parent, int sig);

/* engine/random.c: the body of a random engine's process; returns its exit status. */
int vm_engine_random(const struct vm_options *opt);

#endif
