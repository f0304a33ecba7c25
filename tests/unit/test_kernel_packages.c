/* SPDX-License-Identifier: MIT */
/* Which kernels a mirror's lists name, in all layouts of Debian's packages; unpacking one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/kernel/files.h"
#include "harness/kernel/packages.h"
#include "harness/kernel/unpack.h"

struct sample {
	const char *suite, *package, *version;
	unsigned int size;
};

static const struct sample samples[] = {
	{ "bookworm", "linux-image-6.1.0-57-cloud-amd64", "6.1.192-3", 26705532 },
	{ "bookworm", "linux-image-6.1.0-57-cloud-amd64-dbg", "6.1.192-3", 283306844 },
	{ "bookworm", "linux-image-6.1.0-57-amd64", "6.1.192-3", 68000000 },
	{ "bookworm", "linux-image-cloud-amd64", "6.1.192-3", 1512 },
	{ "backports", "linux-image-6.12-cloud-amd64", "6.12.43-1~bpo12+1", 1512 },
	{ "backports", "linux-image-6.12.43+deb12-cloud-amd64", "6.12.43-1~bpo12+1", 33649136 },
	{ "trixie", "linux-image-6.12.117+deb13-cloud-amd64", "6.12.117-1", 34700000 },
	{ "security", "linux-image-6.12.117+deb13-cloud-amd64", "6.12.117-1", 34700000 },
	{ "bookworm", "linux-image-6.12.117+deb12-cloud-amd64", "6.12.117-1~deb12u1", 34300000 },
	{ "sid", "linux-image-7.2.13+deb14-cloud-amd64", "7.2.13-1", 1916 },
	{ "sid", "linux-binary-7.2.13+deb14-cloud-amd64", "7.2.13-1", 13717736 },
	{ "sid", "linux-binary-unsigned-7.2.13+deb14-cloud-amd64", "7.2.13-1", 13717736 },
	{ "sid", "linux-base-7.2.13+deb14-cloud-amd64", "7.2.13-1", 1000000 },
	{ "sid", "linux-modules-7.2.13+deb14-cloud-amd64", "7.2.13-1", 23451956 },
	{ "sid", "linux-headers-7.2.13+deb14-cloud-amd64", "7.2.13-1", 3451956 },
	{ "sid", "firefox", "145.0-1", 70000000 },
};

static void feed(struct vm_packages *p, const struct sample *s)
{
	char line[256];

	snprintf(line, sizeof(line), "Package: %s", s->package);
	vm_packages_line(p, s->suite, line);
	snprintf(line, sizeof(line), "Version: %s", s->version);
	vm_packages_line(p, s->suite, line);
	vm_packages_line(p, s->suite, "Description: Package: is not a field here");
	vm_packages_line(p, s->suite, " Size: 1");
	snprintf(line, sizeof(line), "Size: %u", s->size);
	vm_packages_line(p, s->suite, line);
	vm_packages_line(p, s->suite, "");
}

static void read_samples(struct vm_packages *p, const char *flavour)
{
	vm_packages_begin(p, flavour);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		feed(p, &samples[i]);
	assert_int_equal(vm_packages_join(p), 0);
}

static void test_layouts(void **state)
{
	static const struct {
		const char *version, *suite, *image;
		bool base, modules, leads;
	} want[] = {
		{ "6.1.192-3", "bookworm", "linux-image-6.1.0-57-cloud-amd64", false, false, true },
		{ "6.12.43-1~bpo12+1", "backports", "linux-image-6.12.43+deb12-cloud-amd64", false,
		  false, false },
		{ "6.12.117-1~deb12u1", "bookworm", "linux-image-6.12.117+deb12-cloud-amd64", false,
		  false, false },
		{ "6.12.117-1", "trixie", "linux-image-6.12.117+deb13-cloud-amd64", false, false,
		  true },
		{ "7.2.13-1", "sid", "linux-binary-7.2.13+deb14-cloud-amd64", true, true, true },
	};
	struct vm_packages p;

	(void)state;
	read_samples(&p, "cloud-amd64");
	assert_int_equal(p.n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(p.list[i].version, want[i].version);
		assert_string_equal(p.list[i].suite, want[i].suite);
		assert_string_equal(p.list[i].image, want[i].image);
		assert_int_equal(p.list[i].base, want[i].base);
		assert_int_equal(p.list[i].modules, want[i].modules);
		assert_int_equal(vm_packages_leads(&p, i), want[i].leads);
	}
	assert_int_equal(p.list[0].size, 26705532);
	assert_string_equal(p.list[0].release, "6.1.0-57-cloud-amd64");
	vm_packages_free(&p);
}

static void test_newest(void **state)
{
	static const struct {
		const char *wanted, *version;
	} cases[] = {
		{ "6.12", "6.12.117-1" },
		{ "6.12.43", "6.12.43-1~bpo12+1" },
		{ "6.12.117-1~deb12u1", "6.12.117-1~deb12u1" },
		{ "7.2", "7.2.13-1" },
		{ "6", "6.12.117-1" },
		{ "6.12.11", NULL },
		{ "8.0", NULL },
	};
	struct vm_packages p;

	(void)state;
	read_samples(&p, "cloud-amd64");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct vm_package *k = vm_packages_newest(&p, cases[i].wanted);

		if (!cases[i].version)
			assert_null(k);
		else
			assert_string_equal(k->version, cases[i].version);
	}
	vm_packages_free(&p);
}

/* amd64's kernels are not cloud-amd64's. */
static void test_flavour(void **state)
{
	struct vm_packages p;

	(void)state;
	read_samples(&p, "amd64");
	assert_int_equal(p.n, 1);
	assert_string_equal(p.list[0].release, "6.1.0-57-amd64");
	vm_packages_free(&p);
}

