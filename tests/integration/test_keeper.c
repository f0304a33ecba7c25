/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a guest, with a command in the guest's place: this very program as a fake
 * executor. Who is answered, who is blamed, and what is left when somebody is killed.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/target/private_dir.h"
#include "harness/target/process.h"
#include "harness/target/stream.h"
#include "harness/target/target.h"
#include "tests/integration/fake_executor.h"

#define KEEPER VM_BUILD_DIR "/vmafuzz-keeper"

static struct vm_process keeper; /* its owner is this test */
static struct vm_target *client[3];
static struct vm_trace trace;
static char dir[VM_PRIVATE_DIR_MAX], err[512], said[VM_LINE_MAX], name[VM_PRIVATE_DIR_MAX + 8];
static uint32_t id;

static void start_keeper(const char *mode)
{
	char self[512], command[640];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *argv[] = { KEEPER,    "--dir", dir,	  "--executor", "none",	 "--hello", "400",
			 "--stall", "300",   "--timeout", "100",	command, NULL };

	assert_true(n > 0);
	self[n] = '\0';
	snprintf(command, sizeof(command), "exec:exec '%s' --fake %s", self, mode);
	assert_int_equal(vm_process_start(&keeper, argv), 0);
}

static struct vm_target *connect_client(void)
{
	const struct vm_target_options opt = { .timeout_ms = 100 };

	return vm_target_open(name, &opt, err, sizeof(err));
}

