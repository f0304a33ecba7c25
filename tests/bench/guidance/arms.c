/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/schedule.h"
#include "fuzz/feedback/feedback.h"
#include "tests/bench/bench.h"
#include "tests/bench/guidance/arms.h"
#include "tests/bench/guidance/player.h"

#define BYTES 1024 /* of a random program, at most: a dozen calls */

struct searcher {
	enum vm_arm arm;
	struct vm_kernel *kernel;
	struct vm_judge_scratch *scratch;
	struct vm_judge_options judging;
	struct vm_judgement judgement;
	struct vm_mutator mutator;
	struct vm_schedule *schedule;
	struct vm_feedback feedback;
	struct vm_search *out;
};

const char *vm_arm_name(enum vm_arm arm)
{
	static const char *const names[VM_ARM_COUNT] = { "bytes", "generator", "feedback",
							 "libfuzzer", "afl" };

	return names[arm];
}

static void random_bytes(struct vm_rng *rng, struct vm_program *prog)
{
	uint8_t bytes[BYTES];
	uint32_t n = 1 + vm_rng_below(rng, sizeof(bytes));

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(vm_rng_next(rng) >> 56);
	vm_program_decode(bytes, n, prog);
}

static void make(struct searcher *s, struct vm_program *prog)
{
	if (s->arm == VM_ARM_BYTES)
		random_bytes(&s->mutator.rng, prog);
	else if (s->arm == VM_ARM_GENERATOR)
		vm_generate(&s->mutator, prog);
	else
		vm_schedule_next(s->schedule, &s->mutator, prog);
}

static bool violates(struct searcher *s, const struct vm_program *prog, int fault)
{
	vm_kernel_run(s->kernel, prog, fault);
	vm_judge(&s->kernel->trace, &s->judging, s->scratch, &s->judgement);
	return s->judgement.worst >= VM_VIOLATION;
}

/* The kernel is wrong, or the oracle is: no figure means anything. */
static _Noreturn void stop_at(const struct searcher *s, const struct vm_program *prog)
{
	static char text[1 << 16], why[1 << 15];
	struct vm_text t = { why, sizeof(why), 0 };

	vm_text_print(prog, text, sizeof(text));
	vm_explain_verdict(&s->kernel->trace, &s->judgement.verdict[s->judgement.nverdicts - 1],
			   &t);
	vm_bench_die("a violation without a fault:\n%s\n%s", text, why);
}

static void use(struct searcher *s, const struct vm_program *prog)
{
	struct vm_judgement *j = &s->judgement;
	uint32_t tripped, fresh;

	if (violates(s, prog, -1))
		stop_at(s, prog);
	tripped = s->kernel->tripped;
	fresh = vm_feedback_add(&s->feedback, j->feature, j->nfeatures);
	if (s->arm == VM_ARM_FEEDBACK &&
	    vm_schedule_ran(s->schedule, prog, j->feature, j->feature_call, j->nfeatures, fresh))
		vm_bench_die("out of memory");
	for (int i = 0; i < VM_FAULTS_TOTAL; i++)
		if (tripped >> i & 1 && !s->out->found[i] && violates(s, prog, i))
			s->out->found[i] = s->out->programs;
}

static bool all_found(const struct vm_search *out, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (!out->found[i])
			return false;
	return true;
}

static void release(struct searcher *s)
{
	vm_kernel_free(s->kernel);
	vm_judge_scratch_free(s->scratch);
	vm_mutator_free(&s->mutator);
	vm_schedule_free(s->schedule);
	free(s);
}

static void search_here(enum vm_arm arm, uint64_t seed, uint64_t budget, uint32_t from, uint32_t to,
			struct vm_search *out)
{
	struct searcher *s = calloc(1, sizeof(*s));
	struct vm_program prog;

	if (!s) {
		vm_bench_die("out of memory");
		return; /* for those who do not see that the line above never returns */
	}
	*out = (struct vm_search){ 0 };
	s->arm = arm;
	s->out = out;
	s->judging.profile = vm_profile_by_name("6.18");
	s->judging.contract = VM_CONTRACT_EXACT;
	s->scratch = vm_judge_scratch_new();
	s->kernel = vm_kernel_new(s->judging.profile);
	s->schedule = vm_schedule_new();
	if (!s->scratch || !s->kernel || !s->schedule ||
	    vm_mutator_init(&s->mutator, &s->kernel->info, s->judging.profile, seed))
		vm_bench_die("out of memory");
	while (out->programs < budget && !all_found(out, from, to)) {
		out->programs++;
		make(s, &prog);
		out->calls += prog.ncalls;
		use(s, &prog);
	}
	out->features = s->feedback.count;
	out->kept = s->schedule->corpus.n;
	release(s);
}

void vm_search_run(enum vm_arm arm, uint64_t seed, uint64_t budget, uint32_t from, uint32_t to,
		   struct vm_search *out)
{
	if (arm == VM_ARM_LIBFUZZER || arm == VM_ARM_AFL)
		vm_search_by_engine(vm_arm_name(arm), seed, budget, from, to, out);
	else
		search_here(arm, seed, budget, from, to, out);
}
