/* SPDX-License-Identifier: MIT */
/* The executor: what it says of itself, what traces hold, and what it survives. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/integration/raw_host.h"

static struct raw_host host;
static struct vm_program prog;
static struct vm_trace trace;

static const char sample[] = "mmap p0+4 rw anon private fill\n"
			     "mprotect p2+2 r\n"
			     "mmap p16+4 rw anon shared fill\n"
			     "mprotect p17+1 none\n"
			     "let a = mmap any+3 rw anon private\n"
			     "write a+2\n"
			     "mseal p2+2\n"
			     "munmap p0+4\n"
			     "mremap p16+1 to 2 pages maymove\n"
			     "write p0+4\n"
			     "munmap a[1]+1\n";

static int start(void **state)
{
	(void)state;
	raw_start(&host, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	vm_trace_free(&trace);
	assert_int_equal(raw_stop(&host), 0);
	return 0;
}

static void run(const char *text, uint8_t observe, uint32_t flags)
{
	raw_parse(text, &prog);
	prog.observe = observe;
	raw_run(&host, &prog, flags, &trace);
	assert_int_equal(trace.exit, VM_EXIT_DONE);
	assert_int_equal(trace.nevents, prog.ncalls + 2);
}

static uint64_t page(unsigned int n)
{
	return host.info.layout.arena_base + n * host.info.layout.page_size;
}

static const struct vm_vma *vma_of(const struct vm_snapshot *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nvma; i++) {
		if (addr >= s->vma[i].start && addr < s->vma[i].end)
			return &s->vma[i];
	}
	return NULL;
}

static const struct vm_page *page_of(const struct vm_snapshot *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->npage; i++) {
		if (s->page[i].addr == addr)
			return &s->page[i];
	}
	return NULL;
}

static const struct vm_snapshot *last(void)
{
	return &trace.event[trace.nevents - 1].after;
}

static bool guarded(uint64_t addr)
{
	for (uint32_t i = 0; i < host.info.nguard; i++) {
		if (addr >= host.info.guard[i].start && addr < host.info.guard[i].end)
			return true;
	}
	return false;
}

static void test_hello(void **state)
{
	const struct vm_target_info *info = &host.info;
	const struct vm_layout *l = &info->layout;

	(void)state;
	assert_string_equal(info->sysname, "Linux");
	assert_int_equal(l->page_size, sysconf(_SC_PAGESIZE));
	assert_true(l->arena_base + l->arena_size < l->task_size);
	assert_true(l->pmd_size > l->page_size && l->pud_size > l->pmd_size);
	assert_true(info->uid != 0);
	assert_int_equal(info->cap_effective, 0);
	assert_string_equal(info->inject, "");
	assert_true(info->total_pages > 0 && info->max_map_count > 0);
	assert_true(info->features & VM_PROBED_BEHAVIOUR);
	assert_true(info->nown > 3);
	for (uint32_t i = 0; i < info->nown; i++) {
		if (info->own[i].start < l->task_size)
			assert_true(guarded(info->own[i].start) && guarded(info->own[i].end - 1));
		assert_true(info->own[i].end <= l->arena_base ||
			    info->own[i].start >= l->arena_base + l->arena_size);
	}
}

static void test_results(void **state)
{
	bool seals = host.info.features & VM_HAS_MSEAL;
	const struct vm_event *e = trace.event + 1;

	(void)state;
	run(sample, VM_OBSERVE_FULL, 0);
	e = trace.event + 1;
	assert_int_equal(e[0].result, page(0));
	assert_int_equal(e[1].result, 4); /* the fill of four pages */
	assert_int_equal(e[2].result, 0);
	assert_int_equal(e[7].result, 2);
	assert_int_equal(e[8].result, seals ? 0 : -ENOSYS);
	assert_int_equal(e[9].result, seals ? -EPERM : 0);
	assert_int_equal(e[11].status, VM_STATUS_FAULTED);
	assert_int_equal(e[11].signo, SIGSEGV);
	assert_int_equal(e[11].result, seals ? 2 : 0);
	assert_int_equal(e[11].sigaddr, seals ? page(2) : page(0));
	assert_int_equal(e[12].result, 0);
	assert_int_equal(e[12].sc.arg[0], (uint64_t)e[6].result + host.info.layout.page_size);
	for (uint32_t i = 0; i < trace.nevents; i++) {
		assert_int_equal(trace.event[i].seq_begin, 2 * i);
		assert_int_equal(trace.event[i].seq_end, 2 * i + 1);
	}
}

