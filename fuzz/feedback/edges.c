/* SPDX-License-Identifier: MIT */
#include "fuzz/feedback/edges.h"

uint32_t vm_edge_id(uint8_t op, const struct vm_edge *edge, const struct vm_places *places)
{
	uint64_t from = vm_places_have(places, edge->from) ? edge->from : 0;
	uint64_t h = (from + (op + 1) * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h = ((h ^ h >> 32) + edge->to) * 0xc4ceb9fe1a85ec53ull;
	return VM_FEATURE_MAP + (uint32_t)((h ^ h >> 29) >> 32) % VM_EDGE_MAP;
}

uint32_t vm_edge_ids(const struct vm_trace *trace, const struct vm_judgement *j,
		     const struct vm_places *places, struct vm_edge_seen *seen, uint32_t *id,
		     uint8_t *call)
{
	uint32_t n = 0;

	seen->run++;
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind != VM_EVENT_CALL || j->call[i].severity >= VM_VIOLATION)
			continue;
		for (uint32_t k = 0; k < e->cover.nedges && n < VM_MAX_EDGE_IDS; k++) {
			uint32_t is = vm_edge_id(e->sc.op, &e->cover.edge[k], places);

			if (seen->at[is - VM_FEATURE_MAP] == seen->run ||
			    !vm_places_have(places, e->cover.edge[k].to))
				continue;
			seen->at[is - VM_FEATURE_MAP] = seen->run;
			id[n] = is;
			call[n++] = e->call;
		}
	}
	return n;
}
