/* SPDX-License-Identifier: MIT */
/* The words of a program's preamble: how they are written, and what their values may be. */
#include <string.h>

#include "harness/program/program.h"

static const struct vm_preamble_desc descs[VM_PREAMBLE_COUNT] = {
	[VM_PREAMBLE_AS] = { "rlimit", "as", VM_PREAMBLE_MORE, 0 },
	[VM_PREAMBLE_DATA] = { "rlimit", "data", VM_PREAMBLE_MORE, 0 },
	[VM_PREAMBLE_MEMLOCK] = { "rlimit", "memlock", VM_PREAMBLE_LENGTH, 0 },
	[VM_PREAMBLE_STACK] = { "rlimit", "stack", VM_PREAMBLE_LENGTH, 0 },
	[VM_PREAMBLE_IPC_LOCK] = { "cap", "ipc_lock", VM_PREAMBLE_CAP, 1 },
	[VM_PREAMBLE_SYS_ADMIN] = { "cap", "sys_admin", VM_PREAMBLE_CAP, 1 },
	[VM_PREAMBLE_SYS_RAWIO] = { "cap", "sys_rawio", VM_PREAMBLE_CAP, 1 },
	[VM_PREAMBLE_MAX_MAP_COUNT] = { "sysctl", "max_map_count", VM_PREAMBLE_COUNTED, 1024 },
	[VM_PREAMBLE_OVERCOMMIT_MEMORY] = { "sysctl", "overcommit_memory", VM_PREAMBLE_NUMBER, 2 },
	[VM_PREAMBLE_OVERCOMMIT_RATIO] = { "sysctl", "overcommit_ratio", VM_PREAMBLE_NUMBER, 100 },
	[VM_PREAMBLE_NR_HUGEPAGES] = { "sysctl", "nr_hugepages", VM_PREAMBLE_NUMBER, 32 },
	[VM_PREAMBLE_MMAP_MIN_ADDR] = { "sysctl", "mmap_min_addr", VM_PREAMBLE_LENGTH, 0 },
	[VM_PREAMBLE_SLAB_WAIT] = { "fault", "slab_wait", VM_PREAMBLE_NUMBER, 1 },
	[VM_PREAMBLE_PAGE_WAIT] = { "fault", "page_wait", VM_PREAMBLE_NUMBER, 1 },
	[VM_PREAMBLE_PAGE_HIGHMEM] = { "fault", "page_highmem", VM_PREAMBLE_NUMBER, 1 },
	[VM_PREAMBLE_PAGE_MIN_ORDER] = { "fault", "page_min_order", VM_PREAMBLE_NUMBER, 10 },
};

const struct vm_preamble_desc *vm_preamble_desc(unsigned int word)
{
	return &descs[word];
}

/* A number that the word may have; one that is out of range wraps. */
static int32_t number(const struct vm_preamble_desc *desc, int32_t value)
{
	if (desc->kind == VM_PREAMBLE_COUNTED)
		return value % (desc->max + 1);
	return (int32_t)((uint32_t)value % ((uint32_t)desc->max + 1));
}

void vm_preamble_set(struct vm_preamble *p, unsigned int word, const struct vm_quantity *value)
{
	const struct vm_preamble_desc *desc = vm_preamble_desc(word);
	struct vm_quantity *q = &p->value[word];

	p->words |= 1u << word;
	if (desc->kind == VM_PREAMBLE_MORE || desc->kind == VM_PREAMBLE_LENGTH)
		*q = *value;
	else
		*q = (struct vm_quantity){ .pages = number(desc, value->pages) };
}

void vm_preamble_clear(struct vm_preamble *p, unsigned int word)
{
	p->words &= ~(1u << word);
	memset(&p->value[word], 0, sizeof(p->value[word]));
}

uint64_t vm_preamble_value(const struct vm_preamble *p, unsigned int word, uint64_t base,
			   const struct vm_layout *layout)
{
	const struct vm_preamble_desc *desc = vm_preamble_desc(word);
	const struct vm_quantity *q = &p->value[word];
	int64_t value;

	if (desc->kind == VM_PREAMBLE_CAP || desc->kind == VM_PREAMBLE_NUMBER)
		return (uint64_t)q->pages;
	value = desc->kind == VM_PREAMBLE_COUNTED ? q->pages
						  : (int64_t)vm_quantity_value(q, layout);
	if (desc->kind != VM_PREAMBLE_LENGTH &&
	    __builtin_add_overflow(value, (int64_t)base, &value))
		value = INT64_MAX;
	return value < 0 ? 0 : (uint64_t)value;
}
