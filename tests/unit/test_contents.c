/* SPDX-License-Identifier: MIT */
/* Page contents: the digest, the pattern of a tag, and the tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/program/contents.h"
#include "harness/program/program.h"

#define WORDS 512
#define BIG   65536

static void assert_same(struct vm_content a, struct vm_content b)
{
	assert_int_equal(a.head, b.head);
	assert_int_equal(a.rest, b.rest);
}

static bool differs(struct vm_content a, struct vm_content b)
{
	return a.head != b.head || a.rest != b.rest;
}

static void test_zero_page(void **state)
{
	static const uint64_t page[BIG / 8];

	(void)state;
	assert_same(vm_content_digest(page, 4096), (struct vm_content){ 0, 0 });
	assert_same(vm_content_digest(page, BIG), (struct vm_content){ 0, 0 });
}

/* The oracle's shortcut and the executor's work agree, for every page size and any tag. */
static void test_tag_is_known_without_the_page(void **state)
{
	static uint64_t page[BIG / 8];
	const uint64_t tags[] = { 1,
				  vm_fill_tag(0, 0),
				  vm_fill_tag(63, 255),
				  vm_write_word(7, 9),
				  0x0123456789abcdefull,
				  UINT64_MAX };

	(void)state;
	for (size_t size = 4096; size <= BIG; size *= 2) {
		for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
			vm_content_write(page, size, tags[i]);
			assert_int_equal(page[0], tags[i]);
			assert_same(vm_content_digest(page, size),
				    vm_content_of_tag(tags[i], size));
		}
	}
}

/* Any one changed word, by any bit, shows; word 0 in head alone. */
static void test_one_changed_word_shows(void **state)
{
	static uint64_t page[BIG / 8];
	struct vm_content before, after;

	(void)state;
	vm_content_write(page, BIG, vm_fill_tag(1, 2));
	before = vm_content_digest(page, BIG);
	for (size_t i = 0; i < BIG / 8; i++) {
		unsigned int bit = i % 64;

		page[i] ^= 1ull << bit;
		after = vm_content_digest(page, BIG);
		page[i] ^= 1ull << bit;
		assert_int_equal(after.head != before.head, i == 0);
		assert_int_equal(after.rest != before.rest, i != 0);
	}
}

/* A `write` changes word 0 and the oracle needs no page for that: the rest stays. */
static void test_write_word_keeps_the_rest(void **state)
{
	static uint64_t page[WORDS];
	struct vm_content content;

	(void)state;
	vm_content_write(page, sizeof(page), vm_fill_tag(3, 4));
	content = vm_content_of_tag(vm_fill_tag(3, 4), sizeof(page));
	page[0] = content.head = vm_write_word(5, 6);
	assert_same(vm_content_digest(page, sizeof(page)), content);
}

static void test_moved_words_show(void **state)
{
	static uint64_t page[WORDS + 8], swapped[WORDS], big[BIG / 8], exchanged[BIG / 8];
	struct vm_content whole;

	(void)state;
	/* Two 4 KiB blocks of a larger page in each other's place. */
	vm_content_write(big, BIG, vm_fill_tag(1, 1));
	memcpy(exchanged, big, BIG);
	memcpy(exchanged + WORDS, big + 2 * WORDS, 4096);
	memcpy(exchanged + 2 * WORDS, big + WORDS, 4096);
	assert_true(differs(vm_content_digest(big, BIG), vm_content_digest(exchanged, BIG)));
	vm_content_write(page, 4096, vm_fill_tag(1, 1));
	whole = vm_content_digest(page, 4096);
	/* The page shifted by a word, two words swapped, two halves swapped, half of it zero. */
	assert_true(differs(whole, vm_content_digest(page + 1, 4096)));
	memcpy(swapped, page, 4096);
	swapped[10] = page[11];
	swapped[11] = page[10];
	assert_true(differs(whole, vm_content_digest(swapped, 4096)));
	memcpy(swapped, page + WORDS / 2, 2048);
	memcpy(swapped + WORDS / 2, page, 2048);
	assert_true(differs(whole, vm_content_digest(swapped, 4096)));
	memcpy(swapped, page, 4096);
	memset(swapped + WORDS / 2, 0, 2048);
	assert_true(differs(whole, vm_content_digest(swapped, 4096)));
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void test_tags_differ_and_are_not_zero(void **state)
{
	enum { N = 2 * VM_PROGRAM_MAX_CALLS * VM_TOUCH_MAX_PAGES };
	uint64_t *tag = malloc(N * sizeof(*tag));
	size_t n = 0;

	(void)state;
	assert_non_null(tag);
	for (unsigned int call = 0; call < VM_PROGRAM_MAX_CALLS; call++) {
		for (uint64_t page = 0; page < VM_TOUCH_MAX_PAGES; page++) {
			tag[n++] = vm_fill_tag(call, page);
			tag[n++] = vm_write_word(call, page);
		}
	}
	assert_int_equal(n, N);
	qsort(tag, n, sizeof(*tag), compare_words);
	assert_int_not_equal(tag[0], 0);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(tag[i - 1], tag[i]);
	free(tag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_page),
		cmocka_unit_test(test_tag_is_known_without_the_page),
		cmocka_unit_test(test_one_changed_word_shows),
		cmocka_unit_test(test_write_word_keeps_the_rest),
		cmocka_unit_test(test_moved_words_show),
		cmocka_unit_test(test_tags_differ_and_are_not_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
