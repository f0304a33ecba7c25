/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/executor/protocol.h"
#include "harness/program/program.h"
#include "tests/integration/fake_guest.h"

#define LINK_FD 3 /* the virtio port's socket, see harness/guest/machine.c */

static const char warning[] =
	"[    3.100000] ------------[ cut here ]------------\n"
	"[    3.100010] WARNING: CPU: 0 PID: 70 at mm/vma.c:1234 "
	"vms_gather_munmap_vmas+0x1f3/0x2c0\n"
	"[    3.100020] RIP: 0010:vms_gather_munmap_vmas+0x1f3/0x2c0\n"
	"[    3.100030] Code: 48 89 df e8 f0 b5 30 00 45 31 c0 <0f> 0b 48 8b 45 38\n"
	"[    3.100040] Call Trace:\n"
	"[    3.100050]  <TASK>\n"
	"[    3.100060]  do_vmi_munmap+0x1a3/0x2b0\n"
	"[    3.100070]  __x64_sys_munmap+0x17/0x20\n"
	"[    3.100080]  </TASK>\n"
	"[    3.100090] ---[ end trace 0000000000000000 ]---\n";

static const char panic[] =
	"[    4.200000] BUG: kernel NULL pointer dereference, address: 0000000000000040\n"
	"[    4.200010] Oops: Oops: 0002 [#1] PREEMPT SMP\n"
	"[    4.200020] RIP: 0010:unmap_region+0x4e/0xf0\n"
	"[    4.200030] Call Trace:\n"
	"[    4.200040]  do_vmi_align_munmap+0x1a3/0x2b0\n"
	"[    4.200050] ---[ end trace 0000000000000000 ]---\n"
	"[    4.200060] Kernel panic - not syncing: Fatal exception\n"
	"[    4.200070] ---[ end Kernel panic - not syncing: Fatal exception ]---\n";

static const char hung[] = "[   30.000000] INFO: task vmafuzz-executo:71 blocked for more than 10 "
			   "seconds.\n"
			   "[   30.000010] Call Trace:\n"
			   "[   30.000020]  <TASK>\n"
			   "[   30.000030]  __schedule+0x3c1/0xb20\n"
			   "[   30.000040]  schedule+0x27/0xd0\n"
			   "[   30.000050]  wait_for_unmap+0x10/0x80\n"
			   "[   30.000060]  </TASK>\n";

static const char list[] =
	"[    5.000000] list_del corruption. next->prev should be ffff8881, but was ffff8882. "
	"(next=ffff8883)\n"
	"[    5.000010] ------------[ cut here ]------------\n"
	"[    5.000020] kernel BUG at lib/list_debug.c:65!\n"
	"[    5.000030] Oops: invalid opcode: 0000 [#1] PREEMPT SMP\n"
	"[    5.000040] RIP: 0010:__list_del_entry_valid_or_report.cold+0x6f/0x76\n"
	"[    5.000050] Call Trace:\n"
	"[    5.000060]  unlink_anon_vmas+0x6b/0x1a0\n"
	"[    5.000070] ---[ end trace 0000000000000000 ]---\n";

static const char says[] =
	"[    2.000000] __vm_enough_memory: pid: 70, comm: x, bytes: 4096 not enough memory for "
	"the "
	"allocation\n"
	"[    2.000010] x[70]: segfault at 8 ip 0000000000401000 sp 0000000000402000 error 6\n";

static const char oom[] =
	"[    2.500000] x invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0\n"
	"[    2.500010] Call Trace:\n"
	"[    2.500020]  dump_stack_lvl+0x64/0x80\n"
	"[    2.500030] Out of memory: Killed process 70 (x) total-vm:4kB\n";

struct guest {
	int console;
	int to, from; /* the executor */
	bool warned;
	unsigned int third;
};

static void put(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		p += n;
		len -= (size_t)n;
	}
}

static void get(int fd, void *bytes, size_t len)
{
	char *p = bytes;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		p += n;
		len -= (size_t)n;
	}
}

static uint8_t *get_frame(int fd, struct vm_frame_header *h)
{
	uint8_t *body;

	get(fd, h, sizeof(*h));
	body = malloc(h->len + 1);
	if (!body)
		_exit(1);
	get(fd, body, h->len);
	return body;
}

static void put_frame(int fd, const struct vm_frame_header *h, const uint8_t *body)
{
	put(fd, h, sizeof(*h));
	put(fd, body, h->len);
}

static void report(struct guest *g, const char *text)
{
	put(g->console, text, strlen(text));
}

/* True the first time of all guests. */
static bool first_ever(void)
{
	int fd = open(getenv("FAKE_STATE"), O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static enum fake_bug wanted(const uint8_t *body, size_t len)
{
	struct vm_program prog;

	vm_program_decode(body + sizeof(struct vm_run_request), len - sizeof(struct vm_run_request),
			  &prog);
	for (unsigned int i = 0; i < prog.ncalls; i++) {
		if (prog.call[i].op == VM_OP_MUNMAP)
			return (enum fake_bug)prog.call[i].arg[1].len.pages;
	}
	return 0;
}

static void behave(struct guest *g, enum fake_bug bug)
{
	switch (bug) {
	case FAKE_WARNS:
		if (!g->warned)
			report(g, warning);
		g->warned = true;
		break;
	case FAKE_PANICS:
		report(g, panic);
		exit(0);
	case FAKE_STALLS:
		if (first_ever())
			report(g, hung);
		break;
	case FAKE_HANGS:
		report(g, hung);
		break;
	case FAKE_THIRD:
		if (++g->third == 3)
			report(g, list);
		break;
	case FAKE_SAYS:
		report(g, says);
		break;
	case FAKE_OOM:
		report(g, oom);
		break;
	default:
		break;
	}
}

static void start_executor(struct guest *g)
{
	const char *path = getenv("FAKE_EXECUTOR");
	int to[2], from[2];

	if (!path || pipe(to) || pipe(from))
		_exit(1);
	if (!fork()) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	g->to = to[1];
	g->from = from[0];
}

static int open_console(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *path = strstr(argv[i], "id=console,append=on,path=");

		if (path)
			return open(strstr(path, "/"), O_WRONLY | O_APPEND | O_CREAT, 0600);
	}
	return -1;
}

int fake_guest_main(int argc, char **argv)
{
	struct guest g = { .console = open_console(argc, argv) };
	struct vm_frame_header h;
	uint8_t *body;

	if (g.console < 0)
		return 1;
	report(&g, "[    0.000000] Linux version 6.12.0 (fake)\n[    1.000000] Run /init\n");
	start_executor(&g);
	body = get_frame(g.from, &h);
	put_frame(LINK_FD, &h, body);
	free(body);
	for (;;) {
		body = get_frame(LINK_FD, &h);
		if (h.type == VM_FRAME_RUN)
			behave(&g, wanted(body, h.len));
		put_frame(g.to, &h, body);
		free(body);
		body = get_frame(g.from, &h);
		put_frame(LINK_FD, &h, body);
		free(body);
	}
}
