/* SPDX-License-Identifier: MIT */
/* Files and folders of the cache. Each returns 0, or -1 with one line in err. */
#ifndef VM_KERNEL_FILES_H
#define VM_KERNEL_FILES_H

#include <stddef.h>

/* A folder and those above it. */
int vm_make_folders(const char *path, char *err, size_t errlen);

/* A file, whole or not at all. */
int vm_write_text(const char *path, const char *text, char *err, size_t errlen);

/* Delete a folder with all in it; nothing happens if there is none. */
int vm_remove_tree(const char *path, char *err, size_t errlen);

/*
 * Wait for the lock file (made if need be) and hold it; its descriptor, or -1. The kernel lets go
 * of it when the process ends. `waiting` is called once if another has it.
 */
int vm_lock(const char *path, void (*waiting)(const char *path), char *err, size_t errlen);

#endif
