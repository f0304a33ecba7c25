/* SPDX-License-Identifier: MIT */
/*
 * What a kernel version promises. A profile is a small table; each later one says how it differs.
 * docs/oracle.md, docs/profiles.md.
 */
#ifndef VM_PROFILE_H
#define VM_PROFILE_H

#include "harness/trace/trace.h"
#include "oracle/verdict.h"

struct vm_profile {
	const char *name;	  /* "6.1", "6.12", "6.18", "generic" */
	bool exact;		  /* false: no exact contract (a kernel without a profile) */
	bool mremap_checks_first; /* 6.17: source checks come before the destination is unmapped */
	bool mremap_multi_move;	  /* 6.17: fixed, same length, may span VMAs (remap_move()) */
	bool mremap_new_addr_first; /* 6.17: new_len, new_addr, overlap checks before any VMA lookup
				     */
	bool dontunmap_rounded;	    /* 6.17: DONTUNMAP compares page-rounded lengths */
	bool madvise_guards;	    /* 6.15: MADV_GUARD_INSTALL, of file mappings too */
	/* Of 6.1, and not of 6.12: */
	bool mmap_unmaps_first;	    /* MAP_FIXED unmaps before the commit limit is asked */
	bool mprotect_keeps_charge; /* what has lost the write right stays charged */
	bool populate_walks; /* MADV_POPULATE_* go from VMA to VMA, holes are told at the end */
	bool no_weighted_interleave; /* MPOL_WEIGHTED_INTERLEAVE came with 6.9 */
	bool process_madvise_nice;   /* process_madvise needs CAP_SYS_NICE, of oneself too */
	bool process_madvise_own; /* 6.13: process_madvise of oneself takes any advice, checked late
				   */
	bool huge_area_generic;	  /* 6.13: huge pages are placed as others are: hints rounded up */
};

/* Does the kernel have guard pages: by its version, or by what was probed? */
bool vm_has_guards(const struct vm_profile *p, const struct vm_target_info *info);

/* By name, or NULL. */
const struct vm_profile *vm_profile_by_name(const char *name);

/* i-th profile, or NULL after the last. */
const struct vm_profile *vm_profile_at(size_t i);

/*
 * The profile of a target: the release sets the least that is expected, probes may only raise it.
 * One line in `why` says which was chosen and why; *regressed is set if the kernel behaves older
 * than its release (a violation: "regressed to 6.12: ..."), with a title.
 */
const struct vm_profile *vm_profile_choose(const struct vm_target_info *info, char *why,
					   size_t whylen, bool *regressed, char *title,
					   size_t titlelen);

/*
 * Why fuzzing this very machine could harm it, by a bug of its kernel and a system setting; NULL
 * where nothing is known (known_bugs.c).
 */
const char *vm_host_harm(const struct vm_target_info *info);

/* The contract in force: a kernel without an exact profile is judged documented. */
enum vm_contract vm_profile_contract(const struct vm_profile *p, enum vm_contract wanted);

#endif
