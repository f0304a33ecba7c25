/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "fuzz/feedback/feedback.h"

uint32_t vm_feedback_add(struct vm_feedback *map, const uint32_t *feature, uint32_t n)
{
	uint32_t fresh = 0, edges = 0;

	for (uint32_t i = 0; i < n; i++) {
		_Atomic uint8_t *seen = &map->seen[feature[i]];

		if (atomic_load_explicit(seen, memory_order_relaxed))
			continue;
		if (atomic_exchange_explicit(seen, 1, memory_order_relaxed))
			continue;
		fresh++;
		edges += feature[i] >= VM_FEATURE_MAP;
	}
	if (fresh)
		atomic_fetch_add_explicit(&map->count, fresh, memory_order_relaxed);
	if (edges)
		atomic_fetch_add_explicit(&map->edges, edges, memory_order_relaxed);
	return fresh;
}

void vm_feedback_write(uint8_t *map, const uint32_t *feature, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		map[feature[i]] = 1;
}
