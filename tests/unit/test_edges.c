/* SPDX-License-Identifier: MIT */
/* kcov's edges as ids of the feedback map, and the points that a campaign keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/pcs.h"

static struct vm_trace trace;
static struct vm_judgement judgement;
static struct vm_edge_seen seen;
static uint32_t id[VM_MAX_EDGE_IDS], again[VM_MAX_EDGE_IDS];
static uint8_t call[VM_MAX_EDGE_IDS];
static const struct vm_places everywhere;

static const struct vm_edge first[] = { { 0, 100 }, { 100, 200 }, { 200, 300 } };
static const struct vm_edge second[] = { { 0, 100 }, { 100, 300 }, { 300, 900 } };

static int setup(void **state)
{
	(void)state;
	memset(&trace, 0, sizeof(trace));
	memset(&judgement, 0, sizeof(judgement));
	trace.nevents = 2;
	for (unsigned int i = 0; i < 2; i++) {
		trace.event[i].kind = VM_EVENT_CALL;
		trace.event[i].call = (uint8_t)(5 + i);
		trace.event[i].sc.op = VM_OP_MREMAP;
		trace.event[i].cover = (struct vm_cover){ .nedges = 3, .edge = i ? second : first };
	}
	return 0;
}

static uint32_t ids(const struct vm_places *places)
{
	return vm_edge_ids(&trace, &judgement, places, &seen, id, call);
}

static void test_each_once_by_its_first_call(void **state)
{
	(void)state;
	assert_int_equal(ids(&everywhere), 5);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(call[i], i < 3 ? 5 : 6);
		assert_true(id[i] >= VM_FEATURE_MAP && id[i] < VM_MAP_SIZE);
	}
	memcpy(again, id, sizeof(id));
	assert_int_equal(ids(&everywhere), 5);
	assert_memory_equal(again, id, 5 * sizeof(id[0]));
}

static void test_by_kind_of_call(void **state)
{
	(void)state;
	trace.event[1].sc.op = VM_OP_MMAP;
	assert_int_equal(ids(&everywhere), 6);
	assert_int_not_equal(id[0], id[3]);
}

static void test_violations_give_none(void **state)
{
	(void)state;
	judgement.call[0].severity = VM_VIOLATION;
	assert_int_equal(ids(&everywhere), 3);
	assert_int_equal(call[0], 6);
	judgement.call[0].severity = VM_DEVIATION;
	assert_int_equal(ids(&everywhere), 5);
}

static void test_only_some_places(void **state)
{
	struct vm_range range[] = { { 100, 101 }, { 300, 400 } };
	const struct vm_places some = { 2, range };

	(void)state;
	assert_true(vm_places_have(&some, 100));
	assert_false(vm_places_have(&some, 101));
	assert_false(vm_places_have(&some, 99));
	assert_true(vm_places_have(&some, 399));
	assert_false(vm_places_have(&some, 400));
	/* (0, 100), (outside, 300), (100, 300): where outside it was does not matter. */
	assert_int_equal(ids(&some), 3);
	assert_int_equal(vm_edge_id(1, &(struct vm_edge){ 200, 300 }, &some),
			 vm_edge_id(1, &(struct vm_edge){ 250, 300 }, &some));
	assert_int_not_equal(vm_edge_id(1, &(struct vm_edge){ 200, 300 }, &everywhere),
			     vm_edge_id(1, &(struct vm_edge){ 250, 300 }, &everywhere));
}

/* 3000 edges of one kind of call in 65536 slots: about 67 pairs meet by chance. */
static void test_ids_spread(void **state)
{
	static bool taken[VM_MAP_SIZE];
	unsigned int met = 0;

	(void)state;
	for (uint64_t i = 0; i < 3000; i++) {
		struct vm_edge e = { 0xffffffff81200000 + 16 * i, 0xffffffff81200010 + 16 * i };
		uint32_t is = vm_edge_id(VM_OP_MREMAP, &e, &everywhere);

		met += taken[is];
		taken[is] = true;
	}
	assert_in_range(met, 20, 130);
}

static void test_too_many_are_dropped(void **state)
{
	static struct vm_edge many[3][VM_MAX_EDGES];

	(void)state;
	trace.nevents = 3;
	trace.event[2] = trace.event[1];
	for (uint32_t k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < VM_MAX_EDGES; i++)
			many[k][i] = (struct vm_edge){ k * 77777 + i, i * 16 };
		trace.event[k].cover = (struct vm_cover){ .nedges = VM_MAX_EDGES, .edge = many[k] };
	}
	assert_int_equal(ids(&everywhere), VM_MAX_EDGE_IDS);
}

