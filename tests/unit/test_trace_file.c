/* SPDX-License-Identifier: MIT */
/* Traces as files: what is saved loads again; what was cut, changed or is newer is refused. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/trace_sample.h"

#define FILE_BYTES (256u << 10)
#define VERSION_AT 8

static struct vm_trace written, got;
static uint8_t bytes[FILE_BYTES];
static size_t len;
static char err[512], folder[64], path[96];

static int setup(void **state)
{
	(void)state;
	trace_sample(&written);
	vm_program_normalise(&written.prog);
	written.exit = VM_EXIT_SIGNAL;
	written.exit_value = 9;
	len = vm_trace_encode(&written, bytes, sizeof(bytes));
	assert_true(len > 200);
	strcpy(folder, "/tmp/vm_test_trace.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file.trace", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	vm_trace_free(&got);
	return rmdir(folder);
}

static int decode(size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	int ret;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	ret = vm_trace_decode(exact, size, &got, err, sizeof(err));
	free(exact);
	if (!ret)
		trace_keeps_promises(&got);
	return ret;
}

static void assert_refused(const char *why)
{
	assert_int_equal(decode(len), -1);
	assert_non_null(strstr(err, why));
	assert_null(strchr(err, '\n'));
	assert_int_equal(got.nevents, 0);
}

static void assert_same(void)
{
	assert_memory_equal(&got.info, &written.info, sizeof(got.info));
	assert_true(vm_program_equal(&got.prog, &written.prog));
	assert_int_equal(got.exit, written.exit);
	assert_int_equal(got.exit_value, written.exit_value);
	trace_assert_events_equal(&written, &got);
}

static void put_le32(uint8_t *p, uint32_t value)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

/* CRC-32 bit by bit, as the standard writes it. */
static uint32_t crc32_slow(const uint8_t *p, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void fix_crc(void)
{
	put_le32(bytes + len - 4, crc32_slow(bytes, len - 12));
}

static unsigned int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void test_bytes_come_back(void **state)
{
	(void)state;
	assert_int_equal(decode(len), 0);
	assert_same();
}

static void test_file_comes_back(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(vm_trace_save(path, &written, err, sizeof(err)), 0);
	assert_int_equal(vm_trace_load(path, &got, err, sizeof(err)), 0);
	assert_same();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, len);
	assert_int_equal(files_in(folder), 1);
}

static void test_encode_needs_its_room(void **state)
{
	static uint8_t small[FILE_BYTES];

	(void)state;
	for (size_t cap = 0; cap < len; cap++)
		assert_int_equal(vm_trace_encode(&written, small, cap), 0);
}

static void test_crc_is_the_standard_one(void **state)
{
	(void)state;
	assert_int_equal(crc32_slow((const uint8_t *)"123456789", 9), 0xcbf43926);
	fix_crc();
	assert_int_equal(decode(len), 0);
}

static void test_every_truncation_is_refused(void **state)
{
	char expected[64];

	(void)state;
	assert_int_equal(decode(0), -1);
	assert_non_null(strstr(err, "empty"));
	for (size_t size = 1; size < len; size++) {
		assert_int_equal(decode(size), -1);
		snprintf(expected, sizeof(expected), "truncated after %zu bytes", size);
		assert_non_null(strstr(err, expected));
	}
}

static void test_every_corrupt_byte_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < len; i++) {
		for (unsigned int flip = 1; flip < 256; flip <<= 1) {
			bytes[i] ^= (uint8_t)flip;
			assert_int_equal(decode(len), -1);
			bytes[i] ^= (uint8_t)flip;
		}
	}
	bytes[len / 2] ^= 0x10;
	assert_refused("corrupt: CRC-32");
}

/* The same with the CRC made right: whatever is accepted keeps its promises. */
static void test_every_forged_byte_is_survived(void **state)
{
	unsigned int refused = 0, accepted = 0;

	(void)state;
	for (size_t i = 0; i < len - 4; i++) {
		uint8_t was = bytes[i];

		for (unsigned int flip = 1; flip < 256; flip <<= 1) {
			bytes[i] = was ^ (uint8_t)flip;
			fix_crc();
			if (decode(len))
				refused++;
			else
				accepted++;
		}
		bytes[i] = was;
	}
	assert_true(refused > 100);
	assert_true(accepted > 100);
}

