/* SPDX-License-Identifier: MIT */
/* What a campaign keeps on disk: corpus, findings, programs in flight, options. */
#include <errno.h>
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

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/options.h"
#include "oracle/model.h"

static char out[32];
static char err[512];

static int make_out(void **state)
{
	(void)state;
	strcpy(out, "/tmp/vmafuzz-test-XXXXXX");
	return mkdtemp(out) ? 0 : -1;
}

/* The folders that these tests make are two deep at most below `out`. */
static int remove_out(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", out);
	return system(command);
}

static void path_in_out(char path[VM_PATH_MAX], const char *name)
{
	vm_path(path, "%s/%s", out, name);
}

static struct vm_program sample(uint8_t page)
{
	struct vm_program prog = { .ncalls = 2 };

	prog.call[0].op = VM_OP_MMAP;
	prog.call[0].arg[0].addr.index = page;
	prog.call[0].arg[1].len.pages = 4;
	prog.call[1].op = VM_OP_MUNMAP;
	prog.call[1].arg[0].addr.index = page;
	prog.call[1].arg[1].len.pages = 4;
	vm_program_normalise(&prog);
	return prog;
}

static void test_files_are_whole_or_not_there(void **state)
{
	char path[VM_PATH_MAX];
	uint8_t *back;
	size_t len;

	(void)state;
	path_in_out(path, "a/b");
	assert_int_equal(vm_folder_make(path, err, sizeof(err)), 0);
	assert_int_equal(vm_folder_make(path, err, sizeof(err)), 0);
	path_in_out(path, "a/b/file");
	assert_int_equal(vm_file_write(path, "12345", 5, err, sizeof(err)), 0);
	back = vm_file_read(path, 5, &len, err, sizeof(err));
	assert_non_null(back);
	assert_int_equal(len, 5);
	assert_string_equal((char *)back, "12345");
	free(back);
	assert_null(vm_file_read(path, 4, &len, err, sizeof(err)));
	assert_non_null(strstr(err, "longer than 4"));
	path_in_out(path, "a/missing/file");
	assert_int_equal(vm_file_write(path, "1", 1, err, sizeof(err)), -1);
	assert_non_null(strstr(err, path));
	assert_non_null(strstr(err, strerror(ENOENT)));
	path_in_out(path, "a/b/file/c");
	assert_int_equal(vm_folder_make(path, err, sizeof(err)), -1);
}

static void test_corpus_round_trip(void **state)
{
	struct vm_program a = sample(1), b = sample(2), back;
	struct vm_corpus c = { 0 };
	char path[VM_PATH_MAX];
	bool made;

	(void)state;
	path_in_out(path, "corpus");
	assert_int_equal(vm_folder_make(path, err, sizeof(err)), 0);
	assert_int_equal(vm_corpus_save(out, &a, &made, err, sizeof(err)), 0);
	assert_true(made);
	assert_int_equal(vm_corpus_save(out, &a, &made, err, sizeof(err)), 0);
	assert_false(made);
	assert_int_equal(vm_corpus_save(out, &b, &made, err, sizeof(err)), 0);
	assert_true(made);
	assert_int_equal(vm_corpus_load(&c, path, err, sizeof(err)), 0);
	assert_int_equal(c.n, 2);
	for (size_t i = 0; i < c.n; i++) {
		vm_corpus_get(&c, i, &back);
		assert_true(vm_program_equal(&back, &a) != vm_program_equal(&back, &b));
	}
	vm_corpus_free(&c);
}

static void test_text_seeds_and_their_errors(void **state)
{
	static const char good[] = "mmap p1+4 rw anon private\n", bad[] = "mmap p1+4 rw\nfoo p1\n";
	struct vm_corpus c = { 0 };
	char path[VM_PATH_MAX], where[VM_PATH_MAX];

	(void)state;
	path_in_out(path, "seeds");
	assert_int_equal(vm_folder_make(path, err, sizeof(err)), 0);
	path_in_out(path, "seeds/good.vma");
	assert_int_equal(vm_file_write(path, good, strlen(good), err, sizeof(err)), 0);
	path_in_out(path, "seeds/README.md");
	assert_int_equal(vm_file_write(path, "x", 1, err, sizeof(err)), 0);
	path_in_out(path, "seeds");
	assert_int_equal(vm_corpus_load(&c, path, err, sizeof(err)), 0);
	assert_int_equal(c.n, 1);
	vm_corpus_free(&c);
	path_in_out(path, "seeds/bad.vma");
	assert_int_equal(vm_file_write(path, bad, strlen(bad), err, sizeof(err)), 0);
	assert_int_equal(vm_corpus_load(&c, path, err, sizeof(err)), -1);
	vm_path(where, "%s:", path);
	assert_int_equal(strncmp(err, where, strlen(where)), 0);
	vm_corpus_free(&c);
}

