/* SPDX-License-Identifier: MIT */
/* One run of QEMU: started, listened to, ended. */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include "harness/guest/spec.h"
#include "harness/target/stream.h"

/* The two ways to the executor: the guest's init takes the first that the kernel has. */
enum { VM_LINK_VIRTIO, VM_LINK_UART, VM_LINKS };

struct vm_link {
	struct vm_process ends; /* descriptors alone */
	struct vm_stream stream;
};

struct vm_machine {
	struct vm_process process; /* QEMU's pid; its descriptors are the links' */
	struct vm_link link[VM_LINKS];
	int active;	       /* the link that has said hello, or -1 */
	uint64_t console_from; /* size of the console file before this run */
};

/* Nothing is running. */
void vm_machine_init(struct vm_machine *m);

/* The name of QEMU for an architecture. */
const char *vm_qemu_name(enum vm_arch arch);

/*
 * Start QEMU with an initramfs; its console goes to the end of `console`. accel: TCG or KVM. 0, or
 * -1 with one line in err.
 */
int vm_machine_start(struct vm_machine *m, const struct vm_guest_spec *spec, enum vm_accel accel,
		     const char *initramfs, const char *console, char *err, size_t errlen);

/*
 * The same with a shell command instead of QEMU, whose stdin and stdout are the only link. 0, or -1
 * with one line in err.
 */
int vm_machine_command(struct vm_machine *m, const char *command, char *err, size_t errlen);

/*
 * Kill it and all of its process group; no answer from a link any more. The last line on its
 * stderr, or "". The wait status, or -1 if it cannot be killed.
 */
int vm_machine_stop(struct vm_machine *m, unsigned int grace_ms, char words[VM_LINE_MAX]);

void vm_machine_free(struct vm_machine *m);

#endif
