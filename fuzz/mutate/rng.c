/* SPDX-License-Identifier: MIT */
#include "fuzz/mutate/rng.h"

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void vm_rng_seed(struct vm_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

uint64_t vm_rng_next(struct vm_rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint32_t vm_rng_below(struct vm_rng *r, uint32_t n)
{
	return (uint32_t)(((vm_rng_next(r) >> 32) * n) >> 32);
}

int64_t vm_rng_range(struct vm_rng *r, int32_t lo, int32_t hi)
{
	return lo + (int64_t)vm_rng_below(r, (uint32_t)((int64_t)hi - lo + 1));
}

bool vm_rng_chance(struct vm_rng *r, uint32_t percent)
{
	return vm_rng_below(r, 100) < percent;
}

uint32_t vm_rng_weighted(struct vm_rng *r, const uint8_t *weight, uint32_t n)
{
	uint32_t sum = 0, pick;

	for (uint32_t i = 0; i < n; i++)
		sum += weight[i];
	pick = vm_rng_below(r, sum);
	for (uint32_t i = 0; i + 1 < n; i++) {
		if (pick < weight[i])
			return i;
		pick -= weight[i];
	}
	return n - 1;
}
