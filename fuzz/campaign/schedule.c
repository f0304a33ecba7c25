/* SPDX-License-Identifier: MIT */
#include "fuzz/campaign/schedule.h"

void vm_schedule_free(struct vm_schedule *s)
{
	vm_corpus_free(&s->corpus);
}

/* An old program, the newest quarter preferred. */
static void pick(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog)
{
	uint32_t n = (uint32_t)s->corpus.n, from = 0;

	if (vm_rng_chance(&m->rng, 50))
		from = n - (n / 4 + 1);
	vm_corpus_get(&s->corpus, from + vm_rng_below(&m->rng, n - from), prog);
}

void vm_schedule_next(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog)
{
	struct vm_program other;

	if (!s->corpus.n) {
		vm_generate(m, prog);
		return;
	}
	pick(s, m, prog);
	pick(s, m, &other);
	vm_mutate(m, prog, &other);
}

int vm_schedule_keep(struct vm_schedule *s, const struct vm_program *prog)
{
	return vm_corpus_add(&s->corpus, prog);
}
