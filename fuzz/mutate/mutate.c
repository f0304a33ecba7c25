/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate/aim.h"
#include "fuzz/mutate/operand.h"
#include "fuzz/mutate/tweak.h"
#include "harness/program/call_table.h"

int vm_mutator_init(struct vm_mutator *m, const struct vm_target_info *info,
		    const struct vm_profile *profile, uint64_t seed)
{
	*m = (struct vm_mutator){
		.layout = info->layout,
		.mmap_min_addr = info->mmap_min_addr,
		.total_pages = info->total_pages,
		.rlimit_memlock = info->rlimit_memlock,
		.rlimit_stack = info->rlimit_stack,
	};
	vm_rng_seed(&m->rng, seed);
	m->model = vm_model_new(info, profile);
	return m->model ? 0 : -1;
}

void vm_mutator_free(struct vm_mutator *m)
{
	vm_model_free(m->model);
	m->model = NULL;
}

/* ---- names ---- */

static uint16_t used_names(const struct vm_program *prog)
{
	uint16_t used = 0;

	for (unsigned int i = 0; i < prog->ncalls; i++)
		used |= (uint16_t)(1u << prog->call[i].let);
	return used;
}

/* Make an address that uses a name outside `known` an arena page, the same for the same name. */
static void ground(struct vm_addr *addr, uint16_t known)
{
	if (addr->base != VM_BASE_NAME || (known & (1u << addr->index)))
		return;
	addr->base = VM_BASE_ARENA;
	addr->index = (uint8_t)(addr->index * 8 % VM_ARENA_PAGES);
}

/* Ground what uses a name before (or without) the `let` that gives it. */
static void ground_all(struct vm_program *prog)
{
	uint16_t known = 0;

	for (unsigned int i = 0; i < prog->ncalls; i++) {
		struct vm_call *call = &prog->call[i];
		const struct vm_call_desc *desc = vm_call_desc(call->op);

		for (unsigned int k = 0; k < desc->nargs; k++) {
			if (desc->arg[k].kind == VM_ARG_ADDR)
				ground(&call->arg[k].addr, known);
		}
		known |= (uint16_t)(1u << call->let);
	}
}

/* ---- places ---- */

static void remember(struct vm_mutator *m, uint64_t start, uint64_t len)
{
	if (start && len)
		m->recent[m->nrecent++ % VM_RECENT] = (struct vm_span){ start, len };
}

/* One call further: what it does to the model, and the ranges it had. */
static void walk(struct vm_mutator *m, const struct vm_call *call, unsigned int index)
{
	int64_t result = vm_model_step(m->model, call, index);
	const struct vm_syscall *sc = vm_model_made(m->model);
	bool placed = vm_call_desc(call->op)->returns_addr && result && !vm_result_errno(result);

	if (call->op == VM_OP_TRUNCATE)
		return;
	remember(m, sc->arg[0], sc->arg[1]);
	if (placed && (uint64_t)result != sc->arg[0])
		remember(m, (uint64_t)result, sc->arg[call->op == VM_OP_MREMAP ? 2 : 1]);
}

static void model_to(struct vm_mutator *m, const struct vm_program *prog, unsigned int at)
{
	vm_model_start(m->model, prog);
	m->nrecent = 0;
	for (unsigned int i = 0; i < at; i++)
		walk(m, &prog->call[i], i);
}

static bool open_gap(struct vm_program *prog, unsigned int at)
{
	if (prog->ncalls >= VM_PROGRAM_MAX_CALLS)
		return false;
	memmove(&prog->call[at + 1], &prog->call[at], (prog->ncalls - at) * sizeof(prog->call[0]));
	prog->ncalls++;
	return true;
}

static void close_gap(struct vm_program *prog, unsigned int at)
{
	prog->ncalls--;
	memmove(&prog->call[at], &prog->call[at + 1], (prog->ncalls - at) * sizeof(prog->call[0]));
	memset(&prog->call[prog->ncalls], 0, sizeof(prog->call[0]));
}

void vm_program_drop(struct vm_program *prog, unsigned int i)
{
	close_gap(prog, i);
	ground_all(prog);
	vm_program_normalise(prog);
}

