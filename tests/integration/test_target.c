/* SPDX-License-Identifier: MIT */
/*
 * Targets: started, asked, killed under the host's hands and started again. Most tests run this
 * very program as a fake executor; the last ones the real one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/target/target.h"
#include "tests/integration/fake_executor.h"

#define REAL_EXECUTOR VM_BUILD_DIR "/vmafuzz-executor"

static struct vm_trace trace;
static struct vm_target *target;
static char err[512], self[512], spec[640];
static uint32_t id;

static int setup(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	target = NULL;
	err[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_target_close(target);
	vm_trace_free(&trace);
	return 0;
}

static struct vm_target *open_fake(const char *mode)
{
	const struct vm_target_options opt = { .hello_ms = 3000 };

	snprintf(spec, sizeof(spec), "exec:exec '%s' --fake %s", self, mode);
	target = vm_target_open(spec, &opt, err, sizeof(err));
	return target;
}

static struct vm_program program(enum fake_order order, uint8_t ncalls)
{
	struct vm_program prog = { .ncalls = ncalls };

	for (unsigned int i = 0; i < ncalls; i++)
		prog.call[i].op = VM_OP_MUNMAP;
	prog.call[0].fail_nth = (uint16_t)order;
	return prog;
}

static void submit(enum fake_order order, uint8_t ncalls, uint32_t request)
{
	struct vm_program prog = program(order, ncalls);

	assert_int_equal(vm_target_submit(target, &prog, request, 0, err, sizeof(err)), 0);
}

static int run(enum fake_order order)
{
	struct vm_program prog = program(order, 2);

	return vm_target_run(target, &prog, 0, &trace, err, sizeof(err));
}

static void assert_said(const char *words)
{
	if (!strstr(err, words))
		print_error("not said: '%s', but: '%s'\n", words, err);
	assert_non_null(strstr(err, words));
	assert_null(strchr(err, '\n'));
}

static void assert_answer(int32_t ncalls)
{
	assert_int_equal(trace.exit, VM_EXIT_DONE);
	assert_int_equal(trace.exit_value, ncalls);
	assert_int_equal(trace.prog.ncalls, ncalls);
	assert_int_equal(trace.nevents, 1);
	assert_int_equal(trace.event[0].kind, VM_EVENT_START);
	assert_string_equal(trace.info.release, "fake");
}

static pid_t fake_pid(void)
{
	return (pid_t)vm_target_info(target)->max_map_count;
}

static void assert_works(void)
{
	assert_int_equal(run(FAKE_ANSWER), 1);
	assert_answer(2);
}

static void assert_gone(pid_t pid)
{
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

/* ---- start ---- */

static void test_runs_programs(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	for (int i = 0; i < 100; i++)
		assert_works();
}

static void test_banner_is_skipped(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_BANNER));
	assert_works();
}

static void test_unknown_targets(void **state)
{
	(void)state;
	assert_null(vm_target_open("moon", NULL, err, sizeof(err)));
	assert_said("unknown target 'moon': use local, exec:COMMAND, qemu:IMAGE or kernel:NAME");
	assert_null(vm_target_open("exec:", NULL, err, sizeof(err)));
	assert_said("use exec:COMMAND");
}

static void test_exec_takes_no_inject(void **state)
{
	struct vm_target_options opt = { .inject = "seal" };

	(void)state;
	assert_null(vm_target_open("exec:true", &opt, err, sizeof(err)));
	assert_said("--inject");
}

static void test_no_executor(void **state)
{
	struct vm_target_options opt = { .executor = "/no/such/executor" };

	(void)state;
	assert_null(vm_target_open("local", &opt, err, sizeof(err)));
	assert_said("/no/such/executor");
	assert_said("build it with ./dev build");
}

static void test_executor_that_is_no_program(void **state)
{
	char path[] = "/tmp/vm_test_target.XXXXXX";
	struct vm_target_options opt = { .executor = path };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "\0\1\2", 3), 3);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	assert_null(vm_target_open("local", &opt, err, sizeof(err)));
	unlink(path);
	assert_said(path);
	assert_said(strerror(ENOEXEC));
}

static void test_other_protocol(void **state)
{
	char words[64];

	(void)state;
	snprintf(words, sizeof(words), "speaks protocol 77, this vmafuzz %d", VM_PROTOCOL_VERSION);
	assert_null(open_fake(FAKE_OLD));
	assert_said(words);
}

static void test_death_at_start_tells_the_last_words(void **state)
{
	(void)state;
	assert_null(open_fake(FAKE_DIES));
	assert_said("ended at start (status 3): no room for? the arena");
	assert_null(open_fake(FAKE_FAILS));
	assert_said("cannot run programs: no /proc here");
	assert_null(vm_target_open("exec:no-such-command-here", NULL, err, sizeof(err)));
	assert_said("(status 127)");
	assert_said("not found");
}

