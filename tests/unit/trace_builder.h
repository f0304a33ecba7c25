/* SPDX-License-Identifier: MIT */
/* Traces put together by hand, without a kernel, and what the oracle says of them as text. */
#ifndef VM_TRACE_BUILDER_H
#define VM_TRACE_BUILDER_H

#include "tests/unit/oracle_text.h"

struct trace_builder;

/* A new trace of vm_model_default_info() with this release; freed by tb_close(). */
struct trace_builder *tb_open(const char *release);
void tb_close(struct trace_builder *t);
struct vm_trace *tb_trace(struct trace_builder *t);
struct vm_event *tb_last(struct trace_builder *t);

/*
 * The next events. A layout is a state as in oracle_text.h, each area a VMA (shared memory needs
 * its oN@PAGE); "same": the arrays of the event before; "-": nothing was observed. What is observed
 * is maps, flags and contents. A call is a line of .vma text without names; it is added to the
 * program.
 */
void tb_start(struct trace_builder *t, const char *layout);
void tb_call(struct trace_builder *t, const char *call, int64_t result, const char *layout);
void tb_fault(struct trace_builder *t, const char *call, int64_t done, int signo, int code,
	      const char *layout);
void tb_end(struct trace_builder *t, const char *layout);

/* A present page of the last event's layout: as filled by a call, or other bytes. In order. */
void tb_filled(struct trace_builder *t, uint64_t page, unsigned int call, uint64_t index);
void tb_bytes(struct trace_builder *t, uint64_t page, uint64_t head, uint64_t rest);

/*
 * Judge; the profile may be NULL (chosen). The verdicts as text: `EVENT severity invariant: title`,
 * separated by `; `; "" if there are none. Valid until the next call.
 */
const char *tb_judge(struct trace_builder *t, const char *profile, enum vm_contract contract);
const struct vm_judgement *tb_judgement(const struct trace_builder *t);

#define JUDGED(t, profile, contract, text)                                                         \
	assert_string_equal(tb_judge(t, profile, VM_CONTRACT_##contract), text)
#define EXACT(t, profile, text) JUDGED(t, profile, EXACT, text)

#endif
