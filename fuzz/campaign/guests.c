/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/campaign/guests.h"

struct vm_target_options vm_options_of_target(const struct vm_options *opt)
{
	return (struct vm_target_options){
		.executor = opt->executor,
		.inject = opt->inject,
		.timeout_ms = opt->timeout_ms,
		.privileged = opt->privileged,
	};
}

static int add(struct vm_guests *g, struct vm_target *target, char *err, size_t errlen)
{
	struct vm_target **more = realloc(g->guest, (g->n + 1) * sizeof(struct vm_target *));

	if (!more) {
		snprintf(err, errlen, "no memory for another guest");
		vm_target_close(target);
		return -1;
	}
	g->guest = more;
	g->guest[g->n++] = target;
	return 0;
}

int vm_guests_adopt(struct vm_guests *g, struct vm_target *target, char *err, size_t errlen)
{
	if (vm_target_keeper(target))
		return add(g, target, err, errlen);
	vm_target_close(target);
	return 0;
}

int vm_guests_start(struct vm_guests *g, const struct vm_options *opt, char *err, size_t errlen)
{
	struct vm_target_options topt = vm_options_of_target(opt);

	for (uint32_t job = g->n; g->n && job < opt->jobs; job++) {
		struct vm_target *t = vm_target_open(opt->target, &topt, err, errlen);

		if (!t)
			fprintf(stderr, "vmafuzz: job %u goes without a guest of its own: %s\n",
				job, err);
		else if (add(g, t, err, errlen))
			return -1;
	}
	return 0;
}

const char *vm_guests_target(const struct vm_guests *g, uint32_t job, const char *otherwise)
{
	return g->n ? vm_target_keeper(g->guest[job < g->n ? job : 0]) : otherwise;
}

int vm_guests_tend(struct vm_guests *g, char *err, size_t errlen)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (vm_target_tend(g->guest[i], err, errlen))
			return -1;
	return 0;
}

void vm_guests_close(struct vm_guests *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		vm_target_close(g->guest[i]);
	free(g->guest);
	*g = (struct vm_guests){ .n = 0 };
}
