/* SPDX-License-Identifier: MIT */
/*
 * Requests and replies. Programs in flight are kept until they are answered: when the executor
 * dies, the oldest is named as the one that did it, and the others are sent again to the next
 * executor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/target/command.h"
#include "harness/target/stream.h"
#include "harness/trace/varint.h"

#define DEFAULT_TIMEOUT_MS 2000
#define STALL_MS	   10000 /* beyond the programs' own time limits */
#define TICK_MS		   200	 /* how often a silent executor is looked at */
#define DEATH_MS	   300	 /* for one that is about to end to do so */
#define CLOSE_MS	   1000
/* Of a keeper, which looks after the guest itself and may have to boot it, several times. */
#define KEEPER_STALL_MS	  600000
#define KEEPER_CONNECT_MS 30000

/* A program that was sent and not yet answered. */
struct request {
	bool used;
	uint32_t id;	  /* the caller's */
	uint32_t wire_id; /* ours: never used twice, so that late replies are known as such */
	uint32_t run_flags;
	struct vm_program prog;
};

struct vm_target {
	struct vm_command command;
	struct vm_process process;
	struct vm_stream stream;
	struct vm_target_info info;
	uint32_t timeout_ms;
	const struct vm_places *places; /* the caller's, or NULL */
	uint32_t last_wire_id;
	unsigned int inflight;
	struct request request[VM_TARGET_MAX_INFLIGHT];
	long long last_progress; /* vm_now_ms() of the last frame, or of the first submit after
				    idling */
	/* Of a guest, else "": its console, and the target's name for other processes. */
	char console[VM_PRIVATE_DIR_MAX + 8], keeper[VM_PRIVATE_DIR_MAX + 8];
};

struct message {
	char *text;
	size_t size;
};

/* Always -1, for `return SAY(...)`. */
#define SAY(m, ...) (snprintf((m)->text, (m)->size, __VA_ARGS__), -1)

/* The text of an ERROR frame as one line; what could steer a terminal becomes `?`. */
static void text_of(const struct vm_frame *f, char *text, size_t size)
{
	size_t len = f->len < size - 1 ? f->len : size - 1;

	for (size_t i = 0; i < len; i++)
		text[i] = f->body[i] < 0x20 || f->body[i] == 0x7f ? '?' : (char)f->body[i];
	text[len] = '\0';
}

/* ---- start ---- */

static int take_hello(struct vm_target *t, const struct vm_frame *f, const struct message *m)
{
	struct vm_reader r = { .at = f->body, .end = f->body + f->len };
	uint32_t version = (uint32_t)vm_get_fixed(&r, 4);
	char text[VM_LINE_MAX];

	text_of(f, text, sizeof(text));
	if (f->type == VM_FRAME_ERROR)
		return SAY(m, "target: %s cannot run programs: %s", t->command.named, text);
	if (f->type != VM_FRAME_HELLO || r.bad)
		return SAY(m, "target: %s does not begin with a hello: is it vmafuzz-executor?",
			   t->command.named);
	if (version != VM_PROTOCOL_VERSION)
		return SAY(m,
			   "target: %s speaks protocol %u, this vmafuzz %u: take both from one "
			   "build",
			   t->command.named, version, VM_PROTOCOL_VERSION);
	if (vm_info_decode(r.at, (size_t)(r.end - r.at), &t->info))
		return SAY(m, "target: the hello of %s is not valid: take both from one build",
			   t->command.named);
	return 0;
}

/* What to say of one that did not come to a hello. */
static int say_no_hello(struct vm_target *t, enum vm_stream_event event, const struct message *m)
{
	char words[VM_LINE_MAX], status[64];
	const char *colon, *why;
	int st = vm_process_stop(&t->process, event == VM_STREAM_CLOSED ? DEATH_MS : 0);

	vm_stream_last_words(&t->stream, words);
	colon = words[0] ? ": " : "";
	vm_process_status_text(st, status, sizeof(status));
	why = words[0] ? words : t->command.hint;
	if (event == VM_STREAM_CLOSED)
		return SAY(m, "target: %s ended at start (%s): %s", t->command.named, status, why);
	if (event == VM_STREAM_BROKEN)
		return SAY(m, "target: %s does not speak the protocol: is it vmafuzz-executor?%s%s",
			   t->command.named, colon, words);
	return SAY(m, "target: no hello from %s within %d s: is it vmafuzz-executor?%s%s",
		   t->command.named, t->command.hello_ms / 1000, colon, words);
}

