/* SPDX-License-Identifier: MIT */
/* The executor with nothing between: a process, two pipes, and frames as they are. */
#ifndef VM_RAW_HOST_H
#define VM_RAW_HOST_H

#include <sys/types.h>

#include "harness/executor/protocol.h"
#include "harness/trace/trace.h"

struct raw_host {
	pid_t pid;   /* of what was started: in front of the executor proper, or it itself */
	int in, out; /* to write frames to; to read them from */
	struct vm_target_info info;    /* of the hello */
	struct vm_frame_header header; /* of the last frame read */
	uint8_t *body;
};

/* Start an executor with arguments (NULL-terminated, without argv[0]) and read its hello. */
void raw_start(struct raw_host *h, const char *const *args);

/* The same on a kernel that answers system call `nr` with `err`. */
void raw_start_without(struct raw_host *h, const char *const *args, int nr, int err);

void raw_write(struct raw_host *h, const void *bytes, size_t len);

/* A VM_FRAME_RUN of a program. */
void raw_send(struct raw_host *h, const struct vm_program *prog, uint32_t id, uint32_t timeout_ms,
	      uint32_t flags);

/* Read a frame; false at the end of the stream. */
bool raw_read(struct raw_host *h);

/* The last frame, a VM_FRAME_TRACE of `prog`, decoded. */
void raw_decode(struct raw_host *h, const struct vm_program *prog, struct vm_trace *trace);

/* Send, read, decode. */
void raw_run(struct raw_host *h, const struct vm_program *prog, uint32_t flags,
	     struct vm_trace *trace);

/* Close both ends, wait, and give the exit status (-1: killed). */
int raw_stop(struct raw_host *h);

/* .vma text as a program. */
void raw_parse(const char *text, struct vm_program *prog);

/* A child of a process, or 0. */
pid_t raw_child_of(pid_t parent);

#endif