static void test_contents_and_flags(void **state)
{
	uint64_t page_size = host.info.layout.page_size;
	struct vm_content want;
	const struct vm_page *p;

	(void)state;
	if (!(host.info.features & VM_HAS_PROC_MEM))
		skip();
	run(sample, VM_OBSERVE_MAPS, 0);
	assert_true(last()->mask & VM_SEEN_CONTENTS);
	want = vm_content_of_tag(vm_fill_tag(4, 1), page_size);
	p = page_of(last(), page(17)); /* PROT_NONE */
	assert_non_null(p);
	assert_int_equal(p->content.head, want.head);
	assert_int_equal(p->content.rest, want.rest);
	if (!(host.info.features & VM_HAS_SMAPS_SEAL))
		skip();
	assert_true(last()->mask & VM_SEEN_FLAGS);
	assert_true(vma_of(last(), page(2))->flags >> VM_FLAG_SL & 1);
	assert_false(vma_of(last(), page(0))->flags >> VM_FLAG_SL & 1);
}

/* After how many calls was each thing seen? */
static void count_seen(unsigned int calls[3])
{
	memset(calls, 0, 3 * sizeof(*calls));
	for (uint32_t i = 1; i + 1 < trace.nevents; i++) {
		uint32_t mask = trace.event[i].after.nvma ? trace.event[i].after.mask : 0;

		calls[0] += !!(mask & VM_SEEN_MAPS);
		calls[1] += !!(mask & VM_SEEN_CONTENTS);
		calls[2] += !!(mask & VM_SEEN_FLAGS);
	}
}

static void test_levels(void **state)
{
	unsigned int seen[3];

	(void)state;
	run(sample, VM_OBSERVE_FULL, 0);
	count_seen(seen);
	assert_int_equal(seen[0], prog.ncalls);
	assert_int_equal(seen[1], prog.ncalls);
	assert_true(seen[2] > 0 || !(host.info.features & VM_HAS_SMAPS));
	run(sample, VM_OBSERVE_MAPS, 0);
	count_seen(seen);
	assert_int_equal(seen[0], prog.ncalls);
	assert_int_equal(seen[1] + seen[2], 0);
	run(sample, VM_OBSERVE_END, 0);
	count_seen(seen);
	assert_int_equal(seen[0] + seen[1] + seen[2], 0);
	assert_true(last()->mask & VM_SEEN_MAPS && last()->mask & VM_SEEN_OWN);
	run(sample, VM_OBSERVE_FULL, VM_RUN_UNOBSERVED);
	for (uint32_t i = 0; i < trace.nevents; i++)
		assert_int_equal(trace.event[i].after.mask, 0);
	assert_int_equal(trace.event[1].result, page(0));
}

static void test_own_stays(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		run(sample, VM_OBSERVE_FULL, 0);
		assert_true(last()->mask & VM_SEEN_OWN);
		assert_int_equal(last()->nown, host.info.nown);
		assert_memory_equal(last()->own, host.info.own,
				    host.info.nown * sizeof(host.info.own[0]));
	}
}

static void assert_same_look(const struct vm_snapshot *a, const struct vm_snapshot *b)
{
	uint32_t both = a->mask & b->mask;

	assert_true(both & VM_SEEN_MAPS);
	assert_int_equal(a->nvma, b->nvma);
	for (uint32_t i = 0; i < a->nvma; i++) {
		assert_int_equal(a->vma[i].start, b->vma[i].start);
		assert_int_equal(a->vma[i].end, b->vma[i].end);
		assert_int_equal(a->vma[i].mode, b->vma[i].mode);
		assert_int_equal(a->vma[i].offset, b->vma[i].offset);
		assert_int_equal(a->vma[i].dev, b->vma[i].dev);
		assert_int_equal(!a->vma[i].inode, !b->vma[i].inode);
	}
	if (!(both & VM_SEEN_CONTENTS))
		return;
	assert_int_equal(a->npage, b->npage);
	if (a->npage)
		assert_memory_equal(a->page, b->page, a->npage * sizeof(a->page[0]));
}

