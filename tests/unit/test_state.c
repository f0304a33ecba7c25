/* SPDX-License-Identifier: MIT */
/* The belief: what a list of areas says, and what splitting, unmapping and merging leave of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

static struct vm_state s;
static struct vm_objects o;

static void given(const char *text)
{
	vm_objects_reset(&o);
	state_of_text(text, &s, &o);
}

#define STATE(text) assert_string_equal(text_of_state(&s), text)
#define A(n)	    ARENA(n)

static void test_text_is_read_as_printed(void **state)
{
	const char *text = "p0+4 rw o0@0 | p4+2 r shared sealed o1@3 ? p6+1 none sealed? ac? o2@0 "
			   "~ p7+1 rwx noac o3@0 | p9+1 r ac o0@4 | p10+1 x own o2@1";

	(void)state;
	given(text);
	STATE(text);
	assert_int_equal(o.object[1].size, 5 * PAGE);
}

static void test_lookup(void **state)
{
	(void)state;
	given("p2+2 rw | p4+2 r | p8+1 rw");
	assert_int_equal(vm_state_from(&s, 0), 0);
	assert_int_equal(vm_state_from(&s, A(4) - 1), 0);
	assert_int_equal(vm_state_from(&s, A(4)), 1);
	assert_int_equal(vm_state_from(&s, A(6)), 2);
	assert_int_equal(vm_state_from(&s, A(9)), 3);
	assert_null(vm_state_at(&s, A(2) - 1));
	assert_ptr_equal(vm_state_at(&s, A(2)), &s.area[0]);
	assert_ptr_equal(vm_state_at(&s, A(6) - 1), &s.area[1]);
	assert_null(vm_state_at(&s, A(6)));
	assert_null(vm_state_at(&s, A(9)));
}

static void test_any_and_all(void **state)
{
	(void)state;
	given("p2+2 rw | p4+2 r | p8+1 rw");
	assert_false(vm_state_any(&s, A(0), A(2)));
	assert_true(vm_state_any(&s, A(0), A(2) + 1));
	assert_false(vm_state_any(&s, A(6), A(8)));
	assert_false(vm_state_any(&s, A(3), A(3)));
	assert_false(vm_state_any(&s, A(9), A(99)));
	assert_true(vm_state_all(&s, A(2), A(6)));
	assert_true(vm_state_all(&s, A(3), A(5)));
	assert_false(vm_state_all(&s, A(1), A(3)));
	assert_false(vm_state_all(&s, A(2), A(7)));
	assert_false(vm_state_all(&s, A(4), A(9)));
	assert_false(vm_state_all(&s, A(2), A(2)));
	assert_true(vm_state_all(&s, A(8), A(9)));
	assert_false(vm_state_all(&s, A(8), A(9) + 1));
}

static void test_sealed(void **state)
{
	(void)state;
	given("p0+2 rw | p2+2 rw sealed? | p4+2 rw sealed | p8+2 rw");
	assert_int_equal(vm_state_sealed(&s, A(0), A(2)), VM_NO);
	assert_int_equal(vm_state_sealed(&s, A(0), A(3)), VM_MAYBE);
	assert_int_equal(vm_state_sealed(&s, A(3), A(5)), VM_YES);
	assert_int_equal(vm_state_sealed(&s, A(5), A(9)), VM_YES);
	assert_int_equal(vm_state_sealed(&s, A(6), A(10)), VM_NO);
	assert_int_equal(vm_state_sealed(&s, A(2), A(4)), VM_MAYBE);
}

static void test_one_vma(void **state)
{
	(void)state;
	given("p0+2 rw ~ p2+2 rw ? p4+2 rw | p6+2 r | p9+1 r");
	assert_int_equal(vm_state_one_vma(&s, A(0), A(2)), VM_YES);
	assert_int_equal(vm_state_one_vma(&s, A(0), A(4)), VM_YES);
	assert_int_equal(vm_state_one_vma(&s, A(1), A(5)), VM_MAYBE);
	assert_int_equal(vm_state_one_vma(&s, A(4), A(6)), VM_YES);
	assert_int_equal(vm_state_one_vma(&s, A(4), A(7)), VM_NO);
	assert_int_equal(vm_state_one_vma(&s, A(0), A(7)), VM_NO);
	assert_int_equal(vm_state_one_vma(&s, A(6), A(9)), VM_NO);
	assert_int_equal(vm_state_one_vma(&s, A(9), A(11)), VM_NO);
	assert_int_equal(vm_state_one_vma(&s, A(5), A(5)), VM_YES);
}

static void test_vma_ends(void **state)
{
	(void)state;
	given("p0+2 rw ~ p2+2 rw ? p4+2 rw | p6+2 r | p9+1 r");
	assert_int_equal(vm_state_vma_ends(&s, A(1)), VM_NO);
	assert_int_equal(vm_state_vma_ends(&s, A(2)), VM_NO);
	assert_int_equal(vm_state_vma_ends(&s, A(4)), VM_MAYBE);
	assert_int_equal(vm_state_vma_ends(&s, A(6)), VM_YES);
	assert_int_equal(vm_state_vma_ends(&s, A(8)), VM_YES);
	assert_int_equal(vm_state_vma_ends(&s, A(9)), VM_NO);
	assert_int_equal(vm_state_vma_ends(&s, A(10)), VM_YES);
	assert_int_equal(vm_state_vma_ends(&s, A(11)), VM_NO);
}

static void test_vma_next(void **state)
{
	(void)state;
	given("p0+2 rw ~ p2+2 rw ? p4+2 rw | p6+2 r | p9+1 r");
	assert_int_equal(vm_state_vma_next(&s, 0), 2);
	assert_int_equal(vm_state_vma_next(&s, 1), 2);
	assert_int_equal(vm_state_vma_next(&s, 2), 3);
	assert_int_equal(vm_state_vma_next(&s, 3), 4);
	assert_int_equal(vm_state_vma_next(&s, 4), 5);
}

static void test_largest_hole(void **state)
{
	(void)state;
	given("p2+2 rw | p5+1 r | p8+2 rw");
	assert_int_equal(vm_state_largest_hole(&s, A(0), A(8)), 2 * PAGE);
	assert_int_equal(vm_state_largest_hole(&s, A(2), A(8)), 2 * PAGE);
	assert_int_equal(vm_state_largest_hole(&s, A(2), A(6)), PAGE);
	assert_int_equal(vm_state_largest_hole(&s, A(2), A(4)), 0);
	assert_int_equal(vm_state_largest_hole(&s, A(3), A(13)), 3 * PAGE);
	assert_int_equal(vm_state_largest_hole(&s, A(6), A(7)), PAGE);
	assert_int_equal(vm_state_largest_hole(&s, A(20), A(24)), 4 * PAGE);
	assert_int_equal(vm_state_largest_hole(&s, 0, A(0)), A(0));
}

static void test_split(void **state)
{
	(void)state;
	given("p0+4 rw o0@0 | p4+2 r shared o1@2");
	vm_state_split(&s, A(1));
	STATE("p0+1 rw o0@0 ~ p1+3 rw o0@1 | p4+2 r shared o1@2");
	vm_state_split(&s, A(1));
	vm_state_split(&s, A(4));
	vm_state_split(&s, A(9));
	vm_state_split(&s, 0);
	STATE("p0+1 rw o0@0 ~ p1+3 rw o0@1 | p4+2 r shared o1@2");
	vm_state_split(&s, A(5));
	STATE("p0+1 rw o0@0 ~ p1+3 rw o0@1 | p4+1 r shared o1@2 ~ p5+1 r shared o1@3");
}

static void test_unmap(void **state)
{
	(void)state;
	given("p0+4 rw o0@0 ~ p4+2 rw o1@0 | p8+2 r o2@0");
	vm_state_unmap(&s, A(6), A(8));
	vm_state_unmap(&s, A(3), A(3));
	STATE("p0+4 rw o0@0 ~ p4+2 rw o1@0 | p8+2 r o2@0");
	vm_state_unmap(&s, A(1), A(2));
	STATE("p0+1 rw o0@0 | p2+2 rw o0@2 ~ p4+2 rw o1@0 | p8+2 r o2@0");
	vm_state_unmap(&s, A(3), A(9));
	STATE("p0+1 rw o0@0 | p2+1 rw o0@2 | p9+1 r o2@1");
	vm_state_unmap(&s, 0, A(99));
	STATE("");
}

/* What begins after an unmapped range begins for certain, even if it was joined before. */
static void test_unmap_begins(void **state)
{
	(void)state;
	given("p0+2 rw o0@0 ~ p2+2 rw o1@0 ~ p4+2 rw o2@0");
	vm_state_unmap(&s, A(2), A(4));
	STATE("p0+2 rw o0@0 | p4+2 rw o2@0");
}

