/* SPDX-License-Identifier: MIT */
/* What the host and the guest's init agree on. */
#ifndef VM_GUEST_H
#define VM_GUEST_H

#define VM_GUEST_PORT	  "vmafuzz"	 /* name of the virtio-serial port */
#define VM_GUEST_CONFIG	  "/etc/vmafuzz" /* see init/init.c */
#define VM_GUEST_MODULES  "/modules"	 /* to be loaded, in the order of their names */
#define VM_GUEST_EXECUTOR "/vmafuzz-executor"

#endif
