/* SPDX-License-Identifier: MIT */
/* Programs that are kept: in memory as bytes, on disk as .bin (bytes) or .vma (text) files. */
#ifndef VM_CORPUS_H
#define VM_CORPUS_H

#include "harness/program/program.h"

struct vm_corpus_entry {
	uint8_t *bytes;
	uint32_t len;
};

/* Starts zeroed. */
struct vm_corpus {
	struct vm_corpus_entry *entry;
	size_t n, cap;
};

void vm_corpus_free(struct vm_corpus *c);

/* 0, or -1 without memory. */
int vm_corpus_add(struct vm_corpus *c, const struct vm_program *prog);

void vm_corpus_get(const struct vm_corpus *c, size_t i, struct vm_program *prog);

/* One file: text if it ends in .vma, else bytes. 0, or -1 with one line in err. */
int vm_corpus_read(const char *path, struct vm_program *prog, char *err, size_t errlen);

/*
 * Add every file of a folder (or the one file that `path` is), sorted by name: .vma as text, others
 * as bytes; folders in it are not entered, .md and .tmp files are not programs. 0, or -1 with one
 * line in err.
 */
int vm_corpus_load(struct vm_corpus *c, const char *path, char *err, size_t errlen);

/* Write to OUT/corpus under a name that is a hash of the bytes; *made: it was not there. 0 or -1.
 */
int vm_corpus_save(const char *out, const struct vm_program *prog, bool *made, char *err,
		   size_t errlen);

/* Write entry i as FOLDER/NAME.bin, the name as vm_corpus_save() gives it. 0, or -1 with err. */
int vm_corpus_write(const struct vm_corpus *c, size_t i, const char *folder, char *err,
		    size_t errlen);

#endif
