/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a campaign, in a file that the supervisor and its engine processes map shared
 * (OUT/stats.bin): whatever the engine, the supervisor reads them here. The feedback map lies there
 * too, so that a child of an engine that dies takes nothing with it.
 */
#ifndef VM_STATS_H
#define VM_STATS_H

#include "fuzz/feedback/feedback.h"

#define VM_STATS_MAGIC	0x53544d56u
#define VM_STATS_LAYOUT 3u
#define VM_MAX_TITLES	128
#define VM_SLUG_MAX	96
#define VM_MAX_CELLS	1024
#define VM_CELL_CAUSE	112

/* A title's life; it only grows, but for FLAKY, which may be tried again. */
enum vm_title_state {
	VM_TITLE_FREE,
	VM_TITLE_CLAIMED, /* a process is filling the slot in */
	VM_TITLE_PENDING, /* seen, written to disk, not yet seen again in a fresh child */
	VM_TITLE_CONFIRMED,
	VM_TITLE_FLAKY, /* seen, but a replay did not show it */
};

/* The folder in OUT that titles of a state have theirs in. */
const char *vm_title_folder(enum vm_title_state state);

struct vm_title {
	_Atomic uint32_t state; /* enum vm_title_state */
	_Atomic uint32_t tries; /* replays that did not show it */
	_Atomic uint64_t count; /* programs that showed it, all runs in this folder together */
	uint8_t severity;	/* enum vm_severity */
	char title[VM_TITLE_MAX];
	char slug[VM_SLUG_MAX]; /* its folder in OUT/findings or OUT/flaky; "" if it has none */
};

/* Calls of one kind that ended in one way, for one cause. */
struct vm_cell {
	_Atomic uint32_t state; /* 0: free, 1: a process is filling it in, 2: filled in */
	uint8_t op;
	int16_t error;		   /* errno, -signal of an access, or 0 */
	char cause[VM_CELL_CAUSE]; /* of the rule, may be cut; "" if it names none */
	_Atomic uint64_t count;
};

struct vm_stats {
	uint32_t magic, layout;
	uint64_t start_ms;	      /* CLOCK_MONOTONIC, of this run */
	_Atomic uint64_t last_new_ms; /* the same clock: when a feature was new last */
	_Atomic uint64_t programs, calls, withheld, replays;
	_Atomic uint64_t corpus; /* files in OUT/corpus, counted by the supervisor */
	_Atomic uint64_t notes;	 /* verdicts */
	_Atomic uint64_t executor_restarts, engine_restarts;
	_Atomic uint64_t stuck; /* children that could not be killed, executors that hung */
	_Atomic uint64_t hung;	/* replays that showed a title that way again */
	_Atomic uint64_t died;	/* programs that ended by a signal or too early */
	_Atomic uint64_t timeouts;
	_Atomic uint64_t skipped; /* programs not run: the target cannot give their preamble */
	_Atomic uint32_t broken;  /* an engine cannot go on: `error` says why */
	char error[512];
	_Atomic uint64_t titles_lost;		     /* new titles that found no slot */
	_Atomic uint64_t strictness[VM_OP_COUNT][3]; /* calls by rule and enum vm_strictness */
	struct vm_cell cell[VM_MAX_CELLS];	     /* by hash, linear probing */
	struct vm_title title[VM_MAX_TITLES];
	struct vm_feedback feedback;
};

uint64_t vm_clock_ms(void);

/*
 * Map OUT/stats.bin. The supervisor gives `fresh` for a new run: all numbers start at 0. NULL with
 * one line in err.
 */
struct vm_stats *vm_stats_open(const char *out, bool fresh, char *err, size_t errlen);
void vm_stats_close(struct vm_stats *s);

/*
 * The slot of a title, made in state PENDING if it was not there (*fresh says so; of several
 * processes, one only gets it). NULL if all slots are taken.
 */
struct vm_title *vm_stats_title(struct vm_stats *s, const char *title, enum vm_severity severity,
				bool *fresh);

/* Count a call: how it ended (vm_cell.error) and why, or NULL. What finds no cell is not counted.
 */
void vm_stats_call(struct vm_stats *s, uint8_t op, int error, const char *cause);

/* Confirmed titles of one severity. */
unsigned int vm_stats_titles(const struct vm_stats *s, enum vm_severity severity);

/* Titles of the kernel's own reports, confirmed or not replayed yet. */
unsigned int vm_stats_reports(const struct vm_stats *s);

/* A title as a file name: lower case, digits, `-`; different for different titles. */
void vm_title_slug(const char *title, char slug[VM_SLUG_MAX]);

#endif
