/* SPDX-License-Identifier: MIT */
/* vmafuzz-keeper: see keeper.h. Started by `vmafuzz` for a target that is a guest. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/guest/initramfs.h"
#include "harness/guest/keeper.h"
#include "harness/guest/modules.h"
#include "harness/target/private_dir.h"

#define HELLO_MS   90000
#define TIMEOUT_MS 2000
#define STALL_MS   30000

static const char usage[] =
	"Usage: vmafuzz-keeper --dir DIR --executor FILE [OPTION]... TARGET\n"
	"Keep a guest (qemu:IMAGE[,option=value...]) or a command (exec:COMMAND) with an "
	"executor,\n"
	"for the owner on standard input and output and for clients of DIR/socket. Started by\n"
	"`vmafuzz`, see docs/targets.md.\n"
	"\n"
	"  --dir DIR        an empty folder of its own, mode 0700; removed at the end\n"
	"  --executor FILE  the static executor that the guest gets\n"
	"  --timeout MS     kill a program after so many milliseconds (2000)\n"
	"  --hello MS       how long the guest may take to come up (90000)\n"
	"  --stall MS       how long it may be silent beyond a program's time limit (30000)\n"
	"  --inject NAME    behave like a broken kernel\n"
	"  --privileged     programs run as the guest's root\n"
	"  --help           print this\n"
	"\n"
	"Exit status: 0 the owner closed its end; 3 usage, or the guest cannot be started.\n";

static struct vm_keeper keeper;

static void on_signal(int sig)
{
	(void)sig;
	keeper.quit = 1;
}

/* For the owner, whose stream this is, and who shows it as the error. */
static int refuse(const char *line)
{
	fprintf(stderr, "%s\n", line);
	return 3;
}

static unsigned int number(const char *name, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || !n || n > 3600000) {
		fprintf(stderr, "--%s %s: give milliseconds from 1 to 3600000\n", name, text);
		exit(3);
	}
	return (unsigned int)n;
}

static void copy(char *to, size_t size, const char *name, const char *text)
{
	if (strlen(text) < size) {
		strcpy(to, text);
		return;
	}
	fprintf(stderr, "--%s: too long\n", name);
	exit(3);
}

static void parse(int argc, char **argv, struct vm_keeper *k)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "executor", required_argument, NULL, 'e' },
		{ "timeout", required_argument, NULL, 't' },
		{ "hello", required_argument, NULL, 'w' },
		{ "stall", required_argument, NULL, 's' },
		{ "inject", required_argument, NULL, 'i' },
		{ "privileged", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct vm_guest_spec *s = &k->spec;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			k->dir = optarg;
			break;
		case 'e':
			copy(s->executor, sizeof(s->executor), "executor", optarg);
			break;
		case 't':
			s->timeout_ms = number("timeout", optarg);
			break;
		case 'w':
			k->hello_ms = number("hello", optarg);
			break;
		case 's':
			k->stall_ms = number("stall", optarg);
			break;
		case 'i':
			copy(s->inject, sizeof(s->inject), "inject", optarg);
			break;
		case 'p':
			s->privileged = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(3);
		}
	}
	if (optind + 1 == argc && k->dir)
		return;
	fprintf(stderr, "give --dir and one target; see --help\n");
	exit(3);
}

/* A file that lies beside this program. */
static void beside(char *path, size_t size, const char *name)
{
	ssize_t n = readlink("/proc/self/exe", path, size - strlen(name) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, name);
}

static int make_initramfs(struct vm_keeper *k, char *err, size_t errlen)
{
	static struct vm_modules modules;
	const char *missing;
	char init[PATH_MAX];
	int ret = 0;

	beside(init, sizeof(init),
	       k->spec.arch == VM_ARCH_ARM64 ? "vmafuzz-init-arm64" : "vmafuzz-init");
	missing = access(init, R_OK)		   ? init
		  : access(k->spec.executor, R_OK) ? k->spec.executor
						   : NULL;
	if (missing) {
		snprintf(err, errlen, "cannot read %.400s: %s: build it with ./dev build", missing,
			 strerror(errno));
		return -1;
	}
	if (k->spec.modules[0])
		ret = vm_modules_gather(&modules, k->spec.modules, err, errlen);
	if (!ret)
		ret = vm_initramfs_write(k->initramfs, init, &k->spec, &modules, err, errlen);
	vm_modules_free(&modules);
	return ret;
}

static int listen_at(struct vm_keeper *k, char *err, size_t errlen)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", k->dir) >=
	    sizeof(a.sun_path)) {
		snprintf(err, errlen, "the path %s is too long for a socket: set TMPDIR", k->dir);
		return -1;
	}
	unlink(a.sun_path);
	k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (k->listener >= 0 && !bind(k->listener, (struct sockaddr *)&a, sizeof(a)) &&
	    !listen(k->listener, VM_KEEPER_CLIENTS))
		return 0;
	snprintf(err, errlen, "cannot listen on %s: %s", a.sun_path, strerror(errno));
	return -1;
}

static int prepare(struct vm_keeper *k, const char *target, char *err, size_t errlen)
{
	snprintf(k->console, sizeof(k->console), "%s/console", k->dir);
	snprintf(k->initramfs, sizeof(k->initramfs), "%s/initramfs", k->dir);
	if (!strncmp(target, "exec:", 5))
		k->command = target + 5;
	else if (!strncmp(target, "qemu:", 5)) {
		if (vm_guest_spec_parse(&k->spec, target + 5, err, errlen))
			return -1;
	} else {
		snprintf(err, errlen, "no target for a keeper: %s", target);
		return -1;
	}
	if (!k->command && make_initramfs(k, err, errlen))
		return -1;
	return listen_at(k, err, errlen);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct vm_keeper *k = &keeper;
	char err[512];
	int status;

	k->hello_ms = HELLO_MS;
	k->stall_ms = STALL_MS;
	k->spec.timeout_ms = TIMEOUT_MS;
	parse(argc, argv, k);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGINT, SIG_IGN);
	/* Its end of our stdin may be held open by a process that outlives it. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (vm_private_dir_hold(k->dir, err, sizeof(err)))
		return refuse(err);
	if (prepare(k, argv[optind], err, sizeof(err)))
		status = refuse(err);
	else
		status = vm_keeper_run(k);
	vm_private_dir_remove(k->dir);
	return status;
}
