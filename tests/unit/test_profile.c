/* SPDX-License-Identifier: MIT */
/* Which profile a kernel is judged by, and why; names of severities, contracts and errnos. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "oracle/model.h"

#define PROBED VM_PROBED_BEHAVIOUR
#define KEPT   VM_PROBE_DEST_KEPT
#define MULTI  VM_PROBE_MULTI_MOVE
#define ROUND  VM_PROBE_DU_ROUNDED

static void chosen(const char *release, uint64_t features, const char *profile, const char *why,
		   const char *title)
{
	struct vm_target_info info;
	const struct vm_profile *p;
	char got_why[160], got_title[VM_TITLE_MAX];
	bool regressed;

	vm_model_default_info(&info);
	strcpy(info.release, release);
	info.features = features;
	p = vm_profile_choose(&info, got_why, sizeof(got_why), &regressed, got_title,
			      sizeof(got_title));
	assert_string_equal(p->name, profile);
	assert_string_equal(got_why, why);
	assert_string_equal(got_title, title);
	assert_int_equal(regressed, title[0] != 0);
}

static void test_release(void **state)
{
	(void)state;
	chosen("6.12.117", 0, "6.12", "release 6.12.117, not probed", "");
	chosen("6.18.44-generic", 0, "6.18", "release 6.18.44-generic, not probed", "");
	chosen("6.18", KEPT | MULTI | ROUND, "6.18", "release 6.18, not probed", "");
	chosen("6.1.192", 0, "6.1", "release 6.1.192, not probed", "");
	chosen("6.1.0-57-cloud-amd64", PROBED, "6.1", "release 6.1.0-57-cloud-amd64, probes agree",
	       "");
	chosen("6.12.117", PROBED, "6.12", "release 6.12.117, probes agree", "");
	chosen("6.18.44", PROBED | KEPT | MULTI | ROUND, "6.18", "release 6.18.44, probes agree",
	       "");
}

static void test_unknown_release(void **state)
{
	static const char *const releases[] = { "6.11.9", "6.13.1", "6.17.3", "6.19", "7.2.0",
						"5.12.0", "61.2",   "6",      "",     "odd" };

	(void)state;
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		char why[160];

		snprintf(why, sizeof(why),
			 "no profile for release %s: documents and hard invariants only",
			 releases[i]);
		chosen(releases[i], PROBED | KEPT | MULTI | ROUND, "generic", why, "");
		chosen(releases[i], 0, "generic", why, "");
	}
}

static void test_probes_raise(void **state)
{
	(void)state;
	chosen("6.12.9", PROBED | KEPT | MULTI | ROUND, "6.18",
	       "release 6.12.9, but probes show the behaviour of 6.18", "");
	/* a part of it is not older than 6.12, and is no version to be judged by */
	chosen("6.12.9", PROBED | KEPT, "generic",
	       "release 6.12.9, but probes show more than it, and no known version: documents and "
	       "hard invariants only",
	       "");
	chosen("6.12.9", PROBED | MULTI | ROUND, "generic",
	       "release 6.12.9, but probes show more than it, and no known version: documents and "
	       "hard invariants only",
	       "");
}

static void test_regressed(void **state)
{
	(void)state;
	chosen("6.18.44", PROBED, "6.18", "release 6.18.44, but probes show older behaviour",
	       "kernel: regressed to 6.12 (mremap probes)");
	chosen("6.18.44", PROBED | KEPT | MULTI, "6.18",
	       "release 6.18.44, but probes show a mix that no version has",
	       "kernel: regressed to no known version (mremap probes)");
	chosen("6.18.44", PROBED | KEPT | ROUND, "6.18",
	       "release 6.18.44, but probes show a mix that no version has",
	       "kernel: regressed to no known version (mremap probes)");
	chosen("6.18.44", PROBED | MULTI | ROUND, "6.18",
	       "release 6.18.44, but probes show a mix that no version has",
	       "kernel: regressed to no known version (mremap probes)");
}

