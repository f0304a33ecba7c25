/* SPDX-License-Identifier: MIT */
/* vmafuzz-executor: runs programs on the kernel that it is started on. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/committed.h"
#include "harness/executor/fail_nth.h"
#include "harness/executor/limits.h"
#include "harness/executor/machine.h"
#include "harness/executor/probe.h"
#include "harness/executor/run.h"
#include "harness/executor/sandbox.h"
#include "harness/executor/serve.h"
#include "harness/executor/setup.h"

#define PIPE_SIZE (1 << 20)

static const char usage[] =
	"Usage: vmafuzz-executor [OPTION]...\n"
	"Run programs that come on standard input, answer with traces on standard output\n"
	"(harness/executor/protocol.h). Started by `vmafuzz`, here or on another machine.\n"
	"\n"
	"  --timeout MS     kill a program after so many milliseconds (2000)\n"
	"  --inject NAME    behave like a broken kernel (--list-injects shows the names)\n"
	"  --list-injects   print the names of injected faults, one a line\n"
	"  --privileged     stay root, with all capabilities but CAP_IPC_LOCK, in the\n"
	"                   caller's namespaces\n"
	"  --whole-machine  this machine is for testing alone (a guest), and this runs as root:\n"
	"                   let allocations fail, let programs set vm.* and fault injection, one\n"
	"                   at a time and put back after each, see if programs give back what\n"
	"                   they were charged\n"
	"  --help           print this\n"
	"\n"
	"Exit status: 0 the host closed its end; 3 usage, a broken frame, or nowhere to run.\n";

void vm_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	dprintf(STDERR_FILENO, "vmafuzz-executor: ");
	vdprintf(STDERR_FILENO, fmt, args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	dprintf(STDERR_FILENO, "\n");
	va_end(args);
	_exit(VM_EXIT_USAGE);
}

static _Noreturn void list_injects(void)
{
	for (size_t i = 1; vm_inject_desc(i); i++)
		dprintf(STDOUT_FILENO, "%-22s %s\n", vm_inject_desc(i)->name,
			vm_inject_desc(i)->description);
	dprintf(STDOUT_FILENO, "%-22s %s\n", VM_INJECT_IGNORED_PREFIX "CALL",
		"that call returns 0 and does nothing (not fork, touches)");
	_exit(0);
}

static uint32_t parse_timeout(const char *text)
{
	char *end;
	unsigned long ms = strtoul(text, &end, 10);

	if (*end || end == text || ms == 0 || ms > 3600000)
		vm_die("--timeout %s: milliseconds from 1 to 3600000 are expected", text);
	return (uint32_t)ms;
}

static void parse_options(int argc, char **argv, struct vm_options *opt)
{
	static const struct option options[] = {
		{ "timeout", required_argument, NULL, 't' },
		{ "inject", required_argument, NULL, 'i' },
		{ "list-injects", no_argument, NULL, 'l' },
		{ "privileged", no_argument, NULL, 'p' },
		{ "whole-machine", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*opt = (struct vm_options){ .timeout_ms = VM_TIMEOUT_MS };
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 't':
			opt->timeout_ms = parse_timeout(optarg);
			break;
		case 'i':
			opt->inject = vm_inject_by_name(optarg);
			opt->inject_name = optarg;
			if (!opt->inject)
				vm_die("--inject %s: no such fault; --list-injects shows the names",
				       optarg);
			break;
		case 'l':
			list_injects();
		case 'p':
			opt->privileged = true;
			break;
		case 'w':
			opt->whole_machine = true;
			break;
		case 'h':
			dprintf(STDOUT_FILENO, "%s", usage);
			_exit(0);
		default:
			vm_die("unknown option %s, or a value is missing; see --help",
			       argv[optind - 1]);
		}
	}
	if (optind < argc)
		vm_die("unexpected argument %s; see --help", argv[optind]);
}

int main(int argc, char **argv)
{
	static struct vm_executor ex;
	int status;

	if (argc > 1 && !strcmp(argv[1], VM_EXEC_OPTION))
		vm_exec_main(argc, argv);
	parse_options(argc, argv, &ex.opt);
	vm_sandbox_fix_layout(argv);
	signal(SIGPIPE, SIG_IGN);
	/* As big as allowed: a host that sends ahead and an answer then rarely wait for each other.
	 */
	fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_SIZE);
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_SIZE);
	vm_machine_start(&ex);
	vm_sandbox_enter(&ex);
	vm_run_tick();
	vm_setup_layout(&ex);
	vm_limits_read(&ex.info);
	vm_machine_describe(&ex, &ex.info);
	if (ex.opt.inject)
		strncpy(ex.info.inject, ex.opt.inject_name, sizeof(ex.info.inject) - 1);
	vm_setup_memory(&ex);
	vm_setup_own(&ex);
	vm_probe_all(&ex);
	vm_committed_begin(&ex);
	status = vm_serve(&ex);
	if (!ex.namespaced)
		vm_fail_nth_restore();
	_exit(status);
}