static int connect_or_start(struct vm_target *t, const struct message *m)
{
	const struct vm_command *c = &t->command;
	bool connect = vm_command_is_kept(c) && !c->owned;
	char path[VM_PRIVATE_DIR_MAX + 8];
	int error;

	snprintf(path, sizeof(path), "%s/socket", c->dir);
	/* Where its folder is, one is about to start, maybe again. */
	error = connect ? vm_process_connect(&t->process, path,
					     access(c->dir, F_OK) ? 0 : KEEPER_CONNECT_MS)
			: vm_process_start(&t->process, c->argv);
	if (error)
		return SAY(m, "target: cannot %s %s: %s", connect ? "connect to" : "start",
			   connect ? path : c->argv[0], strerror(error));
	t->stream.who = vm_command_is_kept(c) ? "guest" : NULL;
	vm_stream_start(&t->stream, &t->process);
	return 0;
}

static int start(struct vm_target *t, const struct message *m)
{
	enum vm_stream_event event;
	char words[VM_LINE_MAX];
	struct vm_frame f;

	if (connect_or_start(t, m))
		return -1;
	event = vm_stream_next(&t->stream, vm_now_ms() + t->command.hello_ms, &f);
	if (event != VM_STREAM_FRAME)
		return say_no_hello(t, event, m);
	if (!take_hello(t, &f, m)) {
		vm_stream_show_held(&t->stream);
		t->last_progress = vm_now_ms();
		return 0;
	}
	vm_process_stop(&t->process, 0);
	vm_stream_last_words(&t->stream, words);
	return -1;
}

static void name_guest(struct vm_target *t)
{
	if (!vm_command_is_kept(&t->command))
		return;
	snprintf(t->console, sizeof(t->console), "%s/console", t->command.dir);
	snprintf(t->keeper, sizeof(t->keeper), "keeper:%s", t->command.dir);
}

struct vm_target *vm_target_open(const char *spec, const struct vm_target_options *opt, char *err,
				 size_t errlen)
{
	struct vm_target_options options = opt ? *opt : (struct vm_target_options){ 0 };
	struct message m = { err, errlen };
	struct vm_target *t = calloc(1, sizeof(*t));

	if (!t) {
		(void)SAY(&m, "target: out of memory");
		return NULL;
	}
	t->process = (struct vm_process){ .in = -1, .out = -1, .err = -1 };
	if (!options.timeout_ms)
		options.timeout_ms = DEFAULT_TIMEOUT_MS;
	t->timeout_ms = options.timeout_ms;
	if (!vm_command_build(&t->command, spec, &options, err, errlen) && !start(t, &m)) {
		name_guest(t);
		return t;
	}
	vm_target_close(t);
	return NULL;
}

uint32_t vm_target_set_timeout(struct vm_target *t, uint32_t timeout_ms)
{
	uint32_t before = t->timeout_ms;

	t->timeout_ms = timeout_ms ? timeout_ms : DEFAULT_TIMEOUT_MS;
	return before;
}

const struct vm_target_info *vm_target_info(const struct vm_target *t)
{
	return &t->info;
}

void vm_target_close(struct vm_target *t)
{
	char words[VM_LINE_MAX];

	if (!t)
		return;
	if (vm_process_there(&t->process)) {
		vm_process_stop(&t->process, CLOSE_MS);
		vm_stream_last_words(&t->stream, words);
		if (words[0])
			fprintf(stderr, "%s: %s\n", t->stream.who ? t->stream.who : "executor",
				words);
	}
	vm_stream_free(&t->stream);
	vm_command_free(&t->command);
	free(t);
}

/* ---- requests ---- */

static struct request *free_request(struct vm_target *t)
{
	for (unsigned int i = 0; i < VM_TARGET_MAX_INFLIGHT; i++)
		if (!t->request[i].used)
			return &t->request[i];
	return NULL;
}

