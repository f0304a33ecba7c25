/* SPDX-License-Identifier: MIT */
/*
 * What the kernel itself went through in one call, as kcov told it: a part of an event. Written by
 * the executor's child (no allocation), read by decode.c.
 */
#ifndef VM_TRACE_COVER_H
#define VM_TRACE_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/program/program.h"

/* Most of each that one call keeps; the rest is dropped, and `cut` says so. */
#define VM_MAX_EDGES	4096
#define VM_MAX_COMPARES 1024

/*
 * Two instrumented points that followed each other. Addresses are those of the vmlinux (kernel/
 * kcov.c canonicalize_ip() takes the KASLR offset off): where the call to
 * __sanitizer_cov_trace_pc() returns to. `from` is 0 for the first point of a call.
 */
struct vm_edge {
	uint64_t from, to;
};

/* Two values that the kernel compared (KCOV_TRACE_CMP), and where. */
struct vm_compare {
	uint64_t a, b, pc;
	uint8_t size;	  /* in bytes: 1, 2, 4, 8 */
	uint8_t constant; /* 1: `a` is a constant of the kernel's source */
};

/* Each edge and each comparison once, in the order of its first appearance. */
struct vm_cover {
	uint32_t nedges, ncompares;
	const struct vm_edge *edge;
	const struct vm_compare *compare;
	bool cut; /* there was more than kcov's buffer, or this, has room for */
};

/* Ranges of kernel addresses, sorted, none overlapping the next. n 0: no limit. */
struct vm_places {
	uint32_t n;
	struct vm_range *range;
};
#define VM_MAX_PLACES 128 /* of a request */

bool vm_places_have(const struct vm_places *places, uint64_t pc);

/*
 * Places as a part of a request (VM_RUN_PLACES): at most VM_PLACES_BYTES, the length is returned.
 * Or from there, into room for VM_MAX_PLACES ranges; 0 if they are not valid.
 */
#define VM_PLACES_BYTES (10 + 20 * VM_MAX_PLACES)
size_t vm_places_put(const struct vm_places *places, uint8_t *buf);
size_t vm_places_get(const uint8_t *buf, size_t len, struct vm_places *places);

#endif
