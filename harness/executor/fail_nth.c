/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/fail_nth.h"
#include "harness/trace/site.h"

/* CONSOLE_EXT_LOG_MAX: no record of /dev/kmsg is longer. */
#define RECORD_MAX 8192

#define FAIL_NTH "/proc/self/fail-nth"

/* What makes every allocation count, whatever its size and whether it may sleep. */
static struct knob {
	const char *path, *value;
	bool set;
	char was[16];
} knobs[] = {
	{ .path = "/sys/kernel/debug/failslab/ignore-gfp-wait", .value = "N" },
	{ .path = "/sys/kernel/debug/failslab/verbose", .value = "2" },
	{ .path = "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", .value = "N" },
	{ .path = "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", .value = "N" },
	{ .path = "/sys/kernel/debug/fail_page_alloc/min-order", .value = "0" },
	{ .path = "/sys/kernel/debug/fail_page_alloc/verbose", .value = "2" },
};

#define KNOBS (sizeof(knobs) / sizeof(knobs[0]))

static int kernel_log = -1;
static int file = -1; /* FAIL_NTH of this process, while something is asked for */
static bool asked, over;
static char wanted[8]; /* the number, as written */
static size_t wanted_len;
static struct vm_fail_answer *answer; /* in memory that is no copy of anybody's */

/* Made with nothing but registers, so that no page of the stack is wanted in between. */
static inline __attribute__((always_inline)) long raw(long nr, uint64_t a, uint64_t b, uint64_t c,
						      uint64_t d, uint64_t e, uint64_t f)
{
#if defined(__x86_64__)
	register uint64_t r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register uint64_t x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register uint64_t x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	register long x8 __asm__("x8") = nr;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
			 : "memory");
	return (long)x0;
#else
	long ret = syscall(nr, a, b, c, d, e, f);

	return ret == -1 ? -errno : ret;
#endif
}

/* The old value of a setting, and the new one in its place. */
static bool set(struct knob *k)
{
	int fd = open(k->path, O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, k->was, sizeof(k->was) - 1);
	bool done;

	k->was[n > 0 ? n : 0] = '\0';
	done = n > 0 && pwrite(fd, k->value, strlen(k->value), 0) > 0;
	if (fd >= 0)
		close(fd);
	return done;
}

void vm_fail_nth_setup(const struct vm_executor *ex)
{
	if (access(FAIL_NTH, F_OK))
		return;
	kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	for (size_t i = 0; i < KNOBS && ex->opt.whole_machine; i++)
		knobs[i].set = set(&knobs[i]);
}

void vm_fail_nth_restore(void)
{
	for (size_t i = 0; i < KNOBS; i++) {
		struct knob *k = &knobs[i];
		int fd;

		if (!k->set)
			continue;
		fd = open(k->path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, k->was, strlen(k->was)) < 0)
			dprintf(STDERR_FILENO, "vmafuzz-executor: cannot set %s to %s again: %s\n",
				k->path, k->was, strerror(errno));
		if (fd >= 0)
			close(fd);
		k->set = false;
	}
}

void vm_fail_nth_ask(const struct vm_executor *ex, unsigned int nth)
{
	char *p = wanted + sizeof(wanted);

	asked = over = false;
	if (!nth || !(ex->info.features & VM_HAS_FAIL_NTH))
		return;
	file = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return;
	for (unsigned int n = nth; n; n /= 10)
		*--p = (char)('0' + n % 10);
	wanted_len = (size_t)(wanted + sizeof(wanted) - p);
	memmove(wanted, p, wanted_len);
	answer = &ex->area->fail_answer;
	atomic_store(&answer->ready, false);
	memset(answer->left, 0, sizeof(answer->left));
	/* nor is a signal's frame to be what needs a page */
	for (size_t i = 0; i < VM_ALTSTACK_SIZE; i += 1024)
		*(volatile uint8_t *)&ex->area->altstack[i] = 0;
	if (kernel_log >= 0)
		lseek(kernel_log, 0, SEEK_END);
	asked = true;
}

void vm_fail_nth_arm(void)
{
	if (asked && !over)
		raw(SYS_write, (uint64_t)file, (uintptr_t)wanted, wanted_len, 0, 0, 0);
}

void vm_fail_nth_disarm(void)
{
	if (!asked || over)
		return;
	raw(SYS_pread64, (uint64_t)file, (uintptr_t)answer->left, sizeof(answer->left) - 1, 0, 0,
	    0);
	raw(SYS_write, (uint64_t)file, (uintptr_t) "0", 1, 0, 0, 0);
	over = true;
}

static void take(struct vm_event *e)
{
	e->injected = answer->injected;
	e->site = answer->injected && answer->site[0] ? answer->site : NULL;
}

/*
 * What the log has from where it stands. Nothing of a failed allocation: it asked for silence
 * (__GFP_NOWARN), or the kernel prints no stacks.
 */
static void read_site(char text[VM_SITE_MAX])
{
	struct vm_site s = { .text = text };
	char record[RECORD_MAX];
	ssize_t n;

	for (;;) {
		n = read(kernel_log, record, sizeof(record) - 1);
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* records were overwritten before they were read */
		if (n <= 0)
			return;
		record[n] = '\0';
		vm_site_line(&s, record, (size_t)n);
	}
}

void vm_fail_nth_answer(struct vm_event *e)
{
	if (!asked)
		return;
	vm_fail_nth_disarm();
	close(file);
	asked = false;
	answer->injected = answer->left[0] == '0';
	answer->site[0] = '\0';
	if (answer->injected && kernel_log >= 0)
		read_site(answer->site);
	take(e);
	atomic_store(&answer->ready, true);
}

void vm_fail_nth_forked(struct vm_event *e)
{
	if (!asked)
		return;
	close(file);
	asked = false;
	while (!atomic_load(&answer->ready))
		sched_yield();
	take(e);
}

/* As vm_kernel(), with nothing in between that wants memory of its own. */
static __attribute__((noinline)) long armed(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
					    uint64_t e, uint64_t f)
{
	uint64_t fd = (uint64_t)file, text = (uintptr_t)answer->left;
	long ret;

	raw(SYS_write, fd, (uintptr_t)wanted, wanted_len, 0, 0, 0);
	ret = raw(nr, a, b, c, d, e, f);
	if (ret == 0 && nr == SYS_clone) /* the child: asked of its parent alone */
		return ret;
	raw(SYS_pread64, fd, text, sizeof(answer->left) - 1, 0, 0, 0);
	raw(SYS_write, fd, (uintptr_t) "0", 1, 0, 0, 0);
	over = true;
	return ret;
}

long vm_kernel(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	long ret;

	if (!asked || over)
		return syscall(nr, a, b, c, d, e, f);
	ret = armed(nr, a, b, c, d, e, f);
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

bool vm_fail_nth_works(struct vm_executor *ex)
{
	uint64_t length = ex->info.layout.page_size, how = MAP_PRIVATE | MAP_ANONYMOUS;
	struct vm_event e = { .status = VM_STATUS_DONE };
	long ret;

	ex->info.features |= VM_HAS_FAIL_NTH; /* of this child alone */
	vm_fail_nth_ask(ex, 1);
	ret = vm_kernel(SYS_mmap, 0, length, PROT_READ, how, (uint64_t)-1, 0);
	vm_fail_nth_answer(&e);
	return e.injected && ret == -1;
}