static void test_put(void **state)
{
	struct vm_area a = { .start = A(2), .end = A(4), .prot = VM_MODE_R, .object = 1 };

	(void)state;
	given("p0+6 rw o0@0 | p8+1 r o1@0");
	a.begins = VM_MAYBE;
	vm_state_put(&s, &a);
	STATE("p0+2 rw o0@0 ? p2+2 r o1@0 ? p4+2 rw o0@4 | p8+1 r o1@0");
	a.start = A(9);
	a.end = A(10);
	vm_state_put(&s, &a);
	STATE("p0+2 rw o0@0 ? p2+2 r o1@0 ? p4+2 rw o0@4 | p8+1 r o1@0 ? p9+1 r o1@0");
}

static void settled(const char *before, const char *after)
{
	given(before);
	vm_state_settle(&s);
	STATE(after);
}

/* Attributes that differ keep VMAs apart; what is unknown does not. */
static void test_settle(void **state)
{
	(void)state;
	settled("p0+1 rw o0@0 ? p1+1 r o1@0", "p0+1 rw o0@0 | p1+1 r o1@0");
	settled("p0+1 rw o0@0 ~ p1+1 rw o1@0", "p0+1 rw o0@0 ~ p1+1 rw o1@0");
	settled("p0+1 rw o0@0 ? p1+1 rw o1@0", "p0+1 rw o0@0 ? p1+1 rw o1@0");
	settled("p0+1 rw o0@0 ? p1+1 rw sealed o1@0", "p0+1 rw o0@0 | p1+1 rw sealed o1@0");
	settled("p0+1 rw o0@0 ? p1+1 rw sealed? o1@0", "p0+1 rw o0@0 ? p1+1 rw sealed? o1@0");
	settled("p0+1 rw sealed? o0@0 ? p1+1 rw sealed o1@0",
		"p0+1 rw sealed? o0@0 ? p1+1 rw sealed o1@0");
	settled("p0+1 rw o0@0 ? p1+1 rw own o1@0", "p0+1 rw o0@0 | p1+1 rw own o1@0");
	settled("p0+1 r o0@0 ? p1+1 r shared o1@0", "p0+1 r o0@0 | p1+1 r shared o1@0");
	settled("p0+2 r shared o0@0 ? p2+1 r shared o0@2",
		"p0+2 r shared o0@0 ? p2+1 r shared o0@2");
	settled("p0+2 r shared o0@0 ? p2+1 r shared o0@1",
		"p0+2 r shared o0@0 | p2+1 r shared o0@1");
	settled("p0+2 r shared o0@0 ? p2+1 r shared o1@2",
		"p0+2 r shared o0@0 | p2+1 r shared o1@2");
	/* of an anonymous VMA without anon_vma nothing is known */
	settled("p0+1 rw o0@0 ? p1+1 rw noac o1@0", "p0+1 rw o0@0 ? p1+1 rw noac o1@0");
}

