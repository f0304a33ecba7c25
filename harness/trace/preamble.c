/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "harness/trace/preamble.h"

static uint64_t hard_limit(const struct vm_target_info *info, unsigned int word)
{
	switch (word) {
	case VM_PREAMBLE_AS:
		return info->rlimit_max_as;
	case VM_PREAMBLE_DATA:
		return info->rlimit_max_data;
	case VM_PREAMBLE_MEMLOCK:
		return info->rlimit_max_memlock;
	default:
		return info->rlimit_max_stack;
	}
}

/* Why one word cannot be given, or NULL. */
static const char *refused(const struct vm_program *prog, unsigned int word,
			   const struct vm_target_info *info)
{
	if (word >= VM_PREAMBLE_MACHINE)
		return info->features & VM_IS_WHOLE_MACHINE
			       ? NULL
			       : "is for the whole machine: only an executor started with "
				 "--whole-machine sets it";
	if (vm_preamble_desc(word)->kind == VM_PREAMBLE_CAP)
		return prog->preamble.value[word].pages &&
				       !(info->cap_permitted & vm_preamble_cap(word))
			       ? "needs an executor that has this capability (--privileged, as "
				 "root)"
			       : NULL;
	return vm_preamble_wants(prog, word, info) > hard_limit(info, word)
		       ? "is more than the hard limit here"
		       : NULL;
}

bool vm_preamble_refused(const struct vm_program *prog, const struct vm_target_info *info,
			 char *why, size_t cap)
{
	char line[96];

	if (cap)
		why[0] = '\0';
	for (unsigned int word = 0; word < VM_PREAMBLE_COUNT; word++) {
		const char *reason;

		if (!vm_preamble_has(&prog->preamble, word))
			continue;
		reason = refused(prog, word, info);
		if (!reason)
			continue;
		vm_text_print_preamble(&prog->preamble, word, line, sizeof(line));
		snprintf(why, cap, "'%s' %s", line, reason);
		return true;
	}
	return false;
}
