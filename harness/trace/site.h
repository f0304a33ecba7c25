/* SPDX-License-Identifier: MIT */
/* Where an allocation was made to fail, from what the kernel said of it. */
#ifndef VM_SITE_H
#define VM_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/trace/trace.h"

/* What is being put together from lines of the kernel log. */
struct vm_site {
	char *text; /* VM_SITE_MAX bytes */
	size_t len;
	bool in_trace, done;
};

/*
 * One record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): "level,number,time,-;text\n". The
 * lines of lib/fault-inject.c fail_dump() give the kind ("failslab") and the functions of the call
 * trace, innermost first, but for those that make the failure and for the system call's entry.
 */
void vm_site_line(struct vm_site *s, const char *record, size_t len);

#endif
