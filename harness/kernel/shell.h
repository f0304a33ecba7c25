/* SPDX-License-Identifier: MIT */
/* An initramfs with a shell, to look around on a kernel's guest. */
#ifndef VM_KERNEL_SHELL_H
#define VM_KERNEL_SHELL_H

#include "harness/kernel/fetch.h"

/*
 * A static busybox for the architecture of `apt`, from Debian's package busybox-static, in
 * CACHE/tools; fetched if it is not there. 0, or -1 with one line in err.
 */
int vm_shell_busybox(struct vm_apt *apt, char path[VM_KERNEL_PATH], char *err, size_t errlen);

/*
 * Write an initramfs with busybox, and `executor` as /bin/vmafuzz-executor unless it is NULL. Its
 * init runs a shell on the console and turns the guest off after it. 0, or -1 with one line in err.
 */
int vm_shell_initramfs(const char *path, const char *busybox, const char *executor, char *err,
		       size_t errlen);

#endif
