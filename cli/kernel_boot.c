/* SPDX-License-Identifier: MIT */
/* A shell in a guest, with this terminal as its console. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/kernel.h"
#include "harness/kernel/shell.h"

#define LEAVE 0x1d /* Ctrl-] */

struct guest {
	pid_t pid;
	int in, out;
};

static bool is_arm(const struct vm_kernel *k)
{
	return !strcmp(k->arch, "aarch64");
}

/* In the child. */
static void become_qemu(const struct vm_kernel *k, const char *initramfs, uint64_t memory, bool tty)
{
	const char *qemu = is_arm(k) ? "qemu-system-aarch64" : "qemu-system-x86_64";
	char mem[32], append[128];

	snprintf(mem, sizeof(mem), "%llu", (unsigned long long)memory);
	snprintf(append, sizeof(append), "console=%s loglevel=4 panic=-1%s%s",
		 is_arm(k) ? "ttyAMA0" : "ttyS0", is_arm(k) ? "" : " no_timer_check",
		 tty ? "" : " vmafuzz.script");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	execlp(qemu, qemu, "-machine", is_arm(k) ? "virt" : "q35", "-cpu", "max", "-accel", "tcg",
	       "-m", mem, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
	       "-kernel", k->image, "-initrd", initramfs, "-append", append, "-chardev",
	       "stdio,id=c,signal=off", "-serial", "chardev:c", (char *)NULL);
	fprintf(stderr, "vmafuzz: cannot run %s: %s (apt-get install %s)\n", qemu, strerror(errno),
		is_arm(k) ? "qemu-system-arm" : "qemu-system-x86");
	_exit(CLI_FAILED);
}

static int start(struct guest *g, const struct vm_kernel *k, const char *initramfs, uint64_t memory)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	if (pipe(in) || pipe(out) || (g->pid = fork()) < 0) {
		cli_error("cannot start a guest: %s", strerror(errno));
		return -1;
	}
	if (!g->pid) {
		bool tty = isatty(STDIN_FILENO);

		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int i = 0; i < 2; i++) {
			close(in[i]);
			close(out[i]);
		}
		become_qemu(k, initramfs, memory, tty);
	}
	close(in[0]);
	close(out[1]);
	g->in = in[1];
	g->out = out[0];
	return 0;
}

static bool pass(int from, int to, bool watch)
{
	char buf[4096];
	ssize_t n = read(from, buf, sizeof(buf)), done = 0;

	if (n <= 0 || (watch && memchr(buf, LEAVE, (size_t)n)))
		return false;
	while (done < n) {
		ssize_t put = write(to, buf + done, (size_t)(n - done));

		if (put < 0 && errno != EINTR)
			return false;
		done += put > 0 ? put : 0;
	}
	return true;
}

/* Pass on what the guest says; *ready once init says that it is. False at its end. */
static bool listen_to(struct guest *g, bool *ready)
{
	char buf[4096];
	ssize_t n = read(g->out, buf, sizeof(buf));

	if (n <= 0)
		return false;
	*ready |= memmem(buf, (size_t)n, "ready", 5) != NULL;
	return fwrite(buf, 1, (size_t)n, stdout) == (size_t)n && !fflush(stdout);
}

/*
 * Until the guest ends or Ctrl-]. A script waits for the shell, since what comes before it is lost;
 * at its end the shell is left.
 */
static void relay(struct guest *g, bool tty)
{
	struct pollfd p[2] = { { -1, POLLIN, 0 }, { g->out, POLLIN, 0 } };
	bool ready = tty, ended = false;

	for (;;) {
		p[0].fd = ready && !ended ? STDIN_FILENO : -1;
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (p[1].revents && !listen_to(g, &ready))
			return;
		if (p[0].fd < 0 || !p[0].revents || pass(STDIN_FILENO, g->in, tty))
			continue;
		ended = true;
		if (tty || write(g->in, "exit\n", 5) != 5)
			return;
	}
}

static int run(const struct vm_kernel *k, const char *initramfs, uint64_t memory)
{
	bool tty = isatty(STDIN_FILENO);
	struct termios saved, raw;
	struct guest g;
	int status = -1;

	signal(SIGPIPE, SIG_IGN);
	if (start(&g, k, initramfs, memory))
		return CLI_FAILED;
	if (tty && !tcgetattr(STDIN_FILENO, &saved)) {
		raw = saved;
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	relay(&g, tty);
	if (tty) {
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
		printf("\n");
	}
	close(g.in);
	kill(g.pid, SIGKILL);
	waitpid(g.pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) ? CLI_FAILED : CLI_CONFORMS;
}

/* The executor beside this program, for a guest of this architecture or of arm64; NULL: none. */
static const char *own_executor(const struct vm_kernel *k, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
	const char *native = vm_apt_native();
	bool same = native && is_arm(k) == !strcmp(native, "arm64");

	if (n <= 0 || !(same || is_arm(k)))
		return NULL;
	path[n] = '\0';
	strcpy(strrchr(path, '/'), same ? "/vmafuzz-executor" : "/vmafuzz-executor-arm64");
	return access(path, R_OK) ? NULL : path;
}

int cli_kernel_boot(const struct cli_kernel *c)
{
	char busybox[VM_KERNEL_PATH], executor[PATH_MAX], err[1024];
	char initramfs[] = "/tmp/vmafuzz-boot-XXXXXX";
	struct vm_kernel k;
	struct vm_apt apt;
	int fd, ret = CLI_FAILED;

	if (vm_kernel_find(c->operand[0], &k, err, sizeof(err)) ||
	    vm_apt_open(&apt, is_arm(&k) ? "arm64" : "amd64", c->mirror, err, sizeof(err)) ||
	    (!vm_apt_fresh(&apt) && vm_apt_update(&apt, err, sizeof(err))) ||
	    vm_shell_busybox(&apt, busybox, err, sizeof(err))) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	fd = mkstemp(initramfs);
	if (fd < 0) {
		cli_error("cannot write %s: %s", initramfs, strerror(errno));
		return CLI_FAILED;
	}
	close(fd);
	if (vm_shell_initramfs(initramfs, busybox, own_executor(&k, executor), err, sizeof(err)))
		cli_error("%s", err);
	else
		ret = run(&k, initramfs, c->memory);
	unlink(initramfs);
	return ret;
}
