/* SPDX-License-Identifier: MIT */
/* `vmafuzz matrix`: the same programs on many kernels, a process a guest. */
#ifndef VM_CLI_MATRIX_H
#define VM_CLI_MATRIX_H

#include "cli/cli.h"
#include "cli/suite.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/matrix/store.h"

struct cli_matrix_kernel {
	char spec[VM_PATH_MAX]; /* a target */
	char name[96], label[32];
	char version[80]; /* of the package, or "" */
	char order[48];	  /* by which kernels are sorted; "" comes last */
	char image[64];	  /* says when the kernel was another one; "": verdicts are not kept */
	char file[128];	  /* of its verdicts, in CACHE/matrix */
};

struct cli_matrix_program {
	char key[VM_PROGRAM_KEY];
	const char *name;
	struct vm_program prog;
};

struct cli_matrix {
	struct cli_target target; /* how to judge */
	struct cli_suite suite;
	struct cli_matrix_program *program;
	size_t nprograms;
	struct cli_matrix_kernel *kernel;
	size_t nkernels;
	unsigned int jobs; /* guests at a time */
};

/* Add kernels and programs as operands name them, or the default ones. 0, or -1 and said. */
int cli_matrix_gather(struct cli_matrix *m, char **operand, int n);
void cli_matrix_free(struct cli_matrix *m);

/* A kernel of the cache, by name, as one of the matrix; 0, or -1 with one line in err. */
int cli_matrix_cached(struct cli_matrix_kernel *k, const char *name, char *err, size_t errlen);

/* Where the kernel's verdicts are kept, and what they depend on. 0, or -1 and said. */
int cli_matrix_store(const struct cli_matrix *m, const struct cli_matrix_kernel *k,
		     char path[VM_PATH_MAX], char *stamp, size_t cap);

/* Is the title kept as a verdict of that program on the kernel of that index? */
bool cli_matrix_gave(const struct cli_matrix *m, size_t kernel, const char *key, const char *title);

/*
 * Run on each kernel what is not known of it yet, a line on stderr for each, and make the matrix.
 * CLI_CONFORMS, CLI_FOUND if there is a violation, CLI_FAILED if a kernel could not be run (its
 * column says why) or the user interrupted it.
 */
enum cli_exit cli_matrix_run(const struct cli_matrix *m, struct vm_matrix *out);

/* In a process of its own: run the programs on one kernel, and keep the verdicts. The exit status.
 */
int cli_matrix_work(const struct cli_matrix *m, const struct cli_matrix_kernel *k);

/* --find: the versions in which the title comes and goes, by bisection over Debian's packages. */
enum cli_exit cli_matrix_find(const struct cli_matrix *m, const struct vm_matrix *known,
			      const char *title);

#endif
