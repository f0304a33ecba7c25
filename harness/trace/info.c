/* SPDX-License-Identifier: MIT */
/* vm_target_info as bytes: the protocol's hello and a section of trace files. */
#include <string.h>

#include "harness/trace/wire.h"

/* More than any info takes: five texts, the numbers, guards and own VMAs. */
#define INFO_NUMBERS 22
#define INFO_BYTES_MAX                                                                             \
	(5 + 16 + 96 + 128 + 16 + 32 + VM_VARINT_MAX * (INFO_NUMBERS + 2 * VM_MAX_GUARD) +         \
	 VM_VMA_BYTES_MAX * VM_MAX_OWN)

/* The plain numbers, in the order of the bytes: append only, with a new VM_TRACE_VERSION. */
#define FOR_EACH_NUMBER(X, info)                                                                   \
	X((info)->layout.page_size)                                                                \
	X((info)->layout.pmd_size)                                                                 \
	X((info)->layout.pud_size)                                                                 \
	X((info)->layout.task_size) X((info)->layout.arena_base) X((info)->layout.arena_size)      \
		X((info)->features) X((info)->mmap_min_addr) X((info)->max_map_count)              \
			X((info)->overcommit_memory) X((info)->overcommit_ratio)                   \
				X((info)->total_pages) X((info)->rlimit_as) X((info)->rlimit_data) \
					X((info)->rlimit_memlock) X((info)->rlimit_stack)          \
						X((info)->cap_effective)

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
#define PUT(field) p = vm_put_varint(p, field);
	FOR_EACH_NUMBER(PUT, info)
#undef PUT
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

int vm_info_decode(const uint8_t *buf, size_t len, struct vm_target_info *info)
{
	struct vm_reader in = { .at = buf, .end = len ? buf + len : buf }, *r = &in;

	memset(info, 0, sizeof(*info));
	get_text(r, info->sysname, sizeof(info->sysname));
	get_text(r, info->release, sizeof(info->release));
	get_text(r, info->version, sizeof(info->version));
	get_text(r, info->machine, sizeof(info->machine));
	get_text(r, info->inject, sizeof(info->inject));
#define GET(field) field = vm_get_varint(r);
	FOR_EACH_NUMBER(GET, info)
#undef GET
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
	if (!r->bad && r->at == r->end)
		return 0;
	memset(info, 0, sizeof(*info));
	return -1;
}
