/* SPDX-License-Identifier: MIT */
/* vm_target_info as bytes: the protocol's hello and a section of trace files. */
#include <stddef.h>
#include <string.h>

#include "harness/trace/wire.h"

#define AT(field) offsetof(struct vm_target_info, field)

/* The 64-bit numbers, in the order of the bytes: append only, with a new VM_TRACE_VERSION. */
static const size_t number_at[] = {
	AT(layout.page_size),  AT(layout.pmd_size),   AT(layout.pud_size),  AT(layout.task_size),
	AT(layout.arena_base), AT(layout.arena_size), AT(features),	    AT(mmap_min_addr),
	AT(max_map_count),     AT(overcommit_memory), AT(overcommit_ratio), AT(total_pages),
	AT(rlimit_as),	       AT(rlimit_data),	      AT(rlimit_memlock),   AT(rlimit_stack),
	AT(cap_effective),     AT(hint_min_addr),
};
#define NUMBERS (sizeof(number_at) / sizeof(number_at[0]))

/* Numbers at the end, which infos of older versions do not have: append only, as above. */
static const struct {
	size_t at;
	uint64_t without; /* the value where it is missing */
} later[] = {
	{ AT(rlimit_max_as), UINT64_MAX },
	{ AT(rlimit_max_data), UINT64_MAX },
	{ AT(rlimit_max_memlock), UINT64_MAX },
	{ AT(rlimit_max_stack), UINT64_MAX },
	{ AT(cap_permitted), 0 },
	{ AT(data_segment), UINT64_MAX },
	{ AT(lsm_min_addr), UINT64_MAX },
};
#define LATER (sizeof(later) / sizeof(later[0]))

/* More than any info takes: five texts, the numbers, two ids, three counts, guards and own VMAs. */
#define INFO_BYTES_MAX                                                                             \
	(5 + 16 + 96 + 128 + 16 + 32 + VM_VARINT_MAX * (NUMBERS + LATER + 5 + 2 * VM_MAX_GUARD) +  \
	 VM_VMA_BYTES_MAX * VM_MAX_OWN)

static uint64_t get_number(const struct vm_target_info *info, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)info + at, sizeof(value));
	return value;
}

static void set_number(struct vm_target_info *info, size_t at, uint64_t value)
{
	memcpy((char *)info + at, &value, sizeof(value));
}

static uint8_t *put_text(uint8_t *p, const char *text, size_t size)
{
	size_t len = strnlen(text, size - 1);

	*p++ = (uint8_t)len;
	memcpy(p, text, len);
	return p + len;
}

