/* SPDX-License-Identifier: MIT */
/* Console logs (tests/console) and the titles that they give, whatever is done to the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/triage/headers.h"

#define LOGS VM_SOURCE_DIR "/tests/console"

struct log {
	char *path, *text, *titles;
	size_t len;
};

static struct log *logs;
static size_t nlogs;
static char err[512];

static char *slurp(const char *path, size_t *len)
{
	char *text = (char *)vm_file_read(path, 4u << 20, len, err, sizeof(err));

	if (!text)
		fail_msg("%s", err);
	return text;
}

static int load_logs(void **state)
{
	char **paths, title[VM_PATH_MAX];
	size_t len;

	(void)state;
	if (vm_folder_list(LOGS, ".log", &paths, &nlogs, err, sizeof(err)))
		return -1;
	logs = calloc(nlogs, sizeof(*logs));
	for (size_t i = 0; i < nlogs; i++) {
		logs[i].path = strdup(paths[i]);
		logs[i].text = slurp(paths[i], &logs[i].len);
		vm_path(title, "%.*s.title", (int)strlen(paths[i]) - 4, paths[i]);
		logs[i].titles = slurp(title, &len);
	}
	vm_folder_list_free(paths, nlogs);
	return 0;
}

static int free_logs(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlogs; i++) {
		free(logs[i].path);
		free(logs[i].text);
		free(logs[i].titles);
	}
	free(logs);
	return 0;
}

/* A report as a line of a .title file. */
static void add_title(char *buf, size_t len, const struct vm_report *r)
{
	size_t at = strlen(buf);

	snprintf(buf + at, len - at, "%s\t%s\t%s\n", vm_report_severity_name(r->severity),
		 vm_report_kind_name(r->kind), r->title);
}

static void drain(struct vm_console *c, char *buf, size_t len)
{
	struct vm_report r;

	while (vm_console_next(c, &r))
		add_title(buf, len, &r);
}

/* The titles of a text that arrives in pieces of `piece` bytes. */
static void titles_of(const char *text, size_t textlen, size_t piece, char *buf, size_t len)
{
	struct vm_console *c = vm_console_new(0);

	buf[0] = '\0';
	for (size_t at = 0; at < textlen; at += piece)
		vm_console_feed(c, text + at, piece < textlen - at ? piece : textlen - at);
	vm_console_settle(c);
	drain(c, buf, len);
	assert_int_equal(vm_console_lost(c), 0);
	vm_console_free(c);
}

static void expect_titles(const struct log *l, const char *text, size_t len, size_t piece)
{
	char titles[8192];

	titles_of(text, len, piece, titles, sizeof(titles));
	if (strcmp(titles, l->titles))
		fail_msg("%s gave\n%snot\n%s", l->path, titles, l->titles);
}

static void test_titles(void **state)
{
	(void)state;
	assert_true(nlogs >= 30);
	for (size_t i = 0; i < nlogs; i++)
		expect_titles(&logs[i], logs[i].text, logs[i].len, logs[i].len);
}

static void test_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlogs; i++) {
		expect_titles(&logs[i], logs[i].text, logs[i].len, 1);
		expect_titles(&logs[i], logs[i].text, logs[i].len, 37);
	}
}

/* Every line rewritten by `line`, which appends to `to`. */
static char *rewrite(const struct log *l, void (*line)(FILE *to, const char *text))
{
	char *copy = strdup(l->text), *out = NULL, *save = NULL;
	size_t len;
	FILE *to = open_memstream(&out, &len);

	for (char *p = copy; p && *p; p = save) {
		save = strchr(p, '\n');
		if (save)
			*save++ = '\0';
		line(to, p);
	}
	fclose(to);
	free(copy);
	return out;
}

static void expect_rewritten(void (*line)(FILE *to, const char *text))
{
	for (size_t i = 0; i < nlogs; i++) {
		char *text = rewrite(&logs[i], line);

		expect_titles(&logs[i], text, strlen(text), 4096);
		free(text);
	}
}

static void crlf(FILE *to, const char *text)
{
	fprintf(to, "%s\r\n", text);
}

static void without_stamps(FILE *to, const char *text)
{
	char copy[2048];
	struct vm_line l;

	snprintf(copy, sizeof(copy), "%s", text);
	vm_line_parse(copy, &l);
	fprintf(to, "%s\n", l.text);
}

static void with_levels(FILE *to, const char *text)
{
	fprintf(to, "<4>%s\n", text);
}

static void after_output(FILE *to, const char *text)
{
	fprintf(to, "%s%s\n", *text == '[' ? "program output, no newline" : "", text);
}

static void test_line_ends_and_prefixes(void **state)
{
	(void)state;
	expect_rewritten(crlf);
	expect_rewritten(with_levels);
	expect_rewritten(after_output);
}

/* Without stamps, a caller's name is lost too; only logs of one caller stay the same. */
static void test_no_stamps(void **state)
{
	(void)state;
	for (size_t i = 0; i < nlogs; i++) {
		char *text;

		if (strstr(logs[i].text, "][ ") || strstr(logs[i].text, "] ["))
			continue;
		text = rewrite(&logs[i], without_stamps);
		expect_titles(&logs[i], text, strlen(text), 4096);
		free(text);
	}
}

