/* SPDX-License-Identifier: MIT */
/* The parts of a kernel that a request wants to hear of. */
#include "harness/trace/cover.h"
#include "harness/trace/varint.h"

bool vm_places_have(const struct vm_places *places, uint64_t pc)
{
	uint32_t low = 0, high = places->n;

	if (!high)
		return true;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (pc < places->range[mid].start)
			high = mid;
		else
			low = mid;
	}
	return pc >= places->range[low].start && pc < places->range[low].end;
}

size_t vm_places_put(const struct vm_places *places, uint8_t *buf)
{
	uint8_t *p = vm_put_varint(buf, places->n);
	uint64_t at = 0;

	for (uint32_t i = 0; i < places->n; i++) {
		p = vm_put_varint(p, places->range[i].start - at);
		p = vm_put_varint(p, places->range[i].end - places->range[i].start);
		at = places->range[i].end;
	}
	return (size_t)(p - buf);
}

size_t vm_places_get(const uint8_t *buf, size_t len, struct vm_places *places)
{
	struct vm_reader r = { .at = buf, .end = buf + len };
	uint64_t at = 0;

	places->n = (uint32_t)vm_get_limited(&r, VM_MAX_PLACES);
	for (uint32_t i = 0; i < places->n && !r.bad; i++) {
		places->range[i].start = at + vm_get_varint(&r);
		places->range[i].end = places->range[i].start + vm_get_varint(&r);
		at = places->range[i].end;
	}
	return r.bad ? 0 : (size_t)(r.at - buf);
}