static struct request *request_by_wire_id(struct vm_target *t, uint32_t wire_id)
{
	for (unsigned int i = 0; i < VM_TARGET_MAX_INFLIGHT; i++)
		if (t->request[i].used && t->request[i].wire_id == wire_id)
			return &t->request[i];
	return NULL;
}

/* The oldest request whose wire id is not below `from`; ids wrap, so distances are compared. */
static struct request *oldest_since(struct vm_target *t, uint32_t from)
{
	struct request *oldest = NULL;

	for (unsigned int i = 0; i < VM_TARGET_MAX_INFLIGHT; i++) {
		struct request *r = &t->request[i];

		if (r->used && r->wire_id - from <= INT32_MAX &&
		    (!oldest || r->wire_id - from < oldest->wire_id - from))
			oldest = r;
	}
	return oldest;
}

static uint32_t before_all(const struct vm_target *t)
{
	return t->last_wire_id - INT32_MAX;
}

static int send_request(struct vm_target *t, const struct request *r, const struct message *m)
{
	uint8_t head[8 + VM_PLACES_BYTES], bytes[VM_BYTES_MAX];
	size_t len = vm_program_encode(&r->prog, bytes, sizeof(bytes)), before = 8;
	uint32_t flags = r->run_flags;

	if (t->places && t->places->n && flags & (VM_RUN_COVER | VM_RUN_COMPARE)) {
		flags |= VM_RUN_PLACES;
		before += vm_places_put(t->places, head + before);
	}
	vm_put_fixed(vm_put_fixed(head, t->timeout_ms, 4), flags, 4);
	if (len && vm_stream_send(&t->stream, VM_FRAME_RUN, r->wire_id, head, before, bytes, len))
		return 0;
	return SAY(m, "target: out of memory");
}

/* A new executor gets what the last one did not answer, in the order of submission. */
static int restart(struct vm_target *t, const struct message *m)
{
	uint32_t from = before_all(t);
	struct request *r;

	if (start(t, m))
		return -1;
	while ((r = oldest_since(t, from))) {
		if (send_request(t, r, m))
			return -1;
		from = r->wire_id + 1;
	}
	return 0;
}

void vm_target_limit(struct vm_target *t, const struct vm_places *places)
{
	t->places = places;
}

int vm_target_submit(struct vm_target *t, const struct vm_program *prog, uint32_t id,
		     uint32_t run_flags, char *err, size_t errlen)
{
	struct message m = { err, errlen };
	struct request *r = free_request(t);

	if (!r)
		return SAY(&m, "target: more than %d requests in flight", VM_TARGET_MAX_INFLIGHT);
	if (!vm_process_there(&t->process) && restart(t, &m))
		return -1;
	r->id = id;
	r->wire_id = ++t->last_wire_id;
	r->run_flags = run_flags;
	r->prog = *prog;
	if (send_request(t, r, &m))
		return -1;
	r->used = true;
	if (!t->inflight++)
		t->last_progress = vm_now_ms();
	return 0;
}

/* ---- replies ---- */

/* The request is over: what of it is known without a log. */
static void finish(struct vm_target *t, struct request *r, uint32_t *id, struct vm_trace *trace,
		   uint8_t exit, int32_t exit_value)
{
	*id = r->id;
	trace->info = t->info;
	trace->prog = r->prog;
	trace->nevents = 0;
	trace->exit = exit;
	trace->exit_value = exit_value;
	trace->committed_known = false;
	trace->committed = 0;
	r->used = false;
	t->inflight--;
}

static int take_trace(struct vm_target *t, const struct vm_frame *f, struct request *request,
		      uint32_t *id, struct vm_trace *trace, const struct message *m)
{
	struct vm_reader r = { .at = f->body, .end = f->body + f->len };
	uint8_t exit = vm_get_byte(&r), known = vm_get_byte(&r);
	int32_t exit_value;
	int64_t committed;
	char why[160];

	vm_get_fixed(&r, 2);
	exit_value = (int32_t)(uint32_t)vm_get_fixed(&r, 4);
	committed = (int64_t)vm_get_fixed(&r, 8);
	finish(t, request, id, trace, exit, exit_value);
	trace->committed_known = known == 1;
	trace->committed = known == 1 ? committed : 0;
	if (r.bad || exit >= VM_EXIT_COUNT)
		snprintf(why, sizeof(why), "unknown kind of exit");
	else if (!vm_events_decode(r.at, (size_t)(r.end - r.at), trace, why, sizeof(why)))
		return 1;
	trace->exit = VM_EXIT_STATUS;
	(void)SAY(m, "target: the reply to program %u cannot be read: %s", *id, why);
	return 0;
}

