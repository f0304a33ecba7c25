/* SPDX-License-Identifier: MIT */
/* Page contents: the pattern of a tag, and the linear digest. */
#include "harness/program/contents.h"

/*
 * The multiplier of word i is factor[i % 512] * block_factor(i / 512), both odd. The factors are
 * splitmix64 of 1..512 with the low bit set, worked out by the compiler.
 */
#define BLOCK_WORDS 512

#define SEED(i)	  ((uint64_t)((i) + 1) * 0x9e3779b97f4a7c15ull)
#define MIX_A(x)  (((x) ^ ((x) >> 30)) * 0xbf58476d1ce4e5b9ull)
#define MIX_B(x)  (((x) ^ ((x) >> 27)) * 0x94d049bb133111ebull)
#define FACTOR(i) (MIX_B(MIX_A(SEED(i))) | 1)
#define FACTOR8(i)                                                                                 \
	FACTOR(i), FACTOR((i) + 1), FACTOR((i) + 2), FACTOR((i) + 3), FACTOR((i) + 4),             \
		FACTOR((i) + 5), FACTOR((i) + 6), FACTOR((i) + 7)
#define FACTOR64(i)                                                                                \
	FACTOR8(i), FACTOR8((i) + 8), FACTOR8((i) + 16), FACTOR8((i) + 24), FACTOR8((i) + 32),     \
		FACTOR8((i) + 40), FACTOR8((i) + 48), FACTOR8((i) + 56)

static const uint64_t factor[BLOCK_WORDS] = {
	FACTOR64(0),   FACTOR64(64),  FACTOR64(128), FACTOR64(192),
	FACTOR64(256), FACTOR64(320), FACTOR64(384), FACTOR64(448),
};

/* The sums over i < 512 of factor[i] and of i * factor[i]; test_contents checks them. */
#define FACTOR_SUM	0x26f22f8298b52dc2ull
#define FACTOR_STEP_SUM 0x5548799d5388125cull

/* Word i of a page filled with a tag is tag + i * STEP: a shift inside the page shows. */
#define STEP 0xd1342543de82ef95ull

static uint64_t block_factor(uint64_t block)
{
	return block ? FACTOR(block + BLOCK_WORDS) : 1;
}

struct vm_content vm_content_digest(const void *page, size_t page_size)
{
	const uint64_t *word = page;
	size_t nblocks = page_size / (BLOCK_WORDS * sizeof(*word));
	struct vm_content content = { .head = word[0], .rest = 0 };

	for (size_t block = 0; block < nblocks; block++, word += BLOCK_WORDS) {
		/* Independent sums, so that the multiplications overlap. */
		uint64_t a = 0, b = 0, c = 0, d = 0;

		for (size_t i = 0; i < BLOCK_WORDS; i += 4) {
			a += word[i] * factor[i];
			b += word[i + 1] * factor[i + 1];
			c += word[i + 2] * factor[i + 2];
			d += word[i + 3] * factor[i + 3];
		}
		content.rest += (a + b + c + d) * block_factor(block);
	}
	content.rest -= content.head * factor[0];
	return content;
}

void vm_content_write(void *page, size_t page_size, uint64_t tag)
{
	uint64_t *word = page;

	for (size_t i = 0; i < page_size / sizeof(*word); i++, tag += STEP)
		word[i] = tag;
}

struct vm_content vm_content_of_tag(uint64_t tag, size_t page_size)
{
	struct vm_content content = { .head = tag, .rest = 0 };
	uint64_t first = tag; /* first word of the block */

	for (uint64_t block = 0; block < page_size / (BLOCK_WORDS * sizeof(tag)); block++) {
		uint64_t sum = first * FACTOR_SUM + STEP * FACTOR_STEP_SUM;

		content.rest += sum * block_factor(block);
		first += BLOCK_WORDS * STEP;
	}
	content.rest -= tag * factor[0];
	return content;
}

/* Both have the kind in the top bits, then call and page, as a dump shows them. */
#define FILL_MARK  0xf111u
#define WRITE_MARK 0x3717u

static uint64_t mark(uint64_t kind, unsigned int call, uint64_t page)
{
	return kind << 48 | (uint64_t)(call & 0xffff) << 32 | (page & 0xffffffff);
}

uint64_t vm_fill_tag(unsigned int call, uint64_t page)
{
	return mark(FILL_MARK, call, page);
}

uint64_t vm_write_word(unsigned int call, uint64_t page)
{
	return mark(WRITE_MARK, call, page);
}

enum vm_origin vm_content_origin(uint64_t head, unsigned int *call, uint64_t *page)
{
	*call = head >> 32 & 0xffff;
	*page = head & 0xffffffff;
	if (!head)
		return VM_ORIGIN_ZERO;
	if (head >> 48 == FILL_MARK)
		return VM_ORIGIN_FILL;
	return head >> 48 == WRITE_MARK ? VM_ORIGIN_WRITE : VM_ORIGIN_UNKNOWN;
}
