/* SPDX-License-Identifier: MIT */
/*
 * Debian's packages through apt-get, with lists and a configuration of our own below
 * CACHE/../apt: that of the machine is read (mirror, keyring, proxy) and never changed. Nothing is
 * installed.
 */
#ifndef VM_KERNEL_APT_H
#define VM_KERNEL_APT_H

#include "harness/kernel/command.h"
#include "harness/kernel/packages.h"

struct vm_apt {
	char arch[16];		    /* amd64, arm64 */
	char dir[VM_KERNEL_PATH];   /* lists, sources and configuration */
	char conf[VM_KERNEL_PATH];  /* given to apt-get with -c */
	char lists[VM_KERNEL_PATH]; /* downloaded ones */
	char last[512];		    /* the last complaint of apt-get */
};

/* Debian's name of this machine's architecture, or NULL where it has none that is supported. */
const char *vm_apt_native(void);

/*
 * Prepare to ask for packages of an architecture. `mirror` is the address of a Debian mirror, NULL
 * for that of the machine's apt. 0, or -1 with one line in err (no apt-get, no Debian mirror).
 */
int vm_apt_open(struct vm_apt *a, const char *arch, const char *mirror, char *err, size_t errlen);

/* Are there lists, and are they younger than a day? */
bool vm_apt_fresh(const struct vm_apt *a);

/* Fetch the lists of the suites. 0, or -1 with one line in err. */
int vm_apt_update(struct vm_apt *a, char *err, size_t errlen);

/* Kernels of a flavour, from the lists. 0, or -1 with err. Free with vm_packages_free(). */
int vm_apt_kernels(struct vm_apt *a, const char *flavour, struct vm_packages *p, char *err,
		   size_t errlen);

/*
 * Download packages, each NAME or NAME=VERSION, NULL-terminated, into the folder `to`; goes on
 * where it was interrupted. 0, or -1 with one line in err.
 */
int vm_apt_download(struct vm_apt *a, const char *to, const char *const *packages, char *err,
		    size_t errlen);

#endif
