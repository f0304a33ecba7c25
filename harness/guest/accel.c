/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/guest/accel.h"
#include "harness/guest/machine.h"

/* The folder of the cache; false where there is no home. */
static bool cache_folder(char *path, size_t size)
{
	const char *own = getenv("VMAFUZZ_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n;

	if (own && own[0])
		n = snprintf(path, size, "%s", own);
	else if (xdg && xdg[0] == '/')
		n = snprintf(path, size, "%s/vmafuzz", xdg);
	else if (home && home[0] == '/')
		n = snprintf(path, size, "%s/.cache/vmafuzz", home);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

/* "6.18.44 QEMU emulator version 7.2.22 (...)": what the answer is for. */
static bool make_key(enum vm_arch arch, char *key, size_t size)
{
	char command[64], version[128] = "";
	struct utsname u;
	FILE *f;

	snprintf(command, sizeof(command), "%s --version 2>/dev/null", vm_qemu_name(arch));
	f = popen(command, "re"); /* NOLINT(cert-env33-c): a constant */
	if (!f)
		return false;
	if (!fgets(version, sizeof(version), f))
		version[0] = '\0';
	pclose(f);
	version[strcspn(version, "\n\t")] = '\0';
	if (!version[0] || uname(&u))
		return false;
	snprintf(key, size, "%s %s %s", u.release, u.version, version);
	return true;
}

static bool is_ours(enum vm_arch arch)
{
	struct utsname u;

	return !uname(&u) && !strcmp(u.machine, arch == VM_ARCH_ARM64 ? "aarch64" : "x86_64");
}

static bool can_open(void)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum vm_kvm vm_kvm_known(enum vm_arch arch)
{
	char path[PATH_MAX], file[PATH_MAX + 8], key[512], line[600];
	enum vm_kvm answer = VM_KVM_UNKNOWN;
	FILE *f;

	if (!is_ours(arch) || !can_open())
		return VM_KVM_NO;
	if (!cache_folder(path, sizeof(path)) || !make_key(arch, key, sizeof(key)))
		return VM_KVM_UNKNOWN;
	snprintf(file, sizeof(file), "%s/kvm", path);
	f = fopen(file, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *tab = strchr(line, '\t');

		if (!tab)
			continue;
		*tab++ = '\0';
		if (!strcmp(line, key))
			answer = !strcmp(tab, "yes\n") ? VM_KVM_YES : VM_KVM_NO;
	}
	if (f)
		fclose(f);
	return answer;
}

void vm_kvm_remember(enum vm_arch arch, enum vm_kvm answer)
{
	char path[PATH_MAX], file[PATH_MAX + 8], line[600], key[512];
	int fd, n;

	if (!cache_folder(path, sizeof(path)) || !make_key(arch, key, sizeof(key)))
		return;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	mkdir(path, 0777);
	snprintf(file, sizeof(file), "%s/kvm", path);
	n = snprintf(line, sizeof(line), "%s\t%s\n", key, answer == VM_KVM_YES ? "yes" : "no");
	/* One write, appended: others may do the same. The last line counts. */
	fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) != n)
		unlink(file); /* half a line would be taken for an answer */
	close(fd);
}
