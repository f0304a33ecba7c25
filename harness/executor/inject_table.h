/* SPDX-License-Identifier: MIT */
/* The injected faults: ways in which the executor can behave like a broken kernel. */
#ifndef VM_INJECT_TABLE_H
#define VM_INJECT_TABLE_H

#include <stddef.h>

enum vm_inject_fault {
	VM_INJECT_NONE,
	VM_INJECT_DEST_UNMAPPED,
	VM_INJECT_TAIL_CUT,
	VM_INJECT_SEAL_IGNORED_MUNMAP,
	VM_INJECT_SEAL_IGNORED_MMAP,
	VM_INJECT_SEAL_IGNORED_MREMAP,
	VM_INJECT_SEAL_IGNORED_MPROTECT,
	VM_INJECT_PARTIAL_MUNMAP,
	VM_INJECT_PAGE_ZEROED,
	VM_INJECT_NEIGHBOUR_UNMAPPED,
	VM_INJECT_NEIGHBOUR_PROTECTED,
	VM_INJECT_WRONG_ERRNO,
	VM_INJECT_SUCCESS_FOR_NOTHING,
	VM_INJECT_RIGHTS_IGNORED,
	VM_INJECT_SEAL_LOST,
	VM_INJECT_FORK_UNSEALS,
	VM_INJECT_FORK_NOT_COPIED,
	VM_INJECT_SEAL_IGNORED_SHMAT,
	VM_INJECT_EXEC_KEEPS,
	VM_INJECT_LOCK_IGNORED,
	VM_INJECT_LOCKS_COUNTED,
	VM_INJECT_SEAL_IGNORED_MADVISE,
	VM_INJECT_DONTNEED_KEPT,
	VM_INJECT_DONTNEED_NEIGHBOUR,
	VM_INJECT_GUARD_MISSING,
	VM_INJECT_RESIDENCE_WRONG,
	VM_INJECT_SIZE_KEPT,
	VM_INJECT_DROPPABLE_DUMPED,
	VM_INJECT_STACK_GAP_IGNORED,
	VM_INJECT_LIMITS_IGNORED,
	VM_INJECT_HUGE_UNRESERVED,
	VM_INJECT_COUNT,
	/*
	 * `ignored-CALL`: VM_INJECT_IGNORED + its opcode. That call returns 0 and does nothing: any
	 * but touches, fork, end and exec.
	 */
	VM_INJECT_IGNORED = VM_INJECT_COUNT
};

#define VM_INJECT_IGNORED_PREFIX "ignored-"

/* For `--inject` and `vmafuzz inject list`. */
struct vm_inject_desc {
	const char *name;
	const char *description; /* what the broken kernel does, one line */
};

/* The fault numbered `fault` (from 1), or NULL after the last; without those of single calls. */
const struct vm_inject_desc *vm_inject_desc(size_t fault);

/* The number of a fault, or VM_INJECT_NONE if there is none of that name. */
enum vm_inject_fault vm_inject_by_name(const char *name);

#endif
