/* SPDX-License-Identifier: MIT */
/*
 * The calls: one line each, in the order of their opcodes, which corpora know them by: append only.
 *
 *	X(OPCODE, SINCE, SHARE, FILE, RULE)
 *
 * SINCE: first version of the byte format that has it (bytes.c). SHARE: how often the mutator makes
 * it, beside the others. FILE: its rule is in oracle/rules/FILE.c and is called FILE in verdicts;
 * RULE: vm_rule_RULE() there. All else about a call is its row in call_table.c.
 */
#ifndef VM_CALLS_H
#define VM_CALLS_H

#define VM_CALLS(X)                                                                                \
	X(MMAP, 1, 20, mmap, mmap)                                                                 \
	X(MUNMAP, 1, 10, munmap, munmap)                                                           \
	X(MREMAP, 1, 32, mremap, mremap)                                                           \
	X(MPROTECT, 1, 12, mprotect, mprotect)                                                     \
	X(MSEAL, 1, 6, mseal, mseal)                                                               \
	X(READ, 1, 4, touch, touch)                                                                \
	X(WRITE, 1, 5, touch, touch)                                                               \
	X(FILL, 1, 11, touch, touch)                                                               \
	X(TRUNCATE, 2, 3, truncate, truncate)                                                      \
	X(FORK, 2, 2, fork, fork)                                                                  \
	X(END, 2, 1, fork, end)                                                                    \
	X(SHMAT, 2, 3, shm, shmat)                                                                 \
	X(SHMDT, 2, 1, shm, shmdt)                                                                 \
	X(EXEC, 2, 1, fork, exec)                                                                  \
	X(MLOCK, 2, 3, mlock, mlock)                                                               \
	X(MLOCK2, 2, 2, mlock, mlock)                                                              \
	X(MUNLOCK, 2, 2, mlock, mlock)                                                             \
	X(MLOCKALL, 2, 1, mlockall, mlockall)                                                      \
	X(MUNLOCKALL, 2, 1, mlockall, mlockall)                                                    \
	X(MADVISE, 2, 9, madvise, madvise)                                                         \
	X(PROCESS_MADVISE, 2, 1, madvise, process_madvise)                                         \
	X(MSYNC, 2, 1, msync, msync)                                                               \
	X(MINCORE, 2, 1, mincore, mincore)                                                         \
	X(PKEY_MPROTECT, 2, 2, mprotect, mprotect)                                                 \
	X(REMAP_FILE_PAGES, 2, 2, remap_file_pages, remap_file_pages)                              \
	X(NAME, 2, 1, name, name_area)                                                             \
	X(MDWE, 2, 1, mdwe, mdwe)                                                                  \
	X(BRK, 2, 3, brk, brk)                                                                     \
	X(PKEY_ALLOC, 2, 2, pkey, pkey_alloc)                                                      \
	X(PKEY_FREE, 2, 1, pkey, pkey_free)                                                        \
	X(MBIND, 2, 4, mbind, mbind)                                                               \
	X(HOME_NODE, 2, 1, mbind, home_node)

#endif
