/* SPDX-License-Identifier: MIT */
/* Preambles: limits a little above what a program will need, or below; capabilities; settings. */
#include "fuzz/mutate/aim.h"
#include "harness/trace/preamble.h"

/* Pages that a program may map or lock more, as ordinary ones do: mostly few. */
static int32_t some_pages(struct vm_mutator *m)
{
	enum { FEW, MANY, NONE, LESS };
	static const uint8_t weight[] = { 45, 40, 5, 10 };

	switch (vm_rng_weighted(&m->rng, weight, sizeof(weight))) {
	case FEW:
		return (int32_t)vm_rng_below(&m->rng, 24);
	case MANY:
		return (int32_t)(1u << vm_rng_below(&m->rng, 11)) +
		       (int32_t)vm_rng_below(&m->rng, 24);
	case NONE:
		return 0;
	default:
		return -(int32_t)vm_rng_below(&m->rng, 9);
	}
}

static struct vm_quantity some_length(struct vm_mutator *m, bool sum)
{
	struct vm_quantity q = { .pages = some_pages(m) };

	if (!sum && q.pages < 0)
		q.pages = -q.pages;
	if (vm_rng_chance(&m->rng, 5)) /* limits are not rounded, what they are compared with is */
		q.bytes = vm_rng_range(&m->rng, -64, 64);
	if (vm_rng_chance(&m->rng, 5))
		q.pmd = (int16_t)vm_rng_range(&m->rng, 1, 4);
	if (vm_rng_chance(&m->rng, 2)) /* below nothing */
		q = (struct vm_quantity){ .task = sum ? -1 : 0 };
	return q;
}

/* Keep what the target has to give, else drop it: what cannot be given is not run. */
static int32_t some_cap(struct vm_mutator *m, unsigned int word)
{
	return vm_model_info(m->model)->cap_permitted & vm_preamble_cap(word) &&
	       vm_rng_chance(&m->rng, 70);
}

static void put_word(struct vm_mutator *m, struct vm_preamble *p, unsigned int word)
{
	const struct vm_preamble_desc *desc = vm_preamble_desc(word);
	struct vm_quantity q = { 0 };

	switch (desc->kind) {
	case VM_PREAMBLE_MORE:
	case VM_PREAMBLE_LENGTH:
		q = some_length(m, desc->kind == VM_PREAMBLE_MORE);
		break;
	case VM_PREAMBLE_CAP:
		q.pages = some_cap(m, word);
		break;
	case VM_PREAMBLE_COUNTED:
		q.pages = (int32_t)vm_rng_below(&m->rng, 48);
		break;
	case VM_PREAMBLE_NUMBER:
		q.pages = (int32_t)vm_rng_below(&m->rng, (uint32_t)desc->max + 1);
		break;
	}
	vm_preamble_set(p, word, &q);
}

void vm_aim_preamble(struct vm_mutator *m, struct vm_preamble *p)
{
	static const uint8_t own[VM_PREAMBLE_MACHINE] = { 32, 32, 26, 4, 2, 2, 2 };
	unsigned int word;

	do {
		if (vm_model_info(m->model)->features & VM_IS_WHOLE_MACHINE &&
		    vm_rng_chance(&m->rng, 40))
			word = VM_PREAMBLE_MACHINE +
			       vm_rng_below(&m->rng, VM_PREAMBLE_COUNT - VM_PREAMBLE_MACHINE);
		else
			word = vm_rng_weighted(&m->rng, own, sizeof(own));
		put_word(m, p, word);
	} while (vm_rng_chance(&m->rng, 20));
}

void vm_tweak_preamble(struct vm_mutator *m, struct vm_preamble *p)
{
	unsigned int word = vm_rng_below(&m->rng, VM_PREAMBLE_COUNT);

	while (p->words && !vm_preamble_has(p, word))
		word = (word + 1) % VM_PREAMBLE_COUNT;
	if (!p->words)
		vm_aim_preamble(m, p);
	else if (vm_rng_chance(&m->rng, 50))
		vm_preamble_clear(p, word);
	else if (vm_preamble_desc(word)->kind <= VM_PREAMBLE_LENGTH)
		p->value[word].pages += (int32_t)vm_rng_range(&m->rng, -3, 3);
	else
		put_word(m, p, word);
}
