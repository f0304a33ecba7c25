/* SPDX-License-Identifier: MIT */
/*
 * Process 1 of a guest: makes what the executor needs, connects it with the host, and ends the
 * machine when it ends. Static, libc only. What it has to say goes to the console, each line with
 * "vmafuzz-init: " before it.
 *
 * /etc/vmafuzz (VM_GUEST_CONFIG): the channel on the first line (auto, virtio or uart), then the
 * words of the executor's command line, one a line.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "harness/guest/guest.h"

#define MAX_WORDS    32
#define PORT_WAIT_MS 5000 /* the port comes a moment after its driver */
#define PAUSE_MS     5

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	va_list ap;

	dprintf(STDERR_FILENO, "vmafuzz-init: ");
	va_start(ap, fmt);
	vdprintf(STDERR_FILENO, fmt, ap);
	va_end(ap);
	dprintf(STDERR_FILENO, "\n");
}

/* The end of the machine: QEMU runs with -no-reboot. */
static _Noreturn void end(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void mount_one(const char *type, const char *at, const char *options)
{
	mkdir(at, 0755);
	/* debugfs is not in every kernel; devtmpfs may be there already. */
	if (mount(type, at, type, 0, options) && errno != EBUSY && errno != ENODEV)
		say("cannot mount %s: %s", at, strerror(errno));
}

static void mount_all(void)
{
	mount_one("proc", "/proc", NULL);
	mount_one("sysfs", "/sys", NULL);
	mount_one("devtmpfs", "/dev", NULL);
	mount_one("debugfs", "/sys/kernel/debug", NULL);
	mount_one("tmpfs", "/tmp", "mode=1777");
	mkdir("/dev/shm", 0755);
	mount_one("tmpfs", "/dev/shm", "mode=1777");
}

/*
 * What a maple tree or kmemleak reports is information (level 6) to the kernel, and the host reads
 * it on the console. The boot, which is slow to print, is over.
 */
static void show_information(void)
{
	int fd = open("/proc/sys/kernel/printk", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "7", 1) != 1)
		say("cannot set the console's level: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* ---- modules ---- */

static void load_module(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), VM_GUEST_MODULES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		say("cannot load %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	unlink(path); /* the memory back */
}

/* In the order of their names, which the host chose. */
static void load_modules(void)
{
	struct dirent **list;
	int n = scandir(VM_GUEST_MODULES, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.')
			load_module(list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* ---- the channel ---- */

/* The file's first line. */
static int read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* The virtio port that the host has given our name. */
static int find_port(void)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	char path[600], name[64];
	struct dirent *d;
	int fd = -1;

	while (dir && fd < 0 && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", d->d_name);
		if (d->d_name[0] == '.' || read_line(path, name, sizeof(name)) ||
		    strcmp(name, VM_GUEST_PORT))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", d->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

static int open_virtio(void)
{
	int fd = -1;

	if (access("/sys/bus/virtio/drivers/virtio_console", F_OK))
		return -1;
	for (int ms = 0; fd < 0 && ms < PORT_WAIT_MS; ms += PAUSE_MS) {
		fd = find_port();
		if (fd < 0)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000l }, NULL);
	}
	return fd;
}

static int open_uart(void)
{
	int fd = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios t;

	if (fd < 0)
		return -1;
	if (tcgetattr(fd, &t)) {
		close(fd); /* a port without hardware */
		return -1;
	}
	cfmakeraw(&t);
	cfsetspeed(&t, B115200);
	t.c_cflag |= CLOCAL;
	tcsetattr(fd, TCSANOW, &t);
	return fd;
}

static int open_channel(const char *which)
{
	int fd = -1;

	if (strcmp(which, "uart"))
		fd = open_virtio();
	if (fd < 0 && strcmp(which, "virtio"))
		fd = open_uart();
	return fd;
}

/* ---- the executor ---- */

static void split(char *text, char **word)
{
	size_t n = 0;

	for (char *w = strtok(text, "\n"); w && n < MAX_WORDS - 1; w = strtok(NULL, "\n"))
		word[n++] = w;
	word[n] = NULL;
}

static _Noreturn void be_executor(int channel, char **argv)
{
	char *none[] = { NULL };

	setsid();
	if (dup2(channel, STDIN_FILENO) >= 0 && dup2(channel, STDOUT_FILENO) >= 0)
		execve(argv[0], argv, none);
	say("cannot start %s: %s", argv[0], strerror(errno));
	_exit(127);
}

/* Wait for it, and bury whatever else ends. */
static int wait_for(pid_t executor)
{
	int status = 0;
	pid_t pid;

	do
		pid = wait(&status);
	while (pid != executor && (pid > 0 || errno == EINTR));
	return status;
}

static void run(void)
{
	static char text[4096];
	char *word[MAX_WORDS];
	int fd = open(VM_GUEST_CONFIG, O_RDONLY | O_CLOEXEC), channel, status;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	pid_t pid;

	if (n <= 0) {
		say("cannot read %s", VM_GUEST_CONFIG);
		return;
	}
	text[n] = '\0';
	split(text, word);
	channel = word[0] ? open_channel(word[0]) : -1;
	if (channel < 0 || !word[1]) {
		say("this kernel has neither virtio-serial nor a second 8250 UART");
		return;
	}
	pid = fork();
	if (pid == 0)
		be_executor(channel, word + 1);
	status = wait_for(pid);
	if (WIFSIGNALED(status))
		say("the executor ended with signal %d", WTERMSIG(status));
	else
		say("the executor ended with status %d", WEXITSTATUS(status));
}

int main(void)
{
	mount_all();
	load_modules();
	show_information();
	run();
	end();
}
