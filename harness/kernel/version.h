/* SPDX-License-Identifier: MIT */
/* Versions of kernels and packages, and names made of them. Pure. */
#ifndef VM_KERNEL_VERSION_H
#define VM_KERNEL_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Order of versions as Debian's policy has it (5.6.12, without the epoch): runs of digits by
 * value, `~` before the end, letters before the rest. Negative, 0, positive.
 */
int vm_version_compare(const char *a, const char *b);

/* Is `version` 6.12.117, or 6.12.117-1~deb12u1, of the series or version `wanted`, 6.12? */
bool vm_version_matches(const char *version, const char *wanted);

/*
 * The upstream part of a package's version: 6.12.117 of 6.12.117-1~deb12u1; 7.4~rc2 stays so.
 * "" if it does not fit.
 */
void vm_version_upstream(const char *version, char *upstream, size_t cap);

/* Its first two numbers: 6.12. "" if there are not two. */
void vm_version_series(const char *version, char *series, size_t cap);

/*
 * A kernel's name in parts, KIND-VERSION[-SUFFIX]: debian-6.12.117-arm64. False if it is not of
 * that form. Parts that do not fit are cut.
 */
struct vm_kernel_id {
	char kind[32], version[48], suffix[32];
};

bool vm_kernel_id_parse(const char *name, struct vm_kernel_id *id);

#endif
