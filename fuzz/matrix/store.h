/* SPDX-License-Identifier: MIT */
/*
 * Verdicts that are kept: one JSON file a kernel, by what the program is. They hold for one kernel
 * image, one build of vmafuzz and one way of judging; a file of others is begun anew.
 */
#ifndef VM_MATRIX_STORE_H
#define VM_MATRIX_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "fuzz/matrix/matrix.h"
#include "harness/program/program.h"
#include "oracle/oracle.h"

struct vm_matrix_store;

/* The identity of a program, for vm_matrix_store_has(): hexadecimal. */
#define VM_PROGRAM_KEY 17
void vm_matrix_program_key(const struct vm_program *p, char key[VM_PROGRAM_KEY]);

/*
 * Open the file; `stamp` says what the verdicts depend on beside the program. NULL without memory
 * (a file that cannot be read, or is of another stamp, is an empty one).
 */
struct vm_matrix_store *vm_matrix_store_open(const char *path, const char *stamp);
void vm_matrix_store_close(struct vm_matrix_store *s);

/* Release, profile, contract, boot and run time are in it. */
int vm_matrix_store_set_kernel(struct vm_matrix_store *s, const struct vm_matrix_kernel *k);
void vm_matrix_store_kernel(const struct vm_matrix_store *s, struct vm_matrix_kernel *k);

bool vm_matrix_store_has(const struct vm_matrix_store *s, const char *key);

/* Did the program give this title? */
bool vm_matrix_store_gave(const struct vm_matrix_store *s, const char *key, const char *title);

/*
 * What the program gave: the verdicts of `j` that are deviations or worse, each title once; if
 * `died` is set, that too, as a title. `skip`: why it cannot run there (j is NULL). 0, or -1
 * without memory.
 */
int vm_matrix_store_put(struct vm_matrix_store *s, const char *key, const struct vm_judgement *j,
			bool died, const char *skip);

/* Write it, whole or not at all; 0, or -1 with one line in err. */
int vm_matrix_store_save(const struct vm_matrix_store *s, char *err, size_t errlen);

/*
 * Add the program's verdicts to the matrix, under the kernel's index and the program's name. 1; 0
 * if there are none; -1 without memory.
 */
int vm_matrix_store_add(const struct vm_matrix_store *s, const char *key, struct vm_matrix *m,
			size_t kernel, const char *program);

#endif
