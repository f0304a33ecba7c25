/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "fuzz/campaign/cover.h"
#include "oracle/oracle.h"

static uint32_t gain(const struct vm_cover_item *item, const bool *have)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < item->n; i++)
		n += !have[item->feature[i]];
	return n;
}

/* The best item by what it was known to add; NULL if none adds anything. */
static struct vm_cover_item *best(struct vm_cover_item *item, const uint32_t *adds, size_t n)
{
	struct vm_cover_item *b = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!adds[i])
			continue;
		if (!b || adds[i] > adds[b - item] ||
		    (adds[i] == adds[b - item] && item[i].cost < b->cost))
			b = &item[i];
	}
	return b;
}

int64_t vm_cover(struct vm_cover_item *item, size_t n)
{
	bool *have = calloc(VM_MAP_SIZE, sizeof(*have));
	uint32_t *adds = calloc(n ? n : 1, sizeof(*adds));
	struct vm_cover_item *b;
	int64_t covered = 0;

	for (size_t i = 0; have && adds && i < n; i++) {
		item[i].taken = false;
		adds[i] = item[i].n;
	}
	/* What an item adds only shrinks: the best by old numbers is best if its own still holds.
	 */
	while (have && adds && (b = best(item, adds, n))) {
		uint32_t now = gain(b, have);

		if (now == adds[b - item]) {
			b->taken = true;
			covered += now;
			for (uint32_t i = 0; i < b->n; i++)
				have[b->feature[i]] = true;
			now = 0;
		}
		adds[b - item] = now;
	}
	if (!have || !adds)
		covered = -1;
	free(have);
	free(adds);
	return covered;
}
