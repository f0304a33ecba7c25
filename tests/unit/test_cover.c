/* SPDX-License-Identifier: MIT */
/* Distillation chooses few programs and loses no feature. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/cover.h"
#include "fuzz/mutate/rng.h"
#include "oracle/oracle.h"

#define ITEM(cost, ...)                                                                            \
	{                                                                                          \
		cost, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ }, true   \
	}

static void test_greedy(void **state)
{
	struct vm_cover_item item[] = {
		ITEM(1, 1, 2), ITEM(9, 1, 2, 3, 4), ITEM(1, 3), ITEM(1, 5), ITEM(2, 5),
	};

	(void)state;
	assert_int_equal(vm_cover(item, 5), 5);
	assert_false(item[0].taken);
	assert_true(item[1].taken);
	assert_false(item[2].taken);
	assert_true(item[3].taken); /* the cheaper of two that add the same */
	assert_false(item[4].taken);
}

static void test_nothing(void **state)
{
	struct vm_cover_item item = { .taken = true };

	(void)state;
	assert_int_equal(vm_cover(NULL, 0), 0);
	assert_int_equal(vm_cover(&item, 1), 0);
	assert_false(item.taken);
}

#define ITEMS	 300
#define FEATURES 40

static void test_no_feature_is_lost(void **state)
{
	static uint32_t feature[ITEMS][FEATURES];
	static bool all[VM_MAP_SIZE], taken[VM_MAP_SIZE];
	struct vm_cover_item item[ITEMS] = { 0 };
	struct vm_rng rng;
	int64_t covered, n = 0, chosen = 0;

	(void)state;
	vm_rng_seed(&rng, 1);
	for (int i = 0; i < ITEMS; i++) {
		item[i].feature = feature[i];
		item[i].cost = vm_rng_below(&rng, 20);
		for (uint32_t k = 0; k < FEATURES; k++) /* none twice: k is in it */
			if (vm_rng_chance(&rng, 70))
				feature[i][item[i].n++] =
					(uint32_t)(k * 1000 + vm_rng_below(&rng, 20));
	}
	covered = vm_cover(item, ITEMS);
	for (int i = 0; i < ITEMS; i++) {
		chosen += item[i].taken;
		for (uint32_t k = 0; k < item[i].n; k++) {
			n += !all[item[i].feature[k]];
			all[item[i].feature[k]] = true;
			taken[item[i].feature[k]] |= item[i].taken;
		}
	}
	assert_int_equal(covered, n);
	assert_true(chosen < ITEMS / 2);
	assert_memory_equal(all, taken, sizeof(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_no_feature_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