/* Then the command itself and what to do are said. */
static void test_death_at_start_without_a_word(void **state)
{
	struct vm_target_options opt = { .executor = "/bin/true" };
	char long_spec[600] = "exec:\ntrue ";

	(void)state;
	assert_null(vm_target_open("exec:/bin/true", NULL, err, sizeof(err)));
	assert_said("the command '/bin/true' ended at start (status 0): it must start "
		    "vmafuzz-executor");
	assert_null(vm_target_open("local", &opt, err, sizeof(err)));
	assert_said("the executor '/bin/true' ended at start (status 0): build it with ./dev "
		    "build");
	memset(long_spec + strlen(long_spec), 'x', sizeof(long_spec) - strlen(long_spec) - 1);
	long_spec[sizeof(long_spec) - 1] = '\0';
	assert_null(vm_target_open(long_spec, NULL, err, sizeof(err)));
	assert_said("the command '?true xx");
	assert_said("xx...' ended at start (status 0): it must start vmafuzz-executor");
}

static void test_no_protocol(void **state)
{
	(void)state;
	assert_null(open_fake(FAKE_BABBLES));
	assert_said("does not speak the protocol");
}

static void test_no_hello(void **state)
{
	(void)state;
	assert_null(open_fake(FAKE_SILENT));
	assert_said("no hello from the command 'exec ");
	assert_said("' within 3 s: ");
}

/* ---- in flight ---- */

static void test_sixteen_in_flight(void **state)
{
	struct vm_program prog = program(FAKE_ANSWER, 1);
	uint32_t seen = 0;

	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	for (uint32_t i = 0; i < VM_TARGET_MAX_INFLIGHT; i++)
		submit(FAKE_ANSWER, (uint8_t)(i + 1), i);
	assert_int_equal(vm_target_submit(target, &prog, 99, 0, err, sizeof(err)), -1);
	assert_said("more than 16 requests");
	assert_int_equal(run(FAKE_ANSWER), -1);
	assert_said("16 programs are in flight");
	for (uint32_t i = 0; i < VM_TARGET_MAX_INFLIGHT; i++) {
		assert_int_equal(vm_target_wait(target, &id, &trace, err, sizeof(err)), 1);
		assert_answer((int32_t)id + 1);
		seen |= 1u << id;
	}
	assert_int_equal(seen, 0xffff);
	assert_int_equal(vm_target_wait(target, &id, &trace, err, sizeof(err)), -1);
	assert_said("no program is in flight");
}

static void test_replies_in_any_order(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	submit(FAKE_LATER, 3, 500);
	submit(FAKE_ANSWER, 4, 501);
	assert_int_equal(vm_target_wait(target, &id, &trace, err, sizeof(err)), 1);
	assert_int_equal(id, 501);
	assert_answer(4);
	assert_int_equal(vm_target_wait(target, &id, &trace, err, sizeof(err)), 1);
	assert_int_equal(id, 500);
	assert_answer(3);
}

static void test_strange_replies_are_ignored(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	assert_int_equal(run(FAKE_STRANGER), 1);
	assert_answer(2);
}

/* Programs that together are larger than a pipe, to an executor that writes more than a pipe. */
static void test_full_pipes_do_not_deadlock(void **state)
{
	struct vm_program prog = program(FAKE_ANSWER, VM_PROGRAM_MAX_CALLS);
	int null = open("/dev/null", O_WRONLY), saved = dup(STDERR_FILENO);

	(void)state;
	for (unsigned int i = 0; i < VM_PROGRAM_MAX_CALLS; i++) {
		prog.call[i].op = VM_OP_MREMAP;
		for (unsigned int a = 0; a < VM_CALL_MAX_ARGS; a++)
			prog.call[i].arg[a].addr.off.bytes = 0x123456789abcdef;
	}
	prog.call[0].fail_nth = FAKE_LARGE;
	vm_program_normalise(&prog);
	assert_non_null(open_fake(FAKE_OK));
	assert_true(null >= 0 && saved >= 0);
	dup2(null, STDERR_FILENO);
	for (uint32_t i = 0; i < VM_TARGET_MAX_INFLIGHT; i++)
		assert_int_equal(vm_target_submit(target, &prog, i, 0, err, sizeof(err)), 0);
	for (uint32_t i = 0; i < VM_TARGET_MAX_INFLIGHT; i++) {
		assert_int_equal(vm_target_wait(target, &id, &trace, err, sizeof(err)), 1);
		assert_int_equal(id, i);
		assert_true(vm_program_equal(&trace.prog, &prog));
	}
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(null);
}

