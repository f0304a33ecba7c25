/* SPDX-License-Identifier: MIT */
/* What each step does to a belief, page by page, and to the bytes behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/oracle_text.h"

#define R  VM_MODE_R
#define W  VM_MODE_W
#define RW (VM_MODE_R | VM_MODE_W)

static struct vm_state s;
static struct vm_objects o;

static void given(const char *text)
{
	vm_objects_reset(&o);
	state_of_text(text, &s, &o);
}

static void apply(uint64_t chosen, struct vm_step step)
{
	const struct vm_effect e = { .n = 1, .step = { step } };

	vm_effect_apply(&e, chosen, &s, &o, PAGE);
}

/* STEP(kind, start page, pages, to page, more fields...) */
#define STEP(kind_, at, len, to_, ...)                                                             \
	apply(0, (struct vm_step){ .kind = VM_STEP_##kind_,                                        \
				   .start = ARENA(at),                                             \
				   .end = ARENA((at) + (len)),                                     \
				   .to = ARENA(to_),                                               \
				   .object = VM_NO_OBJECT,                                         \
				   .flags = VM_STEP_##kind_ == VM_STEP_MAP ? VM_MAY_ALL : 0,       \
				   __VA_ARGS__ })
#define STATE(text) assert_string_equal(text_of_state(&s), text)

static void test_unmap(void **state)
{
	(void)state;
	given("p0+4 rw ~ p4+2 rw");
	STEP(UNMAP, 3, 2, 0);
	STATE("p0+3 rw o0@0 | p5+1 rw o1@1");
	STEP(UNMAP, 20, 2, 0);
	STATE("p0+3 rw o0@0 | p5+1 rw o1@1");
}

static void test_map(void **state)
{
	(void)state;
	given("p0+4 rw sealed | p8+4 r");
	STEP(MAP, 4, 2, 0, .prot = RW);
	STATE("p0+4 rw sealed o0@0 | p4+2 rw o2@0 | p8+4 r o1@0");
	STEP(MAP, 6, 2, 0, .prot = R, .shared = true);
	STATE("p0+4 rw sealed o0@0 | p4+2 rw o2@0 | p6+2 r shared o3@0 | p8+4 r o1@0");
	assert_int_equal(o.object[3].size, 2 * PAGE);
	assert_int_equal(o.object[2].size, UINT64_MAX);
	assert_true(o.object[3].backed && o.object[3].zero && !o.object[3].identified);
	/* a new mapping may merge with equal neighbours, and splits what it replaces */
	STEP(MAP, 9, 2, 0, .prot = R);
	STATE("p0+4 rw sealed o0@0 | p4+2 rw o2@0 | p6+2 r shared o3@0 | "
	      "p8+1 r o1@0 ? p9+2 r o4@0 ? p11+1 r o1@3");
	apply(ARENA(30), (struct vm_step){ .kind = VM_STEP_MAP, .chosen = true, .end = PAGE });
	assert_non_null(vm_state_at(&s, ARENA(30)));
	assert_null(vm_state_at(&s, ARENA(31)));
}

static void test_protect(void **state)
{
	(void)state;
	given("p0+4 rw | p4+2 r shared | p8+2 x");
	STEP(PROTECT, 1, 2, 0, .prot = R);
	STATE("p0+1 rw o0@0 | p1+2 r ac? o0@1 | p3+1 rw o0@3 | p4+2 r shared o1@0 | p8+2 x o2@0");
	STEP(PROTECT, 1, 2, 0, .prot = RW);
	STATE("p0+1 rw o0@0 ? p1+2 rw ac? o0@1 ? p3+1 rw o0@3 | p4+2 r shared o1@0 | p8+2 x o2@0");
	/* holes are left alone; a shared mapping is not charged, a private one is */
	STEP(PROTECT, 5, 4, 0, .prot = RW);
	STATE("p0+1 rw o0@0 ? p1+2 rw ac? o0@1 ? p3+1 rw o0@3 | p4+1 r shared o1@0 | "
	      "p5+1 rw shared o1@1 | p8+1 rw o2@0 | p9+1 x o2@1");
	/* what was charged stays so while it can be written */
	given("p0+1 rw | p1+1 r ac | p2+1 r");
	STEP(PROTECT, 0, 3, 0, .prot = W);
	STATE("p0+1 w o0@0 ? p1+1 w o1@0 ? p2+1 w o2@0");
	given("p0+1 r ac | p1+1 r");
	STEP(PROTECT, 0, 2, 0, .prot = R);
	STATE("p0+1 r ac o0@0 ? p1+1 r o1@0");
}