static void note(struct vm_mutator *m, const char *what, const struct vm_call *call)
{
	size_t n = strlen(m->done);

	snprintf(m->done + n, sizeof(m->done) - n, "%s%s%s%s", n ? "," : "", what, call ? " " : "",
		 call ? vm_call_desc(call->op)->name : "");
}

/* ---- steps ---- */

static void insert(struct vm_mutator *m, struct vm_program *prog)
{
	/* Mostly at the end, where the most is mapped. */
	unsigned int at = vm_rng_chance(&m->rng, 50) ? prog->ncalls
						     : vm_rng_below(&m->rng, prog->ncalls + 1u);

	if (!open_gap(prog, at))
		return;
	model_to(m, prog, at);
	vm_aim_call(m, &prog->call[at]);
	note(m, "insert", &prog->call[at]);
}

static void delete (struct vm_mutator *m, struct vm_program *prog)
{
	unsigned int at = vm_rng_below(&m->rng, prog->ncalls);

	if (prog->ncalls < 2)
		return;
	note(m, "delete", &prog->call[at]);
	close_gap(prog, at);
}

static void swap(struct vm_mutator *m, struct vm_program *prog)
{
	unsigned int a = vm_rng_below(&m->rng, prog->ncalls);
	unsigned int b = vm_rng_below(&m->rng, prog->ncalls);
	struct vm_call tmp = prog->call[a];

	prog->call[a] = prog->call[b];
	prog->call[b] = tmp;
	note(m, "swap", NULL);
}

static void duplicate(struct vm_mutator *m, struct vm_program *prog)
{
	struct vm_call call = prog->call[vm_rng_below(&m->rng, prog->ncalls)];
	unsigned int at = vm_rng_below(&m->rng, prog->ncalls + 1u);

	if (!open_gap(prog, at))
		return;
	prog->call[at] = call;
	note(m, "duplicate", &call);
}

/* A head of this program, then a tail of the other. */
static void splice(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other)
{
	unsigned int keep = vm_rng_below(&m->rng, prog->ncalls + 1u);
	unsigned int from = vm_rng_below(&m->rng, other->ncalls);
	unsigned int n = other->ncalls - from;

	if (n > VM_PROGRAM_MAX_CALLS - keep)
		n = VM_PROGRAM_MAX_CALLS - keep;
	memcpy(&prog->call[keep], &other->call[from], n * sizeof(prog->call[0]));
	prog->ncalls = (uint8_t)(keep + n);
	note(m, "splice", NULL);
}

/* New arguments, or a whole new call, for the state that is there. */
static void aim(struct vm_mutator *m, struct vm_program *prog)
{
	unsigned int at = vm_rng_below(&m->rng, prog->ncalls);
	struct vm_call *call = &prog->call[at];

	model_to(m, prog, at);
	if (vm_rng_chance(&m->rng, 75))
		vm_aim_op(m, call->op, call);
	else
		vm_aim_call(m, call);
	note(m, "aim", call);
}

static void tweak(struct vm_mutator *m, struct vm_program *prog)
{
	struct vm_call *call = &prog->call[vm_rng_below(&m->rng, prog->ncalls)];

	vm_tweak_call(m, call);
	note(m, "tweak", call);
}

/* A part of all programs runs with less observation, since observation can hide a bug. */
static uint8_t observe_level(struct vm_mutator *m)
{
	static const uint8_t weight[] = { 75, 15, 10 };

	return (uint8_t)vm_rng_weighted(&m->rng, weight, VM_OBSERVE_COUNT);
}

#define LARGE 40 /* calls */

