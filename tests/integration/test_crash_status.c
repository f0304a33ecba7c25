/* SPDX-License-Identifier: MIT */
/* What was not survived is exit status 2 of a command, whatever else was found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/trace/trace.h"

/* Store a recorded trace as one that ended in another way, and judge it: the exit status. */
static int judge_as(const char *recorded, uint8_t exit, int32_t value, const char *options)
{
	struct vm_trace trace = { 0 };
	char path[] = "/tmp/vmafuzz-crash-XXXXXX", from[512], command[1024], err[256];
	int fd = mkstemp(path), status;

	assert_true(fd >= 0);
	close(fd);
	snprintf(from, sizeof(from), "%s/tests/traces/%s.trace", VM_SOURCE_DIR, recorded);
	assert_int_equal(vm_trace_load(from, &trace, err, sizeof(err)), 0);
	trace.exit = exit;
	trace.exit_value = value;
	assert_int_equal(vm_trace_save(path, &trace, err, sizeof(err)), 0);
	vm_trace_free(&trace);
	snprintf(command, sizeof(command), "%s/vmafuzz judge %s %s >/dev/null", VM_BUILD_DIR,
		 options, path);
	status = system(command);
	unlink(path);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void not_survived(void **state)
{
	(void)state;
	assert_int_equal(judge_as("moves", VM_EXIT_DONE, 0, ""), 0);
	assert_int_equal(judge_as("moves", VM_EXIT_SIGNAL, 11, ""), 2);
	assert_int_equal(judge_as("moves", VM_EXIT_TIMEOUT, 0, ""), 2);
	assert_int_equal(judge_as("moves", VM_EXIT_STUCK, 0, "--fail-on crash"), 2);
}

static void a_violation_too(void **state)
{
	(void)state;
	assert_int_equal(judge_as("inject_page_zeroed", VM_EXIT_DONE, 0, ""), 1);
	assert_int_equal(judge_as("inject_page_zeroed", VM_EXIT_TIMEOUT, 0, ""), 2);
	assert_int_equal(judge_as("inject_page_zeroed", VM_EXIT_LOG_FULL, 0, ""), 1);
	assert_int_equal(judge_as("inject_page_zeroed", VM_EXIT_DONE, 0, "--fail-on crash"), 0);
}

static void incomplete(void **state)
{
	(void)state;
	assert_int_equal(judge_as("moves", VM_EXIT_LOG_FULL, 0, ""), 3);
	assert_int_equal(judge_as("moves", VM_EXIT_STATUS, 1, ""), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_survived),
		cmocka_unit_test(a_violation_too),
		cmocka_unit_test(incomplete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