static void test_names(void **state)
{
	static const struct {
		const char *flavour, *name;
	} cases[] = {
		{ "cloud-amd64", "debian-6.12.117" },
		{ "cloud-arm64", "debian-6.12.117-arm64" },
		{ "arm64-16k", "debian-6.12.117-arm64-16k" },
		{ "amd64", "debian-6.12.117-amd64" },
	};
	struct vm_package k = { .version = "6.12.117-1~deb12u1" };
	char name[VM_KERNEL_NAME];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		vm_package_name(&k, cases[i].flavour, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
	}
}

static void test_places(void **state)
{
	static const struct {
		const char *name, *to;
	} cases[] = {
		{ "boot/vmlinuz-6.12.117+deb12-cloud-amd64", "vmlinuz" },
		{ "boot/config-6.12.117+deb12-cloud-amd64", "config" },
		{ "boot/System.map-6.12.117+deb12-cloud-amd64", NULL },
		{ "usr/lib/modules/7.3.4+deb13-cloud-amd64/vmlinuz", "vmlinuz" },
		{ "usr/lib/modules/7.3.4+deb13-cloud-amd64/config", "config" },
		{ "lib/modules/6.1.0-57-cloud-amd64/modules.builtin", "modules/modules.builtin" },
		{ "lib/modules/6.1.0-57-cloud-amd64/kernel/drivers/char/virtio_console.ko",
		  "modules/kernel/drivers/char/virtio_console.ko" },
		{ "lib/modules/6.1.0-57-cloud-amd64/kernel/fs/ext4/ext4.ko", NULL },
		{ "usr/share/doc/linux-image/copyright", NULL },
	};
	char to[VM_KERNEL_PATH];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(vm_place_kernel(cases[i].name, to), cases[i].to != NULL);
		if (cases[i].to)
			assert_string_equal(to, cases[i].to);
	}
}

/* ---- a package made here ---- */

static void add(struct archive *a, const char *name, const void *data, size_t n)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_set_pathname(e, name);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0755);
	archive_entry_set_size(e, (la_int64_t)n);
	assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, data, n), n);
	archive_entry_free(e);
}

static char tar[200000];

/* A .deb with one wanted file, one unwanted and one that would leave the folder; cut by `cut`. */
static void make_deb(const char *path, size_t cut)
{
	struct archive *a = archive_write_new();
	size_t used = 0;

	archive_write_set_format_pax_restricted(a);
	archive_write_add_filter_xz(a);
	assert_int_equal(archive_write_open_memory(a, tar, sizeof(tar), &used), ARCHIVE_OK);
	add(a, "./boot/vmlinuz-6.12.1-cloud-amd64", "an image", 8);
	add(a, "./usr/share/doc/copyright", "text", 4);
	add(a, "./../boot/config-6.12.1-cloud-amd64", "text", 4);
	archive_write_close(a);
	archive_write_free(a);
	a = archive_write_new();
	archive_write_set_format_ar_bsd(a);
	assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
	add(a, "debian-binary", "2.0\n", 4);
	add(a, "control.tar.xz", "x", 1);
	add(a, "data.tar.xz", tar, used - cut);
	archive_write_close(a);
	archive_write_free(a);
}

static void test_unpack(void **state)
{
	char folder[] = "/tmp/vmafuzz-test-XXXXXX", deb[64], path[64], err[512] = "", text[16] = "";
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(deb, sizeof(deb), "%s/a.deb", folder);
	snprintf(path, sizeof(path), "%s/vmlinuz", folder);
	make_deb(deb, 0);
	assert_int_equal(vm_deb_unpack(deb, folder, vm_place_kernel, err, sizeof(err)), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "an image");
	snprintf(path, sizeof(path), "%s/config", folder);
	assert_int_not_equal(access(path, F_OK), 0);
	/* Half of one is an error with the package's name. */
	make_deb(deb, 60);
	assert_int_equal(vm_deb_unpack(deb, folder, vm_place_kernel, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "a.deb"));
	assert_int_equal(vm_remove_tree(folder, err, sizeof(err)), 0);
	assert_int_not_equal(access(folder, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts), cmocka_unit_test(test_newest),
		cmocka_unit_test(test_flavour), cmocka_unit_test(test_names),
		cmocka_unit_test(test_places),	cmocka_unit_test(test_unpack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
