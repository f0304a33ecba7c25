/* SPDX-License-Identifier: MIT */
/* The initramfs of a guest: init, the executor, the modules for the channel, and nothing else. */
#ifndef VM_INITRAMFS_H
#define VM_INITRAMFS_H

#include "harness/guest/modules.h"
#include "harness/guest/spec.h"

/*
 * Write it to `path`, as an uncompressed newc archive: a guest without KVM unpacks slowly. `init`
 * is the path of vmafuzz-init. 0, or -1 with one line in err.
 */
int vm_initramfs_write(const char *path, const char *init, const struct vm_guest_spec *spec,
		       const struct vm_modules *modules, char *err, size_t errlen);

#endif