static int setup(void **state)
{
	(void)state;
	err[0] = '\0';
	memset(client, 0, sizeof(client));
	keeper = (struct vm_process){ .in = -1, .out = -1, .err = -1 };
	assert_int_equal(vm_private_dir_make(dir, err, sizeof(err)), 0);
	snprintf(name, sizeof(name), "keeper:%s", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		vm_target_close(client[i]);
	vm_process_stop(&keeper, 2000);
	if (keeper.err >= 0)
		close(keeper.err);
	vm_private_dir_remove(dir);
	vm_trace_free(&trace);
	return 0;
}

static void start_with_clients(size_t n)
{
	start_keeper(FAKE_OK);
	for (size_t i = 0; i < n; i++) {
		client[i] = connect_client();
		if (!client[i])
			print_error("%s\n", err);
		assert_non_null(client[i]);
	}
}

static void submit(size_t i, enum fake_order order, uint8_t ncalls, uint32_t request)
{
	struct vm_program prog = { .ncalls = ncalls };

	for (unsigned int c = 0; c < ncalls; c++)
		prog.call[c].op = VM_OP_MUNMAP;
	prog.call[0].fail_nth = (uint16_t)order;
	assert_int_equal(vm_target_submit(client[i], &prog, request, 0, err, sizeof(err)), 0);
}

static void assert_answered(size_t i, uint32_t request, int32_t ncalls)
{
	int ret = vm_target_wait(client[i], &id, &trace, err, sizeof(err));

	if (ret != 1)
		print_error("%d: %s\n", ret, err);
	assert_int_equal(ret, 1);
	assert_int_equal(id, request);
	assert_int_equal(trace.exit, VM_EXIT_DONE);
	assert_int_equal(trace.exit_value, ncalls);
}

static void assert_blamed(size_t i, uint32_t request, uint8_t exit, const char *words)
{
	assert_int_equal(vm_target_wait(client[i], &id, &trace, err, sizeof(err)), 0);
	assert_int_equal(id, request);
	assert_int_equal(trace.exit, exit);
	if (!strstr(err, words))
		print_error("not said: '%s', but: '%s'\n", words, err);
	assert_non_null(strstr(err, words));
}

static pid_t executor_pid(size_t i)
{
	return (pid_t)vm_target_info(client[i])->max_map_count;
}

static void assert_ends(pid_t pid)
{
	long long until = vm_now_ms() + 5000;

	while (!kill(pid, 0) && vm_now_ms() < until)
		usleep(5000);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

/* ---- sharing ---- */

static void test_clients_share_one_executor(void **state)
{
	(void)state;
	start_with_clients(3);
	assert_int_equal(executor_pid(0), executor_pid(1));
	assert_int_equal(executor_pid(0), executor_pid(2));
	/* The same ids from all: each gets its own answer. */
	for (uint32_t request = 0; request < VM_TARGET_MAX_INFLIGHT; request++)
		for (size_t i = 0; i < 3; i++)
			submit(i, FAKE_ANSWER, (uint8_t)(1 + i), request);
	for (size_t i = 3; i-- > 0;)
		for (uint32_t request = 0; request < VM_TARGET_MAX_INFLIGHT; request++)
			assert_answered(i, request, (int32_t)(1 + i));
}

static void test_client_that_leaves_is_not_missed(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(2);
	pid = executor_pid(0);
	for (uint32_t request = 0; request < VM_TARGET_MAX_INFLIGHT; request++)
		submit(0, FAKE_ANSWER, 2, request);
	vm_target_close(client[0]);
	client[0] = NULL;
	submit(1, FAKE_ANSWER, 3, 7);
	assert_answered(1, 7, 3);
	client[0] = connect_client();
	assert_non_null(client[0]);
	assert_int_equal(executor_pid(0), pid);
	submit(0, FAKE_ANSWER, 4, 1);
	assert_answered(0, 1, 4);
}

/* ---- ends of the guest ---- */

static void test_the_oldest_is_blamed_and_no_other(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(2);
	pid = executor_pid(0);
	submit(0, FAKE_KILLED, 2, 4);
	submit(1, FAKE_ANSWER, 3, 4);
	submit(0, FAKE_ANSWER, 5, 5);
	assert_blamed(0, 4, VM_EXIT_STATUS, "with program 4 in flight ended (signal 9");
	assert_int_equal(trace.exit_value, 128 + SIGKILL);
	assert_answered(0, 5, 5);
	assert_answered(1, 4, 3);
	assert_int_not_equal(executor_pid(0), pid);
	assert_int_equal(executor_pid(0), executor_pid(1));
}

static void test_last_words_are_told(void **state)
{
	(void)state;
	start_with_clients(1);
	submit(0, FAKE_ENDS, 2, 1);
	assert_blamed(0, 1, VM_EXIT_STATUS, "ended (status 7): last words");
	submit(0, FAKE_GIVES_UP, 2, 2);
	assert_blamed(0, 2, VM_EXIT_STATUS, ": out of luck");
	submit(0, FAKE_GARBAGE, 2, 3);
	assert_blamed(0, 3, VM_EXIT_STATUS, "what it sent is no frame");
	submit(0, FAKE_REFUSES, 2, 4);
	assert_blamed(0, 4, VM_EXIT_STATUS, "refused program 4: not today");
	submit(0, FAKE_ANSWER, 2, 5);
	assert_answered(0, 5, 2);
}

static void test_silence_is_ended(void **state)
{
	(void)state;
	start_with_clients(2);
	submit(0, FAKE_HANGS, 2, 1);
	submit(1, FAKE_ANSWER, 3, 1);
	assert_blamed(0, 1, VM_EXIT_STUCK, "hung");
	assert_answered(1, 1, 3);
}

/* A guest that is idle when it ends is nobody's fault. */
static void test_end_between_programs(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(1);
	pid = executor_pid(0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_ends(pid);
	submit(0, FAKE_ANSWER, 3, 1);
	assert_answered(0, 1, 3);
	assert_int_not_equal(executor_pid(0), pid);
}

static void test_restart_on_request_loses_nothing(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(2);
	pid = executor_pid(0);
	for (uint32_t request = 0; request < 5; request++)
		submit(1, FAKE_ANSWER, 2, request);
	assert_int_equal(vm_target_reboot(client[0], err, sizeof(err)), 0);
	submit(0, FAKE_ANSWER, 4, 9);
	assert_answered(0, 9, 4);
	for (uint32_t request = 0; request < 5; request++)
		assert_answered(1, request, 2);
	assert_int_not_equal(executor_pid(0), pid);
	assert_ends(pid);
}

/* ---- starts that fail ---- */

/* The owner's first frame is the reason. */
static void assert_owner_is_told(const char *words)
{
	struct vm_stream s = { .silent = true };
	struct vm_frame f;
	char text[512];

	vm_stream_start(&s, &keeper);
	assert_int_equal(vm_stream_next(&s, vm_now_ms() + 10000, &f), VM_STREAM_FRAME);
	assert_int_equal(f.type, VM_FRAME_ERROR);
	assert_int_equal(f.id, 0);
	snprintf(text, sizeof(text), "%.*s", (int)f.len, (const char *)f.body);
	vm_stream_last_words(&s, said);
	vm_stream_free(&s);
	if (!strstr(text, words))
		print_error("not said: '%s', but: '%s'\n", words, text);
	assert_non_null(strstr(text, words));
}

static void test_boot_that_hangs_is_tried_again(void **state)
{
	(void)state;
	start_keeper(FAKE_SILENT);
	assert_owner_is_told("it did not come up within 0 s, tried 3 times");
	assert_non_null(strstr(said, "starting it again (3 of 3)"));
	assert_int_equal(vm_process_stop(&keeper, 5000), 3 << 8);
}

static void test_boot_that_ends_is_told(void **state)
{
	(void)state;
	start_keeper(FAKE_DIES);
	assert_owner_is_told("(status 3): no room for? the arena");
	assert_int_equal(vm_process_stop(&keeper, 5000), 3 << 8);
}

static void test_no_keeper(void **state)
{
	(void)state;
	assert_null(vm_target_open("keeper:/no/such/folder", NULL, err, sizeof(err)));
	assert_non_null(strstr(err, "cannot connect to /no/such/folder/socket: No such file"));
}

/* ---- nothing is left ---- */

static void test_owner_ends_all(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(1);
	pid = executor_pid(0);
	assert_int_equal(vm_process_stop(&keeper, 5000), 0);
	assert_ends(pid);
	assert_int_equal(access(dir, F_OK), -1);
}

static void test_killed_keeper_takes_its_guest_along(void **state)
{
	pid_t pid;

	(void)state;
	start_with_clients(1);
	pid = executor_pid(0);
	assert_int_equal(kill(keeper.pid, SIGKILL), 0);
	assert_ends(pid);
}

/* Clients of a keeper that was killed go on with the next, and lose no program. */
static void test_next_keeper_is_found(void **state)
{
	(void)state;
	start_with_clients(1);
	for (uint32_t request = 0; request < 5; request++)
		submit(0, FAKE_ANSWER, 3, request);
	assert_answered(0, 0, 3);
	kill(keeper.pid, SIGKILL);
	vm_process_stop(&keeper, 0);
	close(keeper.err);
	start_keeper(FAKE_OK);
	for (uint32_t request = 1; request < 5; request++)
		assert_answered(0, request, 3);
	submit(0, FAKE_ANSWER, 2, 9);
	assert_answered(0, 9, 2);
}

/* The folder of a killed keeper is removed by the next that is made; that of a live one stays. */
static void test_folders_are_swept(void **state)
{
	char other[VM_PRIVATE_DIR_MAX], third[VM_PRIVATE_DIR_MAX];

	(void)state;
	start_with_clients(1);
	assert_int_equal(vm_private_dir_make(other, err, sizeof(err)), 0);
	assert_int_equal(access(dir, F_OK), 0);
	kill(keeper.pid, SIGKILL);
	vm_process_stop(&keeper, 0);
	assert_int_equal(vm_private_dir_make(third, err, sizeof(err)), 0);
	assert_int_equal(access(dir, F_OK), -1);
	/* One whose keeper is yet to come is not abandoned. */
	assert_int_equal(access(other, F_OK), 0);
	vm_private_dir_remove(other);
	vm_private_dir_remove(third);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clients_share_one_executor),
		TEST(test_client_that_leaves_is_not_missed),
		TEST(test_the_oldest_is_blamed_and_no_other),
		TEST(test_last_words_are_told),
		TEST(test_silence_is_ended),
		TEST(test_end_between_programs),
		TEST(test_restart_on_request_loses_nothing),
		TEST(test_boot_that_hangs_is_tried_again),
		TEST(test_boot_that_ends_is_told),
		TEST(test_no_keeper),
		TEST(test_owner_ends_all),
		TEST(test_killed_keeper_takes_its_guest_along),
		TEST(test_next_keeper_is_found),
		TEST(test_folders_are_swept),
	};

	if (argc > 1 && !strcmp(argv[1], "--fake"))
		return fake_executor_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