/* A lock that may be gone may be what kept two areas apart, unless they were just seen apart. */
static void test_doubt_locks(void **state)
{
	static const char apart[] = "p0+1 rw lo o0@0 | p1+1 rw o1@0 | p2+1 r o2@0";

	(void)state;
	given(apart);
	vm_state_doubt_locks(&s, false);
	assert_true(s.locks.doubted);
	assert_int_equal(s.area[0].flags_maybe, VM_LOCK_FLAGS);
	assert_int_equal(s.area[1].flags_maybe, 0);
	assert_int_equal(s.area[1].begins, VM_MAYBE);
	assert_int_equal(s.area[2].begins, VM_YES);
	given(apart);
	vm_state_doubt_locks(&s, true);
	assert_true(s.locks.doubted);
	assert_int_equal(s.area[0].flags_maybe, VM_LOCK_FLAGS);
	assert_int_equal(s.area[1].begins, VM_YES);
	/* special mappings are apart, whatever is locked */
	given("p0+1 rw lo o0@0 | p1+1 rw special o1@0");
	vm_state_doubt_locks(&s, false);
	assert_int_equal(s.area[1].begins, VM_YES);
}

static void test_too_many_areas(void **state)
{
	(void)state;
	given("p0+2 r");
	for (uint64_t i = 1; i < VM_STATE_MAX_AREAS; i++) {
		struct vm_area a = { .start = A(4 * i), .end = A(4 * i + 2) };

		vm_state_put(&s, &a);
	}
	assert_false(s.lost);
	assert_int_equal(s.n, VM_STATE_MAX_AREAS);
	vm_state_split(&s, A(1));
	assert_true(s.lost);
	assert_int_equal(s.n, VM_STATE_MAX_AREAS);
}