/* ---- death ---- */

static void assert_death(enum fake_order order, int32_t value, const char *words)
{
	pid_t before = fake_pid();

	assert_int_equal(run(order), 0);
	assert_said("was started again");
	assert_said(words);
	assert_int_equal(trace.exit, VM_EXIT_STATUS);
	assert_int_equal(trace.exit_value, value);
	assert_int_equal(trace.nevents, 0);
	assert_int_equal(trace.prog.call[0].fail_nth, order);
	assert_gone(before);
	assert_works();
}

static void test_death_in_flight(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	assert_death(FAKE_KILLED, 128 + SIGKILL, "signal 9");
	assert_death(FAKE_ENDS, 7,
		     "status 7) with program 0 in flight and was started again: last");
	assert_death(FAKE_GARBAGE, 0, "what it sent is no frame");
	assert_death(FAKE_GIVES_UP, 0, "out of luck");
	assert_death(FAKE_HALF, 5, "status 5");
}

static void test_death_while_a_child_holds_the_pipe(void **state)
{
	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	assert_death(FAKE_LEAVES_CHILD, 4, "status 4");
}

/* The oldest is blamed, all others are answered by the next executor. */
static void test_death_loses_one_program(void **state)
{
	uint32_t answered = 0;

	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	submit(FAKE_ANSWER, 1, 0);
	submit(FAKE_KILLED, 2, 1);
	submit(FAKE_ANSWER, 3, 2);
	submit(FAKE_ENDS, 4, 3);
	submit(FAKE_ANSWER, 5, 4);
	for (unsigned int i = 0; i < 5; i++) {
		int ret = vm_target_wait(target, &id, &trace, err, sizeof(err));

		assert_int_equal(trace.prog.ncalls, id + 1);
		assert_int_equal(ret, id == 1 || id == 3 ? 0 : 1);
		answered |= 1u << id;
	}
	assert_int_equal(answered, 0x1f);
	assert_works();
}

static void test_death_between_programs(void **state)
{
	pid_t pid;

	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	pid = fake_pid();
	assert_int_equal(kill(pid, SIGKILL), 0);
	usleep(50000);
	/* With SIGPIPE at its default, writing to it would end this test. */
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(run(FAKE_ANSWER), 0);
	assert_said("was started again");
	assert_works();
	assert_gone(pid);
}

static void test_unreadable_replies(void **state)
{
	pid_t pid;

	(void)state;
	assert_non_null(open_fake(FAKE_OK));
	pid = fake_pid();
	assert_int_equal(run(FAKE_BAD_LOG), 0);
	assert_said("cannot be read: event log");
	assert_int_equal(trace.exit, VM_EXIT_STATUS);
	assert_int_equal(run(FAKE_BAD_EXIT), 0);
	assert_said("unknown kind of exit");
	assert_int_equal(trace.exit, VM_EXIT_STATUS);
	assert_int_equal(run(FAKE_REFUSES), 0);
	assert_said("refused program 0: not today");
	assert_works();
	assert_int_equal(fake_pid(), pid);
}

static void test_hang_is_ended(void **state)
{
	struct vm_target_options opt = { .timeout_ms = 1 };
	pid_t pid;

	(void)state;
	snprintf(spec, sizeof(spec), "exec:exec '%s' --fake ok", self);
	target = vm_target_open(spec, &opt, err, sizeof(err));
	assert_non_null(target);
	pid = fake_pid();
	assert_int_equal(run(FAKE_HANGS), 0);
	assert_said("hung (signal 9");
	assert_int_equal(trace.exit, VM_EXIT_STUCK);
	assert_gone(pid);
	assert_works();
}

/* A command that works once: the executor is gone for good. */
static void test_cannot_start_again(void **state)
{
	char once[] = "/tmp/vm_test_target.XXXXXX";
	int fd = mkstemp(once);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(spec, sizeof(spec), "exec:rm '%s' && exec '%s' --fake ok", once, self);
	target = vm_target_open(spec, NULL, err, sizeof(err));
	assert_non_null(target);
	assert_int_equal(run(FAKE_KILLED), -1);
	assert_said("ended at start (status 1)");
	assert_said("signal 9");
	assert_int_equal(run(FAKE_ANSWER), -1);
	assert_said("ended at start");
}

/* ---- the end ---- */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void test_close_leaves_nothing(void **state)
{
	pid_t pid;

	(void)state;
	assert_non_null(open_fake(FAKE_STUBBORN));
	pid = fake_pid();
	assert_int_equal(getpgid(pid), pid);
	vm_target_close(target);
	target = NULL;
	assert_gone(pid);
	/* Its child went with it: the process group is empty once init has reaped. */
	for (double until = seconds() + 5; !kill(-pid, 0) && seconds() < until;)
		usleep(10000);
	assert_gone(-pid);
}

