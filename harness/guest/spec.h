/* SPDX-License-Identifier: MIT */
/* `qemu:IMAGE[,option...]`: what guest one wants. */
#ifndef VM_GUEST_SPEC_H
#define VM_GUEST_SPEC_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum vm_arch { VM_ARCH_X86_64, VM_ARCH_ARM64, VM_ARCH_COUNT };

enum vm_accel { VM_ACCEL_AUTO, VM_ACCEL_TCG, VM_ACCEL_KVM };

enum vm_channel { VM_CHANNEL_AUTO, VM_CHANNEL_VIRTIO, VM_CHANNEL_UART };

struct vm_guest_spec {
	char image[PATH_MAX];	/* bzImage or vmlinux; Image for arm64 */
	char modules[PATH_MAX]; /* folder of the kernel's modules, or "" */
	char append[1024];	/* more words for the kernel's command line */
	uint64_t mem_mib;
	unsigned int cpus;
	enum vm_arch arch;
	enum vm_accel accel;
	enum vm_channel channel;
	/* of the guest's executor */
	char executor[PATH_MAX];
	char inject[64]; /* injected fault, or "" */
	unsigned int timeout_ms;
	int privileged;
};

/*
 * From `qemu:IMAGE,mem=M,cpus=N,append=...,arch=x86_64|arm64,modules=DIR,accel=tcg|kvm,
 * channel=virtio|uart` (a comma in a value is written twice). The image is looked at: its kind says
 * the architecture where `arch` does not. Leaves what concerns the executor alone. 0, or -1 with
 * one line in err.
 */
int vm_guest_spec_parse(struct vm_guest_spec *s, const char *text, char *err, size_t errlen);

const char *vm_arch_name(enum vm_arch arch);

#endif
