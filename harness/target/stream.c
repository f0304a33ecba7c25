/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/target/stream.h"
#include "harness/trace/varint.h"

#define READ_BYTES   (64u << 10)
#define NOISE_MAX    (64u << 10)
#define HEADER_BYTES sizeof(struct vm_frame_header)

void vm_stream_start(struct vm_stream *s, struct vm_process *process)
{
	s->process = process;
	s->tx.from = s->tx.to = 0;
	s->rx.from = s->rx.to = 0;
	s->noise = 0;
	s->synced = false;
	s->held[0] = '\0';
	s->line_len = 0;
}

void vm_stream_free(struct vm_stream *s)
{
	free(s->tx.bytes);
	free(s->rx.bytes);
	s->tx = s->rx = (struct vm_buffer){ .bytes = NULL };
}

/* Make room for `more` bytes after what is in use. */
static bool reserve(struct vm_buffer *b, size_t more)
{
	size_t used = b->to - b->from, cap = b->cap ? b->cap : READ_BYTES;
	uint8_t *bytes;

	if (b->from && (!used || b->cap - b->to < more)) {
		memmove(b->bytes, b->bytes + b->from, used);
		b->from = 0;
		b->to = used;
	}
	if (b->cap - b->to >= more)
		return true;
	while (cap - used < more)
		cap *= 2;
	bytes = realloc(b->bytes, cap);
	if (!bytes)
		return false;
	b->bytes = bytes;
	b->cap = cap;
	return true;
}

/*
 * write() to a pipe whose reader may be gone, with no SIGPIPE and no change to the process's signal
 * handlers: the signal is blocked in this thread for the time of the write, and taken if it came.
 */
static ssize_t write_quietly(int fd, const void *bytes, size_t len)
{
	const struct timespec zero = { 0 };
	sigset_t sigpipe, old;
	ssize_t n;
	int error;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &old);
	n = write(fd, bytes, len);
	error = errno;
	if (n < 0 && error == EPIPE)
		sigtimedwait(&sigpipe, NULL, &zero);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return n;
}

/* Write what the pipe takes. When nobody reads it any more, reading will show why. */
static void flush(struct vm_stream *s)
{
	while (s->tx.from < s->tx.to && s->process->in >= 0) {
		ssize_t n = write_quietly(s->process->in, s->tx.bytes + s->tx.from,
					  s->tx.to - s->tx.from);

		if (n >= 0) {
			s->tx.from += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			close(s->process->in);
			s->process->in = -1;
		}
	}
}

bool vm_stream_send(struct vm_stream *s, uint16_t type, uint32_t id, const void *a, size_t alen,
		    const void *b, size_t blen)
{
	uint8_t *p;

	if (!reserve(&s->tx, HEADER_BYTES + alen + blen))
		return false;
	p = s->tx.bytes + s->tx.to;
	p = vm_put_fixed(p, VM_FRAME_MAGIC, 4);
	p = vm_put_fixed(p, alen + blen, 4);
	p = vm_put_fixed(p, type, 2);
	p = vm_put_fixed(p, 0, 2);
	p = vm_put_fixed(p, id, 4);
	if (alen)
		memcpy(p, a, alen);
	if (blen)
		memcpy(p + alen, b, blen);
	s->tx.to += HEADER_BYTES + alen + blen;
	flush(s);
	return true;
}

/* ---- stderr ---- */

void vm_stream_show_held(struct vm_stream *s)
{
	if (s->held[0] && !s->silent)
		fprintf(stderr, "%s: %s\n", s->who ? s->who : "executor", s->held);
	s->held[0] = '\0';
}

static void end_line(struct vm_stream *s)
{
	if (!s->line_len)
		return;
	vm_stream_show_held(s);
	memcpy(s->held, s->line, s->line_len);
	s->held[s->line_len] = '\0';
	s->line_len = 0;
}

/* Long lines are cut in pieces; what could steer a terminal becomes `?`. */
static void hear(struct vm_stream *s, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n' || s->line_len == VM_LINE_MAX - 1)
			end_line(s);
		if (c == '\n' || c == '\r')
			continue;
		s->line[s->line_len++] = (c < 0x20 && c != '\t') || c == 0x7f ? '?' : (char)c;
	}
}

static void read_stderr(struct vm_stream *s)
{
	char text[1024];
	ssize_t n;

	if (s->process->err < 0)
		return;
	while ((n = read(s->process->err, text, sizeof(text))) > 0)
		hear(s, text, (size_t)n);
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(s->process->err);
		s->process->err = -1;
	}
}

