/* SPDX-License-Identifier: MIT */
/* The vmlinux of a target. */
#ifndef VM_CLI_VMLINUX_H
#define VM_CLI_VMLINUX_H

#include "harness/kernel/kernel.h"

/*
 * The path of the vmlinux of a `kernel:NAME` target whose kernel has one; it is stored in `k`. NULL
 * for other targets.
 */
const char *cli_vmlinux_of(const char *spec, struct vm_kernel *k);

#endif
