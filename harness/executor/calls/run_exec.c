/* SPDX-License-Identifier: MIT */
/* exec in a forked child: what replaces it tells what is mapped, and ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/preamble.h"
#include "harness/snapshot/procfs.h"

int64_t vm_run_exec(int fd, uint8_t call)
{
	char name[] = "vmafuzz-executor", option[] = VM_EXEC_OPTION, to[12], number[12];
	char *argv[] = { name, option, to, number, NULL }, *environment[] = { NULL };

	snprintf(to, sizeof(to), "%d", fd);
	snprintf(number, sizeof(number), "%u", call);
	if (fcntl(fd, F_SETFD, 0))
		return -errno;
	vm_preamble_take_back();
	execve("/proc/self/exe", argv, environment);
	return -errno;
}

_Noreturn void vm_exec_main(int argc, char **argv)
{
	struct vm_exec_report report = { .call = argc == 4 ? (uint32_t)atoi(argv[3]) : 0 };
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), to = argc == 4 ? atoi(argv[2]) : -1;
	const char *line, *end;
	struct vm_lines l;
	char buf[8192];

	if (fd < 0)
		vm_die("/proc/self/maps: %d", errno);
	vm_lines_start(&l, fd, buf, sizeof(buf));
	while (report.nvma < VM_EXEC_MAX_VMAS && vm_lines_next(&l, &line, &end))
		report.nvma += vm_maps_parse(line, end, &report.vma[report.nvma]);
	_exit(write(to, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : VM_EXIT_USAGE);
}