/* The cheap way to look and the full text show the same states. */
static void test_ways_agree(void **state)
{
	struct vm_trace text;

	(void)state;
	memset(&text, 0, sizeof(text));
	for (int observe = VM_OBSERVE_FULL; observe <= VM_OBSERVE_MAPS; observe++) {
		run(sample, (uint8_t)observe, 0);
		raw_run(&host, &prog, VM_RUN_FULL_TEXT, &text);
		assert_int_equal(text.nevents, trace.nevents);
		for (uint32_t i = 0; i < trace.nevents; i++) {
			assert_int_equal(trace.event[i].result, text.event[i].result);
			assert_same_look(&trace.event[i].after, &text.event[i].after);
		}
	}
	vm_trace_free(&text);
}

static void test_withheld(void **state)
{
	char text[256];

	(void)state;
	snprintf(text, sizeof(text),
		 "munmap null+1task\nmmap null[%#llxb]+1 rw anon private\nwrite p0+%u\nfill p0+1\n",
		 (unsigned long long)host.info.own[0].start, VM_TOUCH_MAX_PAGES + 1);
	run(text, VM_OBSERVE_FULL, 0);
	assert_int_equal(trace.event[1].status, VM_STATUS_WITHHELD);
	assert_int_equal(trace.event[1].result, VM_WITHHELD_GUARD);
	assert_int_equal(trace.event[2].status, VM_STATUS_WITHHELD);
	assert_int_equal(trace.event[2].result, VM_WITHHELD_GUARD);
	assert_int_equal(trace.event[3].status, VM_STATUS_WITHHELD);
	assert_int_equal(trace.event[3].result, VM_WITHHELD_MEMORY);
	assert_int_equal(trace.event[4].status, VM_STATUS_FAULTED); /* nothing is mapped */
	assert_int_equal(last()->nvma, 0);
}

static void test_many_in_flight(void **state)
{
	uint32_t seen = 0;

	(void)state;
	raw_parse(sample, &prog);
	for (uint32_t id = 1; id <= 16; id++)
		raw_send(&host, &prog, id, 0, 0);
	for (uint32_t i = 0; i < 16; i++) {
		assert_true(raw_read(&host));
		raw_decode(&host, &prog, &trace);
		assert_int_equal(trace.exit, VM_EXIT_DONE);
		assert_true(host.header.id >= 1 && host.header.id <= 16);
		seen |= 1u << (host.header.id - 1);
	}
	assert_int_equal(seen, 0xffff);
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* The process that serves: the one started, or its only child in a namespace of its own. */
static pid_t server(void)
{
	return host.info.features & VM_IS_NAMESPACED ? raw_child_of(host.pid) : host.pid;
}

/* Fill 64 times 256 pages with every page looked at after each: long enough to be met running. */
static void make_long(void)
{
	char text[VM_PROGRAM_MAX_CALLS * 64];
	int len = snprintf(text, sizeof(text), "mmap p0+4096 rw anon shared\n");

	for (int i = 1; i < VM_PROGRAM_MAX_CALLS; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "fill p%d[%d]+256\n",
				i % 128, i % 15 * 256);
	raw_parse(text, &prog);
}

/* Send a signal to a child while it runs, and read the reply. */
static void meet(int signo, uint32_t timeout_ms)
{
	bool hit = false;

	for (int tries = 0; tries < 50 && !hit; tries++) {
		pid_t child = 0;

		raw_send(&host, &prog, 7, timeout_ms, 0);
		for (int i = 0; i < 1000 && !child; i++)
			child = raw_child_of(server());
		hit = child && !kill(child, signo);
		assert_true(raw_read(&host));
		raw_decode(&host, &prog, &trace);
		hit = hit && trace.exit != VM_EXIT_DONE;
	}
	assert_true(hit);
}

static void test_killed(void **state)
{
	(void)state;
	make_long();
	meet(SIGKILL, 0);
	assert_int_equal(trace.exit, VM_EXIT_SIGNAL);
	assert_int_equal(trace.exit_value, SIGKILL);
	assert_true(trace.nevents < prog.ncalls + 2u);
	run(sample, VM_OBSERVE_FULL, 0);
}

/* A child that does not go on is the same as one in an endless loop. */
static void test_timeout(void **state)
{
	(void)state;
	make_long();
	meet(SIGSTOP, 200);
	assert_int_equal(trace.exit, VM_EXIT_TIMEOUT);
	assert_true(trace.nevents < prog.ncalls + 2u);
	run(sample, VM_OBSERVE_FULL, 0);
	assert_int_equal(raw_child_of(server()), 0);
}

static void test_full_log(void **state)
{
	char text[VM_PROGRAM_MAX_CALLS * 64];
	int len = snprintf(text, sizeof(text), "mmap p0+16384 rw anon private\n");

	(void)state;
	for (int i = 0; i < 15; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "fill p0[%d]+256\n",
				i * 256);
	for (int i = 0; i < 48; i++) /* all 3840 pages at other addresses, again and again */
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"mremap p0[%d]+4096 -> p0[%d]+4096 maymove|fixed\n",
				i % 2 ? 1024 * 16 : 0, i % 2 ? 0 : 1024 * 16);
	raw_parse(text, &prog);
	raw_run(&host, &prog, 0, &trace);
	assert_int_equal(trace.exit, VM_EXIT_LOG_FULL);
	assert_true(trace.nevents > 16 && trace.nevents < prog.ncalls + 2u);
	run(sample, VM_OBSERVE_FULL, 0);
}

