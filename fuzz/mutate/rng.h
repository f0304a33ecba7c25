/* SPDX-License-Identifier: MIT */
/* The random numbers of everything that must be repeatable by its seed: xoshiro256**. */
#ifndef VM_RNG_H
#define VM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct vm_rng {
	uint64_t s[4];
};

/* Every seed, 0 too, gives a good state of its own. */
void vm_rng_seed(struct vm_rng *r, uint64_t seed);

uint64_t vm_rng_next(struct vm_rng *r);

/* Uniform in [0, n); 0 for n == 0. */
uint32_t vm_rng_below(struct vm_rng *r, uint32_t n);

/* Uniform in [lo, hi], both included; lo <= hi. */
int64_t vm_rng_range(struct vm_rng *r, int32_t lo, int32_t hi);

/* True in `percent` of 100 cases. */
bool vm_rng_chance(struct vm_rng *r, uint32_t percent);

/* An index below n, with probability proportional to weight[index]; some weight is not 0. */
uint32_t vm_rng_weighted(struct vm_rng *r, const uint8_t *weight, uint32_t n);

#endif
