/* SPDX-License-Identifier: MIT */
/*
 * The played kernel behind the executor's protocol, so that any engine can search it: AFL++ and
 * libFuzzer choose for themselves, in a campaign of their own, and what they run is counted here.
 */
#ifndef VM_GUIDANCE_PLAYER_H
#define VM_GUIDANCE_PLAYER_H

#include "tests/bench/guidance/arms.h"

/* What a player has counted, in a file that both sides map. */
struct vm_player_log {
	uint32_t from, to; /* the faults that are looked for */
	uint64_t budget;   /* programs */
	_Atomic bool done; /* all found, or the budget used up */
	struct vm_search search;
};

/*
 * `vmafuzz-bench player LOG`: answer programs on stdin with traces on stdout, and count in LOG
 * which was the first to trip each fault. Exit status 0 when the host closes its end, 3 if it
 * cannot run.
 */
int vm_bench_player(const char *log);

/* Search by a campaign of `engine` (afl, libfuzzer) on a player. Ends the process if it cannot run.
 */
void vm_search_by_engine(const char *engine, uint64_t seed, uint64_t budget, uint32_t from,
			 uint32_t to, struct vm_search *out);

#endif
