/* SPDX-License-Identifier: MIT */
#include "harness/executor/cpu.h"

#define STAY_PROGRAMS 64

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

void vm_cpu_stay(struct vm_cpu *c)
{
	uint32_t turn = c->programs++ % STAY_PROGRAMS;

	if (c->programs == 1 && sched_getaffinity(0, sizeof(c->allowed), &c->allowed))
		CPU_ZERO(&c->allowed); /* more CPUs than the set has room for */
	if (CPU_COUNT(&c->allowed) < 2)
		return;
	if (turn == 0)
		sched_setaffinity(0, sizeof(c->allowed), &c->allowed);
	else if (turn == 1)
		stay_here();
}
