/* SPDX-License-Identifier: MIT */
/* Files and folders of a campaign: whole or not at all, with errors that say what to do. */
#ifndef VM_FOLDER_H
#define VM_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_PATH_MAX 1024

/*
 * A path, as snprintf makes it. vm_campaign_prepare() refuses an --out so long that one of ours
 * would not fit; then, it is empty, and opening it fails.
 */
void vm_path(char path[VM_PATH_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Make a folder and those above it; 0, or -1 with one line in err. */
int vm_folder_make(const char *path, char *err, size_t errlen);

/* Write `len` bytes under a temporary name beside `path`, then rename; 0, or -1 with err. */
int vm_file_write(const char *path, const void *bytes, size_t len, char *err, size_t errlen);

/*
 * Read a whole file of at most `max` bytes into malloc()ed memory with a NUL behind it; NULL with
 * one line in err.
 */
uint8_t *vm_file_read(const char *path, size_t max, size_t *len, char *err, size_t errlen);

/* Delete a folder of plain files (not of folders); nothing happens if there is none. */
void vm_folder_remove(const char *path);

/*
 * The regular files of a folder whose names end in `suffix` (any, if NULL), sorted by name,
 * malloc()ed as is each path; a file as `path` gives itself. -1 with one line in err if it cannot
 * be read.
 */
int vm_folder_list(const char *path, const char *suffix, char ***paths, size_t *n, char *err,
		   size_t errlen);
void vm_folder_list_free(char **paths, size_t n);

bool vm_has_suffix(const char *name, const char *suffix);

/* A file of `size` bytes, made or kept, mapped shared and writable; NULL with err. */
void *vm_file_map(const char *path, size_t size, char *err, size_t errlen);

#endif
