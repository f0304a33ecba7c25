/* SPDX-License-Identifier: MIT */
/* Making one call of a program. */
#ifndef VM_RUN_CALL_H
#define VM_RUN_CALL_H

#include "harness/executor/executor.h"

/* Make the system call of a row: its result, or -errno. */
int64_t vm_run_syscall(const struct vm_syscall *sc);

/*
 * The descriptor of an object (enum vm_object_name), which is made when it is first asked for in
 * this process; -1 for none, or if it cannot be made.
 */
int vm_run_object(uint64_t object);

/*
 * Touch (VM_OP_READ, VM_OP_WRITE, VM_OP_FILL) the pages of a range, beginning with its page number
 * `from`. Fills in status, result (pages done, those before `from` counted) and the signal.
 */
void vm_run_touch(const struct vm_executor *ex, struct vm_event *e, uint64_t from);

/*
 * mincore(2). The result of success is a bitmap: bit i says that page i of the range is resident,
 * for the first VM_MINCORE_BITS pages.
 */
void vm_run_mincore(const struct vm_executor *ex, struct vm_event *e);

/* remap_file_pages(2): its offset counts pages, that of the row is in bytes and rounded down. */
void vm_run_remap_file_pages(const struct vm_executor *ex, struct vm_event *e);

/* prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME), prctl(PR_SET_MDWE). */
void vm_run_name(struct vm_event *e);
void vm_run_mdwe(struct vm_event *e);

/* brk(2), past libc, which would make an errno of its result: the break after the call. */
void vm_run_brk(struct vm_event *e);

/* A call whose row has no system call number. Fills in status and result. */
void vm_run_special(const struct vm_executor *ex, struct vm_event *e);

#endif
