/* SPDX-License-Identifier: MIT */
/*
 * build/libvmafuzz-mutator.so: our mutator for afl-fuzz (AFL_CUSTOM_MUTATOR_LIBRARY). It knows the
 * target by OUT/target.info, which the supervisor has written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/options.h"
#include "fuzz/campaign/prepare.h"
#include "fuzz/mutate/mutate.h"

/* AFL++'s interface (docs/custom_mutators.md there); Debian ships no header for it. */
void *afl_custom_init(void *afl, unsigned int seed);
void afl_custom_deinit(void *data);
uint32_t afl_custom_fuzz_count(void *data, const uint8_t *buf, size_t len);
size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t len, uint8_t **out, uint8_t *add,
		       size_t add_len, size_t max_size);
size_t afl_custom_post_process(void *data, uint8_t *buf, size_t len, uint8_t **out);
const char *afl_custom_describe(void *data, size_t max_len);
int32_t afl_custom_init_trim(void *data, uint8_t *buf, size_t len);
size_t afl_custom_trim(void *data, uint8_t **out);
int32_t afl_custom_post_trim(void *data, uint8_t success);

struct afl_mutator {
	struct vm_mutator mutator;
	struct vm_target_info info;
	uint8_t fuzzed[VM_BYTES_MAX], processed[VM_BYTES_MAX], trimmed[VM_BYTES_MAX];
	char description[128];
	/* Trimming drops one call after the other. */
	struct vm_program whole, less;
	unsigned int at, step, steps;
};

void *afl_custom_init(void *afl, unsigned int seed)
{
	struct afl_mutator *a = calloc(1, sizeof(*a));
	const struct vm_profile *profile;
	struct vm_options opt;
	char err[512] = "no memory";

	(void)afl;
	if (a && !vm_options_import(&opt, err, sizeof(err)) &&
	    !vm_target_info_load(opt.out, &a->info, err, sizeof(err))) {
		profile = vm_options_profile(&opt, &a->info);
		if (!vm_mutator_init(&a->mutator, &a->info, profile, seed))
			return a;
	}
	fprintf(stderr, "vmafuzz mutator: %s\n", err);
	free(a);
	return NULL;
}

void afl_custom_deinit(void *data)
{
	struct afl_mutator *a = data;

	vm_mutator_free(&a->mutator);
	free(a);
}

/*
 * Mutants of one queue entry before AFL++ turns to the next. Its own numbers are made for targets
 * that are ten times as fast; here they would keep it at the first few entries for a minute.
 */
uint32_t afl_custom_fuzz_count(void *data, const uint8_t *buf, size_t len)
{
	(void)data;
	(void)buf;
	(void)len;
	return 32;
}

size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t len, uint8_t **out, uint8_t *add,
		       size_t add_len, size_t max_size)
{
	struct afl_mutator *a = data;
	struct vm_program prog, other;
	size_t n;

	vm_program_decode(buf, len, &prog);
	if (add)
		vm_program_decode(add, add_len, &other);
	vm_mutate_or_generate(&a->mutator, &prog, add ? &other : NULL);
	snprintf(a->description, sizeof(a->description), "%s", a->mutator.done);
	n = vm_program_encode(&prog, a->fuzzed, sizeof(a->fuzzed));
	while (n > max_size && prog.ncalls > 1) {
		vm_program_drop(&prog, prog.ncalls - 1u);
		n = vm_program_encode(&prog, a->fuzzed, sizeof(a->fuzzed));
	}
	*out = a->fuzzed;
	return n;
}

/* What runs is canonical, whatever the file has: then AFL++'s files are, too. */
size_t afl_custom_post_process(void *data, uint8_t *buf, size_t len, uint8_t **out)
{
	struct afl_mutator *a = data;
	struct vm_program prog;

	vm_program_decode(buf, len, &prog);
	*out = a->processed;
	return vm_program_encode(&prog, a->processed, sizeof(a->processed));
}

/* Becomes a part of a file name. */
const char *afl_custom_describe(void *data, size_t max_len)
{
	struct afl_mutator *a = data;

	for (char *p = a->description; *p; p++) {
		if (*p == ' ')
			*p = '-';
		else if (*p == ',')
			*p = '+';
	}
	if (max_len < sizeof(a->description))
		a->description[max_len] = '\0';
	return a->description;
}

int32_t afl_custom_init_trim(void *data, uint8_t *buf, size_t len)
{
	struct afl_mutator *a = data;

	vm_program_decode(buf, len, &a->whole);
	a->at = 0;
	a->step = 0;
	a->steps = a->whole.ncalls > 1 ? a->whole.ncalls : 0;
	return (int32_t)a->steps;
}

size_t afl_custom_trim(void *data, uint8_t **out)
{
	struct afl_mutator *a = data;

	a->less = a->whole;
	if (a->less.ncalls > 1)
		vm_program_drop(&a->less, a->at);
	*out = a->trimmed;
	return vm_program_encode(&a->less, a->trimmed, sizeof(a->trimmed));
}

int32_t afl_custom_post_trim(void *data, uint8_t success)
{
	struct afl_mutator *a = data;

	if (success)
		a->whole = a->less;
	else
		a->at++;
	a->step++;
	if (a->at >= a->whole.ncalls || a->whole.ncalls < 2)
		a->step = a->steps;
	return (int32_t)a->step;
}
