/* SPDX-License-Identifier: MIT */
/* What a kernel is built from: the version of a tree, the presets, the words for make. */
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

#include "harness/kernel/build.h"
#include "harness/kernel/files.h"
#include "harness/kernel/presets.h"
#include "harness/kernel/source.h"

static void write_makefile(const char *tree, const char *text)
{
	char path[128], err[256];

	snprintf(path, sizeof(path), "%s/Makefile", tree);
	assert_int_equal(vm_write_text(path, text, err, sizeof(err)), 0);
}

static void test_version(void **state)
{
	static const struct {
		const char *makefile, *version;
	} cases[] = {
		{ "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = "
		  "X\n",
		  "6.12.117" },
		{ "VERSION = 7\nPATCHLEVEL = 4\nSUBLEVEL = 0\nEXTRAVERSION = -rc2\n", "7.4.0-rc2" },
		{ "all:\n\ttrue\n", NULL },
	};
	char tree[] = "/tmp/vmafuzz-test-XXXXXX", version[VM_KERNEL_NAME], err[256];

	(void)state;
	assert_non_null(mkdtemp(tree));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret;

		write_makefile(tree, cases[i].makefile);
		ret = vm_source_version(tree, version, err, sizeof(err));
		assert_int_equal(ret, cases[i].version ? 0 : -1);
		if (cases[i].version)
			assert_string_equal(version, cases[i].version);
		else
			assert_non_null(strstr(err, "source tree"));
	}
	vm_remove_tree(tree, err, sizeof(err));
}

static void test_cover_word(void **state)
{
	char word[80];

	(void)state;
	assert_int_equal(vm_build_cover_word("mm/mremap.c,x", 11, word, sizeof(word)), 0);
	assert_string_equal(word, "KCOV_INSTRUMENT_mremap.o=y");
	assert_int_equal(vm_build_cover_word("vma.c", 5, word, sizeof(word)), 0);
	assert_string_equal(word, "KCOV_INSTRUMENT_vma.o=y");
	assert_int_equal(vm_build_cover_word("mm/mremap.o", 11, word, sizeof(word)), -1);
	assert_int_equal(vm_build_cover_word("mm/.c", 5, word, sizeof(word)), -1);
	assert_int_equal(vm_build_cover_word("mm/a b.c", 8, word, sizeof(word)), -1);
	assert_int_equal(vm_build_cover_word("mm/mremap.c", 11, word, 10), -1);
}

static const char *preset(const char *name)
{
	for (const struct vm_preset *p = vm_presets; p->name; p++) {
		if (!strcmp(p->name, name))
			return p->text;
	}
	return NULL;
}

/* They are in the program as they are in their files: quotes, comments and all. */
static void test_presets(void **state)
{
	static const char *const names[] = { "base", "fuzz", "debug", "perf" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[512], text[16384];
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), VM_SOURCE_DIR "/harness/kernel/presets/%s.config",
			 names[i]);
		f = fopen(path, "r");
		assert_non_null(f);
		n = fread(text, 1, sizeof(text) - 1, f);
		text[n] = '\0';
		fclose(f);
		assert_non_null(preset(names[i]));
		assert_string_equal(preset(names[i]), text);
	}
	assert_non_null(strstr(preset("fuzz"), "CONFIG_KCOV=y\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_cover_word),
		cmocka_unit_test(test_presets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
