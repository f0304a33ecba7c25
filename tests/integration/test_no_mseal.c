/* SPDX-License-Identifier: MIT */
/* On a kernel without mseal (here: a filter that answers ENOSYS) the rest is still checked. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#define NR_MSEAL 462

static int deny_mseal(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_MSEAL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* Run a command; how many lines of its output have `word`. Its wait status goes to *status. */
static unsigned int count_lines(const char *command, const char *word, int *status)
{
	char line[1024];
	unsigned int n = 0;
	FILE *f = popen(command, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, word))
			n++;
		if (!strncmp(line, "not ok", 6))
			print_message("%s", line);
	}
	*status = pclose(f);
	return n;
}

static void check_skips_seals(void **state)
{
	int status;

	(void)state;
	assert_true(count_lines(VM_BUILD_DIR "/vmafuzz check " VM_SOURCE_DIR
					     "/corpus/conformance 2>&1",
				"# SKIP kernel has no mseal", &status) > 0);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void check_runs_the_rest(void **state)
{
	int status;

	(void)state;
	assert_int_equal(count_lines(VM_BUILD_DIR "/vmafuzz check " VM_SOURCE_DIR
						  "/corpus/conformance/munmap/middle.vma 2>&1",
				     "ok 1 munmap/middle\n", &status),
			 1);
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_skips_seals),
		cmocka_unit_test(check_runs_the_rest),
	};

	return cmocka_run_group_tests(tests, deny_mseal, NULL);
}
