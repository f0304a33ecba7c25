/* SPDX-License-Identifier: MIT */
/*
 * Failing allocations: /proc/self/fail-nth (CONFIG_FAULT_INJECTION; Documentation/fault-injection,
 * fs/proc/base.c proc_fail_nth_write()). A number N there makes the task's Nth allocation from then
 * on fail, once. It needs no privilege, but which allocations count is system-wide: by default
 * those that may sleep do not, which is nearly all.
 */
#ifndef VM_FAIL_NTH_H
#define VM_FAIL_NTH_H

#include "harness/executor/executor.h"

/*
 * As root, before that is given up: make all allocations count (failslab and fail_page_alloc in
 * debugfs), and get hold of the kernel log, which says where an allocation failed. Without debugfs,
 * or without these in the kernel, nothing is done; vm_fail_nth_works() tells. Unless
 * opt.whole_machine the settings are left as they are.
 */
void vm_fail_nth_setup(const struct vm_executor *ex);

/* Put back what vm_fail_nth_setup() found, as root. */
void vm_fail_nth_restore(void);

/* In a child: does the first allocation of an mmap fail if told so? */
bool vm_fail_nth_works(struct vm_executor *ex);

/* The next vm_kernel(), or touch, of this process fails its nth allocation. 0: it does not. */
void vm_fail_nth_ask(const struct vm_executor *ex, unsigned int nth);

/*
 * Between the two an allocation fails, if that was asked for. Only what is to be tested may happen
 * there: the executor's own page faults count as well.
 */
void vm_fail_nth_arm(void);
void vm_fail_nth_disarm(void);

/* After the call: did an allocation fail, and where? Fills in e->injected and e->site. */
void vm_fail_nth_answer(struct vm_event *e);

/* In a forked child, of the fork: what the parent knows of it. Waits for the parent. */
void vm_fail_nth_forked(struct vm_event *e);

/* syscall(2), armed: what a program's call comes down to, once all that it needs is there. */
long vm_kernel(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

#endif