void vm_stream_last_words(struct vm_stream *s, char words[VM_LINE_MAX])
{
	read_stderr(s);
	end_line(s);
	if (s->process->err >= 0)
		close(s->process->err);
	s->process->err = -1;
	memcpy(words, s->held, VM_LINE_MAX);
	s->held[0] = '\0';
}

/* ---- frames ---- */

/* Skip to what may be a header; false if there is too much before it. */
static bool synchronise(struct vm_stream *s)
{
	struct vm_buffer *b = &s->rx;

	while (!s->synced && b->to - b->from >= 4) {
		struct vm_reader r = { .at = b->bytes + b->from, .end = b->bytes + b->to };

		if (vm_get_fixed(&r, 4) == VM_FRAME_MAGIC)
			break;
		b->from++;
		s->noise++;
	}
	return s->noise <= NOISE_MAX;
}

/* The frame at the start of what was read: FRAME, BROKEN, or TIMEOUT when it is not yet complete.
 */
enum vm_stream_event vm_stream_frame(struct vm_stream *s, struct vm_frame *frame)
{
	struct vm_buffer *b = &s->rx;
	struct vm_reader r;
	uint64_t magic;
	size_t have;

	if (!synchronise(s))
		return VM_STREAM_BROKEN;
	have = b->to - b->from;
	r = (struct vm_reader){ .at = b->bytes + b->from, .end = b->bytes + b->to };
	if (have < HEADER_BYTES)
		return VM_STREAM_TIMEOUT;
	magic = vm_get_fixed(&r, 4);
	frame->len = vm_get_fixed(&r, 4);
	frame->type = (uint16_t)vm_get_fixed(&r, 2);
	vm_get_fixed(&r, 2);
	frame->id = (uint32_t)vm_get_fixed(&r, 4);
	if (magic != VM_FRAME_MAGIC || frame->len > VM_FRAME_MAX)
		return VM_STREAM_BROKEN;
	if (have - HEADER_BYTES < frame->len)
		return reserve(b, frame->len) ? VM_STREAM_TIMEOUT : VM_STREAM_BROKEN;
	frame->body = b->bytes + b->from + HEADER_BYTES;
	b->from += HEADER_BYTES + frame->len;
	s->synced = true;
	return VM_STREAM_FRAME;
}

static enum vm_stream_event read_more(struct vm_stream *s)
{
	ssize_t n;

	if (!reserve(&s->rx, READ_BYTES))
		return VM_STREAM_BROKEN;
	n = read(s->process->out, s->rx.bytes + s->rx.to, s->rx.cap - s->rx.to);
	if (n > 0)
		s->rx.to += (size_t)n;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return VM_STREAM_TIMEOUT;
	return VM_STREAM_CLOSED;
}

void vm_stream_poll(const struct vm_stream *s, struct pollfd fds[VM_STREAM_FDS])
{
	bool writing = s->tx.from < s->tx.to;

	fds[0] = (struct pollfd){ .fd = s->process->out, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->process->err, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = writing ? s->process->in : -1, .events = POLLOUT };
}

enum vm_stream_event vm_stream_ready(struct vm_stream *s, const struct pollfd fds[VM_STREAM_FDS])
{
	if (fds[1].revents)
		read_stderr(s);
	if (fds[2].revents)
		flush(s);
	return fds[0].revents ? read_more(s) : VM_STREAM_TIMEOUT;
}

/* Wait for one thing to happen, and do it. TIMEOUT: go on. */
static enum vm_stream_event pump(struct vm_stream *s, int wait_ms)
{
	struct pollfd fds[VM_STREAM_FDS];

	vm_stream_poll(s, fds);
	return poll(fds, VM_STREAM_FDS, wait_ms) > 0 ? vm_stream_ready(s, fds) : VM_STREAM_TIMEOUT;
}

enum vm_stream_event vm_stream_next(struct vm_stream *s, long long deadline, struct vm_frame *frame)
{
	for (;;) {
		enum vm_stream_event event = vm_stream_frame(s, frame);
		long long left;

		if (event != VM_STREAM_TIMEOUT)
			return event;
		left = deadline - vm_now_ms();
		if (left <= 0)
			return VM_STREAM_TIMEOUT;
		event = pump(s, (int)left);
		if (event != VM_STREAM_TIMEOUT)
			return event;
	}
}
