/* SPDX-License-Identifier: MIT */
/* A process for each kernel of a matrix, some at a time, and the matrix of what they found. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/matrix.h"
#include "harness/target/process.h"

struct worker {
	pid_t pid;
	int said; /* a memory file with its stderr */
	long long began;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* The last line that the worker said, without "vmafuzz: ". */
static void last_words(int fd, char *text, size_t cap)
{
	char buf[4096], *line;
	off_t end = lseek(fd, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(buf) - 1 ? end - (off_t)sizeof(buf) + 1 : 0;
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, from);

	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n > 0 ? n : 0] = '\0';
	line = strrchr(buf, '\n');
	line = line ? line + 1 : buf;
	if (!strncmp(line, "vmafuzz: ", 9))
		line += 9;
	snprintf(text, cap, "%.*s", (int)cap - 1, *line ? line : "it ended without a word");
}

static int start(const struct cli_matrix *m, size_t i, struct worker *w)
{
	pid_t parent = getpid();

	*w = (struct worker){ .said = memfd_create("vmafuzz-matrix", MFD_CLOEXEC),
			      .began = vm_now_ms() };
	w->pid = w->said < 0 ? -1 : fork();
	if (w->pid < 0) {
		cli_error("cannot start a process: %s", strerror(errno));
		return -1;
	}
	if (w->pid)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	dup2(w->said, STDERR_FILENO);
	_exit(getppid() == parent ? cli_matrix_work(m, &m->kernel[i]) : CLI_FAILED);
}

/* After its process ended: why it failed, or "". */
static void finish(const struct cli_matrix *m, size_t i, struct worker *w, int status,
		   struct vm_matrix_kernel *k)
{
	if (interrupted)
		snprintf(k->error, sizeof(k->error), "interrupted");
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		last_words(w->said, k->error, sizeof(k->error));
	fprintf(stderr, "%s: %s%s (%.1f s)\n", m->kernel[i].name, k->error[0] ? "failed: " : "done",
		k->error, (double)(vm_now_ms() - w->began) / 1000);
	close(w->said);
	w->pid = 0;
}

static void kill_all(struct worker *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (w[i].pid > 0)
			kill(w[i].pid, SIGTERM);
	}
}

/* Keep m->jobs workers going until each kernel of `need` had one. */
static void run_workers(const struct cli_matrix *m, const bool *need, struct worker *w,
			struct vm_matrix *out)
{
	unsigned int running = 0;
	size_t next = 0;

	while (running || next < m->nkernels) {
		int status;
		pid_t pid;

		if (next < m->nkernels && (running < m->jobs || !need[next] || interrupted)) {
			struct vm_matrix_kernel *k = &out->kernel[next];

			if (need[next] && interrupted)
				snprintf(k->error, sizeof(k->error), "interrupted");
			else if (need[next] && start(m, next, &w[next]))
				snprintf(k->error, sizeof(k->error), "could not be started");
			else if (need[next])
				running++;
			next++;
			continue;
		}
		pid = wait(&status);
		if (pid < 0 && errno == EINTR && interrupted)
			kill_all(w, m->nkernels);
		for (size_t i = 0; pid > 0 && i < m->nkernels; i++) {
			if (w[i].pid != pid)
				continue;
			finish(m, i, &w[i], status, &out->kernel[i]);
			running--;
		}
	}
}

/* ---- the matrix ---- */

/* Everything that is kept of a kernel's programs; false without memory. */
static bool collect(const struct cli_matrix *m, size_t i, struct vm_matrix *out)
{
	struct vm_matrix_kernel *k = &out->kernel[i];
	char path[VM_PATH_MAX], stamp[512];
	struct vm_matrix_store *s = NULL;
	bool ok = !cli_matrix_store(m, &m->kernel[i], path, stamp, sizeof(stamp));

	if (ok && !k->error[0])
		s = vm_matrix_store_open(path, stamp);
	if (!m->kernel[i].image[0])
		unlink(path);
	if (!s)
		return ok && k->error[0];
	vm_matrix_store_kernel(s, k);
	for (size_t p = 0; p < m->nprograms && ok; p++)
		ok = vm_matrix_store_add(s, m->program[p].key, out, i, m->program[p].name) >= 0;
	ok = ok && vm_matrix_store_add(s, "profile", out, i, "profile") >= 0;
	k->programs -= k->programs > 0; /* "profile" is none */
	vm_matrix_store_close(s);
	return ok;
}

static bool all_known(const struct cli_matrix *m, const struct vm_matrix_store *s)
{
	for (size_t i = 0; i < m->nprograms; i++) {
		if (!vm_matrix_store_has(s, m->program[i].key))
			return false;
	}
	return true;
}

bool cli_matrix_gave(const struct cli_matrix *m, size_t kernel, const char *key, const char *title)
{
	char path[VM_PATH_MAX], stamp[512];
	struct vm_matrix_store *s = NULL;
	bool gave;

	if (!cli_matrix_store(m, &m->kernel[kernel], path, stamp, sizeof(stamp)))
		s = vm_matrix_store_open(path, stamp);
	gave = s && vm_matrix_store_gave(s, key, title);
	vm_matrix_store_close(s);
	return gave;
}

static bool needs_run(const struct cli_matrix *m, const struct cli_matrix_kernel *k)
{
	char path[VM_PATH_MAX], stamp[512];
	struct vm_matrix_store *s;
	bool known;

	if (!k->image[0] || cli_matrix_store(m, k, path, stamp, sizeof(stamp)))
		return true;
	s = vm_matrix_store_open(path, stamp);
	known = s && all_known(m, s);
	vm_matrix_store_close(s);
	return !known;
}

static enum cli_exit result(const struct vm_matrix *out)
{
	enum cli_exit ret = CLI_CONFORMS;

	for (size_t k = 0; k < out->nkernels; k++) {
		if (out->kernel[k].error[0])
			return CLI_FAILED;
		for (size_t i = 0; i < out->ntitles; i++) {
			if (out->title[i].cell[k].severity >= VM_VIOLATION)
				ret = CLI_FOUND;
		}
	}
	return ret;
}

enum cli_exit cli_matrix_run(const struct cli_matrix *m, struct vm_matrix *out)
{
	struct sigaction sa = { .sa_handler = on_signal }, old_int, old_term;
	struct worker *w = calloc(m->nkernels, sizeof(*w));
	bool *need = calloc(m->nkernels, sizeof(*need));
	bool ok = w && need && !vm_matrix_begin(out, m->nkernels);

	sigaction(SIGINT, &sa, &old_int);
	sigaction(SIGTERM, &sa, &old_term);
	for (size_t i = 0; i < m->nkernels && ok; i++) {
		struct vm_matrix_kernel *k = &out->kernel[i];

		snprintf(k->name, sizeof(k->name), "%s", m->kernel[i].name);
		snprintf(k->label, sizeof(k->label), "%s", m->kernel[i].label);
		snprintf(k->version, sizeof(k->version), "%s", m->kernel[i].version);
		need[i] = needs_run(m, &m->kernel[i]);
	}
	if (ok)
		run_workers(m, need, w, out);
	for (size_t i = 0; i < m->nkernels && ok; i++)
		ok = collect(m, i, out);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	free(w);
	free(need);
	if (!ok) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	vm_matrix_sort(out);
	return result(out);
}