static void test_descriptors_do_not_leak(void **state)
{
	int first = dup(0), last;

	(void)state;
	close(first);
	for (int i = 0; i < 5; i++) {
		assert_non_null(open_fake(FAKE_OK));
		assert_int_equal(run(FAKE_KILLED), 0);
		vm_target_close(target);
		assert_null(open_fake(FAKE_DIES));
	}
	last = dup(0);
	close(last);
	assert_int_equal(first, last);
}

static void test_executor_gets_three_descriptors(void **state)
{
	int extra = dup2(0, 198);

	(void)state;
	assert_int_equal(extra, 198);
	snprintf(spec, sizeof(spec), "exec:test ! -e /proc/$$/fd/198 && exec '%s' --fake ok", self);
	target = vm_target_open(spec, NULL, err, sizeof(err));
	close(extra);
	assert_non_null(target);
}

/* ---- the real one ---- */

static void need_real(const char *inject)
{
	struct vm_target_options opt = { .executor = REAL_EXECUTOR, .inject = inject };

	target = vm_target_open("local", &opt, err, sizeof(err));
	if (!target)
		print_error("%s\n", err);
}

static void test_real_executor(void **state)
{
	static const char text[] = "mmap p0+4 rw anon private fill\nmprotect p1+1 r\n"
				   "munmap p2+2\n";
	static struct vm_script script;
	struct vm_parse_error at;
	const struct vm_snapshot *s;

	(void)state;
	need_real(NULL);
	assert_non_null(target);
	assert_int_equal(vm_text_parse(text, strlen(text), &script, &at), 0);
	for (int i = 0; i < 20; i++) {
		int ret = vm_target_run(target, &script.prog, 0, &trace, err, sizeof(err));

		if (ret != 1)
			print_error("%s\n", err);
		assert_int_equal(ret, 1);
		assert_int_equal(trace.exit, VM_EXIT_DONE);
		assert_int_equal(trace.nevents, script.prog.ncalls + 2);
	}
	s = &trace.event[trace.nevents - 1].after;
	assert_true(s->mask & VM_SEEN_MAPS);
	assert_int_equal(s->nvma, 2);
	assert_int_equal(s->vma[0].start, trace.info.layout.arena_base);
	assert_int_equal(s->vma[1].mode, VM_MODE_R);
}

static void test_real_executor_refuses_unknown_faults(void **state)
{
	struct vm_target_options opt = { .executor = REAL_EXECUTOR, .inject = "no-such-fault" };

	(void)state;
	assert_null(vm_target_open("local", &opt, err, sizeof(err)));
	assert_said("ended at start");
	assert_said("no-such-fault");
}

/* Whatever it left behind would become a child of this process. */
static void test_real_executor_leaves_no_process(void **state)
{
	struct vm_program prog = { .ncalls = 0 };
	double until;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	need_real(NULL);
	assert_non_null(target);
	assert_int_equal(vm_target_run(target, &prog, 0, &trace, err, sizeof(err)), 1);
	vm_target_close(target);
	target = NULL;
	until = seconds() + 5;
	while (waitpid(-1, NULL, WNOHANG) != -1 && seconds() < until)
		usleep(1000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_runs_programs),
		TEST(test_banner_is_skipped),
		TEST(test_unknown_targets),
		TEST(test_exec_takes_no_inject),
		TEST(test_no_executor),
		TEST(test_executor_that_is_no_program),
		TEST(test_other_protocol),
		TEST(test_death_at_start_tells_the_last_words),
		TEST(test_death_at_start_without_a_word),
		TEST(test_no_protocol),
		TEST(test_no_hello),
		TEST(test_sixteen_in_flight),
		TEST(test_replies_in_any_order),
		TEST(test_strange_replies_are_ignored),
		TEST(test_full_pipes_do_not_deadlock),
		TEST(test_death_in_flight),
		TEST(test_death_while_a_child_holds_the_pipe),
		TEST(test_death_loses_one_program),
		TEST(test_death_between_programs),
		TEST(test_unreadable_replies),
		TEST(test_hang_is_ended),
		TEST(test_cannot_start_again),
		TEST(test_close_leaves_nothing),
		TEST(test_descriptors_do_not_leak),
		TEST(test_executor_gets_three_descriptors),
		TEST(test_real_executor),
		TEST(test_real_executor_refuses_unknown_faults),
		TEST(test_real_executor_leaves_no_process),
	};

	if (argc > 1 && !strcmp(argv[1], "--fake"))
		return fake_executor_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
