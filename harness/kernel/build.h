/* SPDX-License-Identifier: MIT */
/* Building a kernel beside its source, and putting it into the cache. */
#ifndef VM_KERNEL_BUILD_H
#define VM_KERNEL_BUILD_H

#include "harness/kernel/fetch.h"

/* What is instrumented for coverage where nothing else is asked for. */
#define VM_BUILD_COVER                                                                             \
	"mm/mmap.c,mm/vma.c,mm/mremap.c,mm/mseal.c,mm/mprotect.c,mm/madvise.c,mm/mlock.c,"         \
	"mm/msync.c,mm/mincore.c,mm/mempolicy.c"

struct vm_build {
	const char *tree;   /* an absolute path; not written to */
	const char *preset; /* fuzz, debug, perf */
	const char *name;   /* NULL: PRESET-VERSION */
	const char *cover; /* files as VM_BUILD_COVER, where the preset has coverage; NULL: those */
	unsigned int jobs; /* of make; 0: one a CPU */
	vm_progress_fn *progress; /* each file that is compiled, and what else happens */
	void *arg;
};

/*
 * Build it in CACHE/builds/NAME, which stays, so that it goes on where it was interrupted and
 * compiles little after a change; k is filled in. 0, or -1 with one line in err: the package that
 * is missing, or the compiler's first error.
 */
int vm_kernel_build(const struct vm_build *b, struct vm_kernel *k, char *err, size_t errlen);

/*
 * KCOV_INSTRUMENT_mremap.o=y for a file mm/mremap.c, as make takes it; -1 if it is no C file's
 * name. Files of the same name in other folders are instrumented too.
 */
int vm_build_cover_word(const char *file, size_t len, char *word, size_t cap);

#endif
