/* SPDX-License-Identifier: MIT */
/* Configurations that kernels are built with: presets/NAME.config, laid over presets/base.config.
 */
#ifndef VM_KERNEL_PRESETS_H
#define VM_KERNEL_PRESETS_H

struct vm_preset {
	const char *name, *text;
};

/* Made from the files by CMake; the last has no name. `base` is among them. */
extern const struct vm_preset vm_presets[];

#endif
