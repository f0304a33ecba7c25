/* SPDX-License-Identifier: MIT */
/* Source trees that kernels are built from. */
#ifndef VM_KERNEL_SOURCE_H
#define VM_KERNEL_SOURCE_H

#include "harness/kernel/fetch.h"

/*
 * What `make kernelversion` would say of a tree, 6.12.117, read from its Makefile. 0, or -1 with
 * one line in err where it is no Linux tree.
 */
int vm_source_version(const char *tree, char version[VM_KERNEL_NAME], char *err, size_t errlen);

/*
 * The tree of Debian's package linux-source-SERIES for `wanted` (6.12, or a package's whole
 * version 6.12.117-1~deb12u1): downloaded and unpacked into CACHE/sources, or there already. 0, or
 * -1 with one line in err.
 */
int vm_source_fetch(struct vm_apt *apt, const char *wanted, vm_progress_fn *progress, void *arg,
		    char tree[VM_KERNEL_PATH], char *err, size_t errlen);

#endif
