/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/integration/raw_host.h"

#define EXECUTOR VM_BUILD_DIR "/vmafuzz-executor"
#define MAX_ARGS 8

static void exec_executor(const char *const *args, int in, int out)
{
	const char *argv[MAX_ARGS + 2] = { EXECUTOR };

	for (unsigned int i = 0; args && args[i] && i < MAX_ARGS; i++)
		argv[i + 1] = args[i];
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	closefrom(STDERR_FILENO + 1);
	execv(EXECUTOR, (char *const *)argv);
	_exit(127);
}

static void deny(int nr, int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(126);
}

void raw_start(struct raw_host *h, const char *const *args)
{
	raw_start_without(h, args, -1, 0);
}

void raw_start_without(struct raw_host *h, const char *const *args, int nr, int err)
{
	uint32_t version;
	int to[2], from[2];

	memset(h, 0, sizeof(*h));
	assert_int_equal(pipe(to) | pipe(from), 0);
	h->pid = fork();
	assert_true(h->pid >= 0);
	if (h->pid == 0) {
		if (nr >= 0)
			deny(nr, err);
		exec_executor(args, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	h->in = to[1];
	h->out = from[0];
	h->body = malloc(VM_FRAME_MAX);
	assert_non_null(h->body);
	assert_true(raw_read(h));
	assert_int_equal(h->header.type, VM_FRAME_HELLO);
	assert_true(h->header.len > sizeof(version));
	memcpy(&version, h->body, sizeof(version));
	assert_int_equal(version, VM_PROTOCOL_VERSION);
	assert_int_equal(vm_info_decode(h->body + sizeof(version), h->header.len - sizeof(version),
					&h->info),
			 0);
}

void raw_write(struct raw_host *h, const void *bytes, size_t len)
{
	assert_int_equal(write(h->in, bytes, len), len);
}

void raw_send(struct raw_host *h, const struct vm_program *prog, uint32_t id, uint32_t timeout_ms,
	      uint32_t flags)
{
	struct vm_run_request req = { .timeout_ms = timeout_ms, .flags = flags };
	struct vm_frame_header header = { .magic = VM_FRAME_MAGIC, .type = VM_FRAME_RUN, .id = id };
	uint8_t frame[sizeof(header) + sizeof(req) + VM_BYTES_MAX];
	size_t len = vm_program_encode(prog, frame + sizeof(header) + sizeof(req), VM_BYTES_MAX);

	assert_true(len > 0);
	header.len = (uint32_t)(sizeof(req) + len);
	memcpy(frame, &header, sizeof(header));
	memcpy(frame + sizeof(header), &req, sizeof(req));
	raw_write(h, frame, sizeof(header) + header.len);
}

static bool read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t got = read(fd, p, len);

		if (got <= 0)
			return false;
		p += got;
		len -= (size_t)got;
	}
	return true;
}

bool raw_read(struct raw_host *h)
{
	if (!read_all(h->out, &h->header, sizeof(h->header)))
		return false;
	assert_int_equal(h->header.magic, VM_FRAME_MAGIC);
	assert_true(h->header.len <= VM_FRAME_MAX);
	return read_all(h->out, h->body, h->header.len);
}

void raw_decode(struct raw_host *h, const struct vm_program *prog, struct vm_trace *trace)
{
	struct vm_run_reply reply;
	char err[256] = "";

	assert_int_equal(h->header.type, VM_FRAME_TRACE);
	assert_true(h->header.len >= sizeof(reply));
	memcpy(&reply, h->body, sizeof(reply));
	trace->info = h->info;
	trace->prog = *prog;
	trace->exit = reply.exit;
	trace->exit_value = reply.exit_value;
	if (vm_events_decode(h->body + sizeof(reply), h->header.len - sizeof(reply), trace, err,
			     sizeof(err)))
		fail_msg("the log cannot be decoded: %s", err);
}

void raw_run(struct raw_host *h, const struct vm_program *prog, uint32_t flags,
	     struct vm_trace *trace)
{
	raw_send(h, prog, 1, 0, flags);
	assert_true(raw_read(h));
	assert_int_equal(h->header.id, 1);
	raw_decode(h, prog, trace);
}

int raw_stop(struct raw_host *h)
{
	int status;

	close(h->in);
	close(h->out);
	free(h->body);
	h->body = NULL;
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void raw_parse(const char *text, struct vm_program *prog)
{
	static struct vm_script script;
	struct vm_parse_error err;

	if (vm_text_parse(text, strlen(text), &script, &err))
		fail_msg("line %u, column %u: %s", err.line, err.column, err.message);
	*prog = script.prog;
}

static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	size_t len = 0;
	int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "r");
	if (f) {
		len = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[len] = '\0';
	return strrchr(text, ')') && sscanf(strrchr(text, ')'), ") %*c %d", &parent) == 1 ? parent
											  : 0;
}

pid_t raw_child_of(pid_t parent)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t child = 0;

	assert_non_null(dir);
	while (!child && (entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    parent_of(entry->d_name) == parent)
			child = atoi(entry->d_name);
	}
	closedir(dir);
	return child;
}
