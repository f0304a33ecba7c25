/* SPDX-License-Identifier: MIT */
/* Surviving SIGSEGV and SIGBUS where one is expected: touches, and reading pages. */
#ifndef VM_FAULT_H
#define VM_FAULT_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/program/contents.h"

struct vm_fault {
	sigjmp_buf env;
	volatile sig_atomic_t armed;
	int signo, code;
	uint64_t addr;
	uint32_t rights; /* of protection keys (PKRU), before: a signal handler gets others */
};

/*
 * Handle both signals on `stack` from now on, in this process and its children; `f` stays where it
 * is. While it is armed, a signal fills in *f and jumps to f->env; otherwise it kills.
 */
int vm_fault_install(struct vm_fault *f, void *stack, size_t size);

/* Between the two a signal jumps to f->env, which must be set. */
void vm_fault_arm(struct vm_fault *f);
void vm_fault_disarm(struct vm_fault *f);

/* vm_content_digest() of a page that may fault: false if it did. */
bool vm_fault_digest(const void *page, size_t page_size, struct vm_content *out);

#endif
