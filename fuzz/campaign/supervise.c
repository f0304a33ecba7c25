/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/campaign/afl_files.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/supervise.h"
#include "fuzz/report/status.h"
#include "fuzz/report/summary.h"

#define TICK_MS	      20
#define COUNT_MS      1000  /* between looks at OUT/corpus */
#define STORE_MS      10000 /* between writes of stats.json */
#define GRACE_MS      5000  /* from SIGTERM to SIGKILL */
#define QUICK_MS      5000  /* an engine that ends sooner ... */
#define MAX_QUICK_END 3	    /* ... so many times in a row is broken */

struct job {
	struct vm_options opt;
	pid_t pid; /* 0: not running */
	uint64_t started_ms;
	unsigned int quick;
	bool done;
};

struct supervisor {
	struct vm_campaign *c;
	enum vm_engine engine;
	struct vm_status status;
	struct vm_outcome outcome;
	struct job *job;
	uint64_t counted_ms, stored_ms;
	char err[512]; /* why it is broken, or "" */
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop++;
}

static void pause_ms(unsigned int ms)
{
	struct timespec ts = { .tv_nsec = (long)ms * 1000000 };

	nanosleep(&ts, NULL);
}

static int start(struct supervisor *s, struct job *j)
{
	j->pid = vm_engine_start(s->engine, &j->opt, s->err, sizeof(s->err));
	j->started_ms = vm_clock_ms();
	if (j->pid > 0)
		return 0;
	j->pid = 0;
	return -1;
}

static int start_all(struct supervisor *s)
{
	if (vm_guests_start(&s->c->guests, &s->c->opt, s->err, sizeof(s->err)))
		return -1;
	for (uint32_t i = 0; i < s->c->opt.jobs; i++) {
		s->job[i].opt = s->c->opt;
		s->job[i].opt.job = i;
		s->job[i].opt.target = vm_guests_target(&s->c->guests, i, s->c->opt.target);
		if (start(s, &s->job[i]))
			return -1;
	}
	return 0;
}

/* The last line that engines left in OUT/log, for an error that has no line of its own. */
static void last_log_line(const char *out, char line[300])
{
	char path[VM_PATH_MAX], buf[300];
	FILE *f;

	line[0] = '\0';
	vm_path(path, "%s/log", out);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(buf, sizeof(buf), f)) {
		if (buf[strspn(buf, " \t\r\n")])
			strcpy(line, buf);
	}
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
}

/* An engine has ended: by plan, or to be started again, or broken (-1). */
static int ended(struct supervisor *s, struct job *j, int wstatus)
{
	char line[300];

	j->pid = 0;
	if (atomic_load(&s->c->stats->broken))
		return -1;
	if (WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == VM_ENGINE_DONE) {
		j->done = true;
		return 0;
	}
	j->quick = vm_clock_ms() - j->started_ms < QUICK_MS ? j->quick + 1 : 0;
	if (j->quick < MAX_QUICK_END) {
		atomic_fetch_add(&s->c->stats->engine_restarts, 1);
		return start(s, j);
	}
	last_log_line(s->c->opt.out, line);
	snprintf(s->err, sizeof(s->err), "the engine %s ended with %s %d, see %s/log: %s",
		 vm_engine_name(s->engine), WIFEXITED(wstatus) ? "status" : "signal",
		 WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : WTERMSIG(wstatus), s->c->opt.out,
		 line);
	return -1;
}

static int reap(struct supervisor *s)
{
	for (uint32_t i = 0; i < s->c->opt.jobs; i++) {
		struct job *j = &s->job[i];
		int wstatus;

		if (j->pid && waitpid(j->pid, &wstatus, WNOHANG) == j->pid && ended(s, j, wstatus))
			return -1;
	}
	return 0;
}

static bool any(const struct supervisor *s, bool running)
{
	for (uint32_t i = 0; i < s->c->opt.jobs; i++) {
		if (running ? s->job[i].pid != 0 : !s->job[i].done)
			return true;
	}
	return false;
}

static void signal_all(struct supervisor *s, int sig)
{
	for (uint32_t i = 0; i < s->c->opt.jobs; i++) {
		if (s->job[i].pid)
			kill(s->job[i].pid, sig);
	}
}

/* Ask the engines to end; after a while, or at a second Ctrl-C, make them. */
static void end_all(struct supervisor *s)
{
	uint64_t begin = vm_clock_ms();
	int patience = stop + 1;
	bool killed = false;

	signal_all(s, SIGTERM);
	while (any(s, true)) {
		for (uint32_t i = 0; i < s->c->opt.jobs; i++) {
			struct job *j = &s->job[i];

			if (j->pid && waitpid(j->pid, NULL, WNOHANG) != 0)
				j->pid = 0;
		}
		if (!killed && (vm_clock_ms() - begin > GRACE_MS || stop > patience)) {
			signal_all(s, SIGKILL);
			killed = true;
		}
		pause_ms(TICK_MS);
	}
}

