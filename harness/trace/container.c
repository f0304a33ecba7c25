/* SPDX-License-Identifier: MIT */
/* A trace as one block of bytes: magic, version, sections, CRC-32. docs/trace-format.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/trace/container.h"
#include "harness/trace/varint.h"

#define MAGIC	     "VMATRACE"
#define MAGIC_BYTES  8
#define PREFIX_BYTES (MAGIC_BYTES + 4)
#define HEADER_BYTES 8 /* of a section: tag, length */
#define CRC_BYTES    (HEADER_BYTES + 4)

#define TAG(a, b, c, d)                                                                            \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum section { SECTION_INFO, SECTION_PROG, SECTION_EXIT, SECTION_EVENTS, SECTION_COUNT };

static const uint32_t section_tag[SECTION_COUNT] = {
	[SECTION_INFO] = TAG('I', 'N', 'F', 'O'),
	[SECTION_PROG] = TAG('P', 'R', 'O', 'G'),
	[SECTION_EXIT] = TAG('E', 'X', 'I', 'T'),
	[SECTION_EVENTS] = TAG('E', 'V', 'N', 'T'),
};
#define TAG_CRC TAG('C', 'R', 'C', ' ')

struct part {
	const uint8_t *at;
	size_t len;
};

/* CRC-32 (IEEE 802.3), four bits at a time. */
static uint32_t crc32_of(const uint8_t *bytes, size_t len)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

static uint32_t word_at(const uint8_t *p)
{
	struct vm_reader r = { .at = p, .end = p + 4 };

	return (uint32_t)vm_get_fixed(&r, 4);
}

/* ---- encoding ---- */

static size_t encode_exit(const struct vm_trace *trace, uint8_t *buf, size_t cap)
{
	uint8_t bytes[1 + 2 * VM_VARINT_MAX], *p = bytes;
	size_t len;

	*p++ = trace->exit;
	p = vm_put_varint(p, vm_zigzag(trace->exit_value));
	if (trace->committed_known)
		p = vm_put_varint(p, vm_zigzag(trace->committed));
	len = (size_t)(p - bytes);
	if (len > cap)
		return 0;
	memcpy(buf, bytes, len);
	return len;
}

/* False when there is no room. A trace may have no events, so 0 is a length here. */
static bool encode_events(const struct vm_trace *trace, uint8_t *buf, size_t cap, size_t *len)
{
	struct vm_event_writer *w = malloc(sizeof(*w));
	bool fits;

	if (!w)
		return false;
	vm_event_writer_init(w, buf, cap, trace->info.own, trace->info.nown);
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind == VM_EVENT_CALL)
			vm_event_write_begin(w, e);
		if (e->status != VM_STATUS_RUNNING)
			vm_event_write_end(w, e);
		vm_event_write_cover(w, e);
	}
	fits = !w->full;
	*len = w->len;
	free(w);
	return fits;
}

static bool encode_section(enum section section, const struct vm_trace *trace, uint8_t *buf,
			   size_t cap, size_t *len)
{
	switch (section) {
	case SECTION_INFO:
		*len = vm_info_encode(&trace->info, buf, cap);
		return *len;
	case SECTION_PROG:
		*len = vm_program_encode(&trace->prog, buf, cap);
		return *len;
	case SECTION_EXIT:
		*len = encode_exit(trace, buf, cap);
		return *len;
	case SECTION_EVENTS:
		return encode_events(trace, buf, cap, len);
	default:
		return false;
	}
}

size_t vm_trace_encode(const struct vm_trace *trace, uint8_t *buf, size_t cap)
{
	size_t at = PREFIX_BYTES, len;

	if (cap < PREFIX_BYTES)
		return 0;
	memcpy(buf, MAGIC, MAGIC_BYTES);
	vm_put_fixed(buf + MAGIC_BYTES, VM_TRACE_VERSION, 4);
	for (unsigned int s = 0; s < SECTION_COUNT; s++) {
		if (cap - at < HEADER_BYTES)
			return 0;
		if (!encode_section((enum section)s, trace, buf + at + HEADER_BYTES,
				    cap - at - HEADER_BYTES, &len))
			return 0;
		vm_put_fixed(vm_put_fixed(buf + at, section_tag[s], 4), len, 4);
		at += HEADER_BYTES + len;
	}
	if (cap - at < CRC_BYTES)
		return 0;
	vm_put_fixed(vm_put_fixed(buf + at, TAG_CRC, 4), 4, 4);
	vm_put_fixed(buf + at + HEADER_BYTES, crc32_of(buf, at), 4);
	return at + CRC_BYTES;
}

/* ---- decoding ---- */

struct container {
	const char *name; /* what messages call it */
	const uint8_t *buf;
	size_t len;
	char *err;
	size_t errlen;
};

#define REFUSE(c, ...) (snprintf((c)->err, (c)->errlen, __VA_ARGS__), false)