/* Another boot: other addresses, offsets, times, task numbers and names. */
static void next_boot(FILE *to, const char *text)
{
	bool code = strstr(text, "Code: ") != NULL;
	const char *rip = strstr(text, "RIP: 00"); /* a selector is the same each time */

	for (const char *p = text; *p; p++) {
		bool hex = p > text && strchr("0123456789abcdefx", p[-1]) && p[-1];
		bool selector = rip && p >= rip && p < rip + strlen("RIP: 0010:");

		if (!strncmp(p, "crasher", 7)) {
			fputs("zz-top", to);
			p += 6;
		} else if (!selector && !code && hex && *p >= '0' && *p <= '9' && p[-1] != 'x') {
			fputc('1' + ('9' - *p) % 9, to);
		} else {
			fputc(*p, to);
		}
	}
	fputc('\n', to);
}

static void test_same_on_the_next_boot(void **state)
{
	unsigned int changed = 0;

	(void)state;
	for (size_t i = 0; i < nlogs; i++) {
		char *text = rewrite(&logs[i], next_boot);
		char titles[8192];

		titles_of(text, strlen(text), 4096, titles, sizeof(titles));
		if (strcmp(titles, logs[i].titles)) {
			print_message("%s:\n%s", logs[i].path, titles);
			changed++;
		}
		free(text);
	}
	assert_int_equal(changed, 0);
}

/* A log cut at any line, at either end, reads without an end of memory (ASan) or of time. */
static void test_cut(void **state)
{
	char titles[8192];

	(void)state;
	for (size_t i = 0; i < nlogs; i++) {
		const struct log *l = &logs[i];
		size_t step = 1 + l->len / 97;

		for (size_t at = 0; at < l->len; at += step) {
			titles_of(l->text, at, 4096, titles, sizeof(titles));
			titles_of(l->text + at, l->len - at, 4096, titles, sizeof(titles));
		}
	}
}

static const struct log *named(const char *name)
{
	for (size_t i = 0; i < nlogs; i++) {
		if (strstr(logs[i].path, name))
			return &logs[i];
	}
	fail_msg("there is no tests/console/%s", name);
	return NULL;
}

static const char *next_line(const char *p, size_t *len)
{
	const char *end = strchr(p, '\n');

	*len = end ? (size_t)(end - p) : strlen(p);
	return p + *len + (end != NULL);
}

static void add_line(FILE *to, const char *caller, const char *text, size_t len)
{
	char copy[2048];
	struct vm_line l;

	snprintf(copy, sizeof(copy), "%.*s", (int)len, text);
	vm_line_parse(copy, &l);
	fprintf(to, "[    1.000000][%5s] %s\n", caller, l.text);
}

/* Two tasks that report at the same time, their lines in turn. */
static void test_two_at_once(void **state)
{
	const struct log *a = named("/arm64_readonly.log"), *b = named("/kcsan.log");
	const char *p = a->text, *q = b->text, *next;
	char *text = NULL, titles[8192], want[8192];
	size_t len, n;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	while (*p || *q) {
		if (*p) {
			next = next_line(p, &n);
			add_line(to, "T71", p, n);
			p = next;
		}
		if (*q) {
			next = next_line(q, &n);
			add_line(to, "C1", q, n);
			q = next;
		}
	}
	fclose(to);
	titles_of(text, strlen(text), 4096, titles, sizeof(titles));
	snprintf(want, sizeof(want), "%s%s", a->titles, b->titles);
	assert_string_equal(titles, want);
	free(text);
}

static void expect_nothing(const char *text)
{
	char titles[4096];

	titles_of(text, strlen(text), 4096, titles, sizeof(titles));
	assert_string_equal(titles, "");
}

/* What a healthy kernel says. */
static void test_informational_lines(void **state)
{
	(void)state;
	expect_nothing(
		"[    4.847530] __vm_enough_memory: pid: 132, comm: crasher, bytes: 1099511627776 "
		"not enough memory for the allocation\n");
	expect_nothing("[    5.286830] crasher[133]: segfault at 8 ip 00000000004018bf sp "
		       "00007fff67d92e40 error 6 in init[18bf,401000+96000]\n"
		       "[    5.298648] Code: 5a 48 8d 35 2f 58 09 00 <c7> 04 25 08 00 00 00\n");
	expect_nothing("[    5.300000] traps: crasher[9] general protection fault ip:401a90 "
		       "sp:7fff3d40 error:0 in init[401000+96000]\n");
	expect_nothing(
		"[    0.080000] Spectre V2 : WARNING: Unprivileged eBPF is enabled\n"
		"[    0.090000] mmap: crasher (12) uses deprecated remap_file_pages() syscall\n");
	expect_nothing(
		"[    5.491617] x86/mm: Checked W+X mappings: passed, no W+X pages found.\n");
	expect_nothing("the program prints BUG: and WARNING: in the middle of a line\n");
}