/* Terminals will see these: what could steer one becomes `?`. */
static void get_text(struct vm_reader *r, char *text, size_t size)
{
	size_t len = vm_get_byte(r);

	if (len >= size || (size_t)(r->end - r->at) < len)
		r->bad = true;
	if (r->bad)
		return;
	for (size_t i = 0; i < len; i++) {
		uint8_t c = r->at[i];

		text[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	r->at += len;
}

static uint8_t *put_info(uint8_t *p, const struct vm_target_info *info)
{
	uint32_t nguard = info->nguard < VM_MAX_GUARD ? info->nguard : VM_MAX_GUARD;
	uint32_t nown = info->nown < VM_MAX_OWN ? info->nown : VM_MAX_OWN;
	uint64_t prev_end = 0;

	p = put_text(p, info->sysname, sizeof(info->sysname));
	p = put_text(p, info->release, sizeof(info->release));
	p = put_text(p, info->version, sizeof(info->version));
	p = put_text(p, info->machine, sizeof(info->machine));
	p = put_text(p, info->inject, sizeof(info->inject));
	for (size_t i = 0; i < NUMBERS; i++)
		p = vm_put_varint(p, get_number(info, number_at[i]));
	p = vm_put_varint(p, info->uid);
	p = vm_put_varint(p, info->gid);
	p = vm_put_varint(p, nguard);
	for (uint32_t i = 0; i < nguard; i++) {
		p = vm_put_varint(p, info->guard[i].start);
		p = vm_put_varint(p, info->guard[i].end);
	}
	p = vm_put_varint(p, nown);
	for (uint32_t i = 0; i < nown; i++) {
		p = vm_put_vma(p, &info->own[i], prev_end);
		prev_end = info->own[i].end;
	}
	p = vm_put_varint(p, LATER);
	for (size_t i = 0; i < LATER; i++)
		p = vm_put_varint(p, get_number(info, later[i].at));
	return p;
}

size_t vm_info_encode(const struct vm_target_info *info, uint8_t *buf, size_t cap)
{
	uint8_t bytes[INFO_BYTES_MAX];
	size_t len = (size_t)(put_info(bytes, info) - bytes);

	if (len > cap)
		return 0;
	memcpy(buf, bytes, len);
	return len;
}

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static bool layout_valid(const struct vm_layout *l)
{
	return power_of_two(l->page_size) && l->page_size >= 512 && l->page_size <= 1u << 20 &&
	       (!l->pmd_size || power_of_two(l->pmd_size)) &&
	       (!l->pud_size || power_of_two(l->pud_size)) &&
	       !((l->arena_base | l->arena_size) & (l->page_size - 1)) &&
	       l->arena_base + l->arena_size >= l->arena_base;
}

static void get_own(struct vm_reader *r, struct vm_target_info *info)
{
	uint64_t prev_end = 0;

	for (uint32_t i = 0; i < info->nown && !r->bad; i++) {
		vm_get_vma(r, &info->own[i], prev_end);
		if (!vm_vma_valid(&info->own[i], prev_end, info->layout.page_size))
			r->bad = true;
		prev_end = info->own[i].end;
	}
}

/* How many there are, and they; nothing at all in an old info. */
static void get_later(struct vm_reader *r, struct vm_target_info *info)
{
	uint64_t n = !r->bad && r->at < r->end ? vm_get_limited(r, LATER) : 0;

	for (size_t i = 0; i < LATER; i++)
		set_number(info, later[i].at, i < n ? vm_get_varint(r) : later[i].without);
}

void vm_info_find_heap(struct vm_target_info *info)
{
	info->layout.brk_base = 0;
	for (uint32_t i = 1; i < info->nown; i++) {
		const struct vm_vma *heap = &info->own[i - 1], *last = &info->own[i];

		if (heap->kind == VM_KIND_HEAP && last->start == heap->end &&
		    last->mode & VM_MODE_S)
			info->layout.brk_base = last->end;
	}
}

void vm_info_find_special(struct vm_target_info *info)
{
	struct vm_layout *l = &info->layout;

	l->vdso = l->vvar = (struct vm_range){ 0, 0 };
	if (strcmp(info->machine, "x86_64"))
		return;
	for (uint32_t i = 0; i < info->nown; i++) {
		const struct vm_vma *v = &info->own[i];
		struct vm_range *to = v->kind == VM_KIND_VDSO	? &l->vdso
				      : v->kind == VM_KIND_VVAR ? &l->vvar
								: NULL;

		if (to && !to->end)
			*to = (struct vm_range){ v->start, v->end };
	}
}

int vm_info_decode(const uint8_t *buf, size_t len, struct vm_target_info *info)
{
	struct vm_reader in = { .at = buf, .end = len ? buf + len : buf }, *r = &in;

	memset(info, 0, sizeof(*info));
	get_text(r, info->sysname, sizeof(info->sysname));
	get_text(r, info->release, sizeof(info->release));
	get_text(r, info->version, sizeof(info->version));
	get_text(r, info->machine, sizeof(info->machine));
	get_text(r, info->inject, sizeof(info->inject));
	for (size_t i = 0; i < NUMBERS; i++)
		set_number(info, number_at[i], vm_get_varint(r));
	info->uid = (uint32_t)vm_get_limited(r, UINT32_MAX);
	info->gid = (uint32_t)vm_get_limited(r, UINT32_MAX);
	info->nguard = (uint32_t)vm_get_limited(r, VM_MAX_GUARD);
	for (uint32_t i = 0; i < info->nguard; i++) {
		info->guard[i].start = vm_get_varint(r);
		info->guard[i].end = vm_get_varint(r);
	}
	info->nown = (uint32_t)vm_get_limited(r, VM_MAX_OWN);
	if (!layout_valid(&info->layout))
		r->bad = true;
	get_own(r, info);
	get_later(r, info);
	vm_info_find_heap(info);
	vm_info_find_special(info);
	if (!r->bad && r->at == r->end)
		return 0;
	memset(info, 0, sizeof(*info));
	return -1;
}