static void count_corpus(struct supervisor *s)
{
	char path[VM_PATH_MAX];
	struct dirent *d;
	uint64_t n = 0;
	DIR *dir;

	vm_path(path, "%s/corpus", s->c->opt.out);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	atomic_store(&s->c->stats->corpus, n);
}

/* Write stats.json and the counts; 0 or -1. */
static int store(struct supervisor *s)
{
	if (s->engine == VM_ENGINE_AFL)
		vm_afl_look(s->c->opt.out, &s->outcome);
	if (vm_summary_store(s->c, &s->outcome, s->err, sizeof(s->err)))
		return -1;
	return vm_findings_counts(s->c->opt.out, s->c->stats, s->err, sizeof(s->err));
}

static int look(struct supervisor *s)
{
	uint64_t now = vm_clock_ms();

	s->outcome.ms = now - s->c->stats->start_ms;
	if (now - s->counted_ms >= COUNT_MS) {
		count_corpus(s);
		s->counted_ms = now;
		if (vm_guests_tend(&s->c->guests, s->err, sizeof(s->err)))
			return -1;
	}
	vm_status_tick(&s->status, s->c->opt.out, s->c->stats);
	if (now - s->stored_ms < STORE_MS)
		return 0;
	s->stored_ms = now;
	return store(s);
}

static bool time_is_up(const struct supervisor *s)
{
	const struct vm_options *opt = &s->c->opt;
	const struct vm_stats *st = s->c->stats;

	if (opt->seconds && vm_clock_ms() - st->start_ms >= (uint64_t)opt->seconds * 1000)
		return true;
	/* The random engine counts for itself, to the program. */
	return opt->programs && s->engine != VM_ENGINE_RANDOM &&
	       atomic_load(&st->programs) >= opt->programs;
}

static int watch(struct supervisor *s)
{
	while (!stop && any(s, false) && !time_is_up(s)) {
		if (reap(s) || look(s) || atomic_load(&s->c->stats->broken))
			return -1;
		pause_ms(TICK_MS);
	}
	return 0;
}

static int exit_status(const struct supervisor *s, bool broken)
{
	const struct vm_stats *st = s->c->stats;
	unsigned int counts = 0;

	if (atomic_load(&st->hung) || vm_stats_reports(st))
		return 2;
	if (broken)
		return strncmp(s->c->opt.target, "exec:", 5) || !atomic_load(&st->programs) ? 3 : 2;
	if (s->c->opt.fail_on != VM_FAIL_CRASH)
		counts += vm_stats_titles(st, VM_VIOLATION);
	if (s->c->opt.fail_on == VM_FAIL_DEVIATION)
		counts += vm_stats_titles(st, VM_DEVIATION);
	if (counts)
		return 1;
	return atomic_load(&st->programs) ? 0 : 3;
}

static void finish(struct supervisor *s, bool broken)
{
	struct vm_stats *st = s->c->stats;
	FILE *to = s->status.to;

	vm_status_tick(&s->status, s->c->opt.out, st);
	vm_status_end(&s->status);
	count_corpus(s);
	if (broken && st->error[0])
		snprintf(s->err, sizeof(s->err), "%s", st->error);
	s->outcome.finished = true;
	s->outcome.status = exit_status(s, broken);
	if (broken)
		fprintf(to, "vmafuzz: %s\n", s->err[0] ? s->err : "an engine cannot go on");
	if (store(s) && !broken) {
		fprintf(to, "vmafuzz: %s\n", s->err);
		s->outcome.status = 3;
	}
	vm_summary_print(to, s->c, &s->outcome);
	if (s->c->opt.json)
		vm_summary_print_json(stdout, s->c, &s->outcome);
}

int vm_supervise(struct vm_campaign *c, enum vm_engine engine)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct supervisor s = { .c = c, .engine = engine };
	bool broken;

	stop = 0;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	s.job = calloc(c->opt.jobs, sizeof(*s.job));
	if (!s.job) {
		fprintf(stderr, "vmafuzz: no memory for %u jobs\n", c->opt.jobs);
		return 3;
	}
	s.outcome.engine = vm_engine_name(engine);
	s.stored_ms = vm_clock_ms();
	vm_status_init(&s.status, c->opt.json ? stderr : stdout, s.outcome.engine, c->stats);
	broken = start_all(&s) || watch(&s);
	s.outcome.ms = vm_clock_ms() - c->stats->start_ms;
	end_all(&s);
	finish(&s, broken);
	free(s.job);
	return s.outcome.status;
}