static void test_places_in_a_request(void **state)
{
	struct vm_range range[VM_MAX_PLACES], room[VM_MAX_PLACES];
	struct vm_places many = { VM_MAX_PLACES, range }, got = { 0, room };
	uint8_t bytes[VM_PLACES_BYTES];
	size_t len;

	(void)state;
	for (uint64_t i = 0; i < VM_MAX_PLACES; i++)
		range[i] = (struct vm_range){ UINT64_MAX / 2 + (i << 50),
					      UINT64_MAX / 2 + (i << 50) + 9 };
	len = vm_places_put(&many, bytes);
	assert_in_range(len, 1, sizeof(bytes));
	assert_int_equal(vm_places_get(bytes, len, &got), len);
	assert_int_equal(got.n, VM_MAX_PLACES);
	assert_memory_equal(room, range, sizeof(range));
	for (size_t n = 0; n < len; n++)
		assert_int_equal(vm_places_get(bytes, n, &got), 0);
	many.n = 0;
	assert_int_equal(vm_places_put(&many, bytes), 1);
	assert_int_equal(vm_places_get(bytes, 5, &got), 1);
	assert_int_equal(got.n, 0);
	bytes[0] = 0xff;
	bytes[1] = 0x01;
	assert_int_equal(vm_places_get(bytes, sizeof(bytes), &got), 0);
}

/* ---- what is kept on disk ---- */

static void make_folder(char out[32])
{
	strcpy(out, "/tmp/vmafuzz-test-XXXXXX");
	assert_non_null(mkdtemp(out));
}

static void test_points_are_noted_once(void **state)
{
	struct vm_pcs pcs = { 0 }, read = { 0 };
	char out[32], err[256], path[VM_PATH_MAX];
	uint8_t *text;
	size_t len;

	(void)state;
	make_folder(out);
	vm_path(path, "%s/pcs", out);
	assert_int_equal(vm_pcs_note(&pcs, out, &trace, err, sizeof(err)), 0);
	assert_int_equal(vm_pcs_note(&pcs, out, &trace, err, sizeof(err)), 0);
	text = vm_file_read(path, 1000, &len, err, sizeof(err));
	assert_non_null(text);
	assert_string_equal((char *)text, "64\nc8\n12c\n384\n");
	free(text);
	assert_int_equal(vm_pcs_load(&read, path, err, sizeof(err)), 0);
	assert_int_equal(read.n, 4);
	assert_true(vm_pcs_have(&read, 900));
	assert_false(vm_pcs_have(&read, 901));
	assert_false(vm_pcs_have(&read, 0));
	for (uint64_t i = 1; i < 20000; i++)
		assert_int_equal(vm_pcs_add(&read, i * 4096), 1);
	assert_int_equal(vm_pcs_add(&read, 4096), 0);
	assert_int_equal(read.n, 4 + 19999);
	vm_pcs_free(&pcs);
	vm_pcs_free(&read);
	vm_folder_remove(out);
}

static void test_odd_files_are_refused(void **state)
{
	struct vm_pcs pcs = { 0 };
	struct vm_places places;
	char out[32], err[256], path[VM_PATH_MAX];

	(void)state;
	make_folder(out);
	vm_path(path, "%s/pcs", out);
	assert_int_equal(vm_file_write(path, "ff\nwhat\n", 8, err, sizeof(err)), 0);
	assert_int_equal(vm_pcs_load(&pcs, path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "\"what"));
	vm_path(path, "%s/places", out);
	assert_int_equal(vm_file_write(path, "10 20\n30\n", 9, err, sizeof(err)), 0);
	assert_int_equal(vm_places_load(out, &places, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "damaged"));
	vm_pcs_free(&pcs);
	vm_folder_remove(out);
}

static void test_places_come_back(void **state)
{
	struct vm_range range[] = { { 100, 101 }, { 300, UINT64_MAX } };
	const struct vm_places some = { 2, range };
	struct vm_places read;
	char out[32], err[256];

	(void)state;
	make_folder(out);
	assert_int_equal(vm_places_load(out, &read, err, sizeof(err)), 0);
	assert_int_equal(read.n, 0);
	assert_int_equal(vm_places_save(out, &some, err, sizeof(err)), 0);
	assert_int_equal(vm_places_load(out, &read, err, sizeof(err)), 0);
	assert_int_equal(read.n, 2);
	assert_memory_equal(read.range, range, sizeof(range));
	vm_places_free(&read);
	assert_int_equal(vm_places_save(out, &everywhere, err, sizeof(err)), 0);
	assert_int_equal(vm_places_load(out, &read, err, sizeof(err)), 0);
	assert_int_equal(read.n, 0);
	vm_folder_remove(out);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_once_by_its_first_call),
		TEST(test_by_kind_of_call),
		TEST(test_violations_give_none),
		TEST(test_only_some_places),
		TEST(test_ids_spread),
		TEST(test_too_many_are_dropped),
		TEST(test_points_are_noted_once),
		TEST(test_odd_files_are_refused),
		TEST(test_places_come_back),
		TEST(test_places_in_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
