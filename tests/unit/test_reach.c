/* SPDX-License-Identifier: MIT */
/*
 * Coverage of a small program that is built here with -fsanitize-coverage=trace-pc, and writes
 * where it went as a kernel with kcov would tell it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/cover/reach.h"

static const char traced[] = "__attribute__((noinline, noclone)) int leaf(int x)\n"
			     "{\n"
			     "	return x * 3;\n"
			     "}\n"
			     "__attribute__((noinline, noclone)) int unused(int x)\n"
			     "{\n"
			     "	return x ? 4 : leaf(x);\n"
			     "}\n"
			     "__attribute__((noinline, noclone)) int choose(int x)\n"
			     "{\n"
			     "	if (x > 3)\n"
			     "		return leaf(x);\n" /* line 12 */
			     "	return 7;\n"
			     "}\n";
static const char tracer[] = "#include <stdio.h>\n"
			     "void __sanitizer_cov_trace_pc(void)\n"
			     "{\n"
			     "	printf(\"%lx\\n\", (long)__builtin_return_address(0));\n"
			     "}\n"
			     "int choose(int x);\n"
			     "int main(int n, char **arg)\n"
			     "{\n"
			     "	(void)arg;\n"
			     "	return choose(n) != (n > 3 ? 3 * n : 7);\n"
			     "}\n";

static char folder[32], err[512];

static void in_folder(char path[VM_PATH_MAX], const char *name)
{
	vm_path(path, "%s/%s", folder, name);
}

static void write_text(const char *name, const char *text)
{
	char path[VM_PATH_MAX];

	in_folder(path, name);
	assert_int_equal(vm_file_write(path, text, strlen(text), err, sizeof(err)), 0);
}

static void run(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && %s", folder, command);
	assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c) */
}

static int build(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/vmafuzz-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	run("mkdir mm");
	write_text("mm/traced.c", traced);
	write_text("tracer.c", tracer);
	run("${CC:-gcc} -O1 -g -fno-pie -fsanitize-coverage=trace-pc -c mm/traced.c -o traced.o");
	run("${CC:-gcc} -O1 -g -fno-pie -c tracer.c -o tracer.o");
	run("${CC:-gcc} -no-pie -static -o traced traced.o tracer.o");
	write_text("untraced.c", "int main(void) { return 0; }\n");
	run("${CC:-gcc} -O1 -g -no-pie -o untraced untraced.c");
	run("./traced > few");
	run("./traced 1 2 3 4 > more");
	return 0;
}

static int clean(void **state)
{
	(void)state;
	run("rm -r mm");
	vm_folder_remove(folder);
	return 0;
}

static struct vm_vmlinux *open_elf(const char *name)
{
	char path[VM_PATH_MAX];
	struct vm_vmlinux *v;

	in_folder(path, name);
	v = vm_vmlinux_open(path, err, sizeof(err));
	assert_non_null(v);
	return v;
}

static void load(struct vm_pcs *pcs, const char *name)
{
	char path[VM_PATH_MAX];

	in_folder(path, name);
	assert_int_equal(vm_pcs_load(pcs, path, err, sizeof(err)), 0);
}

