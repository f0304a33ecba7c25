/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/stats.h"
#include "fuzz/engine/engine.h"

static const char *const names[VM_ENGINE_COUNT] = {
	[VM_ENGINE_AFL] = "afl",
	[VM_ENGINE_LIBFUZZER] = "libfuzzer",
	[VM_ENGINE_RANDOM] = "random",
};

const char *vm_engine_name(enum vm_engine e)
{
	return names[e];
}

int vm_engine_by_name(const char *name)
{
	for (int i = 0; i < VM_ENGINE_COUNT; i++) {
		if (!strcmp(name, names[i]))
			return i;
	}
	return -1;
}

/* The path of a file beside the running program. */
static void beside(const char *name, char path[VM_PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		n = 0;
	self[n] = '\0';
	vm_path(path, "%s/%s", n ? dirname(self) : ".", name);
}

static bool in_path(const char *name)
{
	char dirs[4096], full[VM_PATH_MAX], *save = NULL;
	const char *env = getenv("PATH");

	snprintf(dirs, sizeof(dirs), "%s", env ? env : "/usr/local/bin:/usr/bin:/bin");
	for (char *d = strtok_r(dirs, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		if (snprintf(full, sizeof(full), "%s/%s", d, name) < (int)sizeof(full) &&
		    !access(full, X_OK))
			return true;
	}
	return false;
}

static bool is_beside(const char *name, const char *package, char *why, size_t whylen)
{
	char path[VM_PATH_MAX];

	beside(name, path);
	if (!access(path, R_OK))
		return true;
	snprintf(why, whylen, "%s is not built: install %s and build again (./dev build)", path,
		 package);
	return false;
}

bool vm_engine_found(enum vm_engine e, char *why, size_t whylen)
{
	switch (e) {
	case VM_ENGINE_AFL:
		if (!in_path("afl-fuzz")) {
			snprintf(why, whylen, "afl-fuzz is not in PATH: install afl++");
			return false;
		}
		return is_beside("vmafuzz-afl", "afl++", why, whylen) &&
		       is_beside("libvmafuzz-mutator.so", "afl++", why, whylen);
	case VM_ENGINE_LIBFUZZER:
		return is_beside("vmafuzz-libfuzzer", "clang", why, whylen);
	default:
		return true;
	}
}

void vm_engine_die_with(pid_t parent, int sig)
{
	prctl(PR_SET_PDEATHSIG, sig);
	if (getppid() != parent)
		_exit(VM_ENGINE_BROKEN);
}

void vm_engine_complain(const struct vm_options *opt, const char *line)
{
	char err[256];
	struct vm_stats *s = vm_stats_open(opt->out, false, err, sizeof(err));
	uint32_t sound = 0;

	fprintf(stderr, "vmafuzz: %s\n", line);
	if (!s)
		return;
	if (!s->error[0])
		snprintf(s->error, sizeof(s->error), "%s", line);
	atomic_compare_exchange_strong(&s->broken, &sound, 1);
	vm_stats_close(s);
}

/* ---- what the child does ---- */

static int redirect(const char *out)
{
	char path[VM_PATH_MAX];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), log;

	vm_path(path, "%s/log", out);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (null < 0 || log < 0)
		return -1;
	return dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ? -1 : 0;
}

static void default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void exec_libfuzzer(const struct vm_options *opt)
{
	char path[VM_PATH_MAX], seed[32], runs[32], prefix[VM_PATH_MAX];
	char corpus[VM_PATH_MAX], seeds[VM_PATH_MAX];

	beside("vmafuzz-libfuzzer", path);
	/* Its seed is 32 bits, and 0 means one of its own choice. */
	snprintf(seed, sizeof(seed), "-seed=%u", (uint32_t)(opt->seed + opt->job) ?: 1u);
	snprintf(runs, sizeof(runs), "-runs=%" PRId64,
		 opt->programs ? (int64_t)((opt->programs + opt->jobs - 1) / opt->jobs) : -1);
	vm_path(prefix, "-artifact_prefix=%s/libfuzzer-", opt->out);
	vm_path(corpus, "%s/corpus", opt->out);
	vm_path(seeds, "%s/seeds", opt->out);
	execl(path, path, "-max_len=8192", "-len_control=0", "-timeout=120", "-rss_limit_mb=4096",
	      "-detect_leaks=0", "-print_final_stats=1", seed, runs, prefix, corpus, seeds,
	      (char *)NULL);
}

static void afl_environment(const char *mutator, bool resume)
{
	static const char *const on[] = {
		"AFL_CUSTOM_MUTATOR_ONLY",
		"AFL_SKIP_CPUFREQ",
		"AFL_NO_AFFINITY",
		"AFL_NO_UI",
		"AFL_NO_COLOR",
		"AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES",
		"AFL_NO_CRASH_README",
		"AFL_FAST_CAL",
		/* It would try every call of every entry; a finding is reduced, and replayed. */
		"AFL_DISABLE_TRIM",
	};
	char size[16];

	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		setenv(on[i], "1", 1);
	setenv("AFL_CUSTOM_MUTATOR_LIBRARY", mutator, 1);
	snprintf(size, sizeof(size), "%d", VM_MAP_SIZE);
	setenv("AFL_MAP_SIZE", size, 1);
	setenv("AFL_FORKSRV_INIT_TMOUT", "60000", 1);
	if (resume)
		setenv("AFL_AUTORESUME", "1", 1);
	else
		unsetenv("AFL_AUTORESUME");
}

static void exec_afl(const struct vm_options *opt)
{
	char harness[VM_PATH_MAX], mutator[VM_PATH_MAX], seeds[VM_PATH_MAX], afl[VM_PATH_MAX];
	char queue[VM_PATH_MAX], name[16], seed[24];

	beside("vmafuzz-afl", harness);
	beside("libvmafuzz-mutator.so", mutator);
	vm_path(seeds, "%s/seeds", opt->out);
	vm_path(afl, "%s/afl", opt->out);
	snprintf(name, sizeof(name), "job%u", opt->job);
	snprintf(seed, sizeof(seed), "%u", (uint32_t)(opt->seed + opt->job) & 0x7fffffffu);
	vm_path(queue, "%s/%s/fuzzer_stats", afl, opt->jobs > 1 ? name : "default");
	afl_environment(mutator, !access(queue, F_OK));
	/* The executor has a timeout of its own: AFL's must never come first. */
	if (opt->jobs > 1)
		execlp("afl-fuzz", "afl-fuzz", "-i", seeds, "-o", afl, "-t", "60000", "-m", "none",
		       "-s", seed, "-S", name, "--", harness, (char *)NULL);
	else
		execlp("afl-fuzz", "afl-fuzz", "-i", seeds, "-o", afl, "-t", "60000", "-m", "none",
		       "-s", seed, "--", harness, (char *)NULL);
}

static void __attribute__((noreturn))
child(enum vm_engine e, const struct vm_options *opt, pid_t parent)
{
	struct rlimit no_core = { 0, 0 };
	char line[256];

	setpgid(0, 0); /* Ctrl-C is for the supervisor, which then ends us in order */
	default_signals();
	/* afl-fuzz has children to end, and does so at SIGTERM. */
	vm_engine_die_with(parent, e == VM_ENGINE_AFL ? SIGTERM : SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	if (redirect(opt->out) || vm_options_export(opt))
		_exit(VM_ENGINE_BROKEN);
	if (e == VM_ENGINE_RANDOM)
		_exit(vm_engine_random(opt));
	if (e == VM_ENGINE_AFL)
		exec_afl(opt);
	else
		exec_libfuzzer(opt);
	snprintf(line, sizeof(line), "cannot start the engine %s: %s", names[e], strerror(errno));
	vm_engine_complain(opt, line);
	_exit(VM_ENGINE_BROKEN);
}

pid_t vm_engine_start(enum vm_engine e, const struct vm_options *opt, char *err, size_t errlen)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		snprintf(err, errlen, "cannot fork an engine: %s", strerror(errno));
	if (pid == 0)
		child(e, opt, parent);
	return pid;
}
