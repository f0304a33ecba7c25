/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdint.h>

#include "harness/executor/cpu.h"

#define STAY_PROGRAMS 64

static struct {
	uint32_t programs;
	cpu_set_t allowed; /* at the start; empty: leave it alone */
} state;

static void stay_here(void)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
}

void vm_cpu_stay(void)
{
	uint32_t turn = state.programs++ % STAY_PROGRAMS;

	if (state.programs == 1 && sched_getaffinity(0, sizeof(state.allowed), &state.allowed))
		CPU_ZERO(&state.allowed); /* more CPUs than the set has room for */
	if (CPU_COUNT(&state.allowed) < 2)
		return;
	if (turn == 0)
		sched_setaffinity(0, sizeof(state.allowed), &state.allowed);
	else if (turn == 1)
		stay_here();
}