static const struct vm_cover_row *row(const struct vm_reach *r, const char *name)
{
	for (uint32_t i = 0; i < r->nrows; i++)
		if (!strcmp(r->row[i].name, name))
			return &r->row[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void open_reach(struct vm_reach *r, const char *pcs)
{
	struct vm_pcs few = { 0 };

	*r = (struct vm_reach){ 0 };
	assert_int_equal(
		vm_reach_open(r, open_elf("traced"), NULL, "mm/traced.c", err, sizeof(err)), 0);
	load(&few, pcs);
	assert_true(few.n > 0);
	assert_int_equal(vm_reach_mark(r, &few, false, err, sizeof(err)), 0);
	assert_int_equal(vm_reach_count(r), 0);
	vm_pcs_free(&few);
}

static void close_reach(struct vm_reach *r)
{
	struct vm_vmlinux *v = r->v;

	vm_reach_close(r);
	vm_vmlinux_close(v);
}

/* A point is where a call of five bytes to the tracer returns to; each of them is found. */
static void test_finds_each_call(void **state)
{
	struct vm_vmlinux *v = open_elf("traced");
	struct vm_place place = { .symbol = "__sanitizer_cov_trace_pc",
				  .full = "__sanitizer_cov_trace_pc" };
	struct vm_points p = { 0 };
	struct vm_function trace;
	unsigned int calls = 0;

	(void)state;
	assert_int_equal(vm_vmlinux_find(v, &place, &trace, 1), 1);
	assert_int_equal(vm_points_find(&p, v, NULL, "mm/traced.c", err, sizeof(err)), 0);
	assert_int_equal(p.nfunctions, 3);
	for (uint32_t i = 0; i < p.nfunctions; i++) {
		const struct vm_function *f = &p.function[i].code;

		assert_true(p.function[i].npoints > 0);
		assert_true(p.function[i].nblocks >= 1);
		for (uint64_t at = f->begin; at + 5 <= f->begin + f->size; at++) {
			uint8_t b[5];
			int32_t rel;

			assert_int_equal(vm_vmlinux_bytes(v, at, b, 5), 5);
			memcpy(&rel, b + 1, 4);
			if (b[0] != 0xe8 || at + 5 + (uint64_t)(int64_t)rel != trace.begin)
				continue;
			calls++;
			assert_non_null(vm_points_at(&p, at + 5));
			assert_true(vm_points_at(&p, at + 5)->block.start <= at);
			assert_true(vm_points_at(&p, at + 5)->block.end >= at + 5);
		}
	}
	assert_int_equal(calls, p.npoints);
	vm_points_free(&p);
	vm_vmlinux_close(v);
}

static void test_tells_reached_from_not(void **state)
{
	struct vm_pcs more = { 0 };
	struct vm_reach r;

	(void)state;
	open_reach(&r, "few");
	assert_int_equal(row(&r, "leaf")->here, 0);
	assert_int_equal(row(&r, "unused")->here, 0);
	assert_true(row(&r, "choose")->here > 0);
	assert_true(row(&r, "choose")->here < row(&r, "choose")->npoints);
	load(&more, "more");
	assert_int_equal(vm_reach_mark(&r, &more, true, err, sizeof(err)), 0);
	assert_int_equal(vm_reach_count(&r), 0);
	assert_int_equal(row(&r, "leaf")->here, 0);
	assert_int_equal(row(&r, "leaf")->there, row(&r, "leaf")->npoints);
	assert_int_equal(vm_reach_sum(&r, UINT32_MAX).npoints, r.points.npoints);
	assert_int_equal(vm_reach_sum(&r, 0).here, row(&r, "choose")->here);
	vm_pcs_free(&more);
	close_reach(&r);
}

static void test_refuses_another_kernel(void **state)
{
	struct vm_pcs odd = { 0 };
	struct vm_reach r;

	(void)state;
	open_reach(&r, "few");
	assert_int_equal(vm_pcs_add(&odd, 12345), 1); /* elsewhere: no matter */
	assert_int_equal(vm_reach_mark(&r, &odd, false, err, sizeof(err)), 0);
	assert_int_equal(vm_pcs_add(&odd, r.points.point[0].pc - 1), 1);
	assert_int_equal(vm_reach_mark(&r, &odd, false, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "not the vmlinux of the kernel that ran"));
	vm_pcs_free(&odd);
	close_reach(&r);
}

static void test_reasons(void **state)
{
	char path[VM_PATH_MAX];
	struct vm_reach r;
	bool seen = false;

	(void)state;
	open_reach(&r, "few");
	write_text("why", "# why\n\nunused\tnobody calls it\nmm/traced.c:11-12  too big\n");
	in_folder(path, "why");
	assert_int_equal(vm_reach_excuse(&r, path, err, sizeof(err)), 0);
	assert_int_equal(vm_reach_count(&r), 0);
	assert_int_equal(row(&r, "unused")->excused, row(&r, "unused")->npoints);
	assert_int_equal(row(&r, "leaf")->excused, 0);
	assert_true(row(&r, "choose")->excused > 0);
	/* They count all the same. */
	assert_int_equal(vm_reach_sum(&r, 0).npoints, r.points.npoints);
	for (uint32_t i = 0; i < r.points.npoints; i++)
		seen |= r.at[i].excuse && !strcmp(r.at[i].excuse, "too big");
	assert_true(seen);
	write_text("why", "mm/traced.c:999 no such line\n");
	assert_int_equal(vm_reach_excuse(&r, path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "why:1: no instrumented point"));
	write_text("why", "\nunused\n");
	assert_int_equal(vm_reach_excuse(&r, path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "why:2:"));
	close_reach(&r);
}

static void test_reports(void **state)
{
	char *text = NULL, *json, *html;
	struct vm_reach r;
	json_t *root;
	size_t len;
	FILE *to;

	(void)state;
	open_reach(&r, "few");
	to = open_memstream(&text, &len);
	vm_reach_print(to, &r, true);
	fclose(to);
	assert_non_null(strstr(text, "  leaf "));
	assert_non_null(strstr(text, "mm/traced.c:12"));
	assert_non_null(strstr(text, "call    0x"));
	free(text);
	json = vm_reach_json(&r);
	assert_non_null(json);
	root = json_loads(json, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "points")), r.points.npoints);
	assert_int_equal(json_integer_value(json_object_get(root, "reached")),
			 row(&r, "choose")->here);
	assert_int_equal(json_array_size(json_object_get(root, "not_reached")),
			 r.points.npoints - row(&r, "choose")->here);
	json_decref(root);
	free(json);
	html = vm_reach_html(&r, "a < b");
	assert_non_null(strstr(html, "<title>a &lt; b</title>"));
	assert_non_null(strstr(html, "<code>unused</code>"));
	assert_non_null(strstr(html, "</html>"));
	free(html);
	close_reach(&r);
}

