/* SPDX-License-Identifier: MIT */
#include "fuzz/campaign/wishes.h"

/* Of 100 programs, while there are any: the others are made as ever. */
#define ASK 15
#define USE 30

void vm_wishes_note(struct vm_wishes *w, const struct vm_program *prog)
{
	w->question[w->nquestions++ % VM_QUESTIONS] = *prog;
	if (w->nquestions - w->asked > VM_QUESTIONS)
		w->asked = w->nquestions - VM_QUESTIONS;
}

void vm_wishes_answer(struct vm_wishes *w, struct vm_rng *rng, const struct vm_program *prog,
		      const struct vm_operand *operand, uint32_t n)
{
	struct vm_operand left[VM_MAX_OPERANDS];

	for (uint32_t i = 0; i < n; i++)
		left[i] = operand[i];
	for (uint32_t taken = 0; n && taken < VM_WISHES_OF_ONE; taken++) {
		uint32_t i = vm_rng_below(rng, n);

		w->wish[w->nwishes++ % VM_WISHES] = (struct vm_wish){ *prog, left[i] };
		left[i] = left[--n];
	}
	if (w->nwishes - w->used > VM_WISHES)
		w->used = w->nwishes - VM_WISHES;
}

bool vm_wishes_next(struct vm_wishes *w, struct vm_mutator *m, struct vm_program *prog, bool *ask)
{
	const struct vm_wish *wish;

	*ask = false;
	if (w->asked < w->nquestions && vm_rng_chance(&m->rng, ASK)) {
		*prog = w->question[w->asked++ % VM_QUESTIONS];
		*ask = true;
		return true;
	}
	if (w->used == w->nwishes || !vm_rng_chance(&m->rng, USE))
		return false;
	wish = &w->wish[w->used++ % VM_WISHES];
	*prog = wish->prog;
	vm_operand_use(m, prog, &wish->operand);
	return true;
}