static void test_newer_version_is_refused(void **state)
{
	(void)state;
	assert_int_equal(vm_trace_save(path, &written, err, sizeof(err)), 0);
	put_le32(bytes + VERSION_AT, 9);
	fix_crc();
	assert_refused("has version 9, this vmafuzz reads up to 3: use a newer vmafuzz");
	put_le32(bytes + VERSION_AT, 0);
	fix_crc();
	assert_refused("version 0");
}

static void test_other_files_are_refused(void **state)
{
	(void)state;
	memcpy(bytes, "\177ELF", 4);
	assert_refused("not a trace");
	assert_int_equal(vm_trace_load(folder, &got, err, sizeof(err)), -1);
	assert_non_null(strstr(err, strerror(EISDIR)));
	assert_int_equal(vm_trace_load(path, &got, err, sizeof(err)), -1);
	assert_non_null(strstr(err, path));
	assert_non_null(strstr(err, strerror(ENOENT)));
	assert_int_equal(vm_trace_load("/dev/zero", &got, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "longer than any"));
}

/* Put a section of `size` bytes before the CRC. */
static void add_section(const char *tag, uint32_t size)
{
	uint8_t *p = bytes + len - 12;

	memmove(p + 8 + size, p, 12);
	memcpy(p, tag, 4);
	put_le32(p + 4, size);
	memset(p + 8, 0x5a, size);
	len += 8 + size;
	fix_crc();
}

static void test_unknown_sections_are_skipped(void **state)
{
	(void)state;
	add_section("NEWS", 100);
	add_section("MORE", 0);
	assert_int_equal(decode(len), 0);
	assert_same();
}

static void test_sections_are_needed_once(void **state)
{
	(void)state;
	add_section("PROG", 4);
	assert_refused("PROG occurs twice");
	rmdir(folder);
	setup(state);
	memcpy(bytes + 12, "info", 4);
	fix_crc();
	assert_refused("missing");
}

static void test_section_lengths_are_checked(void **state)
{
	(void)state;
	put_le32(bytes + 16, UINT32_MAX);
	fix_crc();
	assert_refused("beyond the end");
}

/* A child that may write only `limit` bytes to a file; its exit status. */
static int save_with_limit(rlim_t limit)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, limit });
		if (!vm_trace_save(path, &written, err, sizeof(err)))
			_exit(0);
		_exit(strstr(err, path) && strstr(err, strerror(EFBIG)) ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_full_disk_leaves_nothing_behind(void **state)
{
	(void)state;
	assert_int_equal(save_with_limit(len / 2), 1);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(save_with_limit(len), 0);
	assert_int_equal(files_in(folder), 1);

	/* An older file at that place survives a write that fails. */
	assert_int_equal(save_with_limit(len - 1), 1);
	assert_int_equal(files_in(folder), 1);
	assert_int_equal(vm_trace_load(path, &got, err, sizeof(err)), 0);
	assert_same();
}

static void test_missing_folder_is_said(void **state)
{
	(void)state;
	assert_int_equal(vm_trace_save("/no/such/folder/x.trace", &written, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/no/such/folder/x.trace"));
	assert_non_null(strstr(err, strerror(ENOENT)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_come_back),
		TEST(test_file_comes_back),
		TEST(test_encode_needs_its_room),
		TEST(test_crc_is_the_standard_one),
		TEST(test_every_truncation_is_refused),
		TEST(test_every_corrupt_byte_is_refused),
		TEST(test_every_forged_byte_is_survived),
		TEST(test_newer_version_is_refused),
		TEST(test_other_files_are_refused),
		TEST(test_unknown_sections_are_skipped),
		TEST(test_sections_are_needed_once),
		TEST(test_section_lengths_are_checked),
		TEST(test_full_disk_leaves_nothing_behind),
		TEST(test_missing_folder_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
