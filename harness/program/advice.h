/* SPDX-License-Identifier: MIT */
/* The advice of madvise(2), in numbers: older libc headers lack the newest. */
#ifndef VM_ADVICE_H
#define VM_ADVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* 6.13, of files 6.15 */
#define MADV_GUARD_REMOVE  103
#endif

/* The kernel takes an int: of an argument's value only the low 32 bits count. */
static inline int32_t vm_advice(uint64_t arg)
{
	return (int32_t)(uint32_t)arg;
}

/* Does this advice change nothing but VmFlags, and so may split and merge VMAs? */
static inline bool vm_advice_is_flags(int32_t advice)
{
	return (advice >= MADV_NORMAL && advice <= MADV_SEQUENTIAL) ||
	       (advice >= MADV_DONTFORK && advice <= MADV_KEEPONFORK);
}

#endif
