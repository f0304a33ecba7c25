/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/executor/cpu.h"
#include "harness/executor/frame.h"
#include "harness/executor/machine.h"
#include "harness/executor/run.h"
#include "harness/executor/serve.h"
#include "harness/trace/preamble.h"

/* VM_FRAME_ERROR with id 0: the executor cannot go on. */
static int fail(const char *what, const char *why)
{
	char text[160];
	int len = snprintf(text, sizeof(text), "%s: %s", what, why);

	vm_frame_write(VM_FRAME_ERROR, 0, text, (size_t)len, NULL, 0);
	return VM_EXIT_USAGE;
}

static bool hello(struct vm_executor *ex)
{
	uint32_t version = VM_PROTOCOL_VERSION;
	size_t len = vm_info_encode(&ex->info, ex->io, VM_FRAME_MAX);

	return len && vm_frame_write(VM_FRAME_HELLO, 0, &version, sizeof(version), ex->io, len);
}

static int skip(uint32_t id)
{
	struct vm_run_reply reply = { .exit = VM_EXIT_SKIPPED, .exit_value = VM_PREAMBLE_COUNT };

	return vm_frame_write(VM_FRAME_TRACE, id, &reply, sizeof(reply), NULL, 0) ? 0
										  : VM_EXIT_USAGE;
}

/* Which code kcov is to tell of in this run. */
static bool take_places(struct vm_kcov *k, const struct vm_run_request *req, const uint8_t **body,
			size_t *len)
{
	size_t n;

	k->places = (struct vm_places){ .range = k->range };
	if (!(req->flags & VM_RUN_PLACES))
		return true;
	n = vm_places_get(*body, *len, &k->places);
	*body += n;
	*len -= n;
	return n;
}

static int run_one(struct vm_executor *ex, uint32_t id, const uint8_t *body, size_t len)
{
	struct vm_run_request req;
	struct vm_run_reply reply;
	uint64_t log_len;
	char why[160];

	if (len < sizeof(req))
		return fail("broken frame", "VM_FRAME_RUN without a request");
	memcpy(&req, body, sizeof(req));
	body += sizeof(req);
	len -= sizeof(req);
	if (!take_places(&ex->kcov, &req, &body, &len))
		return fail("broken frame", "VM_FRAME_RUN with odd places");
	vm_program_decode(body, len, &ex->area->prog);
	if (vm_preamble_refused(&ex->area->prog, &ex->info, why, sizeof(why)))
		return skip(id);
	if (!vm_run_program(ex, &req, &reply))
		return fail("cannot fork", strerror(errno));
	if (ex->area->prog.preamble.words >> VM_PREAMBLE_MACHINE &&
	    !vm_machine_restore(ex, why, sizeof(why)))
		return fail("settings of the machine", why);
	if (reply.exit == VM_EXIT_STATUS && reply.exit_value == VM_CHILD_NO_PREAMBLE) {
		reply.exit = VM_EXIT_SKIPPED;
		reply.exit_value = (int32_t)ex->area->refused;
	}
	log_len = atomic_load(&ex->area->log_len);
	if (log_len > VM_LOG_CAP)
		log_len = VM_LOG_CAP;
	if (!vm_frame_write(VM_FRAME_TRACE, id, &reply, sizeof(reply), ex->area->log, log_len))
		return VM_EXIT_USAGE;
	return 0;
}

int vm_serve(struct vm_executor *ex)
{
	struct vm_frame_reader reader = { .buf = ex->io };
	struct vm_frame_header header;
	struct vm_cpu cpu = { 0 };
	const uint8_t *body;
	const char *why;
	int err = hello(ex) ? 0 : VM_EXIT_USAGE;

	while (!err) {
		switch (vm_frame_read(&reader, &header, &body, &why)) {
		case VM_FRAME_EOF:
			return 0;
		case VM_FRAME_BROKEN:
			return fail("broken frame", why);
		case VM_FRAME_GOT:
			break;
		}
		if (header.type != VM_FRAME_RUN)
			return fail("broken frame", "only VM_FRAME_RUN is expected here");
		vm_cpu_stay(&cpu);
		err = run_one(ex, header.id, body, header.len);
	}
	return err;
}