static void test_by_name(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct vm_profile *p; (p = vm_profile_at(n)); n++)
		assert_ptr_equal(vm_profile_by_name(p->name), p);
	assert_true(n >= 4);
	assert_null(vm_profile_by_name("6.2"));
	assert_true(vm_profile_by_name("6.1")->exact);
	assert_null(vm_profile_at(n + 1));
	assert_true(vm_profile_by_name("6.12")->exact);
	assert_true(vm_profile_by_name("6.18")->exact);
	assert_false(vm_profile_by_name("generic")->exact);
}

static void test_contract(void **state)
{
	const struct vm_profile *exact = vm_profile_by_name("6.12");
	const struct vm_profile *generic = vm_profile_by_name("generic");

	(void)state;
	assert_int_equal(vm_profile_contract(exact, VM_CONTRACT_EXACT), VM_CONTRACT_EXACT);
	assert_int_equal(vm_profile_contract(exact, VM_CONTRACT_STRICT), VM_CONTRACT_STRICT);
	assert_int_equal(vm_profile_contract(generic, VM_CONTRACT_EXACT), VM_CONTRACT_DOCUMENTED);
	assert_int_equal(vm_profile_contract(generic, VM_CONTRACT_STRICT), VM_CONTRACT_STRICT);
	assert_int_equal(vm_profile_contract(generic, VM_CONTRACT_DOCUMENTED),
			 VM_CONTRACT_DOCUMENTED);
}

static bool harms(const char *release, uint64_t overcommit)
{
	struct vm_target_info info;

	vm_model_default_info(&info);
	strcpy(info.release, release);
	info.overcommit_memory = overcommit;
	return vm_host_harm(&info) != NULL;
}

/* A lost commit charge is felt only where the limit is strict; every kernel loses some. */
static void test_host_harm(void **state)
{
	(void)state;
	assert_true(harms("6.18.44", 2));
	assert_true(harms("6.16.12", 2));
	assert_true(harms("7.2.12", 2));
	assert_false(harms("6.18.44", 0));
	assert_false(harms("6.18.44", 1));
	assert_true(harms("6.12.117", 2));
	assert_true(harms("7.3.4", 2));
	assert_false(harms("7.3.4", 0));
}

static void test_names(void **state)
{
	static const struct {
		int err;
		const char *name;
	} errnos[] = {
		{ 0, "success" },
		{ EPERM, "EPERM" },
		{ ENOENT, "ENOENT" },
		{ EINTR, "EINTR" },
		{ EIO, "EIO" },
		{ E2BIG, "E2BIG" },
		{ EBADF, "EBADF" },
		{ EAGAIN, "EAGAIN" },
		{ ENOMEM, "ENOMEM" },
		{ EACCES, "EACCES" },
		{ EFAULT, "EFAULT" },
		{ EBUSY, "EBUSY" },
		{ EEXIST, "EEXIST" },
		{ ENODEV, "ENODEV" },
		{ EINVAL, "EINVAL" },
		{ ETXTBSY, "ETXTBSY" },
		{ ENOSPC, "ENOSPC" },
		{ ENOSYS, "ENOSYS" },
		{ EOVERFLOW, "EOVERFLOW" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		assert_string_equal(vm_errno_name(errnos[i].err), errnos[i].name);
	assert_string_equal(vm_severity_name(VM_OK), "ok");
	assert_string_equal(vm_severity_name(VM_NOTE), "note");
	assert_string_equal(vm_severity_name(VM_DEVIATION), "deviation");
	assert_string_equal(vm_severity_name(VM_VIOLATION), "violation");
	for (int c = VM_CONTRACT_EXACT; c <= VM_CONTRACT_STRICT; c++)
		assert_int_equal(vm_contract_by_name(vm_contract_name(c)), c);
	assert_string_equal(vm_contract_name(VM_CONTRACT_STRICT), "strict");
	assert_int_equal(vm_contract_by_name("strictly"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),	     cmocka_unit_test(test_unknown_release),
		cmocka_unit_test(test_probes_raise), cmocka_unit_test(test_regressed),
		cmocka_unit_test(test_by_name),	     cmocka_unit_test(test_contract),
		cmocka_unit_test(test_host_harm),    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