static void assert_no_points(struct vm_vmlinux *v, const char *functions, const char *files,
			     const char *why)
{
	struct vm_points p = { 0 };

	assert_int_equal(vm_points_find(&p, v, functions, files, err, sizeof(err)), -1);
	assert_non_null(strstr(err, why));
	assert_null(p.point);
	vm_vmlinux_close(v);
}

static void test_says_what_is_missing(void **state)
{
	char path[VM_PATH_MAX];

	(void)state;
	assert_no_points(open_elf("untraced"), NULL, "mm/traced.c", "without CONFIG_KCOV");
	assert_no_points(open_elf("traced"), NULL, "mm/other.c", "mm/other.c");
	assert_no_points(open_elf("traced"), NULL, VM_COVER_FILES, "mm/");
	assert_no_points(open_elf("traced"), "leaf,nothing", NULL, "no function nothing");
	assert_no_points(open_elf("traced"), "main", NULL, "nothing of this is instrumented");
	in_folder(path, "few");
	assert_null(vm_vmlinux_open(path, err, sizeof(err)));
	assert_non_null(strstr(err, "no ELF"));
}

static void test_functions_by_name(void **state)
{
	struct vm_vmlinux *v = open_elf("traced");
	struct vm_points p = { 0 };

	(void)state;
	assert_int_equal(vm_points_find(&p, v, "leaf", NULL, err, sizeof(err)), 0);
	assert_int_equal(p.nfunctions, 1);
	assert_int_equal(p.npoints, 1);
	assert_string_equal(p.function[0].name, "leaf");
	vm_points_free(&p);
	vm_vmlinux_close(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_each_call),
		cmocka_unit_test(test_tells_reached_from_not),
		cmocka_unit_test(test_refuses_another_kernel),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_says_what_is_missing),
		cmocka_unit_test(test_functions_by_name),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
