/* SPDX-License-Identifier: MIT */
/* Which CPU programs run on. */
#ifndef VM_CPU_H
#define VM_CPU_H

#include <sched.h>
#include <stdint.h>

/* Starts zeroed. On the stack: a page that the parent writes after a fork anyway. */
struct vm_cpu {
	uint32_t programs;
	cpu_set_t allowed; /* at the start; empty: leave it alone */
};

/*
 * Before each child is started: stay, with the children, on the CPU that the scheduler chose last.
 * Parent and child take turns, and waking each other across CPUs costs as much as the calls of a
 * program. Every 64th program runs where the scheduler likes, and the next ones stay there.
 */
void vm_cpu_stay(struct vm_cpu *c);

#endif
