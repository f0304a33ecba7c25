/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/options.h"

void vm_options_default(struct vm_options *opt)
{
	*opt = (struct vm_options){
		.target = "local",
		.contract = VM_CONTRACT_EXACT,
		.out = "out",
		.jobs = 1,
		.seed = 1,
		.fail_on = VM_FAIL_VIOLATION,
	};
}

static int put(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) : unsetenv(name);
}

static int put_number(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return setenv(name, text, 1);
}

static uint64_t get_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

int vm_options_export(const struct vm_options *opt)
{
	int ret = 0;

	ret |= put("VMAFUZZ_TARGET", opt->target);
	ret |= put("VMAFUZZ_PROFILE", opt->profile);
	ret |= put("VMAFUZZ_CONTRACT", vm_contract_name(opt->contract));
	ret |= put("VMAFUZZ_OUT", opt->out);
	ret |= put("VMAFUZZ_INJECT", opt->inject);
	ret |= put("VMAFUZZ_EXECUTOR", opt->executor);
	ret |= put_number("VMAFUZZ_SEED", opt->seed);
	ret |= put_number("VMAFUZZ_PROGRAMS", opt->programs);
	ret |= put_number("VMAFUZZ_JOBS", opt->jobs);
	ret |= put_number("VMAFUZZ_JOB", opt->job);
	ret |= put_number("VMAFUZZ_TIMEOUT_MS", opt->timeout_ms);
	ret |= put_number("VMAFUZZ_PRIVILEGED", opt->privileged);
	ret |= put_number("VMAFUZZ_SYNC", opt->sync);
	return ret ? -1 : 0;
}

int vm_options_import(struct vm_options *opt, char *err, size_t errlen)
{
	const char *contract = getenv("VMAFUZZ_CONTRACT");
	int c = contract ? vm_contract_by_name(contract) : -1;

	vm_options_default(opt);
	opt->target = getenv("VMAFUZZ_TARGET");
	opt->out = getenv("VMAFUZZ_OUT");
	if (!opt->target || !opt->out || c < 0) {
		snprintf(err, errlen,
			 "this engine is started by `vmafuzz fuzz`: VMAFUZZ_TARGET, VMAFUZZ_OUT "
			 "and VMAFUZZ_CONTRACT are not in its environment");
		return -1;
	}
	opt->contract = (enum vm_contract)c;
	opt->profile = getenv("VMAFUZZ_PROFILE");
	opt->inject = getenv("VMAFUZZ_INJECT");
	opt->executor = getenv("VMAFUZZ_EXECUTOR");
	opt->seed = get_number("VMAFUZZ_SEED");
	opt->programs = get_number("VMAFUZZ_PROGRAMS");
	opt->jobs = (uint32_t)get_number("VMAFUZZ_JOBS");
	opt->job = (uint32_t)get_number("VMAFUZZ_JOB");
	opt->timeout_ms = (uint32_t)get_number("VMAFUZZ_TIMEOUT_MS");
	opt->privileged = get_number("VMAFUZZ_PRIVILEGED");
	opt->sync = get_number("VMAFUZZ_SYNC");
	return 0;
}

static const char *const fail_on_names[] = {
	[VM_FAIL_VIOLATION] = "violation",
	[VM_FAIL_DEVIATION] = "deviation",
	[VM_FAIL_CRASH] = "crash",
};

int vm_fail_on_by_name(const char *name)
{
	for (int i = 0; i < 3; i++) {
		if (!strcmp(name, fail_on_names[i]))
			return i;
	}
	return -1;
}

const char *vm_fail_on_name(enum vm_fail_on f)
{
	return fail_on_names[f];
}
