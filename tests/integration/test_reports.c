/* SPDX-License-Identifier: MIT */
/*
 * Reports on a guest's console, through the commands. This program stands in for QEMU too
 * (fake_guest.c), so that it runs wherever the executor does.
 */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fuzz/campaign/folder.h"
#include "tests/integration/fake_guest.h"

static char work[64], output[VM_PATH_MAX];

static void path_of(char path[VM_PATH_MAX], const char *name)
{
	vm_path(path, "%s/%s", work, name);
}

static void put_text(const char *name, const char *text)
{
	char path[VM_PATH_MAX], err[256];

	path_of(path, name);
	assert_int_equal(vm_file_write(path, text, strlen(text), err, sizeof(err)), 0);
}

static char *get_text(const char *name)
{
	char path[VM_PATH_MAX], err[256];
	size_t len;

	path_of(path, name);
	return (char *)vm_file_read(path, 4u << 20, &len, err, sizeof(err));
}

static void expect_in(const char *name, const char *words)
{
	char *text = get_text(name);

	if (!text || !strstr(text, words))
		fail_msg("%s/%s does not say '%s':\n%s", work, name, words, text ? text : "(none)");
	free(text);
}

static bool is_in(const char *name, const char *words)
{
	char *text = get_text(name);
	bool found = text && strstr(text, words);

	free(text);
	return found;
}

static bool exists(const char *name)
{
	char path[VM_PATH_MAX];

	path_of(path, name);
	return !access(path, F_OK);
}

/* A program whose munmap asks the fake guest for something. */
static void put_program(const char *name, int bug)
{
	char text[128];

	snprintf(text, sizeof(text), "mmap p0+2 rw anon private\nmunmap p8+%d\n", bug);
	put_text(name, text);
}