/* Nothing that was started outlives what the host holds. */
static void test_dies_with_host(void **state)
{
	pid_t inner;
	int status;

	(void)state;
	raw_start(&host, NULL);
	inner = server();
	assert_true(inner > 0);
	kill(host.pid, SIGKILL);
	assert_int_equal(waitpid(host.pid, &status, 0), host.pid);
	for (int i = 0; i < 200 && kill(inner, 0) == 0; i++)
		pause_ms(10);
	assert_int_equal(kill(inner, 0), -1);
	assert_false(raw_read(&host));
	close(host.in);
	close(host.out);
	free(host.body);
}

/* Write bytes that are no request; the answer is an error, and an end with status 3. */
static void expect_refusal(const void *bytes, size_t len, bool end, const char *why)
{
	raw_start(&host, NULL);
	raw_write(&host, bytes, len);
	if (end) {
		close(host.in);
		host.in = -1;
	}
	assert_true(raw_read(&host));
	assert_int_equal(host.header.type, VM_FRAME_ERROR);
	assert_int_equal(host.header.id, 0);
	host.body[host.header.len] = '\0';
	assert_non_null(strstr((char *)host.body, why));
	assert_int_equal(raw_stop(&host), 3);
}

static void test_broken_frames(void **state)
{
	struct vm_frame_header header = { .magic = VM_FRAME_MAGIC, .type = VM_FRAME_RUN, .id = 1 };
	char frame[sizeof(header) + 4] = { 0 };

	(void)state;
	expect_refusal("this is no frame at all", 23, false, "bad magic");
	expect_refusal(&header, 7, true, "ends inside a frame");
	expect_refusal(&header, sizeof(header), false, "without a request");
	header.len = sizeof(struct vm_run_request) + 100;
	expect_refusal(&header, sizeof(header), true, "ends inside a frame");
	header.len = VM_FRAME_MAX + 1;
	expect_refusal(&header, sizeof(header), false, "longer than 4 MiB");
	header.len = 4;
	header.type = VM_FRAME_HELLO;
	memcpy(frame, &header, sizeof(header));
	expect_refusal(frame, sizeof(frame), false, "only VM_FRAME_RUN");
}

