/* SPDX-License-Identifier: MIT */
/* Making one call of a program. */
#ifndef VM_RUN_CALL_H
#define VM_RUN_CALL_H

#include <sys/types.h>

#include "harness/executor/executor.h"

/* Make the system call of a row: its result, or -errno. */
int64_t vm_run_syscall(const struct vm_syscall *sc);

/* process_madvise() of this process itself, with a vector of one range. */
int64_t vm_run_process_madvise(const struct vm_syscall *sc);

/*
 * The descriptor of an object (enum vm_object_name), which is made when it is first asked for in
 * this process; -1 for none, or if it cannot be made.
 */
int vm_run_object(uint64_t object);

/*
 * shmat(2): s0 is a new segment, VM_OBJECT_PAGES long and zero, unless one that was made before is
 * still mapped, here or in the parent. Segments are removed before they are attached, so that none
 * outlives its mappings.
 */
int64_t vm_run_shmat(const struct vm_syscall *sc);

/* Can there be segments? */
bool vm_run_shm_works(void);

/* Make all objects, so that children which are forked from now on share them. */
void vm_run_all_objects(void);

/*
 * In the parent of a forked child: wait for it to end. One that was killed, or ended with a status
 * but 0, takes this process with it in the same way, so that whoever waits for us sees how.
 */
void vm_run_join(pid_t child);

/*
 * exec: the process becomes a new executor that looks at itself, writes a struct vm_exec_report to
 * `fd`, and ends. Returns -errno if that cannot begin.
 */
int64_t vm_run_exec(int fd, uint8_t call);

/* Between the two: the first argument of such an executor, which goes on here. */
#define VM_EXEC_OPTION "--look"
_Noreturn void vm_exec_main(int argc, char **argv);

#define VM_EXEC_MAX_VMAS 64
struct vm_exec_report {
	uint32_t call, nvma;
	struct vm_vma vma[VM_EXEC_MAX_VMAS];
};

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

/* mbind(2): its nodes are VM_NODES_*. */
void vm_run_mbind(const struct vm_executor *ex, struct vm_event *e);

/* prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME), prctl(PR_SET_MDWE). */
void vm_run_name(struct vm_event *e);
void vm_run_mdwe(struct vm_event *e);

/* brk(2), past libc, which would make an errno of its result: the break after the call. */
void vm_run_brk(struct vm_event *e);

/* A call whose row has no system call number. Fills in status and result. */
void vm_run_special(const struct vm_executor *ex, struct vm_event *e);

#endif
