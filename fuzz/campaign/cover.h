/* SPDX-License-Identifier: MIT */
/* Few programs that have all the features of many: greedy set cover. Pure but for memory. */
#ifndef VM_COVER_H
#define VM_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuzz/feedback/feedback.h"

/* One program. */
struct vm_cover_item {
	uint32_t cost;	   /* among items that add as many features, the cheapest is taken */
	uint32_t n;	   /* features, each below VM_MAP_SIZE, none twice */
	uint32_t *feature; /* malloc()ed by the caller */
	bool taken;	   /* the answer */
};

/*
 * Set `taken` so that the items taken have every feature that any item has. Returns how many
 * features that is, or -1 without memory.
 */
int64_t vm_cover(struct vm_cover_item *item, size_t n);

#endif
