/* SPDX-License-Identifier: MIT */
/*
 * Behaving like a broken kernel around calls (inject_table.h). Apart from the normal path: one hook
 * before a call, one after it, one after a look.
 */
#ifndef VM_INJECT_H
#define VM_INJECT_H

#include "harness/executor/inject_table.h"
#include "harness/snapshot/observe.h"
#include "harness/trace/trace.h"

struct vm_executor;

/* The eyes of the fault: the snapshot that the program's trace gets is not disturbed by it. */
struct vm_inject {
	uint32_t refused;  /* changes that the kernel did not let us make */
	uint64_t unlocked; /* VM_INJECT_LOCKS_COUNTED: pages */
	struct vm_observer obs;
	char text[VM_OBSERVE_TEXT]; /* of obs */
};

/* When a child begins. */
void vm_inject_start(const struct vm_executor *ex);

/* Before a call is made: true if it is not to be made, and e->status and e->result are set. */
bool vm_inject_before(const struct vm_executor *ex, struct vm_event *e);

/* After a call was made. */
void vm_inject_after(const struct vm_executor *ex, struct vm_event *e);

/* In a child that was forked within a program, before its first look. */
void vm_inject_forked(const struct vm_executor *ex);

/* In the parent, when the child that made the calls [first + 1, end) has ended. */
void vm_inject_joined(const struct vm_executor *ex, unsigned int first, unsigned int end,
		      const uint64_t names[VM_NAME_SLOTS]);

/* In the parent, what its child has become by exec is in o->vma: show what a broken kernel kept. */
void vm_inject_kept(const struct vm_executor *ex, struct vm_observer *o);

/* After a look: show in o->vma and o->totals what the broken kernel would show. */
void vm_inject_look(const struct vm_executor *ex, struct vm_observer *o);

#endif
