/* SPDX-License-Identifier: MIT */
/* Getting a kernel from Debian's mirror into the cache. */
#ifndef VM_KERNEL_FETCH_H
#define VM_KERNEL_FETCH_H

#include "harness/kernel/apt.h"

/* What is going on, for a person: one line, without a newline. */
typedef void vm_progress_fn(void *arg, const char *line);

struct vm_fetch {
	struct vm_apt *apt;
	const char *flavour;
	vm_progress_fn *progress;
	void *arg;
};

/*
 * Download `p`, unpack it, and put it into the cache, whole or not at all; k is filled in. Nothing
 * happens where the cache has it. What was downloaded before an interruption is kept for the next
 * time. 1 fetched, 0 it was there, or -1 with one line in err.
 */
int vm_kernel_fetch(const struct vm_fetch *f, const struct vm_package *p, struct vm_kernel *k,
		    char *err, size_t errlen);

/*
 * Is this driver (VIRTIO_CONSOLE) a module by the kernel's configuration? Without a configuration
 * it is not.
 */
bool vm_config_is_module(const char *config, const char *symbol);

#endif
