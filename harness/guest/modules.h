/* SPDX-License-Identifier: MIT */
/* The kernel modules that a guest needs for its channel to the host. */
#ifndef VM_MODULES_H
#define VM_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define VM_MAX_MODULES 24

struct vm_module {
	char name[64];
	uint8_t *bytes; /* as the kernel loads it: not compressed */
	size_t len;
};

/* In the order in which they are to be loaded. */
struct vm_modules {
	struct vm_module module[VM_MAX_MODULES];
	size_t n;
};

/*
 * Find what virtio-serial over PCI needs in a folder of modules (/lib/modules/RELEASE, or one
 * unpacked from a package, on which depmod has not run): what modules depend on is read from the
 * modules themselves. What is not there is taken as built in; so an empty folder gives none. 0, or
 * -1 with one line in err.
 */
int vm_modules_gather(struct vm_modules *m, const char *folder, char *err, size_t errlen);

void vm_modules_free(struct vm_modules *m);

#endif