static void test_in_flight_is_rescued(void **state)
{
	struct vm_program a = sample(3), b = sample(4), back;
	struct vm_in_flight *f = vm_in_flight_open(out, err, sizeof(err));
	char path[VM_PATH_MAX];

	(void)state;
	assert_non_null(f);
	vm_in_flight_put(f, 0, &a, false);
	vm_in_flight_put(f, VM_TARGET_MAX_INFLIGHT + 1, &b, true);
	vm_in_flight_drop(f, 0);
	/* As if this process had been killed here. */
	assert_int_equal(vm_in_flight_rescue(out, err, sizeof(err)), 0);
	vm_path(path, "%s/interrupted/%d-1.bin", out, (int)getpid());
	assert_int_equal(vm_corpus_read(path, &back, err, sizeof(err)), 0);
	assert_true(vm_program_equal(&back, &b));
	vm_path(path, "%s/interrupted/%d-0.bin", out, (int)getpid());
	assert_int_equal(access(path, F_OK), -1);
	vm_path(path, "%s/current.%d", out, (int)getpid());
	assert_int_equal(access(path, F_OK), -1);
	vm_in_flight_close(f, out);
}

static struct vm_trace *sample_trace(const struct vm_program *prog)
{
	struct vm_trace *trace = calloc(1, sizeof(*trace));

	assert_non_null(trace);
	vm_model_default_info(&trace->info);
	trace->prog = *prog;
	trace->nevents = 2;
	trace->event[0].kind = VM_EVENT_START;
	trace->event[1].kind = VM_EVENT_CALL;
	trace->event[1].sc.op = VM_OP_MMAP;
	return trace;
}

/* A finding is written as pending, settles, and is known to the next run in the same folder. */
static void test_findings_are_known_again(void **state)
{
	static const char *const files[] = { "program.vma", "program.bin",     "original.bin",
					     "trace.bin",   "explanation.txt", "count" };
	struct vm_finding_context ctx = { .out = out, .seed = 9 };
	struct vm_verdict v = { .severity = VM_VIOLATION, .event = 1, .rule = "mmap" };
	struct vm_program prog = sample(5), longer = sample(6);
	struct vm_trace *trace = sample_trace(&prog);
	char path[VM_PATH_MAX];
	struct vm_stats *s;
	struct vm_title *t;
	bool fresh;

	(void)state;
	ctx.profile = vm_profile_by_name("6.18");
	strcpy(v.title, "mmap: something (odd/strange)");
	s = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(s);
	t = vm_stats_title(s, v.title, v.severity, &fresh);
	if (vm_finding_write(&ctx, t, &prog, &longer, trace, &v, err, sizeof(err)))
		fail_msg("%s", err);
	vm_path(path, "%s/pending/%s/trace.bin", out, t->slug);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(vm_finding_settle(out, t, true, err, sizeof(err)), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		vm_path(path, "%s/findings/%s/%s", out, t->slug, files[i]);
		assert_int_equal(access(path, R_OK), 0);
	}
	t->state = VM_TITLE_CONFIRMED;
	t->count = 41;
	assert_int_equal(vm_findings_counts(out, s, err, sizeof(err)), 0);
	vm_stats_close(s);

	s = vm_stats_open(out, true, err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(vm_findings_load(out, s, err, sizeof(err)), 0);
	assert_int_equal(vm_stats_titles(s, VM_VIOLATION), 1);
	t = vm_stats_title(s, v.title, VM_VIOLATION, &fresh);
	assert_false(fresh);
	assert_int_equal(t->count, 41);
	vm_stats_close(s);
	vm_trace_free(trace);
	free(trace);
}

static void test_options_through_the_environment(void **state)
{
	struct vm_options a, b;

	(void)state;
	vm_options_default(&a);
	a.target = "exec:ssh board 'x'";
	a.contract = VM_CONTRACT_STRICT;
	a.inject = "page-zeroed";
	a.out = out;
	a.seed = UINT64_MAX;
	a.jobs = 3;
	a.job = 2;
	a.sync = true;
	assert_int_equal(vm_options_export(&a), 0);
	assert_int_equal(vm_options_import(&b, err, sizeof(err)), 0);
	assert_string_equal(b.target, a.target);
	assert_string_equal(b.out, out);
	assert_string_equal(b.inject, "page-zeroed");
	assert_null(b.profile);
	assert_int_equal(b.contract, VM_CONTRACT_STRICT);
	assert_true(b.seed == UINT64_MAX);
	assert_int_equal(b.jobs, 3);
	assert_int_equal(b.job, 2);
	assert_true(b.sync);
	assert_false(b.privileged);
	unsetenv("VMAFUZZ_CONTRACT");
	assert_int_equal(vm_options_import(&b, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "VMAFUZZ_CONTRACT"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_out, remove_out)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_files_are_whole_or_not_there),
		WITH_FOLDER(test_corpus_round_trip),
		WITH_FOLDER(test_text_seeds_and_their_errors),
		WITH_FOLDER(test_in_flight_is_rescued),
		WITH_FOLDER(test_findings_are_known_again),
		WITH_FOLDER(test_options_through_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
