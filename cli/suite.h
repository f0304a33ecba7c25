/* SPDX-License-Identifier: MIT */
/* The programs of a check: .vma files below folders, with the names that tests have. */
#ifndef VM_CLI_SUITE_H
#define VM_CLI_SUITE_H

#include <stddef.h>

struct cli_test {
	char *path;
	char *name; /* "mremap/boundary_grow" */
};

/* Starts zeroed. */
struct cli_suite {
	struct cli_test *test;
	size_t n, cap;
};

/*
 * Add a file, or every .vma file below a folder, sorted by name. Names are relative to the folder;
 * that of a lone file is the last two parts of its path. 0, or -1 with one line in err.
 */
int cli_suite_add(struct cli_suite *s, const char *path, char *err, size_t errlen);

/*
 * Where a folder of the corpus is, conformance or regressions: corpus/FOLDER here, or beside the
 * folder of this program; the former where there is neither.
 */
void cli_corpus_path(const char *folder, char *path, size_t cap);

void cli_suite_free(struct cli_suite *s);

#endif
