/* SPDX-License-Identifier: MIT */
/*
 * A guest without a kernel of its own: it stands in for QEMU, has the real executor run programs on
 * this machine, and writes reports to its console for programs that ask for it.
 */
#ifndef VM_FAKE_GUEST_H
#define VM_FAKE_GUEST_H

/*
 * What a program asks for: the pages that its first munmap takes. Each is a bug of the kernel that
 * this guest pretends to have.
 */
enum fake_bug {
	FAKE_WARNS = 41,  /* WARN_ON_ONCE() */
	FAKE_PANICS = 42, /* a panic, no answer, the end of the guest */
	FAKE_STALLS = 43, /* a hung task, at the first time of all: never again, in any guest */
	FAKE_THIRD = 44,  /* at the third such program since the guest came up: list corruption */
	FAKE_HANGS = 45,  /* a hung task, each time */
	FAKE_SAYS = 46,	  /* lines that are no report */
	FAKE_OOM = 47,	  /* out of memory: no fault of the kernel's */
};

/* As QEMU is started; FAKE_EXECUTOR and FAKE_STATE are in the environment. */
int fake_guest_main(int argc, char **argv);

#endif
