/* SPDX-License-Identifier: MIT */
/* A trace of this kernel, recorded here: cut and changed everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/target/target.h"

#define TRACE_BYTES (64u << 10)

static struct vm_trace recorded, got;
static uint8_t bytes[TRACE_BYTES];
static size_t len;
static char err[512];

static int record(void **state)
{
	static const char text[] = "mmap p0+4 rw anon private fill\n"
				   "mprotect p2+2 r\n"
				   "mmap p16+4 rw anon shared fill\n"
				   "mremap p0+4 -> p16+6 maymove|fixed\n"
				   "write p2+1\n"
				   "munmap p1+1\n";
	struct vm_target_options opt = { .executor = VM_BUILD_DIR "/vmafuzz-executor" };
	static struct vm_script script;
	struct vm_parse_error at;
	struct vm_target *target = vm_target_open("local", &opt, err, sizeof(err));

	(void)state;
	if (!target)
		print_error("%s\n", err);
	assert_non_null(target);
	assert_int_equal(vm_text_parse(text, strlen(text), &script, &at), 0);
	assert_int_equal(vm_target_run(target, &script.prog, 0, &recorded, err, sizeof(err)), 1);
	vm_target_close(target);
	len = vm_trace_encode(&recorded, bytes, sizeof(bytes));
	assert_true(len > 300);
	return 0;
}

static int release(void **state)
{
	(void)state;
	vm_trace_free(&recorded);
	vm_trace_free(&got);
	return 0;
}

/* From a buffer of exactly that size, so that a sanitizer sees each byte read too many. */
static int decode(size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	int ret;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	ret = vm_trace_decode(exact, size, &got, err, sizeof(err));
	free(exact);
	return ret;
}

static void test_it_comes_back(void **state)
{
	static uint8_t again[TRACE_BYTES];
	const struct vm_event *fault = &recorded.event[recorded.nevents - 3];

	(void)state;
	assert_int_equal(fault->status, VM_STATUS_FAULTED);
	assert_int_equal(decode(len), 0);
	assert_int_equal(got.nevents, recorded.nevents);
	assert_int_equal(vm_trace_encode(&got, again, sizeof(again)), len);
	assert_memory_equal(again, bytes, len);
}

static void test_every_truncation_is_refused(void **state)
{
	(void)state;
	for (size_t size = 0; size < len; size++) {
		assert_int_equal(decode(size), -1);
		assert_non_null(strstr(err, size ? "truncated" : "empty"));
	}
}

static void test_every_corrupt_byte_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < len; i++) {
		for (unsigned int flip = 1; flip < 256; flip += 2) {
			bytes[i] ^= (uint8_t)flip;
			assert_int_equal(decode(len), -1);
			bytes[i] ^= (uint8_t)flip;
		}
	}
	assert_int_equal(decode(len), 0);
}

/* The log without its CRC, as it comes from a child: refused, or as good as any other. */
static void test_every_corrupt_log_is_survived(void **state)
{
	static struct vm_event_writer w;
	unsigned int refused = 0;
	size_t size;

	(void)state;
	vm_event_writer_init(&w, bytes, sizeof(bytes), recorded.info.own, recorded.info.nown);
	for (uint32_t i = 0; i < recorded.nevents; i++) {
		if (recorded.event[i].kind == VM_EVENT_CALL)
			vm_event_write_begin(&w, &recorded.event[i]);
		vm_event_write_end(&w, &recorded.event[i]);
	}
	size = w.len;
	for (size_t i = 0; i < size; i++) {
		uint8_t was = bytes[i];

		for (unsigned int value = 0; value < 256; value++) {
			bytes[i] = (uint8_t)value;
			got.info = recorded.info;
			got.prog = recorded.prog;
			if (vm_events_decode(bytes, size, &got, err, sizeof(err)))
				refused++;
			else
				assert_in_range(got.nevents, 1, VM_TRACE_MAX_EVENTS);
		}
		bytes[i] = was;
	}
	assert_true(refused > size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_comes_back),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_every_corrupt_byte_is_refused),
		cmocka_unit_test(test_every_corrupt_log_is_survived),
	};

	return cmocka_run_group_tests(tests, record, release);
}
