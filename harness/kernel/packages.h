/* SPDX-License-Identifier: MIT */
/* Which kernels a Debian mirror has, from its lists of packages. Pure. */
#ifndef VM_KERNEL_PACKAGES_H
#define VM_KERNEL_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/kernel/kernel.h"

/*
 * A kernel that can be had. Up to 6.18 one package, linux-image-RELEASE, holds all; from 6.19
 * linux-binary-RELEASE holds the image, linux-base-RELEASE its configuration, and
 * linux-modules-RELEASE, where the mirror has it, the modules.
 */
struct vm_package {
	char release[VM_KERNEL_NAME]; /* 6.12.117+deb12-cloud-amd64 */
	char version[VM_KERNEL_NAME]; /* 6.12.117-1~deb12u1 */
	char suite[32];
	char image[VM_KERNEL_NAME + 16]; /* package that holds the image */
	uint64_t size;			 /* of that package, in bytes */
	bool base, modules;		 /* linux-base-RELEASE, linux-modules-RELEASE are there */
};

struct vm_packages {
	char flavour[32];	 /* cloud-amd64 */
	struct vm_package *list; /* after vm_packages_join(): oldest first */
	size_t n;
	struct vm_package_row *row; /* what was read */
	size_t nrows;
	struct vm_stanza *stanza; /* what is being read */
	bool failed;		  /* out of memory */
};

/* Begin; `flavour` is what kernels' names end in. */
void vm_packages_begin(struct vm_packages *p, const char *flavour);

/* The next line of the suite's Packages file; "" ends a package. */
void vm_packages_line(struct vm_packages *p, const char *suite, const char *line);

/* After the last line: fill in list and n. 0, or -1 without memory. */
int vm_packages_join(struct vm_packages *p);

/*
 * The newest that matches 6.12, 6.12.43 or 6.12.43-1~bpo12+1; NULL if there is none.
 */
const struct vm_package *vm_packages_newest(const struct vm_packages *p, const char *wanted);

/* Is the i-th the newest of its series (6.12)? */
bool vm_packages_leads(const struct vm_packages *p, size_t i);

/* debian-6.12.117, and -FLAVOUR where that is not cloud-amd64: -arm64 for cloud-arm64. */
void vm_package_name(const struct vm_package *k, const char *flavour, char *name, size_t cap);

void vm_packages_free(struct vm_packages *p);

#endif