static void test_seal(void **state)
{
	(void)state;
	given("p0+4 rw | p4+2 r sealed | p6+2 rw sealed?");
	STEP(SEAL, 1, 6, 0);
	STATE("p0+1 rw o0@0 | p1+3 rw sealed o0@1 | p4+2 r sealed o1@0 | p6+1 rw sealed o2@0 ? "
	      "p7+1 rw sealed? o2@1");
	given("p0+2 rw sealed | p2+2 rw");
	STEP(SEAL, 2, 2, 0);
	STATE("p0+2 rw sealed o0@0 ? p2+2 rw sealed o1@0");
}

static void test_move(void **state)
{
	(void)state;
	given("p0+4 rw | p4+2 r | p16+4 x");
	STEP(MOVE, 1, 4, 17);
	STATE("p0+1 rw o0@0 | p5+1 r o1@1 | p16+1 x o2@0 | p17+3 rw o0@1 | p20+1 r o1@0");
	/* holes go along; what lies opposite to them stays */
	given("p0+1 rw | p2+1 rw | p16+3 x");
	STEP(MOVE, 0, 3, 16);
	STATE("p16+1 rw o0@0 | p17+1 x o2@1 | p18+1 rw o1@0");
	given("p0+1 rw ~ p1+1 rw");
	STEP(MOVE, 0, 2, 9);
	STATE("p9+1 rw o0@0 ~ p10+1 rw o1@0");
	/* VMAs that come together may merge, pieces of one stay one */
	given("p0+1 rw ~ p1+1 rw ? p2+1 rw | p8+1 rw");
	STEP(MOVE, 0, 3, 9);
	STATE("p8+1 rw o3@0 ? p9+1 rw o0@0 ~ p10+1 rw o1@0 ? p11+1 rw o2@0");
	apply(ARENA(20), (struct vm_step){ .kind = VM_STEP_MOVE,
					   .start = ARENA(8),
					   .end = ARENA(9),
					   .to = PAGE,
					   .chosen = true });
	STATE("p9+1 rw o0@0 ~ p10+1 rw o1@0 ? p11+1 rw o2@0 | p21+1 rw o3@0");
}

/* MREMAP_DONTUNMAP: new private pages stay behind, and the same shared ones. */
static void test_move_and_keep(void **state)
{
	(void)state;
	given("p0+4 rw | p4+2 r shared");
	STEP(MOVE, 1, 4, 16, .keep = true);
	STATE("p0+1 rw o0@0 ~ p1+3 rw o2@0 | p4+1 r shared o1@0 ~ p5+1 r shared o1@1 | "
	      "p16+3 rw o0@1 | p19+1 r shared o1@0");
}

static void test_extend(void **state)
{
	(void)state;
	given("p0+4 rw | p8+2 r shared o1@3");
	STEP(EXTEND, 4, 2, 3);
	STEP(EXTEND, 10, 2, 9);
	STATE("p0+4 rw o0@0 ~ p4+2 rw o2@0 | p8+2 r shared o1@3 ~ p10+2 r shared o1@5");
	/* the object has not grown */
	assert_int_equal(o.object[1].size, 5 * PAGE);
	STEP(EXTEND, 40, 2, 39);
	STATE("p0+4 rw o0@0 ~ p4+2 rw o2@0 | p8+2 r shared o1@3 ~ p10+2 r shared o1@5");
	apply(ARENA(20), (struct vm_step){ .kind = VM_STEP_EXTEND, .chosen = true, .end = PAGE });
	assert_null(vm_state_at(&s, ARENA(20)));
	given("p20+1 rw");
	apply(ARENA(20),
	      (struct vm_step){
		      .kind = VM_STEP_EXTEND, .chosen = true, .start = PAGE, .end = 2 * PAGE });
	STATE("p20+1 rw o0@0 ~ p21+1 rw o1@0");
}

