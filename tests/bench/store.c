/* SPDX-License-Identifier: MIT */
/* The stored traces, and what share of their calls succeeded. */
#include <stdlib.h>
#include <string.h>

#include "harness/trace/container.h"
#include "tests/bench/bench.h"

static void count(struct vm_bench *b, const struct vm_trace *trace, const struct vm_judgement *j)
{
	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];

		if (e->kind != VM_EVENT_CALL)
			continue;
		b->calls++;
		b->succeeded += e->status == VM_STATUS_DONE && e->result >= 0;
	}
	for (uint32_t i = 0; i < j->nverdicts; i++)
		b->verdicts += j->verdict[i].severity == VM_VIOLATION;
}

static void store(struct vm_bench *b, uint32_t i, const struct vm_trace *trace, uint8_t *buf)
{
	size_t len = vm_trace_encode(trace, buf, VM_TRACE_FILE_MAX);

	b->stored[i] = len ? malloc(len) : NULL;
	if (!b->stored[i])
		vm_bench_die("cannot store a trace: out of memory");
	memcpy(b->stored[i], buf, len);
	b->stored_len[i] = len;
}

void vm_bench_store(struct vm_bench *b)
{
	static struct vm_judgement judgement;
	uint8_t *buf = malloc(VM_TRACE_FILE_MAX);
	struct vm_trace trace = { 0 };
	char err[512];

	if (!buf)
		vm_bench_die("out of memory");
	for (uint32_t i = 0; i < b->nprograms; i++) {
		b->program[i].observe = VM_OBSERVE_FULL;
		if (vm_target_run(b->target, &b->program[i], 0, &trace, err, sizeof(err)) != 1)
			vm_bench_die("%s", err);
		if (trace.exit != VM_EXIT_DONE)
			vm_bench_die("program %u did not end by itself", i);
		vm_judge(&trace, &b->judging, b->scratch, &judgement);
		count(b, &trace, &judgement);
		store(b, i, &trace, buf);
	}
	vm_trace_free(&trace);
	free(buf);
}
