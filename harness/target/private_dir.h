/* SPDX-License-Identifier: MIT */
/* A folder of a guest's own: its socket, console and initramfs, for nobody else to see. */
#ifndef VM_PRIVATE_DIR_H
#define VM_PRIVATE_DIR_H

#include <stddef.h>

#define VM_PRIVATE_DIR_MAX 80 /* with "/socket" it must fit a socket's address */

/*
 * Make one, mode 0700, below TMPDIR or /tmp; and remove those that a killed keeper and a killed
 * owner have left there. 0, or -1 with one line in err.
 */
int vm_private_dir_make(char path[VM_PRIVATE_DIR_MAX], char *err, size_t errlen);

/* Keep it from being removed as long as this process lives. 0, or -1 with one line in err. */
int vm_private_dir_hold(const char *path, char *err, size_t errlen);

/* Remove it and the files in it. */
void vm_private_dir_remove(const char *path);

#endif
