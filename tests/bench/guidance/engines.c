/* SPDX-License-Identifier: MIT */
/* A campaign as a user starts it, with a player as its target. */
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/guidance/player.h"

#define POLL_US 20000

struct campaign {
	char folder[64], log[80], out[80], seeds[80];
	char self[PATH_MAX], fuzz[PATH_MAX + 16], target[PATH_MAX + 128];
	struct vm_player_log *shared;
	pid_t pid;
};

static void make_folder(struct campaign *c)
{
	ssize_t n = readlink("/proc/self/exe", c->self, sizeof(c->self) - 1);
	char beside[PATH_MAX];

	strcpy(c->folder, "/tmp/vmafuzz-guidance-XXXXXX");
	if (n < 0 || !mkdtemp(c->folder))
		vm_bench_die("no folder can be made in /tmp");
	c->self[n] = '\0';
	strcpy(beside, c->self);
	snprintf(c->fuzz, sizeof(c->fuzz), "%s/vmafuzz", dirname(beside));
	snprintf(c->log, sizeof(c->log), "%s/log", c->folder);
	snprintf(c->out, sizeof(c->out), "%s/out", c->folder);
	snprintf(c->seeds, sizeof(c->seeds), "%s/seeds", c->folder);
	snprintf(c->target, sizeof(c->target), "exec:exec '%s' player '%s'", c->self, c->log);
	if (mkdir(c->seeds, 0700))
		vm_bench_die("no folder can be made in %s", c->folder);
}

static void share_log(struct campaign *c, uint64_t budget, uint32_t from, uint32_t to)
{
	int fd = open(c->log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*c->shared)))
		vm_bench_die("%s cannot be written", c->log);
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c->shared == MAP_FAILED)
		vm_bench_die("%s cannot be mapped", c->log);
	close(fd);
	c->shared->budget = budget;
	c->shared->from = from;
	c->shared->to = to;
}

static void start(struct campaign *c, const char *engine, uint64_t seed)
{
	char number[24];
	int null;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
	c->pid = fork();
	if (c->pid < 0)
		vm_bench_die("cannot fork");
	if (c->pid)
		return;
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execl(c->fuzz, c->fuzz, "fuzz", "--engine", engine, "--target", c->target, "--profile",
	      "6.18", "--seed", number, "--out", c->out, "--corpus", c->seeds, (char *)NULL);
	_exit(3);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* Exit status 0 alone will do: the kernel that was played has no bugs. */
static void wait_for(struct campaign *c, const char *engine)
{
	int status = 0;

	while (!c->shared->done && waitpid(c->pid, &status, WNOHANG) == 0)
		usleep(POLL_US);
	if (!c->shared->done)
		vm_bench_die("the campaign of %s ended by itself: see %s/log", engine, c->out);
	kill(c->pid, SIGINT);
	if (waitpid(c->pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		vm_bench_die("the campaign of %s did not end well: see %s", engine, c->out);
}

void vm_search_by_engine(const char *engine, uint64_t seed, uint64_t budget, uint32_t from,
			 uint32_t to, struct vm_search *out)
{
	struct campaign c = { 0 };

	make_folder(&c);
	share_log(&c, budget, from, to);
	start(&c, engine, seed);
	wait_for(&c, engine);
	*out = c.shared->search;
	munmap(c.shared, sizeof(*c.shared));
	nftw(c.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
