/* SPDX-License-Identifier: MIT */
/* Programs on their way from clients to the guest and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness/guest/console.h"
#include "harness/guest/keeper.h"
#include "harness/trace/varint.h"

#define DEATH_MS 500 /* for QEMU to end by itself, once its guest has */

static struct vm_stream *guest(struct vm_keeper *k)
{
	return &k->machine.link[k->machine.active].stream;
}

static bool keep(struct vm_keeper *k, int client, const struct vm_frame *f)
{
	struct vm_kept *r = malloc(sizeof(*r) + f->len), **end = &k->kept;
	struct vm_reader reader = { .at = f->body, .end = f->body + f->len };

	if (!r)
		return false;
	*r = (struct vm_kept){ .client = client, .id = f->id, .len = f->len };
	r->timeout_ms = (uint32_t)vm_get_fixed(&reader, 4);
	if (reader.bad || !r->timeout_ms)
		r->timeout_ms = k->spec.timeout_ms;
	memcpy(r->body, f->body, f->len);
	while (*end)
		end = &(*end)->next;
	*end = r;
	return true;
}

bool vm_keeper_request(struct vm_keeper *k, int client, const struct vm_frame *f)
{
	if (f->type == VM_FRAME_RESTART) {
		char words[VM_LINE_MAX];

		vm_machine_stop(&k->machine, 0, words);
		for (struct vm_kept *r = k->kept; r; r = r->next)
			r->sent = false;
		k->in_guest = 0;
		return !vm_keeper_boot(k);
	}
	if (f->type != VM_FRAME_RUN)
		return false;
	if (!keep(k, client, f))
		vm_keeper_give_up(k, "the keeper is out of memory");
	vm_keeper_dispatch(k);
	return true;
}

void vm_keeper_dispatch(struct vm_keeper *k)
{
	for (struct vm_kept *r = k->kept; r && k->up && k->in_guest < VM_TARGET_MAX_INFLIGHT;
	     r = r->next) {
		if (r->sent)
			continue;
		r->guest_id = ++k->last_guest_id;
		r->sent = true;
		if (!k->in_guest++)
			k->last_progress = vm_now_ms();
		if (!vm_stream_send(guest(k), VM_FRAME_RUN, r->guest_id, r->body, r->len, NULL, 0))
			vm_keeper_give_up(k, "the keeper is out of memory");
	}
}

static void drop(struct vm_keeper *k, struct vm_kept **at)
{
	struct vm_kept *r = *at;

	*at = r->next;
	k->in_guest -= r->sent;
	free(r);
}

void vm_keeper_reply(struct vm_keeper *k, const struct vm_frame *f)
{
	struct vm_kept **at = &k->kept;

	k->last_progress = vm_now_ms();
	while (*at && !((*at)->sent && (*at)->guest_id == f->id))
		at = &(*at)->next;
	if (!*at)
		return; /* nobody has asked */
	if ((*at)->client >= 0)
		vm_stream_send(&k->client[(*at)->client].stream, f->type, (*at)->id, f->body,
			       f->len, NULL, 0);
	drop(k, at);
	vm_keeper_dispatch(k);
}

/* The program that was being run: the oldest, since a guest runs one after the other. */
static void blame(struct vm_keeper *k, bool hung, int32_t value, const char *why)
{
	struct vm_kept *r = k->kept;
	uint8_t head[8];

	if (!r || !r->sent)
		return;
	vm_put_fixed(vm_put_fixed(head, hung, 4), (uint32_t)value, 4);
	if (r->client >= 0)
		vm_stream_send(&k->client[r->client].stream, VM_FRAME_DIED, r->id, head,
			       sizeof(head), why, strlen(why));
	drop(k, &k->kept);
}

void vm_keeper_died(struct vm_keeper *k, bool hung, const char *why)
{
	char words[VM_LINE_MAX], reason[300] = "", text[700], status[64];
	int st = vm_machine_stop(&k->machine, hung ? 0 : DEATH_MS, words);
	int32_t value = 0;

	vm_process_status_text(st, status, sizeof(status));
	if (st != -1)
		value = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	if (!k->command)
		vm_console_reason(k->console, k->machine.console_from, reason, sizeof(reason));
	if (!why[0])
		why = reason[0] ? reason : words;
	snprintf(text, sizeof(text), "%s (%s)%s%s", hung ? "hung" : "ended", status,
		 why[0] ? ": " : "", why);
	fprintf(stderr, "the guest %s; it is started again\n", text);
	blame(k, hung, value, text);
	for (struct vm_kept *r = k->kept; r; r = r->next)
		r->sent = false;
	k->in_guest = 0;
	vm_keeper_boot(k);
}

void vm_keeper_forget(struct vm_keeper *k, int client)
{
	struct vm_kept **at = &k->kept;

	while (*at) {
		if ((*at)->client == client && !(*at)->sent) {
			drop(k, at);
			continue;
		}
		if ((*at)->client == client)
			(*at)->client = -1;
		at = &(*at)->next;
	}
}

long long vm_keeper_patience(const struct vm_keeper *k)
{
	return k->stall_ms + (k->kept ? (long long)k->kept->timeout_ms : 0);
}

void vm_keeper_free_requests(struct vm_keeper *k)
{
	while (k->kept)
		drop(k, &k->kept);
}
