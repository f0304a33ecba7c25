/* SPDX-License-Identifier: MIT */
/* What a campaign does about reports on a guest's console. */
#ifndef VM_CRASH_H
#define VM_CRASH_H

#include "fuzz/campaign/session_state.h"

/* Programs that a report may come from, oldest first: the last may not be all alone to blame. */
struct vm_batch {
	unsigned int n;
	struct vm_program prog[VM_BATCH];
};

/* Before a program is sent: it may be one of a batch. */
void vm_crash_remember(struct vm_session *s, const struct vm_program *prog);

/* The programs sent so far, malloc()ed; NULL without a console or without memory. */
struct vm_batch *vm_crash_batch(const struct vm_session *s);

/*
 * After a program ran and was judged: a guest that shows a report of `least` or worse is started
 * again. `died`: it was already. 0, or -1 with err.
 */
int vm_crash_recover(struct vm_session *s, bool died, enum vm_report_severity least, char *err,
		     size_t errlen);

/*
 * Look at the console after a program came back; `died`: the guest died of it. A panic waits for
 * the notice of the program that it belongs to: others, sent ahead or by other engines, may come
 * back before that.
 */
void vm_crash_look(struct vm_session *s, bool died);

/*
 * Write a report's files beside its finding's: console.txt, reproduced.txt once that is known, and
 * batch-NN.bin where the program alone is not. 0, or -1 with err.
 */
int vm_crash_files(struct vm_session *s, const struct vm_pending *p, const struct vm_report *r,
		   char *err, size_t errlen);

/*
 * Does a report repeat? The program alone in a fresh guest, twice; else the batch, of which the one
 * that shows it takes the place of the program, and is tried alone. How often it did goes into
 * p->reproduced and reproduced.txt. 1: the report counts (all but a stall that did not repeat do,
 * for a kernel does not complain of nothing); 0: it does not; -1 with err. *alone: the program is
 * enough.
 */
int vm_crash_repeat(struct vm_session *s, struct vm_pending *p, bool *alone, char *err,
		    size_t errlen);

#endif
