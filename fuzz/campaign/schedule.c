/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "fuzz/campaign/schedule.h"

/* Found by `vmafuzz-bench guidance`; docs/guidance.md has what each is worth. */
#define FRESH	   50 /* of 100 programs: from nothing, since the corpus is not all there is */
#define FOR_RARE   90 /* of 100 picks: for a rare feature; the others: any program that is kept */
#define TOURNAMENT 60 /* features of which the rarest wins */
#define GO_ON	   90 /* of 100 mutants: from just where the feature was reached */

struct vm_schedule *vm_schedule_new(void)
{
	return calloc(1, sizeof(struct vm_schedule));
}

void vm_schedule_free(struct vm_schedule *s)
{
	if (!s)
		return;
	vm_corpus_free(&s->corpus);
	free(s);
}

/* The rarest of a few features. */
static uint32_t rare_feature(const struct vm_schedule *s, struct vm_rng *rng)
{
	uint32_t best = s->known[0];

	for (int i = 0; i < TOURNAMENT; i++) {
		uint32_t f = s->known[vm_rng_below(rng, s->nknown)];

		if (s->holder[f] && (!s->holder[best] || s->hits[f] < s->hits[best]))
			best = f;
	}
	return best;
}

/* A program that is kept, for its own sake or for a rare feature; how many calls lead to that. */
static unsigned int pick(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog)
{
	uint32_t i = vm_rng_below(&m->rng, (uint32_t)s->corpus.n);
	unsigned int head = 0;

	if (s->nknown && vm_rng_chance(&m->rng, FOR_RARE)) {
		uint32_t f = rare_feature(s, &m->rng);

		if (s->holder[f]) {
			i = s->holder[f] - 1;
			head = s->head[f];
		}
	}
	vm_corpus_get(&s->corpus, i, prog);
	return head ? head : prog->ncalls;
}

void vm_schedule_next(struct vm_schedule *s, struct vm_mutator *m, struct vm_program *prog)
{
	struct vm_program other;
	unsigned int head;

	if (!s->corpus.n || vm_rng_chance(&m->rng, FRESH)) {
		vm_generate(m, prog);
		return;
	}
	head = pick(s, m, prog);
	if (vm_rng_chance(&m->rng, GO_ON)) {
		vm_go_on(m, prog, head);
		return;
	}
	pick(s, m, &other);
	vm_mutate(m, prog, &other);
}

int vm_schedule_ran(struct vm_schedule *s, const struct vm_program *prog, const uint32_t *feature,
		    const uint8_t *call, uint32_t n, bool keep)
{
	uint32_t index = (uint32_t)s->corpus.n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t f = feature[i];

		if (!s->hits[f]++)
			s->known[s->nknown++] = f;
		if (!keep || (s->holder[f] && s->head[f] <= call[i] + 1))
			continue;
		s->holder[f] = index + 1;
		s->head[f] = (uint8_t)(call[i] + 1);
	}
	return keep ? vm_corpus_add(&s->corpus, prog) : 0;
}
