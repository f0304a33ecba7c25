/* SPDX-License-Identifier: MIT */
/*
 * Integers as bytes: seven bits a byte, the lowest first, bit 7 set on all but the last. Reading is
 * bounds-checked and sticky: after the first shortage or overflow `bad` stays set and values are 0.
 */
#ifndef VM_VARINT_H
#define VM_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VM_VARINT_MAX 10 /* bytes of the longest */

struct vm_reader {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint8_t *vm_put_varint(uint8_t *p, uint64_t value)
{
	while (value >= 0x80) {
		*p++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*p++ = (uint8_t)value;
	return p;
}

static inline uint64_t vm_get_varint(struct vm_reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		uint64_t byte = *r->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return r->bad ? 0 : value;
	}
	r->bad = true;
	return 0;
}

static inline uint8_t vm_get_byte(struct vm_reader *r)
{
	if (r->bad || r->at == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

/* A varint that must not be above `max`. */
static inline uint64_t vm_get_limited(struct vm_reader *r, uint64_t max)
{
	uint64_t value = vm_get_varint(r);

	if (value > max) {
		r->bad = true;
		return 0;
	}
	return value;
}

/* Signed values: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t vm_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t vm_unzigzag(uint64_t value)
{
	return (int64_t)((value >> 1) ^ (value & 1 ? UINT64_MAX : 0));
}

static inline int32_t vm_get_int32(struct vm_reader *r)
{
	return (int32_t)vm_unzigzag(vm_get_limited(r, UINT32_MAX));
}

/* Addresses and lengths: the low 12 bits, zero as a rule, go to the top. Nothing is lost. */
static inline uint64_t vm_pack_addr(uint64_t addr)
{
	return addr >> 12 | addr << 52;
}

static inline uint64_t vm_unpack_addr(uint64_t packed)
{
	return packed << 12 | packed >> 52;
}

/* Little-endian words of fixed size. */
static inline uint8_t *vm_put_fixed(uint8_t *p, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		*p++ = (uint8_t)(value >> 8 * i);
	return p;
}

static inline uint64_t vm_get_fixed(struct vm_reader *r, unsigned int bytes)
{
	uint64_t value = 0;

	if (r->bad || (size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)*r->at++ << 8 * i;
	return value;
}

#endif