static void test_duplicate(void **state)
{
	(void)state;
	given("p0+4 rw shared o0@2 | p8+2 r");
	STEP(DUPLICATE, 8, 3, 1);
	STATE("p0+4 rw shared o0@2 | p8+3 rw shared o0@3");
	apply(ARENA(20),
	      (struct vm_step){
		      .kind = VM_STEP_DUPLICATE, .chosen = true, .end = PAGE, .to = ARENA(2) });
	STATE("p0+4 rw shared o0@2 | p8+3 rw shared o0@3 | p20+1 rw shared o0@4");
}

static void test_split(void **state)
{
	(void)state;
	given("p0+4 rw | p4+4 r");
	STEP(SPLIT, 2, 4, 0);
	STATE("p0+2 rw o0@0 ? p2+2 rw o0@2 | p4+2 r o1@0 ? p6+2 r o1@2");
	STEP(SPLIT, 4, 16, 0);
	STATE("p0+2 rw o0@0 ? p2+2 rw o0@2 | p4+2 r o1@0 ? p6+2 r o1@2");
}

static const struct vm_object_page *page_of(uint64_t n)
{
	const struct vm_area *a = vm_state_at(&s, ARENA(n));
	const struct vm_object *x = &o.object[a->object];
	uint64_t off = a->off + ARENA(n) - a->start;
	uint32_t i = vm_object_from(x, off);

	return i < x->npages && x->page[i].off == off ? &x->page[i] : NULL;
}

static void is_filled(uint64_t n, unsigned int call, uint64_t index)
{
	const struct vm_object_page *p = page_of(n);
	struct vm_content c = vm_content_of_tag(vm_fill_tag(call, index), PAGE);

	assert_non_null(p);
	assert_true(p->known && p->rest_known);
	assert_int_equal(p->content.head, c.head);
	assert_int_equal(p->content.rest, c.rest);
}

/* Bytes belong to objects: they move, are seen through duplicates, and stay behind nowhere. */
static void test_contents(void **state)
{
	const struct vm_object_page *p;

	(void)state;
	given("p0+4 rw | p8+4 rw shared");
	STEP(FILL, 1, 2, 0, .call = 5);
	is_filled(1, 5, 0);
	is_filled(2, 5, 1);
	assert_null(page_of(0));
	assert_null(page_of(3));
	/* a word in a zero page: the rest stays zero; in a filled one: the rest stays */
	STEP(WRITE, 2, 2, 0, .call = 7);
	p = page_of(3);
	assert_true(p->known && p->rest_known);
	assert_int_equal(p->content.head, vm_write_word(7, 1));
	assert_int_equal(p->content.rest, 0);
	assert_int_equal(page_of(2)->content.head, vm_write_word(7, 0));
	assert_int_equal(page_of(2)->content.rest, vm_content_of_tag(vm_fill_tag(5, 1), PAGE).rest);
	STEP(MOVE, 1, 1, 20, .keep = true);
	is_filled(20, 5, 0);
	assert_null(page_of(1));
	STEP(DUPLICATE, 30, 2, 9);
	STEP(FILL, 30, 1, 0, .call = 9);
	is_filled(9, 9, 0);
	STEP(UNMAP, 8, 4, 0);
	is_filled(30, 9, 0);
	STEP(MAP, 30, 1, 0, .prot = RW);
	assert_null(page_of(30));
	/* pages that are not mapped are passed over, and counted */
	STEP(FILL, 19, 2, 0, .call = 11);
	is_filled(20, 11, 1);
}

/* Of an object that is unknown, a word says nothing about the rest. */
static void test_write_to_unknown(void **state)
{
	(void)state;
	given("p0+1 rw");
	o.object[0].zero = false;
	STEP(WRITE, 0, 1, 0, .call = 1);
	assert_true(page_of(0)->known);
	assert_false(page_of(0)->rest_known);
	STEP(FILL, 0, 1, 0, .call = 2);
	is_filled(0, 2, 0);
}