/* An image that looks like a bzImage; this program as QEMU, first in PATH. */
static int make_world(void **state)
{
	char self[PATH_MAX] = "", path[VM_PATH_MAX], buf[2 * VM_PATH_MAX], image[0x400] = { 0 };
	FILE *f;

	(void)state;
	strcpy(work, "/tmp/vmafuzz-reports-XXXXXX");
	if (!mkdtemp(work) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	path_of(path, "bin");
	mkdir(path, 0700);
	path_of(path, "bin/qemu-system-x86_64");
	if (symlink(self, path))
		return -1;
	path_of(path, "bin");
	snprintf(buf, sizeof(buf), "%s:%s", path, getenv("PATH"));
	setenv("PATH", buf, 1);
	setenv("FAKE_EXECUTOR", VM_BUILD_DIR "/vmafuzz-executor", 1);
	path_of(path, "state");
	setenv("FAKE_STATE", path, 1);
	setenv("TMPDIR", work, 1);
	memcpy(image + 0x202, "HdrS", 4);
	path_of(path, "bzImage");
	f = fopen(path, "w");
	if (!f || fwrite(image, sizeof(image), 1, f) != 1 || fclose(f))
		return -1;
	path_of(output, "output");
	return 0;
}

static int remove_world(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", work);
	return system(command);
}

/* `vmafuzz ARGS` with the fake guest as target; what it prints goes to `output`. */
static int vmafuzz(const char *command, const char *args)
{
	char line[4 * VM_PATH_MAX];
	int status;

	snprintf(line, sizeof(line),
		 "cd %s && " VM_BUILD_DIR "/vmafuzz %s --target qemu:%s/bzImage,accel=tcg %s "
		 ">output 2>&1",
		 work, command, work, args);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_status(int status, int want)
{
	char *text;

	if (status == want)
		return;
	text = get_text("output");
	fail_msg("exit status %d, not %d:\n%s", status, want, text ? text : "");
}

static void test_clean(void **state)
{
	(void)state;
	put_program("clean.vma", 1);
	put_program("says.vma", FAKE_SAYS);
	put_program("oom.vma", FAKE_OOM);
	expect_status(vmafuzz("check", "clean.vma says.vma oom.vma"), 0);
	expect_in("output", "1..4");
	expect_in("output", "ok 4 kernel log clean");
}

static void test_check_warning(void **state)
{
	(void)state;
	put_program("clean.vma", 1);
	put_program("warns.vma", FAKE_WARNS);
	expect_status(vmafuzz("check", "warns.vma clean.vma --json check.json"), 2);
	expect_in("output", "kernel: WARNING in vms_gather_munmap_vmas");
	expect_in("output", "ok 2 clean");
	expect_in("output", "not ok 3 kernel log clean # 1 reports, the first: WARNING in "
			    "vms_gather_munmap_vmas");
	expect_in("output", "#   | [    3.100010] WARNING: CPU: 0 PID: 70");
	expect_in("check.json", "kernel log clean");
}

/* The guest is gone, and the next program runs all the same. */
static void test_check_panic(void **state)
{
	(void)state;
	put_program("clean.vma", 1);
	put_program("panics.vma", FAKE_PANICS);
	expect_status(vmafuzz("check", "panics.vma clean.vma"), 2);
	expect_in("output", "kernel: NULL dereference in unmap_region");
	expect_in("output", "ok 2 clean");
	assert_false(is_in("output", "not ok 2"));
	assert_false(is_in("output", "executor: ended"));
}

/* A stall counts only if the program alone shows it again. */
static void test_check_stall(void **state)
{
	(void)state;
	put_program("stalls.vma", FAKE_STALLS);
	put_program("hangs.vma", FAKE_HANGS);
	expect_status(vmafuzz("check", "stalls.vma"), 0);
	expect_in("output", "ok 2 kernel log clean");
	assert_true(exists("state"));
	expect_status(vmafuzz("check", "hangs.vma"), 2);
	expect_in("output", "not ok 1 hangs # violation: kernel: task hung in wait_for_unmap");
}

/* WARN_ON_ONCE() shows each time, since each run has a guest that has not warned yet. */
static void test_replay_times(void **state)
{
	(void)state;
	put_program("warns.vma", FAKE_WARNS);
	expect_status(vmafuzz("replay", "warns.vma --times 3"), 2);
	expect_in("output", "reproduced 3 of 3: violation: kernel: WARNING in "
			    "vms_gather_munmap_vmas");
	expect_in("output", "on the console: WARNING in vms_gather_munmap_vmas");
}

/* NAME in the finding's folder, whose name begins so and ends with a hash. */
static const char *finding(const char *parent, const char *slug, const char *name)
{
	static char file[VM_PATH_MAX];
	char path[VM_PATH_MAX];
	struct dirent *d;
	DIR *dir;

	path_of(path, parent);
	vm_path(file, "%s/%s/%s", parent, slug, name);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (!strncmp(d->d_name, slug, strlen(slug)))
			vm_path(file, "%s/%s/%s", parent, d->d_name, name);
	}
	if (dir)
		closedir(dir);
	return file;
}

#define WARNING_SLUG "kernel-warning-in-vms-gather-munmap-vmas"
#define PANIC_SLUG   "kernel-null-dereference-in-unmap-region"
#define LIST_SLUG    "kernel-list-del-corruption-in-unlink-anon-vmas"
#define STALL_SLUG   "kernel-task-hung-in-wait-for-unmap"

static void test_campaign(void **state)
{
	(void)state;
	assert_true(!exists("out"));
	path_of(output, "seeds");
	mkdir(output, 0700);
	put_program("seeds/a.vma", FAKE_WARNS);
	put_program("seeds/b.vma", FAKE_PANICS);
	put_program("seeds/c.vma", 1);
	expect_status(
		vmafuzz("fuzz", "--engine random --programs 40 --corpus seeds --out out --seed 3"),
		2);
	expect_in("output", "kernel: WARNING in vms_gather_munmap_vmas");
	expect_in("output", "kernel: NULL dereference in unmap_region");
	expect_in(finding("out/findings", WARNING_SLUG, "console.txt"), "WARNING: CPU: 0 PID: 70");
	expect_in(finding("out/findings", WARNING_SLUG, "reproduced.txt"),
		  "alone, in a fresh guest: 2 of 2");
	/* Reduced to the one call that it takes; without the batch, which it does not take. */
	expect_in(finding("out/findings", WARNING_SLUG, "program.vma"), "munmap");
	assert_false(is_in(finding("out/findings", WARNING_SLUG, "program.vma"), "\nmmap"));
	assert_false(exists(finding("out/findings", WARNING_SLUG, "batch-00.bin")));
	expect_in(finding("out/findings", PANIC_SLUG, "console.txt"), "Kernel panic - not syncing");
	assert_false(exists(finding("out/findings", "executor-ended", "program.vma")));
}

/* Several engines with their guests, which see the same. */
static void test_jobs(void **state)
{
	(void)state;
	expect_status(
		vmafuzz("fuzz", "--engine random --jobs 3 --programs 60 --corpus seeds --out out5"),
		2);
	expect_in(finding("out5/findings", PANIC_SLUG, "reproduced.txt"),
		  "alone, in a fresh guest: 2 of 2");
	expect_in(finding("out5/findings", PANIC_SLUG, "program.vma"), "\nmunmap p8+42");
	assert_false(exists(finding("out5/findings", "executor-ended", "program.vma")));
}

/* A report that takes more than the program: its batch is kept, and replay finds it. */
static void test_batch(void **state)
{
	char name[64], args[VM_PATH_MAX];

	(void)state;
	path_of(output, "three");
	mkdir(output, 0700);
	for (int i = 0; i < 3; i++) {
		char text[32];

		snprintf(name, sizeof(name), "three/%d.vma", i);
		snprintf(text, sizeof(text), "munmap p%d+%d\n", 6 + i, FAKE_THIRD);
		put_text(name, text);
	}
	expect_status(
		vmafuzz("fuzz", "--engine random --programs 3 --corpus three --out out3 --seed 3"),
		2);
	expect_in(finding("out3/findings", LIST_SLUG, "reproduced.txt"),
		  "alone, in a fresh guest: 0 of 2");
	expect_in(finding("out3/findings", LIST_SLUG, "reproduced.txt"),
		  "with the programs before it (3 in all), in a fresh guest: 2 of 2");
	assert_true(exists(finding("out3/findings", LIST_SLUG, "batch-00.bin")));
	snprintf(args, sizeof(args), "%s", finding("out3/findings", LIST_SLUG, ""));
	expect_status(vmafuzz("replay", args), 2);
	expect_in("output", "reproduced by the batch of programs before it, at number 3: list_del "
			    "corruption in unlink_anon_vmas");
}

/* A stall that does not repeat is kept apart, and does not count. */
static void test_campaign_stall(void **state)
{
	char path[VM_PATH_MAX];

	(void)state;
	path_of(path, "state");
	unlink(path);
	path_of(path, "slow");
	mkdir(path, 0700);
	put_program("slow/a.vma", FAKE_STALLS);
	expect_status(
		vmafuzz("fuzz",
			"--engine random --programs 1 --corpus slow --out out4 --fail-on crash"),
		0);
	assert_true(exists(finding("out4/flaky", STALL_SLUG, "console.txt")));
	assert_false(exists(finding("out4/findings", STALL_SLUG, "console.txt")));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),	       cmocka_unit_test(test_check_warning),
		cmocka_unit_test(test_check_panic),    cmocka_unit_test(test_check_stall),
		cmocka_unit_test(test_replay_times),   cmocka_unit_test(test_campaign),
		cmocka_unit_test(test_jobs),	       cmocka_unit_test(test_batch),
		cmocka_unit_test(test_campaign_stall),
	};

	if (strstr(argv[0], "qemu-system"))
		return fake_guest_main(argc, argv);
	return cmocka_run_group_tests(tests, make_world, remove_world);
}