/* A keeper's guest has ended, or hung and was ended, while it ran this program. */
static int take_notice(struct vm_target *t, const struct vm_frame *f, struct request *request,
		       uint32_t *id, struct vm_trace *trace, const struct message *m)
{
	struct vm_reader r = { .at = f->body, .end = f->body + f->len };
	uint32_t hung = (uint32_t)vm_get_fixed(&r, 4);
	int32_t value = (int32_t)(uint32_t)vm_get_fixed(&r, 4);
	struct vm_frame rest = { .body = r.at, .len = (size_t)(r.end - r.at) };
	char text[VM_LINE_MAX];

	finish(t, request, id, trace, hung ? VM_EXIT_STUCK : VM_EXIT_STATUS, value);
	text_of(&rest, text, sizeof(text));
	(void)SAY(m, "target: %s with program %u in flight %s", t->command.what, *id,
		  r.bad ? "ended" : text);
	return 0;
}

/* As vm_target_wait(), or 2: the frame answers nothing that is in flight. */
static int take_frame(struct vm_target *t, const struct vm_frame *f, uint32_t *id,
		      struct vm_trace *trace, const struct message *m)
{
	struct request *r = request_by_wire_id(t, f->id);
	char text[VM_LINE_MAX];

	if (f->type == VM_FRAME_HELLO && vm_command_is_kept(&t->command) && take_hello(t, f, m))
		return -1;
	if (!r)
		return 2;
	if (f->type == VM_FRAME_TRACE)
		return take_trace(t, f, r, id, trace, m);
	if (f->type == VM_FRAME_DIED)
		return take_notice(t, f, r, id, trace, m);
	if (f->type != VM_FRAME_ERROR)
		return 2;
	finish(t, r, id, trace, VM_EXIT_STATUS, 0);
	text_of(f, text, sizeof(text));
	(void)SAY(m, "target: %s refused program %u: %s", t->command.what, *id, text);
	return 0;
}

/* The executor is gone or of no more use; `why` may be empty. As vm_target_wait(): 0 or -1. */
static int take_death(struct vm_target *t, bool stalled, const char *why, uint32_t *id,
		      struct vm_trace *trace, const struct message *m)
{
	int st = vm_process_stop(&t->process, stalled ? 0 : DEATH_MS);
	struct request *r = oldest_since(t, before_all(t));
	char words[VM_LINE_MAX], status[64], again[512];
	struct message m2 = { again, sizeof(again) };
	int32_t value = 0;

	vm_stream_last_words(&t->stream, words);
	vm_process_status_text(st, status, sizeof(status));
	if (st != -1)
		value = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	finish(t, r, id, trace, stalled ? VM_EXIT_STUCK : VM_EXIT_STATUS, value);
	if (!why[0])
		why = words;
	if (!restart(t, &m2)) {
		(void)SAY(m,
			  "target: %s %s (%s) with program %u in flight and was started again%s%s",
			  t->command.what, stalled ? "hung" : "ended", status, *id,
			  why[0] ? ": " : "", why);
		return 0;
	}
	return SAY(m, "%s (it %s before, %s, with program %u in flight%s%s)", again,
		   stalled ? "hung" : "ended", status, *id, why[0] ? ": " : "", why);
}

/* An ERROR frame with id 0: the executor's own reason. */
static bool is_last_frame(const struct vm_frame *f, char *why, size_t size)
{
	if (f->type != VM_FRAME_ERROR || f->id)
		return false;
	text_of(f, why, size);
	return true;
}