static void test_objects(void **state)
{
	uint32_t first, second;
	struct vm_object_page *p;

	(void)state;
	vm_objects_reset(&o);
	first = vm_object_new(&o, false, true, UINT64_MAX);
	second = vm_object_new(&o, true, false, 8 * PAGE);
	assert_int_not_equal(first, second);
	for (uint64_t i = 40; i-- > 0;)
		assert_non_null(vm_object_page(&o.object[first], i * 2 * PAGE));
	assert_int_equal(o.object[first].npages, 40);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(o.object[first].page[i].off, i * 2 * PAGE);
	assert_int_equal(vm_object_from(&o.object[first], 3 * PAGE), 2);
	assert_int_equal(vm_object_from(&o.object[first], 4 * PAGE), 2);
	assert_int_equal(vm_object_from(&o.object[first], 79 * PAGE), 40);
	/* a page of a zero object is known, of another it is not */
	p = vm_object_page(&o.object[first], 0);
	assert_true(p->known && p->rest_known && !p->content.head && !p->content.rest);
	p->content.head = 5;
	assert_int_equal(vm_object_page(&o.object[first], 0)->content.head, 5);
	assert_int_equal(o.object[first].npages, 40);
	p = vm_object_page(&o.object[second], 0);
	assert_false(p->known || p->rest_known);
	vm_objects_truncate(&o, second);
	second = vm_object_new(&o, false, true, PAGE);
	assert_int_equal(second, 1);
	assert_int_equal(o.object[second].npages, 0);
	assert_true(o.object[second].zero && !o.object[second].backed &&
		    !o.object[second].identified);
}

/* What lies behind the end of an object in its last page is never known, what lies before is. */
static void test_last_page(void **state)
{
	uint32_t file = vm_object_new(&o, true, true, 2 * PAGE), memory;
	struct vm_object_page *p;

	(void)state;
	for (uint64_t off = 0; off < 3 * PAGE; off += PAGE)
		vm_object_page(&o.object[file], off)->content.head = 7;
	vm_object_resize(&o, file, PAGE + 8, PAGE);
	assert_int_equal(o.object[file].npages, 2);
	p = vm_object_page(&o.object[file], PAGE);
	assert_true(p->known && !p->rest_known && p->content.head == 7);
	p->rest_known = true;
	vm_object_written(&o, file, 0, PAGE);
	assert_true(p->rest_known);
	vm_object_written(&o, file, PAGE, PAGE);
	assert_true(p->known && !p->rest_known);
	p->rest_known = true;
	vm_object_resize(&o, file, 4 * PAGE, PAGE);
	assert_true(p->known && !p->rest_known);
	p->rest_known = true;
	vm_object_written(&o, file, PAGE, PAGE);
	assert_true(p->rest_known);
	vm_object_resize(&o, file, PAGE + 7, PAGE);
	assert_false(p->known || p->rest_known);
	assert_true(vm_object_page(&o.object[file], 0)->rest_known);
	/* zero stays zero, and memory without an inode has no end */
	memory = vm_object_new(&o, false, true, UINT64_MAX);
	vm_object_page(&o.object[memory], 0);
	vm_object_written(&o, memory, 0, PAGE);
	assert_true(vm_object_page(&o.object[memory], 0)->rest_known);
}

static int close_objects(void **state)
{
	(void)state;
	vm_objects_free(&o);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_read_as_printed),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_any_and_all),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_one_vma),
		cmocka_unit_test(test_vma_ends),
		cmocka_unit_test(test_vma_next),
		cmocka_unit_test(test_largest_hole),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_unmap),
		cmocka_unit_test(test_unmap_begins),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_doubt_locks),
		cmocka_unit_test(test_too_many_areas),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_last_page),
	};

	return cmocka_run_group_tests(tests, NULL, close_objects);
}
