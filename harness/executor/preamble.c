/* SPDX-License-Identifier: MIT */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/machine.h"
#include "harness/executor/preamble.h"
#include "harness/trace/preamble.h"

#define NLIMITS VM_PREAMBLE_IPC_LOCK /* words that are limits: those before */

/* Of this child: the limits that it had before. */
static struct rlimit was[NLIMITS];
static bool changed[NLIMITS];

static __rlimit_resource_t resource_of(unsigned int word)
{
	static const __rlimit_resource_t resource[NLIMITS] = {
		[VM_PREAMBLE_AS] = RLIMIT_AS,
		[VM_PREAMBLE_DATA] = RLIMIT_DATA,
		[VM_PREAMBLE_MEMLOCK] = RLIMIT_MEMLOCK,
		[VM_PREAMBLE_STACK] = RLIMIT_STACK,
	};

	return resource[word];
}

static bool set_limit(const struct vm_executor *ex, unsigned int word)
{
	uint64_t value = vm_preamble_wants(&ex->area->prog, word, &ex->info);
	struct rlimit limit;

	if (ex->opt.inject == VM_INJECT_LIMITS_IGNORED)
		return true;
	if (getrlimit(resource_of(word), &was[word]))
		return false;
	limit = (struct rlimit){ .rlim_cur = value, .rlim_max = was[word].rlim_max };
	changed[word] = true;
	return !setrlimit(resource_of(word), &limit);
}

static bool set_capabilities(uint64_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, caps))
		return false;
	caps[0].effective = (uint32_t)effective;
	caps[1].effective = (uint32_t)(effective >> 32);
	return !syscall(SYS_capset, &header, caps);
}

/* The word that cannot be given, or VM_PREAMBLE_COUNT. */
static unsigned int give(struct vm_executor *ex)
{
	const struct vm_program *prog = &ex->area->prog;
	uint64_t had = ex->info.cap_effective;
	unsigned int refused = vm_machine_set(ex);

	if (refused < VM_PREAMBLE_COUNT)
		return refused;
	for (unsigned int word = 0; word < NLIMITS; word++)
		if (vm_preamble_has(&prog->preamble, word) && !set_limit(ex, word))
			return word;
	vm_preamble_overlay(prog, &ex->info);
	if (ex->info.cap_effective != had && !set_capabilities(ex->info.cap_effective))
		return VM_PREAMBLE_IPC_LOCK;
	return VM_PREAMBLE_COUNT;
}

bool vm_preamble_give(struct vm_executor *ex)
{
	unsigned int refused = give(ex);

	ex->area->refused = refused;
	return refused == VM_PREAMBLE_COUNT;
}

void vm_preamble_take_back(void)
{
	for (unsigned int word = 0; word < NLIMITS; word++)
		if (changed[word])
			setrlimit(resource_of(word), &was[word]);
}
