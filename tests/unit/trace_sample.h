/* SPDX-License-Identifier: MIT */
/* Traces for tests: one with an event of every kind, random ones, and what to compare them by. */
#ifndef VM_TRACE_SAMPLE_H
#define VM_TRACE_SAMPLE_H

#include "harness/trace/trace.h"

/* Nine events; its arrays are static and constant. The trace is zeroed first. */
void trace_sample(struct vm_trace *t);

/* Event i of a trace of random calls; its arrays go to vma and page (room for `max` each). */
void trace_random_event(struct vm_trace *t, unsigned int i, struct vm_vma *vma,
			struct vm_page *page, unsigned int max, uint64_t *seed);
uint64_t trace_random(uint64_t *seed);

/* Assert that every field that a trace carries is the same. */
void trace_assert_event_equal(const struct vm_event *a, const struct vm_event *b);
void trace_assert_events_equal(const struct vm_trace *a, const struct vm_trace *b);

/* Assert what snapshot.h promises of a decoded trace. */
void trace_keeps_promises(const struct vm_trace *t);

#endif