static void step(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other)
{
	enum { INSERT, DELETE, SWAP, DUPLICATE, SPLICE, AIM, TWEAK, OBSERVE, PREAMBLE };
	static const uint8_t small[] = { 28, 9, 5, 4, 8, 24, 20, 2, 1 };
	/* Long programs are slow and hard to read: they shrink again. */
	static const uint8_t large[] = { 8, 32, 5, 1, 8, 24, 20, 2, 1 };
	const uint8_t *weight = prog->ncalls > LARGE ? large : small;

	m->used = used_names(prog);
	switch (vm_rng_weighted(&m->rng, weight, sizeof(small))) {
	case INSERT:
		insert(m, prog);
		break;
	case DELETE:
		delete (m, prog);
		break;
	case SWAP:
		swap(m, prog);
		break;
	case DUPLICATE:
		duplicate(m, prog);
		break;
	case SPLICE:
		if (other && other->ncalls)
			splice(m, prog, other);
		break;
	case AIM:
		aim(m, prog);
		break;
	case TWEAK:
		tweak(m, prog);
		break;
	case OBSERVE:
		prog->observe = observe_level(m);
		note(m, "observe", NULL);
		break;
	case PREAMBLE:
		vm_tweak_preamble(m, &prog->preamble);
		note(m, "preamble", NULL);
		break;
	}
}

bool vm_append(struct vm_mutator *m, struct vm_program *prog, const struct vm_call *call)
{
	if (prog->ncalls >= VM_PROGRAM_MAX_CALLS)
		return false;
	walk(m, call, prog->ncalls);
	prog->call[prog->ncalls++] = *call;
	return true;
}

/* After a mapping was made: fill what it mapped, so that a loss of its contents can be seen. */
static void fill_last(struct vm_mutator *m, struct vm_program *prog)
{
	const struct vm_call *last = &prog->call[prog->ncalls - 1];
	struct vm_call fill = { .op = VM_OP_FILL };

	if (last->op != VM_OP_MMAP)
		return;
	fill.arg[0].addr = last->arg[0].addr;
	if (last->let)
		fill.arg[0].addr = (struct vm_addr){ .base = VM_BASE_NAME, .index = last->let };
	fill.arg[1].len = last->arg[1].len;
	vm_append(m, prog, &fill);
}

/* New calls for the state that the model is in, up to n in all. */
static void append(struct vm_mutator *m, struct vm_program *prog, unsigned int n)
{
	while (prog->ncalls < n) {
		struct vm_call call;

		if (!vm_rng_below(&m->rng, 250))
			vm_scene(m, prog);
		vm_aim_call(m, &call);
		vm_append(m, prog, &call);
		if (vm_rng_chance(&m->rng, 40))
			fill_last(m, prog);
	}
}

/*
 * Calls of a new program. Many: each acts on what all before it have left, and the faults that
 * matter take three or four that fit together (docs/guidance.md). Some short ones stay readable.
 */
static unsigned int length(struct vm_mutator *m)
{
	if (vm_rng_chance(&m->rng, 20))
		return 2 + vm_rng_below(&m->rng, 15);
	return 30 + vm_rng_below(&m->rng, 34);
}

/* Of 100 new programs so many have a preamble: most are to run into no limit. */
#define PREAMBLES 4
#define SHED	  40 /* ... and so many of 100 lose it when they go on */

/* Of 100 programs so many have a call that an allocation fails in, where the target can do that. */
#define FAILING	  6
#define FAIL_MOST 8 /* no call here has many more allocations than these */

static void fail_some(struct vm_mutator *m, struct vm_program *prog)
{
	struct vm_call *call;

	if (!(vm_model_info(m->model)->features & VM_HAS_FAIL_NTH))
		return;
	for (unsigned int i = 0; i < prog->ncalls; i++)
		if (prog->call[i].fail_nth && vm_rng_chance(&m->rng, SHED))
			prog->call[i].fail_nth = 0;
	if (!prog->ncalls || !vm_rng_chance(&m->rng, FAILING))
		return;
	call = &prog->call[vm_rng_below(&m->rng, prog->ncalls)];
	call->fail_nth = (uint16_t)(1 + vm_rng_below(&m->rng, FAIL_MOST));
	note(m, "fail", call);
}

#define HEAD_MAX 16 /* calls that are kept when a program goes on */
#define GO_ON	 8  /* calls that are new, at least */

