/* SPDX-License-Identifier: MIT */
/*
 * The init of a guest that runs selftests of the kernel, each /tests/NAME, and then writes what
 * they went through (/tmp/pcs) to its second UART, between lines that say where it begins and ends.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_one(const char *type, const char *at)
{
	mkdir(at, 0755);
	if (mount(type, at, type, 0, NULL))
		perror(at);
}

static void run(const char *path)
{
	char *argv[] = { (char *)path, NULL }, *environment[] = { NULL };
	int status = 0;
	pid_t pid;

	printf("== %s\n", path);
	pid = fork();
	if (!pid) {
		if (chdir("/tmp"))
			perror("/tmp");
		execve(path, argv, environment);
		perror(path);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("== %s: status %d\n", path, status);
}

static void run_all(void)
{
	DIR *dir = opendir("/tests");
	struct dirent *d;
	char path[512];

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/tests/%s", d->d_name);
		run(path);
	}
}

static void tell(void)
{
	FILE *from = fopen("/tmp/pcs", "r"), *to = fopen("/dev/ttyS1", "w");
	char line[64];

	if (!from || !to) {
		perror("/tmp/pcs, /dev/ttyS1");
		return;
	}
	fprintf(to, "BEGIN\n");
	while (fgets(line, sizeof(line), from))
		fputs(line, to);
	fprintf(to, "END\n");
	fclose(to);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	mount_one("proc", "/proc");
	mount_one("sysfs", "/sys");
	mount_one("debugfs", "/sys/kernel/debug");
	mount_one("devtmpfs", "/dev");
	mount_one("tmpfs", "/tmp");
	run_all();
	tell();
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