static bool check_prefix(const struct container *c)
{
	size_t magic = c->len < MAGIC_BYTES ? c->len : MAGIC_BYTES;
	uint32_t version;

	if (!c->len)
		return REFUSE(c, "trace: %s: empty file", c->name);
	if (memcmp(c->buf, MAGIC, magic))
		return REFUSE(c, "trace: %s: not a trace (it does not begin with %s)", c->name,
			      MAGIC);
	if (c->len < PREFIX_BYTES)
		return REFUSE(c, "trace: %s: truncated after %zu bytes", c->name, c->len);
	version = word_at(c->buf + MAGIC_BYTES);
	if (version > VM_TRACE_VERSION)
		return REFUSE(c,
			      "trace: %s has version %u, this vmafuzz reads up to %u: use a newer "
			      "vmafuzz",
			      c->name, version, VM_TRACE_VERSION);
	if (version < 1)
		return REFUSE(c, "trace: %s: corrupt: version 0 does not exist", c->name);
	return true;
}

/* The CRC stands at the end: where it is missing the file was cut, where it differs, changed. */
static bool check_crc(const struct container *c)
{
	const uint8_t *last = c->buf + c->len - CRC_BYTES;
	uint32_t is, should;

	if (c->len < PREFIX_BYTES + CRC_BYTES || word_at(last) != TAG_CRC || word_at(last + 4) != 4)
		return REFUSE(c, "trace: %s: truncated after %zu bytes (no CRC at the end)",
			      c->name, c->len);
	is = crc32_of(c->buf, c->len - CRC_BYTES);
	should = word_at(last + HEADER_BYTES);
	if (is != should)
		return REFUSE(c, "trace: %s: corrupt: CRC-32 is %08x, should be %08x", c->name, is,
			      should);
	return true;
}

static bool find_sections(const struct container *c, struct part part[SECTION_COUNT])
{
	const uint8_t *p = c->buf + PREFIX_BYTES, *end = c->buf + c->len - CRC_BYTES;

	memset(part, 0, SECTION_COUNT * sizeof(*part));
	while (p < end) {
		size_t left = (size_t)(end - p), len;
		uint32_t tag;

		if (left < HEADER_BYTES || left - HEADER_BYTES < word_at(p + 4))
			return REFUSE(c, "trace: %s: corrupt: a section reaches beyond the end",
				      c->name);
		tag = word_at(p);
		len = word_at(p + 4);
		p += HEADER_BYTES;
		for (unsigned int s = 0; s < SECTION_COUNT; s++) {
			if (section_tag[s] != tag)
				continue;
			if (part[s].at)
				return REFUSE(c, "trace: %s: corrupt: section %.4s occurs twice",
					      c->name, (const char *)p - HEADER_BYTES);
			part[s] = (struct part){ p, len };
		}
		p += len;
	}
	for (unsigned int s = 0; s < SECTION_COUNT; s++)
		if (!part[s].at)
			return REFUSE(c, "trace: %s: corrupt: a section is missing (%u of %u)",
				      c->name, s + 1, SECTION_COUNT);
	return true;
}

static bool decode_exit(const struct part *part, struct vm_trace *trace)
{
	struct vm_reader r = { .at = part->at, .end = part->at + part->len };

	trace->exit = vm_get_byte(&r);
	trace->exit_value = vm_get_int32(&r);
	trace->committed_known = r.at != r.end;
	trace->committed = trace->committed_known ? vm_unzigzag(vm_get_varint(&r)) : 0;
	return !r.bad && r.at == r.end && trace->exit < VM_EXIT_COUNT;
}

static bool decode(const struct container *c, struct vm_trace *trace)
{
	struct part part[SECTION_COUNT];
	char why[160];

	trace->nevents = 0;
	if (!check_prefix(c) || !check_crc(c) || !find_sections(c, part))
		return false;
	if (vm_info_decode(part[SECTION_INFO].at, part[SECTION_INFO].len, &trace->info))
		return REFUSE(c, "trace: %s: corrupt: the target's description is not valid",
			      c->name);
	if (!decode_exit(&part[SECTION_EXIT], trace))
		return REFUSE(c, "trace: %s: corrupt: unknown kind of exit", c->name);
	vm_program_decode(part[SECTION_PROG].at, part[SECTION_PROG].len, &trace->prog);
	if (vm_events_decode(part[SECTION_EVENTS].at, part[SECTION_EVENTS].len, trace, why,
			     sizeof(why)))
		return REFUSE(c, "trace: %s: %s", c->name, why);
	return true;
}

int vm_trace_decode_named(const char *name, const uint8_t *buf, size_t len, struct vm_trace *trace,
			  char *err, size_t errlen)
{
	struct container c = { name, buf, len, err, errlen };

	return decode(&c, trace) ? 0 : -1;
}

int vm_trace_decode(const uint8_t *buf, size_t len, struct vm_trace *trace, char *err,
		    size_t errlen)
{
	return vm_trace_decode_named("in memory", buf, len, trace, err, errlen);
}
