/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/vmlinux.h"

#define PREFIX "kernel:"

const char *cli_vmlinux_of(const char *spec, struct vm_kernel *k)
{
	char name[VM_KERNEL_NAME], err[512];

	if (!spec || strncmp(spec, PREFIX, strlen(PREFIX)))
		return NULL;
	spec += strlen(PREFIX);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, ","), spec);
	if (vm_kernel_find(name, k, err, sizeof(err)) || !k->vmlinux[0])
		return NULL;
	return k->vmlinux;
}
