/* SPDX-License-Identifier: MIT */
#include "oracle/profiles/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Oldest first. A profile serves every release from its own up to the next one in the table that
 * has one; releases below the first and above the last are judged by what documents say (generic).
 */
static const struct {
	struct vm_profile p;
	unsigned int first, last; /* releases as major * 1000 + minor */
} profiles[] = {
	{ { .name = "6.1",
	    .exact = true,
	    .mmap_unmaps_first = true,
	    .mprotect_keeps_charge = true,
	    .populate_walks = true,
	    .no_weighted_interleave = true,
	    .process_madvise_nice = true },
	  6001,
	  6001 },
	{ { .name = "6.12", .exact = true }, 6012, 6012 },
	{ { .name = "6.18",
	    .exact = true,
	    .mremap_checks_first = true,
	    .mremap_multi_move = true,
	    .mremap_new_addr_first = true,
	    .dontunmap_rounded = true,
	    .madvise_guards = true,
	    .process_madvise_own = true,
	    .huge_area_generic = true },
	  6018,
	  6018 },
	{ { .name = "generic" }, 0, 0 },
};

#define NPROFILES (sizeof(profiles) / sizeof(profiles[0]))

const struct vm_profile *vm_profile_at(size_t i)
{
	return i < NPROFILES ? &profiles[i].p : NULL;
}

const struct vm_profile *vm_profile_by_name(const char *name)
{
	for (size_t i = 0; i < NPROFILES; i++)
		if (!strcmp(profiles[i].p.name, name))
			return &profiles[i].p;
	return NULL;
}

bool vm_has_guards(const struct vm_profile *p, const struct vm_target_info *info)
{
	return p->madvise_guards || info->features & VM_HAS_MADV_GUARD;
}

enum vm_contract vm_profile_contract(const struct vm_profile *p, enum vm_contract wanted)
{
	return wanted == VM_CONTRACT_EXACT && !p->exact ? VM_CONTRACT_DOCUMENTED : wanted;
}

static bool behaves_like(const struct vm_target_info *info, const struct vm_profile *p)
{
	return p->mremap_checks_first == !!(info->features & VM_PROBE_DEST_KEPT) &&
	       p->mremap_multi_move == !!(info->features & VM_PROBE_MULTI_MOVE) &&
	       p->dontunmap_rounded == !!(info->features & VM_PROBE_DU_ROUNDED);
}

/*
 * What the probes saw: the profile of the release if it behaves so, else the newest that does;
 * NPROFILES if none does.
 */
static size_t probed_profile(const struct vm_target_info *info, size_t release)
{
	if (profiles[release].p.exact && behaves_like(info, &profiles[release].p))
		return release;
	for (size_t i = NPROFILES; i-- > 0;)
		if (profiles[i].p.exact && behaves_like(info, &profiles[i].p))
			return i;
	return NPROFILES;
}

/* Do the probes miss something that the profile promises? */
static bool older(const struct vm_target_info *info, const struct vm_profile *p)
{
	return (p->mremap_checks_first && !(info->features & VM_PROBE_DEST_KEPT)) ||
	       (p->mremap_multi_move && !(info->features & VM_PROBE_MULTI_MOVE)) ||
	       (p->dontunmap_rounded && !(info->features & VM_PROBE_DU_ROUNDED));
}

static size_t by_release(const char *release)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10), minor = 0;

	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	for (size_t i = 0; i < NPROFILES; i++)
		if (profiles[i].p.exact && major * 1000 + minor >= profiles[i].first &&
		    major * 1000 + minor <= profiles[i].last)
			return i;
	return NPROFILES - 1;
}

const struct vm_profile *vm_profile_choose(const struct vm_target_info *info, char *why,
					   size_t whylen, bool *regressed, char *title,
					   size_t titlelen)
{
	size_t release = by_release(info->release), seen = probed_profile(info, release);
	const struct vm_profile *p = &profiles[release].p;
	bool probed = info->features & VM_PROBED_BEHAVIOUR;

	*regressed = false;
	if (titlelen)
		title[0] = 0;
	if (!p->exact) {
		snprintf(why, whylen,
			 "no profile for release %.64s: documents and hard invariants only",
			 info->release);
		return p;
	}
	if (!probed || seen == release) {
		snprintf(why, whylen, "release %.64s%s", info->release,
			 probed ? ", probes agree" : ", not probed");
		return p;
	}
	if (!older(info, p)) {
		if (seen < NPROFILES) {
			snprintf(why, whylen, "release %.64s, but probes show the behaviour of %s",
				 info->release, profiles[seen].p.name);
			return &profiles[seen].p;
		}
		snprintf(why, whylen,
			 "release %.64s, but probes show more than it, and no known version: "
			 "documents and hard invariants only",
			 info->release);
		return &profiles[NPROFILES - 1].p;
	}
	*regressed = true;
	snprintf(title, titlelen, "kernel: regressed to %s (mremap probes)",
		 seen < NPROFILES ? profiles[seen].p.name : "no known version");
	snprintf(why, whylen, "release %.64s, but probes show %s", info->release,
		 seen < NPROFILES ? "older behaviour" : "a mix that no version has");
	return p;
}
