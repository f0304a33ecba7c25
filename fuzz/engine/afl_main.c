/* SPDX-License-Identifier: MIT */
/*
 * build/vmafuzz-afl: what afl-fuzz runs, in persistent mode, test cases in shared memory. The map
 * that AFL++ looks at is written by us alone (cmake/afl-denylist.txt keeps its instrumentation
 * out).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/campaign/session.h"
#include "fuzz/engine/engine.h"

/* The runtime that afl-clang-fast links in; the macros below need the rest of it. */
extern uint8_t *__afl_area_ptr;

extern uint32_t __afl_final_loc;

__AFL_FUZZ_INIT();

/* The size of the map, which the runtime's own constructors go by: no instrumentation says it. */
static void set_map_size(void)
{
	__afl_final_loc = VM_MAP_SIZE - 1;
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = set_map_size;

static void __attribute__((noreturn)) give_up(const struct vm_options *opt, const char *line)
{
	vm_engine_complain(opt, line);
	_exit(VM_ENGINE_BROKEN);
}

/* One input; aborts at the first program with a new violation, so that AFL++ has it as a crash. */
static void one(const struct vm_options *opt, struct vm_session *session, const uint8_t *buf,
		size_t len)
{
	struct vm_program prog;
	struct vm_result result;
	char err[512];

	vm_program_decode(buf, len, &prog);
	if (vm_session_run(session, &prog, &result, err, sizeof(err)))
		give_up(opt, err);
	vm_feedback_write(__afl_area_ptr, result.feature, result.nfeatures);
	/* A program without features (no call was judged) must not look like a broken target. */
	__afl_area_ptr[0] = 1;
	if (result.new_violation)
		abort();
}

int main(void)
{
	static struct vm_options opt;
	struct vm_session *session;
	const uint8_t *buf;
	char err[512];
	pid_t server;

	if (vm_options_import(&opt, err, sizeof(err))) {
		fprintf(stderr, "vmafuzz-afl: %s\n", err);
		return VM_ENGINE_BROKEN;
	}
	vm_engine_die_with(getppid(), SIGKILL);
	server = getpid();
	__AFL_INIT();
	/* Now a child of the fork server (or the same process, without afl-fuzz). */
	if (getpid() != server)
		vm_engine_die_with(server, SIGKILL);
	session = vm_session_open(&opt, true, err, sizeof(err));
	if (!session)
		give_up(&opt, err);
	buf = __AFL_FUZZ_TESTCASE_BUF;
	while (__AFL_LOOP(1000000000)) {
		int len = __AFL_FUZZ_TESTCASE_LEN;

		one(&opt, session, buf, (size_t)len);
	}
	vm_session_close(session);
	return 0;
}