/* A report is known to be unfinished until its end, and offsets lead to its text. */
static void test_extent(void **state)
{
	static const char clean[] = "[    1.000000] before\n";
	const struct log *l = named("/arm64_readonly.log");
	struct vm_console *c = vm_console_new(1000);
	struct vm_report r;
	const char *end;
	size_t half;

	(void)state;
	vm_console_feed(c, clean, strlen(clean));
	assert_false(vm_console_unsettled(c));
	half = (size_t)(strstr(l->text, "Call trace:") - l->text);
	vm_console_feed(c, l->text, half);
	assert_true(vm_console_unsettled(c));
	assert_false(vm_console_next(c, &r));
	vm_console_feed(c, l->text + half, l->len - half);
	assert_false(vm_console_unsettled(c));
	vm_console_settle(c);
	assert_true(vm_console_next(c, &r));
	assert_int_equal(r.begin, 1000 + strlen(clean));
	assert_int_equal(r.line, 2);
	end = strstr(l->text, "[    9.119441]");
	assert_int_equal(r.end, 1000 + strlen(clean) + (size_t)(end - l->text));
	assert_false(vm_console_next(c, &r));
	vm_console_free(c);
}

/* What comes after a broken kernel's report says so, until the next boot. */
static void test_after(void **state)
{
	static const char boot[] = "[    0.000000] Linux version 6.12.30 (x) #1\n";
	const struct log *l = named("/kmsan.log"), *w = named("/kcsan.log");
	struct vm_console *c = vm_console_new(0);
	struct vm_report r;

	(void)state;
	vm_console_feed(c, w->text, w->len);
	vm_console_feed(c, l->text, l->len);
	vm_console_settle(c);
	assert_true(vm_console_next(c, &r));
	assert_false(r.after);
	assert_true(vm_console_next(c, &r));
	assert_false(r.after);
	assert_false(vm_console_next(c, &r));
	vm_console_feed(c, w->text, w->len);
	vm_console_settle(c);
	assert_true(vm_console_next(c, &r));
	assert_true(r.after);
	vm_console_feed(c, boot, strlen(boot));
	vm_console_feed(c, w->text, w->len);
	vm_console_settle(c);
	assert_true(vm_console_next(c, &r));
	assert_false(r.after);
	vm_console_free(c);
}

static void test_kaslr(void **state)
{
	static const char on[] =
		"[ 6.072570] Kernel Offset: 0xb000000 from 0xffffffff81000000 (...)\n";
	static const char off[] = "[    6.072570] Kernel Offset: disabled\n";
	struct vm_console *c = vm_console_new(0);
	uint64_t offset;

	(void)state;
	assert_false(vm_console_kaslr(c, &offset));
	vm_console_feed(c, on, strlen(on));
	assert_true(vm_console_kaslr(c, &offset));
	assert_int_equal(offset, 0xb000000);
	vm_console_feed(c, off, strlen(off));
	assert_true(vm_console_kaslr(c, &offset));
	assert_int_equal(offset, 0);
	vm_console_free(c);
}

static void expect_strip(const char *text, const char *want)
{
	char buf[128];

	vm_line_strip(text, strlen(text), buf, sizeof(buf));
	assert_string_equal(buf, want);
}

static void test_strip(void **state)
{
	(void)state;
	expect_strip("corrupted in: move_vma+0x1f/0x230", "corrupted in: move_vma");
	expect_strip("in gadget+0x1f/0x230 [crashme] and", "in gadget and");
	expect_strip("exitcode=0x0000000b", "exitcode=#");
	expect_strip("CPU#3 stuck for 22s", "CPU# stuck for #s");
	expect_strip("at ffff88810abc1200 of kmalloc-64", "at # of kmalloc-#");
	expect_strip("el1h_64_sync deadbeefs MM_ANONPAGES!", "el1h_64_sync deadbeefs MM_ANONPAGES");
}

static void test_place(void **state)
{
	struct vm_place p;

	(void)state;
	assert_true(vm_place_parse("sync_regs.isra.0+0x1c/0x40 [kvm]", &p));
	assert_string_equal(p.symbol, "sync_regs");
	assert_string_equal(p.full, "sync_regs.isra.0");
	assert_string_equal(p.module, "kvm");
	assert_int_equal(p.offset, 0x1c);
	assert_int_equal(p.size, 0x40);
	assert_true(vm_place_parse("move_vma+0x4a8/0x560 (P)", &p));
	assert_string_equal(p.module, "");
	assert_false(vm_place_parse("0xffffffff81000000", &p));
	assert_false(vm_place_parse("move_vma", &p));
	assert_false(vm_place_parse("move_vma+0x4a8", &p));
	assert_true(vm_frame_is_generic("__asan_report_load4_noabort"));
	assert_false(vm_frame_is_generic("move_vma"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_line_ends_and_prefixes),
		cmocka_unit_test(test_no_stamps),
		cmocka_unit_test(test_same_on_the_next_boot),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_informational_lines),
		cmocka_unit_test(test_extent),
		cmocka_unit_test(test_after),
		cmocka_unit_test(test_kaslr),
		cmocka_unit_test(test_strip),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, load_logs, free_logs);
}
