/* SPDX-License-Identifier: MIT */
/*
 * What a preamble means on a target: the limits, credentials and settings that its program's child
 * begins with. It follows from the program and the target's info alone, so that executor and oracle
 * need not tell each other.
 */
#ifndef VM_TRACE_PREAMBLE_H
#define VM_TRACE_PREAMBLE_H

#include "harness/trace/trace.h"

#define VM_CAP_IPC_LOCK	 14
#define VM_CAP_SYS_RAWIO 17
#define VM_CAP_SYS_ADMIN 21

/* What is there at the start of every program: the executor's own VMAs. */
struct vm_at_start {
	uint64_t size, data; /* bytes: mm->total_vm, mm->data_vm */
	uint64_t vmas;	     /* mm->map_count */
};

static inline struct vm_at_start vm_at_start(const struct vm_target_info *info)
{
	struct vm_at_start at = { 0, 0, 0 };

	for (uint32_t i = 0; i < info->nown; i++) {
		const struct vm_vma *v = &info->own[i];

		if (v->kind == VM_KIND_VSYSCALL) /* no VMA */
			continue;
		at.vmas++;
		at.size += v->end - v->start;
		/* mm/vma.h is_data_mapping() */
		if ((v->mode & (VM_MODE_W | VM_MODE_S)) == VM_MODE_W && v->kind != VM_KIND_STACK)
			at.data += v->end - v->start;
	}
	return at;
}

/* The bit of a word about a capability. */
static inline uint64_t vm_preamble_cap(unsigned int word)
{
	return 1ull << (word == VM_PREAMBLE_IPC_LOCK	? VM_CAP_IPC_LOCK
			: word == VM_PREAMBLE_SYS_ADMIN ? VM_CAP_SYS_ADMIN
							: VM_CAP_SYS_RAWIO);
}

/* The field of the info that a word is about, or NULL (capabilities, and what no rule asks for). */
static inline uint64_t *vm_preamble_field(struct vm_target_info *info, unsigned int word)
{
	switch (word) {
	case VM_PREAMBLE_AS:
		return &info->rlimit_as;
	case VM_PREAMBLE_DATA:
		return &info->rlimit_data;
	case VM_PREAMBLE_MEMLOCK:
		return &info->rlimit_memlock;
	case VM_PREAMBLE_STACK:
		return &info->rlimit_stack;
	case VM_PREAMBLE_MAX_MAP_COUNT:
		return &info->max_map_count;
	case VM_PREAMBLE_OVERCOMMIT_MEMORY:
		return &info->overcommit_memory;
	case VM_PREAMBLE_OVERCOMMIT_RATIO:
		return &info->overcommit_ratio;
	case VM_PREAMBLE_MMAP_MIN_ADDR:
		return &info->mmap_min_addr;
	default:
		return NULL;
	}
}

/* The value that a word sets, in bytes or as a number. */
static inline uint64_t vm_preamble_wants(const struct vm_program *prog, unsigned int word,
					 const struct vm_target_info *info)
{
	struct vm_at_start at = vm_at_start(info);
	uint64_t base = word == VM_PREAMBLE_AS	   ? at.size
			: word == VM_PREAMBLE_DATA ? at.data
						   : at.vmas;
	uint64_t value = vm_preamble_value(&prog->preamble, word, base, &info->layout);

	/* bounds of memory, and of where mmap looks: the executor's own */
	if (word == VM_PREAMBLE_MEMLOCK && value > VM_LOCK_MAX)
		return VM_LOCK_MAX;
	if (word == VM_PREAMBLE_STACK && value > info->rlimit_stack)
		return info->rlimit_stack;
	return value;
}

/* Make an info that of the program's child. */
static inline void vm_preamble_overlay(const struct vm_program *prog, struct vm_target_info *info)
{
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		uint64_t value, *field = vm_preamble_field(info, word);

		if (!vm_preamble_has(&prog->preamble, word))
			continue;
		value = vm_preamble_wants(prog, word, info);
		if (field)
			*field = value;
		if (vm_preamble_desc(word)->kind != VM_PREAMBLE_CAP)
			continue;
		info->cap_effective &= ~vm_preamble_cap(word);
		if (value)
			info->cap_effective |= vm_preamble_cap(word);
	}
	/* security/min_addr.c: the larger of the sysctl and what the kernel was built with */
	if (vm_preamble_has(&prog->preamble, VM_PREAMBLE_MMAP_MIN_ADDR)) {
		uint64_t lsm = info->lsm_min_addr == UINT64_MAX ? 0 : info->lsm_min_addr;

		info->hint_min_addr = info->mmap_min_addr > lsm ? info->mmap_min_addr : lsm;
	}
}

/*
 * Why the program cannot have its preamble on this target, as one line in `why`; false, and an
 * empty line, if it can.
 */
bool vm_preamble_refused(const struct vm_program *prog, const struct vm_target_info *info,
			 char *why, size_t cap);

#endif
