/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/executor/protocol.h"
#include "harness/trace/trace.h"
#include "tests/integration/fake_executor.h"

static void put(const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n <= 0)
			_exit(9);
		p += n;
		len -= (size_t)n;
	}
}

static void put_frame(uint16_t type, uint32_t id, const void *body, size_t len)
{
	struct vm_frame_header h = {
		.magic = VM_FRAME_MAGIC, .len = (uint32_t)len, .type = type, .id = id
	};

	put(&h, sizeof(h));
	put(body, len);
}

/* False at the end of input. */
static int get(void *bytes, size_t len)
{
	char *p = bytes;

	while (len) {
		ssize_t n = read(STDIN_FILENO, p, len);

		if (n <= 0)
			return 0;
		p += n;
		len -= (size_t)n;
	}
	return 1;
}

static void hello(uint32_t version)
{
	static struct vm_target_info info;
	uint8_t body[4096];

	strcpy(info.release, "fake");
	info.layout = (struct vm_layout){ .page_size = 4096,
					  .pmd_size = 2 << 20,
					  .pud_size = 1 << 30,
					  .task_size = 1ull << 47,
					  .arena_base = 1ull << 40,
					  .arena_size = 1ull << 32 };
	/* The pid tells one executor from the next. */
	info.max_map_count = (uint64_t)getpid();
	memcpy(body, &version, 4);
	put_frame(VM_FRAME_HELLO, 0, body, 4 + vm_info_encode(&info, body + 4, sizeof(body) - 4));
}

/* `log` is a START event with nothing observed, or bytes that are none. */
static void answer(uint32_t id, uint8_t exit, int32_t value, uint8_t log)
{
	struct vm_run_reply reply = { .exit = exit, .exit_value = value };
	uint8_t body[sizeof(reply) + 1];

	memcpy(body, &reply, sizeof(reply));
	body[sizeof(reply)] = log;
	put_frame(VM_FRAME_TRACE, id, body, sizeof(body));
}

static uint8_t start_event(void)
{
	static struct vm_event_writer w;
	struct vm_event e = { .kind = VM_EVENT_START, .seq_end = 1 };
	uint8_t log[256];

	vm_event_writer_init(&w, log, sizeof(log), NULL, 0);
	vm_event_write_end(&w, &e);
	return log[0];
}

static void leave_child(void)
{
	if (!fork()) {
		for (;;)
			pause();
	}
}

static void misbehave(uint32_t id, unsigned int order)
{
	switch (order) {
	case FAKE_KILLED:
		raise(SIGKILL);
		break;
	case FAKE_ENDS:
		dprintf(STDERR_FILENO, "first words\nlast words\n");
		_exit(7);
	case FAKE_GARBAGE:
		put("this is no frame, is it?", 24);
		break;
	case FAKE_BAD_LOG:
		answer(id, VM_EXIT_DONE, 0, 0xff);
		break;
	case FAKE_BAD_EXIT:
		answer(id, 99, 0, start_event());
		break;
	case FAKE_REFUSES:
		put_frame(VM_FRAME_ERROR, id, "not today", 9);
		break;
	case FAKE_GIVES_UP:
		put_frame(VM_FRAME_ERROR, 0, "out of luck", 11);
		break;
	case FAKE_LEAVES_CHILD:
		leave_child();
		_exit(4);
	case FAKE_HANGS:
		for (;;)
			pause();
	case FAKE_HALF:
		put("VVMF\100\0\0\0", 8);
		_exit(5);
	default:
		break;
	}
}

static void run(uint32_t id, const struct vm_program *prog)
{
	static uint32_t later_id, later_calls;
	unsigned int order = prog->ncalls ? prog->call[0].fail_nth : FAKE_ANSWER;

	if (order == FAKE_LATER) {
		later_id = id;
		later_calls = prog->ncalls;
		return;
	}
	if (order == FAKE_STRANGER)
		answer(id + 1000, VM_EXIT_DONE, -1, start_event());
	for (unsigned int i = 0; order == FAKE_LARGE && i < 4000; i++)
		dprintf(STDERR_FILENO, "%059u\n", i);
	if (order == FAKE_ANSWER || order == FAKE_STRANGER || order == FAKE_LARGE)
		answer(id, VM_EXIT_DONE, prog->ncalls, start_event());
	else
		misbehave(id, order);
	if (later_id)
		answer(later_id, VM_EXIT_DONE, (int32_t)later_calls, start_event());
	later_id = 0;
}

static int serve(void)
{
	static uint8_t body[sizeof(struct vm_run_request) + VM_BYTES_MAX];
	static struct vm_program prog;
	struct vm_frame_header h;

	while (get(&h, sizeof(h)) && h.len <= sizeof(body) && get(body, h.len)) {
		vm_program_decode(body + sizeof(struct vm_run_request),
				  h.len - sizeof(struct vm_run_request), &prog);
		run(h.id, &prog);
	}
	return 0;
}

int fake_executor_main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";

	if (!strcmp(mode, FAKE_DIES)) {
		dprintf(STDERR_FILENO, "no room for\033 the arena\n");
		return 3;
	}
	if (!strcmp(mode, FAKE_FAILS)) {
		put_frame(VM_FRAME_ERROR, 0, "no /proc here", 13);
		return 3;
	}
	if (!strcmp(mode, FAKE_BANNER))
		put("Welcome to the board!\n", 22);
	while (!strcmp(mode, FAKE_BABBLES))
		put("Welcome to the board!\n", 22);
	if (strcmp(mode, FAKE_SILENT))
		hello(strcmp(mode, FAKE_OLD) ? VM_PROTOCOL_VERSION : 77);
	serve();
	if (!strcmp(mode, FAKE_STUBBORN)) {
		leave_child();
		for (;;)
			pause();
	}
	return 0;
}
