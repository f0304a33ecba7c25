/* SPDX-License-Identifier: MIT */
/* Taking files out of Debian packages, without dpkg. */
#ifndef VM_KERNEL_UNPACK_H
#define VM_KERNEL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/kernel/kernel.h"

/*
 * Where a file of the package goes: fill in `to`, relative to the folder, and return true; false
 * leaves it out. `name` has no leading "./" or "/".
 */
typedef bool vm_place_fn(const char *name, char to[VM_KERNEL_PATH]);

/*
 * Unpack the regular files of a .deb that `place` wants into a folder, which is there. Owners and
 * links are not kept. 0, or -1 with one line in err; what was written then stays.
 */
int vm_deb_unpack(const char *deb, const char *folder, vm_place_fn *place, char *err,
		  size_t errlen);

/*
 * Unpack a whole tar file, of any compression, into a folder, without the first part of its names.
 * Links and times are kept, owners are not. 0, or -1 with one line in err.
 */
int vm_tar_unpack(const char *tar, const char *folder, char *err, size_t errlen);

/*
 * The places of a kernel's files: vmlinuz, config, modules.builtin and the like, and the modules
 * that a guest may need to reach its host (drivers/virtio, drivers/char), in modules/. All layouts
 * of Debian's packages are known.
 */
vm_place_fn vm_place_kernel;

#endif