static int shell(const char *args)
{
	char command[512];
	int status;

	snprintf(command, sizeof(command), "%s/vmafuzz-executor %s </dev/null >/dev/null 2>&1",
		 VM_BUILD_DIR, args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_options(void **state)
{
	(void)state;
	assert_int_equal(shell("--help"), 0);
	assert_int_equal(shell("--list-injects"), 0);
	assert_int_equal(shell(""), 0); /* end of input at once */
	assert_int_equal(shell("--inject no-such-fault"), 3);
	assert_int_equal(shell("--timeout 0"), 3);
	assert_int_equal(shell("--timeout 10x"), 3);
	assert_int_equal(shell("--no-such-option"), 3);
	assert_int_equal(shell("argument"), 3);
}

/* Two executors give the same addresses, so that a corpus and a feedback map stay good. */
static void test_deterministic(void **state)
{
	struct raw_host other;
	uint64_t first;

	(void)state;
	raw_start(&host, NULL);
	raw_start(&other, NULL);
	assert_memory_equal(&host.info.layout, &other.info.layout, sizeof(host.info.layout));
	assert_int_equal(host.info.features, other.info.features);
	assert_memory_equal(host.info.guard, other.info.guard, sizeof(host.info.guard));
	run(sample, VM_OBSERVE_FULL, 0);
	first = (uint64_t)trace.event[7].result;
	raw_run(&other, &prog, 0, &trace);
	assert_int_equal(trace.event[7].result, first);
	assert_int_equal(raw_stop(&other), 0);
	assert_int_equal(raw_stop(&host), 0);
	vm_trace_free(&trace);
}

/* A kernel that has neither PROCMAP_QUERY nor PAGEMAP_SCAN is looked at by text and pagemap. */
static void test_without_ioctls(void **state)
{
	struct vm_trace with;

	(void)state;
	memset(&with, 0, sizeof(with));
	raw_start(&host, NULL);
	run(sample, VM_OBSERVE_FULL, 0);
	raw_run(&host, &prog, 0, &with);
	assert_int_equal(raw_stop(&host), 0);
	raw_start_without(&host, NULL, SYS_ioctl, ENOTTY);
	assert_int_equal(host.info.features & (VM_HAS_PROCMAP_QUERY | VM_HAS_PAGEMAP_SCAN), 0);
	run(sample, VM_OBSERVE_FULL, 0);
	for (uint32_t i = 0; i < trace.nevents; i++) {
		assert_int_equal(trace.event[i].result, with.event[i].result);
		assert_int_equal(trace.event[i].after.mask & VM_SEEN_CONTENTS,
				 with.event[i].after.mask & VM_SEEN_CONTENTS);
		assert_same_look(&trace.event[i].after, &with.event[i].after);
	}
	assert_int_equal(raw_stop(&host), 0);
	vm_trace_free(&with);
	vm_trace_free(&trace);
}

/* Memory next to the executor's own is seen as the program's. */
static void test_next_to_own(void **state)
{
	const struct vm_target_info *info = &host.info;
	const struct vm_vma *vma;
	uint64_t addr = 0;
	char text[128];

	(void)state;
	for (uint32_t i = 0; i < info->nown; i++) {
		/* and the page behind it, which keeps others from the heap */
		if (info->own[i].kind == VM_KIND_HEAP || (addr && info->own[i].start == addr))
			addr = info->own[i].end;
	}
	if (!addr)
		skip();
	snprintf(text, sizeof(text), "mmap null[%#llxb]+1 rw anon private\n",
		 (unsigned long long)addr);
	run(text, VM_OBSERVE_FULL, 0);
	assert_int_equal(trace.event[1].result, addr);
	for (uint32_t i = 1; i < trace.nevents; i++) {
		vma = vma_of(&trace.event[i].after, addr);
		assert_non_null(vma);
		assert_int_equal(vma->start, addr);
	}
	assert_int_equal(last()->nown, info->nown);
}

#define WITH_EXECUTOR(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_EXECUTOR(test_hello),
		WITH_EXECUTOR(test_results),
		WITH_EXECUTOR(test_contents_and_flags),
		WITH_EXECUTOR(test_levels),
		WITH_EXECUTOR(test_own_stays),
		WITH_EXECUTOR(test_ways_agree),
		WITH_EXECUTOR(test_withheld),
		WITH_EXECUTOR(test_next_to_own),
		WITH_EXECUTOR(test_many_in_flight),
		WITH_EXECUTOR(test_killed),
		WITH_EXECUTOR(test_timeout),
		WITH_EXECUTOR(test_full_log),
		cmocka_unit_test(test_dies_with_host),
		cmocka_unit_test(test_broken_frames),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_without_ioctls),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