void vm_go_on(struct vm_mutator *m, struct vm_program *prog, unsigned int head)
{
	unsigned int n = length(m);

	m->done[0] = '\0';
	if (head < prog->ncalls)
		prog->ncalls = (uint8_t)head;
	if (prog->preamble.words && vm_rng_chance(&m->rng, SHED))
		memset(&prog->preamble, 0, sizeof(prog->preamble));
	/* Some of what led there may not be needed: room for more, and another state. */
	while (prog->ncalls > 1 && (prog->ncalls > HEAD_MAX || vm_rng_chance(&m->rng, 30)))
		close_gap(prog, vm_rng_below(&m->rng, prog->ncalls));
	if (n < (unsigned int)prog->ncalls + GO_ON)
		n = prog->ncalls + GO_ON;
	m->used = used_names(prog);
	model_to(m, prog, prog->ncalls);
	append(m, prog, n);
	note(m, "go on", NULL);
	fail_some(m, prog);
	ground_all(prog);
	vm_program_normalise(prog);
}

void vm_mutate(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other)
{
	unsigned int steps = 1;

	m->done[0] = '\0';
	/* A fresh start, now and then: what the corpus has led to is not all there is. */
	if (!prog->ncalls || vm_rng_chance(&m->rng, 6)) {
		vm_generate(m, prog);
		return;
	}
	if (vm_rng_chance(&m->rng, 50)) {
		vm_go_on(m, prog,
			 vm_rng_chance(&m->rng, 60) ? prog->ncalls
						    : 1 + vm_rng_below(&m->rng, prog->ncalls));
		return;
	}
	while (steps < 6 && vm_rng_chance(&m->rng, 45))
		steps++;
	while (steps--)
		step(m, prog, other);
	if (!prog->ncalls)
		insert(m, prog);
	/* A name that nobody gave is a null pointer: seldom what is wanted. */
	if (vm_rng_chance(&m->rng, 90))
		ground_all(prog);
	fail_some(m, prog);
	vm_program_normalise(prog);
}

void vm_mutate_or_generate(struct vm_mutator *m, struct vm_program *prog,
			   const struct vm_program *other)
{
	if (vm_rng_chance(&m->rng, 50))
		vm_generate(m, prog);
	else
		vm_mutate(m, prog, other);
}

void vm_crossover(struct vm_mutator *m, struct vm_program *prog, const struct vm_program *other)
{
	m->done[0] = '\0';
	if (other->ncalls)
		splice(m, prog, other);
	if (!prog->ncalls)
		vm_generate(m, prog);
	ground_all(prog);
	vm_program_normalise(prog);
}

void vm_generate(struct vm_mutator *m, struct vm_program *prog)
{
	unsigned int n = length(m);

	memset(prog, 0, sizeof(*prog));
	prog->observe = observe_level(m);
	m->used = 0;
	m->nrecent = 0;
	if (vm_rng_chance(&m->rng, PREAMBLES))
		vm_aim_preamble(m, &prog->preamble);
	vm_model_start(m->model, prog);
	append(m, prog, n);
	snprintf(m->done, sizeof(m->done), "generate");
	fail_some(m, prog);
	vm_program_normalise(prog);
}

void vm_operand_use(struct vm_mutator *m, struct vm_program *prog, const struct vm_operand *o)
{
	const struct vm_call_desc *desc;
	union vm_arg *arg;

	m->done[0] = '\0';
	if (o->call >= prog->ncalls)
		return;
	desc = vm_call_desc(prog->call[o->call].op);
	arg = &prog->call[o->call].arg[o->arg];
	if (o->arg >= desc->nargs)
		return;
	if (desc->arg[o->arg].kind == VM_ARG_ADDR) {
		model_to(m, prog, o->call);
		arg->addr = vm_addr_from(m, o->value);
	} else if (desc->arg[o->arg].kind == VM_ARG_LEN ||
		   desc->arg[o->arg].kind == VM_ARG_OFFSET) {
		arg->len = vm_quantity_from(&m->layout, o->value);
	} else if (desc->arg[o->arg].kind != VM_ARG_OBJECT) {
		arg->bits = o->value;
	}
	note(m, "operand", &prog->call[o->call]);
	vm_program_normalise(prog);
}
