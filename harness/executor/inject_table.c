/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "harness/executor/inject_table.h"
#include "harness/program/call_table.h"

static const struct vm_inject_desc table[VM_INJECT_COUNT] = {
	[VM_INJECT_DEST_UNMAPPED] = { "dest-unmapped",
				      "a fixed mremap that fails has unmapped its destination" },
	[VM_INJECT_TAIL_CUT] = { "tail-cut",
				 "an mremap that fails has unmapped the last page of its source" },
	[VM_INJECT_SEAL_IGNORED_MUNMAP] = { "seal-ignored-munmap", "munmap unmaps sealed pages" },
	[VM_INJECT_SEAL_IGNORED_MMAP] = { "seal-ignored-mmap",
					  "mmap with MAP_FIXED replaces sealed pages" },
	[VM_INJECT_SEAL_IGNORED_MREMAP] = { "seal-ignored-mremap",
					    "mremap moves, resizes and replaces sealed pages" },
	[VM_INJECT_SEAL_IGNORED_MPROTECT] = { "seal-ignored-mprotect",
					      "mprotect changes the rights of sealed pages" },
	[VM_INJECT_PARTIAL_MUNMAP] = { "partial-munmap", "a munmap refused by a seal has unmapped "
							 "the pages before it" },
	[VM_INJECT_PAGE_ZEROED] = { "page-zeroed",
				    "an mremap that moves pages loses the bytes of one" },
	[VM_INJECT_NEIGHBOUR_UNMAPPED] = { "neighbour-unmapped",
					   "munmap and a moving mremap unmap one page too many" },
	[VM_INJECT_NEIGHBOUR_PROTECTED] = { "neighbour-protected",
					    "mprotect changes one page too many" },
	[VM_INJECT_WRONG_ERRNO] = { "wrong-errno", "a call that fails returns another errno" },
	[VM_INJECT_SUCCESS_FOR_NOTHING] = { "success-for-nothing", "munmap, mprotect and their "
								   "like return 0 and do nothing" },
	[VM_INJECT_RIGHTS_IGNORED] = { "rights-ignored",
				       "a write to a page without the write right succeeds" },
	[VM_INJECT_LOCK_IGNORED] = { "lock-ignored",
				     "mlock, mlock2, munlock, mlockall and munlockall "
				     "return 0 and do nothing" },
	[VM_INJECT_LOCKS_COUNTED] = { "locks-still-counted",
				      "VmLck still counts what munlock has unlocked" },
	[VM_INJECT_SEAL_LOST] = { "seal-lost",
				  "sealing pages next to sealed ones takes the seal from those" },
	[VM_INJECT_FORK_UNSEALS] = { "fork-unseals", "a forked child has no seals" },
	[VM_INJECT_FORK_NOT_COPIED] = { "fork-not-copied",
					"what a forked child writes shows in its parent" },
	[VM_INJECT_SEAL_IGNORED_SHMAT] = { "seal-ignored-shmat",
					   "shmat with SHM_REMAP replaces sealed pages" },
	[VM_INJECT_EXEC_KEEPS] = { "exec-keeps", "exec leaves a page of the old program" },
	[VM_INJECT_SEAL_IGNORED_MADVISE] = { "seal-ignored-madvise",
					     "madvise discards sealed pages that cannot be "
					     "written" },
	[VM_INJECT_DONTNEED_KEPT] = { "dontneed-kept", "MADV_DONTNEED keeps the bytes" },
	[VM_INJECT_DONTNEED_NEIGHBOUR] = { "dontneed-neighbour",
					   "MADV_DONTNEED drops one page too many" },
	[VM_INJECT_GUARD_MISSING] = { "guard-missing",
				      "MADV_GUARD_INSTALL drops pages and installs no guards" },
	[VM_INJECT_RESIDENCE_WRONG] = { "residence-wrong",
					"mincore is wrong about the first page of its range" },
	[VM_INJECT_SIZE_KEPT] = { "size-kept",
				  "truncate of an object returns 0 and leaves its size" },
	[VM_INJECT_DROPPABLE_DUMPED] = { "droppable-dumped",
					 "MADV_DODUMP of droppable memory returns 0" },
	[VM_INJECT_STACK_GAP_IGNORED] = { "stack-gap-ignored",
					  "what grows down grows to anything that it meets" },
	[VM_INJECT_LIMITS_IGNORED] = { "limits-ignored",
				       "the limits of a preamble hold nothing up" },
	[VM_INJECT_HUGE_UNRESERVED] = { "huge-unreserved", "MAP_HUGETLB reserves no huge pages" },
};

const struct vm_inject_desc *vm_inject_desc(size_t fault)
{
	return fault > VM_INJECT_NONE && fault < VM_INJECT_COUNT ? &table[fault] : NULL;
}

/* Not touches, which return no error, and what other calls depend on. */
static bool can_be_ignored(int op)
{
	return op != VM_OP_READ && op != VM_OP_WRITE && op != VM_OP_FILL && op != VM_OP_FORK &&
	       op != VM_OP_END && op != VM_OP_EXEC;
}

enum vm_inject_fault vm_inject_by_name(const char *name)
{
	const size_t prefix = strlen(VM_INJECT_IGNORED_PREFIX);
	int op = -1;

	if (!strncmp(name, VM_INJECT_IGNORED_PREFIX, prefix))
		op = vm_call_by_name(name + prefix, strlen(name + prefix));
	if (op >= 0 && can_be_ignored(op))
		return (enum vm_inject_fault)(VM_INJECT_IGNORED + op);
	for (size_t i = VM_INJECT_NONE + 1; i < VM_INJECT_COUNT; i++) {
		if (!strcmp(table[i].name, name))
			return (enum vm_inject_fault)i;
	}
	return VM_INJECT_NONE;
}
