/* SPDX-License-Identifier: MIT */
/* What calls change of a process besides its mappings. */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

#include "harness/trace/trace.h"
#include "oracle/state/state.h"

/* Before the first call. */
struct vm_process vm_process_fresh(const struct vm_target_info *info);

/*
 * After a call that returned `result` (a value, or -errno). The result alone tells, so this holds
 * whatever else is believed.
 */
void vm_process_after(struct vm_process *p, const struct vm_syscall *sc, int64_t result);

/* ---- protection keys ---- */

static inline bool vm_keys_exist(const struct vm_keys *k)
{
	return k->allocated & 1;
}

/* The key that is allocated next, as far as is known; VM_KEYS: none is free. mm_pkey_alloc(). */
unsigned int vm_key_free(const struct vm_keys *k);

/* Is a key of the program's own, so that pkey_mprotect takes it? mm_pkey_is_allocated(). */
bool vm_key_is_allocated(const struct vm_keys *k, uint64_t key);

/* Memory with PROT_EXEC alone is made: does that take a key, and may it? __execute_only_pkey(). */
bool vm_key_taken_by_exec(const struct vm_keys *k);
void vm_key_take_for_exec(struct vm_keys *k);

/* The flags of memory with PROT_EXEC alone, before or after it was taken; *maybe: unknown ones. */
uint64_t vm_key_of_exec(const struct vm_keys *k, uint64_t *maybe);

/* Belief was lost: what has been done since is not known. */
void vm_key_doubt(struct vm_keys *k);

/*
 * Does the key of a VMA with these flags keep the program from reading (or writing) its memory?
 * `maybe`: the flags that are unknown. arch_vma_access_permitted().
 */
enum vm_tri vm_key_denies(const struct vm_keys *k, uint64_t flags, uint64_t maybe, bool write);

#endif
