/* SPDX-License-Identifier: MIT */
/* Versions, names and manifests of kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/kernel/kernel.h"
#include "harness/kernel/version.h"

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

static void test_compare(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{ "6.12.43", "6.12.117", -1 },
		{ "6.12", "6.12.0", -1 },
		{ "6.9", "6.12", -1 },
		{ "7.0", "6.19.14", 1 },
		{ "7.4~rc2", "7.4", -1 },
		{ "6.12.43-1~bpo12+1", "6.12.43-1", -1 },
		{ "6.12.43-1", "6.12.43-1+b1", -1 },
		{ "6.012", "6.12", 0 },
		{ "", "", 0 },
		{ "a", "+", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(sign(vm_version_compare(cases[i].a, cases[i].b)), cases[i].order);
		assert_int_equal(sign(vm_version_compare(cases[i].b, cases[i].a)), -cases[i].order);
	}
}

static void test_matches(void **state)
{
	(void)state;
	assert_true(vm_version_matches("6.12.117-1~deb12u1", "6.12"));
	assert_true(vm_version_matches("6.12.117", "6.12.117"));
	assert_true(vm_version_matches("6.12.117-1", "6.12.117"));
	assert_true(vm_version_matches("6.1.4", "6"));
	assert_false(vm_version_matches("6.12.117", "6.1"));
	assert_false(vm_version_matches("6.12.117", "6.12.11"));
	assert_false(vm_version_matches("6.12", "6.12.1"));
	assert_false(vm_version_matches("6.12", ""));
}

static void test_parts(void **state)
{
	char text[32];
	struct vm_kernel_id id;

	(void)state;
	vm_version_upstream("6.12.117-1~deb12u1", text, sizeof(text));
	assert_string_equal(text, "6.12.117");
	vm_version_upstream("7.4~rc2-1~exp1", text, sizeof(text));
	assert_string_equal(text, "7.4~rc2");
	vm_version_series("6.12.117-1", text, sizeof(text));
	assert_string_equal(text, "6.12");
	vm_version_series("6", text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(vm_kernel_id_parse("debian-6.12.117-arm64", &id));
	assert_string_equal(id.kind, "debian");
	assert_string_equal(id.version, "6.12.117");
	assert_string_equal(id.suffix, "arm64");
	assert_true(vm_kernel_id_parse("my-fuzz-6.12", &id));
	assert_string_equal(id.kind, "my-fuzz");
	assert_string_equal(id.suffix, "");
	assert_false(vm_kernel_id_parse("debian", &id));
	assert_false(vm_kernel_id_parse("-6.12", &id));
}

static char cache[64];

static int make_cache(void **state)
{
	(void)state;
	snprintf(cache, sizeof(cache), "/tmp/vmafuzz-test-XXXXXX");
	return mkdtemp(cache) && !setenv("VMAFUZZ_CACHE", cache, 1) ? 0 : -1;
}

static int remove_cache(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", cache);
	return system(command);
}

/* A kernel in the cache, as fetch leaves one. */
static void put(const char *name)
{
	struct vm_kernel k = { .release = "r", .arch = "x86_64", .version = "v-1", .origin = "o" };
	char err[256], folder[VM_KERNEL_PATH];

	assert_int_equal(vm_kernel_folder(folder, err, sizeof(err)), 0);
	mkdir(folder, 0755);
	snprintf(k.name, sizeof(k.name), "%s", name);
	vm_kernel_path(k.dir, "%s/%s", folder, name);
	vm_kernel_path(k.image, "%s/%s/vmlinuz", folder, name);
	assert_int_equal(mkdir(k.dir, 0755), 0);
	assert_int_equal(vm_kernel_write(&k, k.dir, err, sizeof(err)), 0);
}

static void test_find(void **state)
{
	static const char *const names[] = { "debian-6.12.117", "debian-6.12.43", "debian-6.1.140",
					     "debian-6.12.90-arm64" };
	struct vm_kernel k, *list;
	char err[256], image[256];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		put(names[i]);
	assert_int_equal(vm_kernel_find("debian-6.12", &k, err, sizeof(err)), 0);
	assert_string_equal(k.name, "debian-6.12.117");
	snprintf(image, sizeof(image), "%s/kernels/debian-6.12.117/vmlinuz", cache);
	assert_string_equal(k.image, image);
	assert_string_equal(k.vmlinux, "");
	assert_string_equal(k.version, "v-1");
	assert_int_equal(vm_kernel_find("debian-6.12.43", &k, err, sizeof(err)), 0);
	assert_string_equal(k.name, "debian-6.12.43");
	assert_int_equal(vm_kernel_find("debian-6.12-arm64", &k, err, sizeof(err)), 0);
	assert_string_equal(k.name, "debian-6.12.90-arm64");
	assert_int_equal(vm_kernel_find("debian-6.11", &k, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "kernel fetch debian:6.11"));
	assert_int_equal(vm_kernel_find("../x", &k, err, sizeof(err)), -1);
	assert_int_equal(vm_kernel_list(&list, &n, err, sizeof(err)), 0);
	assert_int_equal(n, 4);
	assert_string_equal(list[0].name, "debian-6.1.140");
	assert_string_equal(list[3].name, "debian-6.12.117");
	free(list);
}

/* One that is half there, or damaged, is none. */
static void test_damaged(void **state)
{
	char path[256], err[512];
	struct vm_kernel k, *list;
	size_t n;
	FILE *f;

	(void)state;
	put("debian-7.0.1");
	snprintf(path, sizeof(path), "%s/kernels/debian-7.0.1/manifest.json", cache);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("{ \"name\": \"debian-7.0.1\"", f);
	fclose(f);
	assert_int_equal(vm_kernel_find("debian-7.0.1", &k, err, sizeof(err)), -1);
	assert_int_equal(vm_kernel_find("debian-7.0", &k, err, sizeof(err)), -1);
	assert_int_equal(vm_kernel_list(&list, &n, err, sizeof(err)), 0);
	assert_int_equal(n, 0);
	free(list);
}

static void test_no_folder(void **state)
{
	char err[256] = "", path[VM_KERNEL_PATH];

	(void)state;
	setenv("VMAFUZZ_CACHE", "relative", 1);
	assert_int_equal(vm_kernel_folder(path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "VMAFUZZ_CACHE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_parts),
		cmocka_unit_test_setup_teardown(test_find, make_cache, remove_cache),
		cmocka_unit_test_setup_teardown(test_damaged, make_cache, remove_cache),
		cmocka_unit_test(test_no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
