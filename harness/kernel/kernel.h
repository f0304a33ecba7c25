/* SPDX-License-Identifier: MIT */
/*
 * Kernels that lie in the cache, by name: fetched from a distribution or built. A folder each,
 * CACHE/kernels/NAME with a manifest.json, made whole or not at all.
 */
#ifndef VM_KERNEL_H
#define VM_KERNEL_H

#include <stddef.h>

#define VM_KERNEL_NAME 80
#define VM_KERNEL_PATH 1024

struct vm_kernel {
	char name[VM_KERNEL_NAME];    /* debian-6.12.117, debian-6.12.117-arm64, fuzz-6.12.117 */
	char release[VM_KERNEL_NAME]; /* as uname -r has it: 6.12.117+deb12-cloud-amd64 */
	char arch[16];		      /* as uname -m has it: x86_64, aarch64 */
	char version[VM_KERNEL_NAME]; /* of the package or source, 6.12.117-1~deb12u1; or "" */
	char origin[160];	      /* for people: "debian bookworm-security", "built from ..." */
	/* Absolute paths; "" where there is none. */
	char dir[VM_KERNEL_PATH];
	char image[VM_KERNEL_PATH];   /* bzImage or arm64's Image */
	char modules[VM_KERNEL_PATH]; /* holds modules.builtin and kernel/ */
	char vmlinux[VM_KERNEL_PATH]; /* with symbols */
	char config[VM_KERNEL_PATH];
};

/* A path, as snprintf makes it; -1 and "" where it does not fit. */
int vm_kernel_path(char path[VM_KERNEL_PATH], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The folder of kernels: ${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vmafuzz}/kernels, which need
 * not be there. 0, or -1 with one line in err.
 */
int vm_kernel_folder(char path[VM_KERNEL_PATH], char *err, size_t errlen);

/* CACHE/PART beside it: sources, builds, apt. As vm_kernel_folder(). */
int vm_cache_folder(char path[VM_KERNEL_PATH], const char *part, char *err, size_t errlen);

/*
 * The kernel of that name, or the newest whose version begins so: debian-6.12 is debian-6.12.117
 * if that is the newest 6.12 there. 0, or -1 with one line in err that says how to get it.
 */
int vm_kernel_find(const char *name, struct vm_kernel *k, char *err, size_t errlen);

/*
 * All kernels there, oldest first, in malloc()ed memory. A folder whose manifest cannot be read is
 * left out. 0, or -1 with one line in err.
 */
int vm_kernel_list(struct vm_kernel **list, size_t *n, char *err, size_t errlen);

/* Write k's manifest into `dir` (which may still have a temporary name); 0, or -1 with err. */
int vm_kernel_write(const struct vm_kernel *k, const char *dir, char *err, size_t errlen);

/* Read CACHE/kernels/NAME; 0, or -1 with one line in err. No aliases. */
int vm_kernel_read(const char *name, struct vm_kernel *k, char *err, size_t errlen);

#endif
