/* SPDX-License-Identifier: MIT */
/*
 * build/vmafuzz-libfuzzer: libFuzzer's own main() with these callbacks. Features reach it as extra
 * counters; nothing here is instrumented.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/campaign/session.h"
#include "fuzz/engine/engine.h"
#include "fuzz/mutate/mutate.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
				 uint8_t *out, size_t max_size, unsigned int seed);

/* libFuzzer reads and clears this section around every input. */
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[VM_MAP_SIZE];

static struct {
	struct vm_options opt;
	struct vm_session *session;
	struct vm_mutator mutator;
} engine;

static void __attribute__((noreturn)) give_up(const char *line)
{
	vm_engine_complain(&engine.opt, line);
	_exit(VM_ENGINE_BROKEN);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char err[512];

	(void)argc;
	(void)argv;
	if (vm_options_import(&engine.opt, err, sizeof(err))) {
		fprintf(stderr, "vmafuzz-libfuzzer: %s\n", err);
		_exit(VM_ENGINE_BROKEN);
	}
	engine.session = vm_session_open(&engine.opt, false, err, sizeof(err));
	if (!engine.session)
		give_up(err);
	if (vm_mutator_init(&engine.mutator, vm_session_info(engine.session),
			    vm_session_profile(engine.session), 0))
		give_up("no memory for the mutator");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vm_program prog;
	struct vm_result result;
	char err[512];

	vm_program_decode(data, size, &prog);
	if (vm_session_run(engine.session, &prog, &result, err, sizeof(err)))
		give_up(err);
	vm_feedback_write(counters, result.feature, result.nfeatures);
	return 0;
}

/* The program as bytes if they fit, dropping calls from its end until they do. */
static size_t encode(struct vm_program *prog, uint8_t *out, size_t max_size)
{
	uint8_t bytes[VM_BYTES_MAX];
	size_t n = vm_program_encode(prog, bytes, sizeof(bytes));

	while (n > max_size && prog->ncalls > 1) {
		vm_program_drop(prog, prog->ncalls - 1u);
		n = vm_program_encode(prog, bytes, sizeof(bytes));
	}
	if (n > max_size)
		return 0;
	memcpy(out, bytes, n);
	return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct vm_program prog;

	vm_rng_seed(&engine.mutator.rng, seed);
	vm_program_decode(data, size, &prog);
	vm_mutate_or_generate(&engine.mutator, &prog, NULL);
	return encode(&prog, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
				 uint8_t *out, size_t max_size, unsigned int seed)
{
	struct vm_program prog, other;

	vm_rng_seed(&engine.mutator.rng, seed);
	vm_program_decode(a, a_size, &prog);
	vm_program_decode(b, b_size, &other);
	vm_crossover(&engine.mutator, &prog, &other);
	return encode(&prog, out, max_size);
}
