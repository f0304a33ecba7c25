/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/executor/protocol.h"
#include "tests/bench/bench.h"
#include "tests/bench/guidance/player.h"

#define LOG_CAP (4u << 20)

struct player {
	struct vm_kernel *kernel;
	struct vm_judge_scratch *scratch;
	struct vm_judge_options judging;
	struct vm_judgement judgement;
	struct vm_event_writer writer;
	struct vm_player_log *log;
	uint8_t body[sizeof(struct vm_run_request) + VM_BYTES_MAX];
	uint8_t events[LOG_CAP];
};

static void send(uint16_t type, uint32_t id, const void *head, size_t headlen, const void *rest,
		 size_t restlen)
{
	struct vm_frame_header h = { .magic = VM_FRAME_MAGIC,
				     .len = (uint32_t)(headlen + restlen),
				     .type = type,
				     .id = id };

	fwrite(&h, sizeof(h), 1, stdout);
	fwrite(head, 1, headlen, stdout);
	fwrite(rest, 1, restlen, stdout);
	if (fflush(stdout))
		exit(3);
}

static void hello(struct player *p)
{
	uint32_t version = VM_PROTOCOL_VERSION;
	size_t len = vm_info_encode(&p->kernel->info, p->events, sizeof(p->events));

	send(VM_FRAME_HELLO, 0, &version, sizeof(version), p->events, len);
}

static size_t events_of(struct player *p)
{
	const struct vm_trace *trace = &p->kernel->trace;

	vm_event_writer_init(&p->writer, p->events, sizeof(p->events), NULL, 0);
	for (uint32_t i = 0; i < trace->nevents; i++) {
		if (trace->event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&p->writer, &trace->event[i]);
		vm_event_write_end(&p->writer, &trace->event[i]);
	}
	return p->writer.len;
}

static bool violates(struct player *p, const struct vm_program *prog, int fault)
{
	vm_kernel_run(p->kernel, prog, fault);
	vm_judge(&p->kernel->trace, &p->judging, p->scratch, &p->judgement);
	return p->judgement.worst >= VM_VIOLATION;
}

/* One program more; those faults that it meets are tried. */
static void count(struct player *p, const struct vm_program *prog, uint32_t tripped)
{
	struct vm_search *s = &p->log->search;
	bool all = true;

	s->programs++;
	s->calls += prog->ncalls;
	for (uint32_t i = p->log->from; i < p->log->to; i++) {
		if (tripped >> i & 1 && !s->found[i] && violates(p, prog, (int)i))
			s->found[i] = s->programs;
		all = all && s->found[i];
	}
	if (all || s->programs >= p->log->budget)
		p->log->done = true;
}

static void run(struct player *p, uint32_t id, size_t len)
{
	struct vm_run_reply reply = { .exit = VM_EXIT_DONE };
	struct vm_program prog;

	vm_program_decode(p->body + sizeof(struct vm_run_request),
			  len - sizeof(struct vm_run_request), &prog);
	vm_kernel_run(p->kernel, &prog, -1);
	send(VM_FRAME_TRACE, id, &reply, sizeof(reply), p->events, events_of(p));
	if (!p->log->done)
		count(p, &prog, p->kernel->tripped);
}

static struct vm_player_log *map_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct vm_player_log *log;

	if (fd < 0)
		vm_bench_die("%s cannot be opened", path);
	log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED)
		vm_bench_die("%s cannot be mapped", path);
	close(fd);
	return log;
}

int vm_bench_player(const char *log)
{
	struct player *p = calloc(1, sizeof(*p));
	struct vm_frame_header h;

	if (!p) {
		vm_bench_die("out of memory");
		return 3; /* for those who do not see that the line above never returns */
	}
	p->log = map_log(log);
	p->judging.profile = vm_profile_by_name("6.18");
	p->judging.contract = VM_CONTRACT_EXACT;
	p->scratch = vm_judge_scratch_new();
	p->kernel = vm_kernel_new(p->judging.profile);
	if (!p->scratch || !p->kernel)
		vm_bench_die("out of memory");
	hello(p);
	while (fread(&h, sizeof(h), 1, stdin) == 1) {
		if (h.type != VM_FRAME_RUN || h.len < sizeof(struct vm_run_request) ||
		    h.len > sizeof(p->body) || fread(p->body, 1, h.len, stdin) != h.len)
			vm_bench_die("a broken frame");
		run(p, h.id, h.len);
	}
	vm_kernel_free(p->kernel);
	vm_judge_scratch_free(p->scratch);
	free(p);
	return 0;
}
