/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/executor/limits.h"
#include "harness/executor/machine_keeper.h"

#define FAILSLAB "/sys/kernel/debug/failslab/"
#define FAILPAGE "/sys/kernel/debug/fail_page_alloc/"

static const struct {
	const char *path;
	bool unless; /* Y or N, and the other way round */
} knobs[VM_PREAMBLE_COUNT] = {
	[VM_PREAMBLE_MAX_MAP_COUNT] = { "/proc/sys/vm/max_map_count", false },
	[VM_PREAMBLE_OVERCOMMIT_MEMORY] = { "/proc/sys/vm/overcommit_memory", false },
	[VM_PREAMBLE_OVERCOMMIT_RATIO] = { "/proc/sys/vm/overcommit_ratio", false },
	[VM_PREAMBLE_NR_HUGEPAGES] = { "/proc/sys/vm/nr_hugepages", false },
	[VM_PREAMBLE_MMAP_MIN_ADDR] = { "/proc/sys/vm/mmap_min_addr", false },
	[VM_PREAMBLE_SLAB_WAIT] = { FAILSLAB "ignore-gfp-wait", true },
	[VM_PREAMBLE_PAGE_WAIT] = { FAILPAGE "ignore-gfp-wait", true },
	[VM_PREAMBLE_PAGE_HIGHMEM] = { FAILPAGE "ignore-gfp-highmem", true },
	[VM_PREAMBLE_PAGE_MIN_ORDER] = { FAILPAGE "min-order", false },
};

struct keeper {
	uint32_t changed;		 /* words whose old value is in was[] */
	char was[VM_PREAMBLE_COUNT][32]; /* as the file had it */
};

/* 0 or errno. */
static int read_knob(unsigned int word, char *text, size_t size)
{
	int fd = open(knobs[word].path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int error = n < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return error;
}

/* Write, and see that it is there. 0 or errno; EAGAIN if the kernel has made something else of it.
 */
static int write_knob(unsigned int word, const char *text)
{
	int fd = open(knobs[word].path, O_WRONLY | O_CLOEXEC), error = 0;
	size_t len = strlen(text);
	char now[32];

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		error = errno ? errno : EIO;
	if (fd >= 0)
		close(fd);
	if (!error)
		error = read_knob(word, now, sizeof(now));
	return error ? error : strcmp(now, text) ? EAGAIN : 0;
}

static int put_back(struct keeper *k, uint32_t *word)
{
	int error, first = 0;

	for (unsigned int i = 0; i < VM_PREAMBLE_COUNT; i++) {
		if (!(k->changed >> i & 1))
			continue;
		error = write_knob(i, k->was[i]);
		if (error && !first) {
			first = error;
			*word = i;
		}
	}
	k->changed = 0;
	return first;
}

static int set_one(struct keeper *k, unsigned int word, uint64_t value)
{
	char text[32];
	int error;

	if (!knobs[word].path)
		return EINVAL;
	error = read_knob(word, k->was[word], sizeof(k->was[word]));
	if (error)
		return error;
	k->changed |= 1u << word;
	if (knobs[word].unless)
		snprintf(text, sizeof(text), "%c\n", value ? 'N' : 'Y');
	else
		snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return write_knob(word, text);
}

static int set(struct keeper *k, const struct vm_machine_request *req, uint32_t *word)
{
	uint32_t other;
	int error = 0;

	for (unsigned int i = 0; i < VM_PREAMBLE_COUNT && !error; i++) {
		if (!(req->words >> i & 1))
			continue;
		error = set_one(k, i, req->value[i]);
		*word = i;
	}
	if (error)
		put_back(k, &other);
	return error;
}

/* Where the kernel puts what asks for page 1 when the sysctl is 0: CONFIG_LSM_MMAP_MIN_ADDR. */
static int find_min_addr(struct keeper *k, struct vm_machine_reply *reply)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int error = set_one(k, VM_PREAMBLE_MMAP_MIN_ADDR, 0);

	reply->word = VM_PREAMBLE_MMAP_MIN_ADDR;
	if (!error)
		reply->lsm_min_addr = vm_limits_hint_min_addr(page, page);
	return put_back(k, &reply->word) || error ? error ? error : EIO : 0;
}

static void answer(struct keeper *k, const struct vm_machine_request *req, int fd)
{
	static uint64_t lsm_min_addr = UINT64_MAX;
	struct vm_machine_reply reply = { .id = req->id };

	if (lsm_min_addr == UINT64_MAX) { /* the first: a greeting */
		reply.error = find_min_addr(k, &reply);
		lsm_min_addr = reply.lsm_min_addr;
	} else if (req->words) {
		reply.error = set(k, req, &reply.word);
	} else {
		reply.error = put_back(k, &reply.word);
	}
	reply.lsm_min_addr = lsm_min_addr;
	if (send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
		return; /* nobody is there: recv() says so too */
}

/* On its own: signals to the executor's group and the ends of its pipes are not its business. */
static void stand_alone(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
}

_Noreturn void vm_machine_keep(int fd)
{
	struct vm_machine_request req;
	struct keeper k = { 0 };
	uint32_t word = 0;
	ssize_t n;

	stand_alone();
	for (;;) {
		n = recv(fd, &req, sizeof(req), 0);
		if (n == (ssize_t)sizeof(req))
			answer(&k, &req, fd);
		else if (n >= 0 || errno != EINTR)
			break;
	}
	_exit(put_back(&k, &word) ? 1 : 0);
}