static void test_several_steps(void **state)
{
	const struct vm_effect e = {
		.n = 3,
		.step = { { .kind = VM_STEP_UNMAP, .start = ARENA(16), .end = ARENA(20) },
			  { .kind = VM_STEP_MOVE,
			    .start = ARENA(0),
			    .end = ARENA(2),
			    .to = ARENA(16) },
			  { .kind = VM_STEP_EXTEND,
			    .start = ARENA(18),
			    .end = ARENA(20),
			    .to = ARENA(17) } },
	};

	(void)state;
	given("p0+4 rw | p15+6 r");
	vm_effect_apply(&e, 0, &s, &o, PAGE);
	STATE("p2+2 rw o0@2 | p15+1 r o1@0 | p16+2 rw o0@0 ~ p18+2 rw o2@0 | p20+1 r o1@5");
}

static int close_objects(void **state)
{
	(void)state;
	vm_objects_free(&o);
	return 0;
}

static void lock(unsigned int at, unsigned int len, uint64_t flags)
{
	apply(0, (struct vm_step){ .kind = VM_STEP_LOCK,
				   .start = ARENA(at),
				   .end = ARENA(at + len),
				   .flags = flags });
}

static void test_lock(void **state)
{
	const uint64_t lo = VM_BIT(VM_FLAG_LO);

	(void)state;
	given("p0+4 rw | p4+2 r shared lf | p6+1 rw special | p8+2 rw own");
	lock(2, 7, lo);
	STATE("p0+2 rw o0@0 | p2+2 rw lo o0@2 | p4+2 r shared lo o1@0 | p6+1 rw own o2@0 | "
	      "p8+1 rw own lo o3@0 | p9+1 rw own o3@1");
	lock(2, 1, 0);
	STATE("p0+2 rw o0@0 ? p2+1 rw o0@2 | p3+1 rw lo o0@3 | p4+2 r shared lo o1@0 | "
	      "p6+1 rw own o2@0 | p8+1 rw own lo o3@0 | p9+1 rw own o3@1");
	apply(0, (struct vm_step){ .kind = VM_STEP_DEFAULT, .flags = VM_LOCK_FLAGS });
	assert_int_equal(s.locks.def_flags, VM_LOCK_FLAGS);
	/* MREMAP_DONTUNMAP: the lock goes along */
	given("p0+4 rw lo");
	STEP(MOVE, 0, 4, 20, .keep = true);
	STATE("p0+4 rw o1@0 | p20+4 rw lo o0@0");
	assert_int_equal(s.locks.lost, 4 * PAGE);
	assert_false(s.locks.unlocks_more);
	given("p0+4 rw lo");
	STEP(MOVE, 1, 2, 20, .keep = true);
	assert_true(s.locks.unlocks_more);
	/* where it is not known if there was one, the rest of the VMA may part or stay */
	given("p0+4 rw lo");
	s.area[0].flags_maybe = VM_LOCK_FLAGS;
	STEP(MOVE, 1, 2, 20, .keep = true);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.area[1].begins, VM_MAYBE);
	assert_int_equal(s.area[2].begins, VM_MAYBE);
	vm_objects_free(&o);
}

/* Whose pages are private copies of their object's after a step? */
static uint32_t copies(const struct vm_area *a)
{
	return o.object[a->anon].npages;
}

static void test_populate(void **state)
{
	(void)state;
	given("p0+4 r lo o0@0 | p4+4 r lf o0@0 | p8+4 r o0@0 | p12+4 r lo o1@0");
	o.object[0].backed = true;
	o.object[0].size = 2 * PAGE + 1;
	for (uint32_t i = 0; i < 3; i++)
		s.area[i].anon = vm_object_copies(&o, 0);
	/* a locked mapping that becomes writable is populated, up to the end of its object */
	STEP(PROTECT, 0, 16, 0, .prot = RW);
	assert_int_equal(copies(&s.area[0]), 3);
	assert_int_equal(copies(&s.area[1]), 0);
	assert_int_equal(copies(&s.area[2]), 0);
	STEP(COPY, 5, 4, 0);
	assert_int_equal(copies(&s.area[1]), 0);
	assert_int_equal(copies(&s.area[2]), 1);
	vm_objects_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmap),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_protect),
		cmocka_unit_test(test_seal),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_move_and_keep),
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_write_to_unknown),
		cmocka_unit_test(test_several_steps),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_populate),
	};

	return cmocka_run_group_tests(tests, NULL, close_objects);
}
