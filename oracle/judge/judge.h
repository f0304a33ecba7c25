/* SPDX-License-Identifier: MIT */
/* What the parts of the judge share; not for users of the oracle. */
#ifndef VM_JUDGE_H
#define VM_JUDGE_H

#include "oracle/judge/compare.h"
#include "oracle/judge/past.h"
#include "oracle/oracle.h"
#include "oracle/rules/rule.h"

struct vm_judge_scratch {
	struct vm_state state[5];
	struct vm_objects objects;
	struct vm_outcomes outcomes, more;
	struct vm_run run[2][VM_STATE_MAX_AREAS];
	struct vm_past past;
	struct vm_target_info info; /* of a program that has a preamble: as that makes it */
};

struct vm_judge {
	const struct vm_trace *trace;
	const struct vm_target_info *info;
	const struct vm_profile *profile;
	enum vm_contract contract;
	struct vm_judge_scratch *scratch;
	struct vm_judgement *out;
	struct vm_state *before, *after, *next,
		*work; /* belief about the space of j->e; of scratch, swapped around */
	/* While a forked child runs (space 1): what was believed of its parent, and looked at. */
	uint16_t space;
	struct vm_state *parent;
	const struct vm_snapshot *parent_maps;
	uint32_t parent_unobserved_since;
	const struct vm_snapshot *last_maps; /* the last observed layout, NULL before the first */
	const struct vm_snapshot *present;   /* the look just before, if it saw present pages */
	uint32_t unobserved_since; /* first event whose effect has not been looked at, or 0 */
	uint32_t event;		   /* index of the event being judged */
	const struct vm_event *e;
	struct vm_range
		range[3]; /* what the call is about: source, destination, returned address */
	bool late;	  /* a loss between looks is being named */
	bool judged;	  /* a violation was reported on this event: what follows from it is not */
	bool charging;	  /* Committed_AS is what is looked at */
	bool doubt_locks; /* that violation was a known bug that is about locks */
};

/* titles.c: words for a difference; `failed` is 0 or the errno. */
void vm_title_of_failure(const struct vm_judge *j, const struct vm_diffs *d,
			 const struct vm_cause *cause, const char *what, char *title);
void vm_title_of_success(const struct vm_judge *j, const struct vm_diffs *d, char *title);
void vm_title_of_result(const struct vm_judge *j, const struct vm_outcomes *outs, char *title);
/* The outcome that says the same word as what was seen (success, EINVAL, SIGSEGV); else the first.
 */
const struct vm_outcome *vm_nearest_outcome(const struct vm_judge *j,
					    const struct vm_outcomes *outs);
void vm_title_of_content(const struct vm_judge *j, uint64_t addr, const char *what, char *title);
/* Append " (cause)". */
void vm_title_add_cause(char *title, const char *cause);
/* Name of a difference's place: "source", "source tail", "destination", "range", "bystander". */
const char *vm_place_name(const struct vm_judge *j, uint64_t start, uint64_t end);
void vm_describe_outcomes(const struct vm_judge *j, const struct vm_outcomes *outs, char *text,
			  size_t cap);
void vm_describe_diffs(const struct vm_judge *j, const struct vm_diffs *d, char *text, size_t cap);
void vm_describe_result(const struct vm_judge *j, char *text, size_t cap);

/* judge.c: a new verdict on the current event, or NULL if there is no room. */
struct vm_verdict *vm_report(struct vm_judge *j, enum vm_severity severity, const char *invariant,
			     const char *basis);

/*
 * match.c. The outcomes in force for the current call, in scratch->outcomes; then find the one that
 * explains what was seen (the layout after the call observed or not), and make j->after of it. No
 * such outcome: a violation.
 */
void vm_outcome_set(struct vm_judge *j);
void vm_match_observed(struct vm_judge *j);
void vm_match_unobserved(struct vm_judge *j);
/* Differences of a snapshot from belief, cut where the ranges of the call begin and end. */
void vm_against(struct vm_judge *j, const struct vm_state *s, const struct vm_snapshot *snap,
		struct vm_diffs *d);
/* The range of the address that a call returned; empty if it returned none. */
struct vm_range vm_result_range(const struct vm_judge *j);

/* Say which pages a verdict is about: d has at least one. */
void vm_mark(struct vm_verdict *v, const struct vm_diffs *d);

/* adopt.c: take what was observed as belief; differences become belief too. */
void vm_adopt(struct vm_judge *j, const struct vm_snapshot *snap);
void vm_begin(struct vm_judge *j, const struct vm_event *start);

/* contents.c: compare bytes with belief, report the first difference, take over what was seen. */
void vm_check_contents(struct vm_judge *j, const struct vm_snapshot *snap);

/* views.c: do the ways of looking agree? */
void vm_check_views(struct vm_judge *j, const struct vm_snapshot *snap);
void vm_check_end(struct vm_judge *j, const struct vm_event *end);

/* totals.c: has a program given back what it was charged, on a machine where it was alone? */
void vm_check_committed(struct vm_judge *j);

/* totals.c: are the totals of the last look the sums of its VMAs? */
void vm_check_totals(struct vm_judge *j, const struct vm_snapshot *snap);
/* Are they, but for VmLck, which counts locks that MREMAP_DONTUNMAP took away? */
bool vm_lost_locks_counted(const struct vm_judge *j);

/* features.c: feature ids of the call just judged. */
void vm_add_features(struct vm_judge *j, const struct vm_outcome *matched);

/* profiles/known_bugs.c */
const struct vm_known_bug *vm_known_bug(const struct vm_judge *j);
/* May a bug of this kernel have changed locks, since nobody looked? */
bool vm_locks_doubtful(const struct vm_judge *j);
struct vm_known_bug {
	const char *cause;	  /* for the title */
	const char *text;	  /* versions and source */
	unsigned int first, last; /* releases as major * 1000 + minor; last 0: not fixed yet */
	bool (*shows)(const struct vm_judge *j); /* is the current event this bug? */
	bool of_charges;  /* shows in Committed_AS after a program, and nowhere else */
	bool about_locks; /* after it belief in locks is given up */
};

#endif
