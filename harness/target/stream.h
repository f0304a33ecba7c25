/* SPDX-License-Identifier: MIT */
/*
 * Frames over a process's pipes. Nothing here blocks on a full pipe: what cannot be written waits
 * in a buffer, and waiting for a frame writes, reads and listens to stderr at the same time.
 */
#ifndef VM_STREAM_H
#define VM_STREAM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/executor/protocol.h"
#include "harness/target/process.h"

#define VM_LINE_MAX 256

struct vm_buffer {
	uint8_t *bytes;
	size_t from, to, cap; /* [from, to) is in use */
};

struct vm_stream {
	struct vm_process *process;
	struct vm_buffer tx, rx;
	size_t noise; /* bytes before the first frame, skipped (a login banner) */
	bool synced;  /* a frame was seen: from now on only frames may come */
	/*
	 * stderr: the last line is held back until its writer has lived on, so that it can be told
	 * as the reason of an end; others go to our stderr.
	 */
	char held[VM_LINE_MAX], line[VM_LINE_MAX];
	size_t line_len;
	const char *who; /* whose stderr it is, for these lines; NULL: "executor" */
	bool silent;	 /* these lines are not shown; the last one is held all the same */
};

struct vm_frame {
	uint16_t type;
	uint32_t id;
	const uint8_t *body; /* valid until the next call on the stream */
	size_t len;
};

enum vm_stream_event {
	VM_STREAM_FRAME,
	VM_STREAM_TIMEOUT,
	VM_STREAM_CLOSED, /* stdout was closed */
	VM_STREAM_BROKEN, /* what comes is no frame */
};

/* Start on a new process; buffers, `who` and `silent` are kept. */
void vm_stream_start(struct vm_stream *s, struct vm_process *process);

/* Free the buffers. */
void vm_stream_free(struct vm_stream *s);

/* Send a frame whose body is two parts. False when memory is short. */
bool vm_stream_send(struct vm_stream *s, uint16_t type, uint32_t id, const void *a, size_t alen,
		    const void *b, size_t blen);

/* The next frame, waiting until `deadline` (vm_now_ms()) at most. */
enum vm_stream_event vm_stream_next(struct vm_stream *s, long long deadline,
				    struct vm_frame *frame);

/*
 * For those who wait for several streams: what to poll() for, what to do when it has happened
 * (TIMEOUT: all well), and the next frame of what was read (TIMEOUT: none is whole).
 */
#define VM_STREAM_FDS 3
void vm_stream_poll(const struct vm_stream *s, struct pollfd fds[VM_STREAM_FDS]);
enum vm_stream_event vm_stream_ready(struct vm_stream *s, const struct pollfd fds[VM_STREAM_FDS]);
enum vm_stream_event vm_stream_frame(struct vm_stream *s, struct vm_frame *frame);

/* Show the held line: its writer lives. */
void vm_stream_show_held(struct vm_stream *s);

/* Read what is left of stderr, close it, and take the held line ("" if there is none). */
void vm_stream_last_words(struct vm_stream *s, char words[VM_LINE_MAX]);

#endif
