/* SPDX-License-Identifier: MIT */
/* The loop: listen to the guest and to all clients at once. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/guest/keeper.h"

#define TICK_MS 200
#define LAST_MS 1000 /* for last words to clients */
#define MAX_FDS (1 + VM_STREAM_FDS * (VM_LINKS + VM_KEEPER_CLIENTS))

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- clients ---- */

void vm_keeper_greet(struct vm_keeper *k)
{
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++) {
		struct vm_client *c = &k->client[i];

		if (!k->up || !c->used || c->greeted)
			continue;
		vm_stream_send(&c->stream, VM_FRAME_HELLO, 0, k->hello, k->hello_len, NULL, 0);
		c->greeted = true;
	}
}

static void add_client(struct vm_keeper *k, int slot, int in, int out)
{
	struct vm_client *c = &k->client[slot];

	fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
	fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
	c->used = true;
	c->greeted = false;
	c->ends = (struct vm_process){ .in = in, .out = out, .err = -1 };
	vm_stream_start(&c->stream, &c->ends);
	vm_keeper_greet(k);
}

static void accept_client(struct vm_keeper *k)
{
	int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC), slot = 1;
	int other = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	while (slot < VM_KEEPER_CLIENTS && k->client[slot].used)
		slot++;
	if (other >= 0 && slot < VM_KEEPER_CLIENTS) {
		add_client(k, slot, fd, other);
		return;
	}
	close_one(&fd);
	close_one(&other);
}

static void drop_client(struct vm_keeper *k, int slot)
{
	struct vm_client *c = &k->client[slot];

	close_one(&c->ends.in);
	close_one(&c->ends.out);
	c->used = false;
	vm_keeper_forget(k, slot);
	if (slot == 0)
		k->quit = true;
}

static void hear_client(struct vm_keeper *k, int slot, const struct pollfd *fds)
{
	struct vm_client *c = &k->client[slot];
	enum vm_stream_event event = vm_stream_ready(&c->stream, fds);
	struct vm_frame f;

	while (event == VM_STREAM_TIMEOUT && !k->quit) {
		enum vm_stream_event got = vm_stream_frame(&c->stream, &f);

		if (got == VM_STREAM_TIMEOUT)
			return;
		if (got != VM_STREAM_FRAME || !vm_keeper_request(k, slot, &f))
			event = VM_STREAM_BROKEN;
	}
	if (event != VM_STREAM_TIMEOUT)
		drop_client(k, slot);
}

/* ---- the guest ---- */

/* An ERROR frame with id 0: the executor's own reason to end. */
static bool last_frame(const struct vm_frame *f, char *why, size_t size)
{
	if (f->type != VM_FRAME_ERROR || f->id)
		return false;
	snprintf(why, size, "%.*s", (int)f->len, (const char *)f->body);
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return true;
}

static void end_of_guest(struct vm_keeper *k, const char *why)
{
	if (k->up)
		vm_keeper_died(k, false, why);
	else
		vm_keeper_boot_failed(k, why);
}

/* Frames that were read. False: the guest was ended, or another link is the one. */
static bool take_frames(struct vm_keeper *k, int link)
{
	struct vm_stream *s = &k->machine.link[link].stream;
	unsigned int run = k->runs;
	struct vm_frame f;

	for (;;) {
		enum vm_stream_event event = vm_stream_frame(s, &f);
		char why[VM_LINE_MAX] = "what it sent is no frame";

		if (event == VM_STREAM_TIMEOUT || k->quit)
			return !k->quit;
		if (event == VM_STREAM_BROKEN && k->up) {
			end_of_guest(k, why);
			return false;
		}
		if (event == VM_STREAM_BROKEN)
			return true; /* noise on a link that may not be the one */
		if (!k->up)
			vm_keeper_take_hello(k, link, &f);
		else if (last_frame(&f, why, sizeof(why)))
			end_of_guest(k, why);
		else
			vm_keeper_reply(k, &f);
		if (run != k->runs || k->machine.active < 0)
			return false;
	}
}

static void hear_guest(struct vm_keeper *k, int link, const struct pollfd *fds)
{
	struct vm_stream *s = &k->machine.link[link].stream;
	enum vm_stream_event event = vm_stream_ready(s, fds);

	if (!take_frames(k, link) || event == VM_STREAM_TIMEOUT)
		return;
	if (k->machine.active >= 0 && k->machine.active != link)
		return;
	end_of_guest(k, "");
}

static void look_at_clock(struct vm_keeper *k)
{
	long long now = vm_now_ms();

	if (!k->up && now > k->deadline)
		vm_keeper_boot_failed(k, NULL);
	else if (k->up && k->in_guest && now - k->last_progress > vm_keeper_patience(k))
		vm_keeper_died(k, true, "");
	else if (vm_process_ended(&k->machine.process))
		end_of_guest(k, "");
}

/* ---- the loop ---- */

static void wait_and_serve(struct vm_keeper *k)
{
	struct pollfd fds[MAX_FDS], *at = fds + 1;
	unsigned int runs = k->runs;
	int n;

	fds[0] = (struct pollfd){ .fd = k->listener, .events = POLLIN };
	for (int i = 0; i < VM_LINKS; i++, at += VM_STREAM_FDS)
		vm_stream_poll(&k->machine.link[i].stream, at);
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++, at += VM_STREAM_FDS)
		for (int j = 0; j < VM_STREAM_FDS; j++)
			at[j] = (struct pollfd){ .fd = -1 };
	at = fds + 1 + VM_STREAM_FDS * VM_LINKS;
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++)
		if (k->client[i].used)
			vm_stream_poll(&k->client[i].stream, at + VM_STREAM_FDS * i);
	n = poll(fds, MAX_FDS, TICK_MS);
	for (int i = 0; i < VM_KEEPER_CLIENTS && n > 0 && !k->quit; i++)
		if (k->client[i].used)
			hear_client(k, i, at + VM_STREAM_FDS * i);
	for (int i = 0; i < VM_LINKS && n > 0 && !k->quit && runs == k->runs; i++)
		hear_guest(k, i, fds + 1 + VM_STREAM_FDS * i);
	if (n > 0 && fds[0].revents && !k->quit)
		accept_client(k);
	if (!k->quit)
		look_at_clock(k);
}

/* What is still to be said to clients. */
static void say_last_words(struct vm_keeper *k)
{
	long long until = vm_now_ms() + LAST_MS;

	for (int i = 0; i < VM_KEEPER_CLIENTS; i++) {
		struct pollfd fds[VM_STREAM_FDS];

		while (k->client[i].used && vm_now_ms() < until) {
			vm_stream_poll(&k->client[i].stream, fds);
			fds[0].fd = -1;
			if (fds[2].fd < 0 || poll(fds, VM_STREAM_FDS, LAST_MS) <= 0)
				break;
			vm_stream_ready(&k->client[i].stream, fds);
		}
	}
}

int vm_keeper_run(struct vm_keeper *k)
{
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++)
		k->client[i].stream.process = &k->client[i].ends;
	vm_machine_init(&k->machine);
	add_client(k, 0, STDOUT_FILENO, STDIN_FILENO);
	vm_keeper_boot(k);
	while (!k->quit)
		wait_and_serve(k);
	vm_machine_free(&k->machine);
	say_last_words(k);
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++)
		vm_stream_free(&k->client[i].stream);
	vm_keeper_free_requests(k);
	free(k->hello);
	return k->status;
}
