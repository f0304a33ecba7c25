/* SPDX-License-Identifier: MIT */
/* The one status line of a campaign: live on a terminal, every ten seconds elsewhere. */
#ifndef VM_STATUS_H
#define VM_STATUS_H

#include <stdio.h>

#include "fuzz/campaign/stats.h"

struct vm_status {
	FILE *to;
	const char *engine;
	bool terminal;
	uint64_t shown_ms;	  /* when the last line was printed */
	uint64_t programs, calls; /* then */
	bool announced[VM_MAX_TITLES];
};

void vm_status_init(struct vm_status *st, FILE *to, const char *engine,
		    const struct vm_stats *stats);

/* Call often: prints when it is time, and a line of its own for each newly confirmed title. */
void vm_status_tick(struct vm_status *st, const char *out, const struct vm_stats *stats);

/* Clear the live line; what follows starts at the left edge. */
void vm_status_end(struct vm_status *st);

/* 1234 -> "1234", 12345 -> "12k", 1234567 -> "1.2M" */
void vm_short_number(uint64_t n, char buf[24]);

#endif