/* A keeper is gone, which says nothing of the programs: ask the next one. As vm_target_wait(). */
static int take_keeper_death(struct vm_target *t, const char *why, const struct message *m)
{
	char words[VM_LINE_MAX];

	vm_process_stop(&t->process, DEATH_MS);
	vm_stream_last_words(&t->stream, words);
	if (why[0])
		return SAY(m, "target: %s cannot go on: %s", t->command.named, why);
	if (restart(t, m))
		return -1;
	fprintf(stderr, "target: the keeper of %s ended and was started again%s%s\n",
		t->command.named, words[0] ? ": " : "", words);
	return 2;
}

/* What has ended is an executor or its keeper. As vm_target_wait(), or 2: go on. */
static int take_end(struct vm_target *t, bool stalled, const char *why, uint32_t *id,
		    struct vm_trace *trace, const struct message *m)
{
	if (vm_command_is_kept(&t->command))
		return take_keeper_death(t, why, m);
	return take_death(t, stalled, why, id, trace, m);
}

static bool has_stalled(const struct vm_target *t)
{
	long long limit = vm_command_is_kept(&t->command) ? KEEPER_STALL_MS : STALL_MS;

	return vm_now_ms() - t->last_progress > limit + (long long)t->timeout_ms * t->inflight;
}

int vm_target_wait(struct vm_target *t, uint32_t *id, struct vm_trace *trace, char *err,
		   size_t errlen)
{
	struct message m = { err, errlen };
	char why[VM_LINE_MAX] = "";

	if (!t->inflight)
		return SAY(&m, "target: no program is in flight");
	if (!vm_process_there(&t->process) && restart(t, &m))
		return -1;
	for (;;) {
		struct vm_frame f;
		enum vm_stream_event event = vm_stream_next(&t->stream, vm_now_ms() + TICK_MS, &f);
		bool stalled = event == VM_STREAM_TIMEOUT && has_stalled(t);
		int ret = 2;

		if (event == VM_STREAM_BROKEN)
			snprintf(why, sizeof(why), "what it sent is no frame");
		if (event == VM_STREAM_TIMEOUT && !stalled && !vm_process_ended(&t->process)) {
			vm_stream_show_held(&t->stream);
		} else if (event != VM_STREAM_FRAME || is_last_frame(&f, why, sizeof(why))) {
			ret = take_end(t, stalled, why, id, trace, &m);
		} else {
			vm_stream_show_held(&t->stream);
			t->last_progress = vm_now_ms();
			ret = take_frame(t, &f, id, trace, &m);
		}
		if (ret != 2)
			return ret;
	}
}

int vm_target_run(struct vm_target *t, const struct vm_program *prog, uint32_t run_flags,
		  struct vm_trace *trace, char *err, size_t errlen)
{
	struct message m = { err, errlen };
	uint32_t id = 0;

	if (t->inflight)
		return SAY(&m, "target: %u programs are in flight", t->inflight);
	if (vm_target_submit(t, prog, id, run_flags, err, errlen))
		return -1;
	return vm_target_wait(t, &id, trace, err, errlen);
}

/* ---- guests ---- */

const char *vm_target_console(const struct vm_target *t)
{
	return t->console[0] ? t->console : NULL;
}

const char *vm_target_keeper(const struct vm_target *t)
{
	return vm_command_is_kept(&t->command) ? t->keeper : NULL;
}

int vm_target_reboot(struct vm_target *t, char *err, size_t errlen)
{
	struct message m = { err, errlen };

	if (!vm_command_is_kept(&t->command))
		return SAY(&m, "target: %s is no guest: it cannot be started again",
			   t->command.named);
	if (vm_stream_send(&t->stream, VM_FRAME_RESTART, 0, NULL, 0, NULL, 0))
		return 0;
	return SAY(&m, "target: out of memory");
}

int vm_target_tend(struct vm_target *t, char *err, size_t errlen)
{
	struct message m = { err, errlen };
	enum vm_stream_event event;
	char why[VM_LINE_MAX] = "";
	struct vm_frame f;

	do
		event = vm_stream_next(&t->stream, vm_now_ms() + 1, &f);
	while (event == VM_STREAM_FRAME && !is_last_frame(&f, why, sizeof(why)));
	vm_stream_show_held(&t->stream);
	if (event == VM_STREAM_TIMEOUT && !vm_process_ended(&t->process))
		return 0;
	return take_keeper_death(t, why, &m) < 0 ? -1 : 0;
}
