/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/folder.h"

#define TEXT_MAX (1u << 20)

void vm_corpus_free(struct vm_corpus *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->entry[i].bytes);
	free(c->entry);
	*c = (struct vm_corpus){ 0 };
}

int vm_corpus_add(struct vm_corpus *c, const struct vm_program *prog)
{
	uint8_t bytes[VM_BYTES_MAX];
	size_t len = vm_program_encode(prog, bytes, sizeof(bytes));
	uint8_t *copy;

	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct vm_corpus_entry *more = realloc(c->entry, cap * sizeof(*more));

		if (!more)
			return -1;
		c->entry = more;
		c->cap = cap;
	}
	copy = malloc(len ? len : 1);
	if (!copy)
		return -1;
	memcpy(copy, bytes, len);
	c->entry[c->n++] = (struct vm_corpus_entry){ .bytes = copy, .len = (uint32_t)len };
	return 0;
}

void vm_corpus_get(const struct vm_corpus *c, size_t i, struct vm_program *prog)
{
	vm_program_decode(c->entry[i].bytes, c->entry[i].len, prog);
}

static int parse(const char *path, const uint8_t *text, size_t len, struct vm_program *prog,
		 char *err, size_t errlen)
{
	struct vm_script *script = calloc(1, sizeof(*script));
	struct vm_parse_error perr;
	int ret;

	if (!script) {
		snprintf(err, errlen, "no memory to parse %s", path);
		return -1;
	}
	ret = vm_text_parse((const char *)text, len, script, &perr);
	if (ret)
		snprintf(err, errlen, "%s:%u:%u: %s", path, perr.line, perr.column, perr.message);
	else
		*prog = script->prog;
	free(script);
	return ret;
}

int vm_corpus_read(const char *path, struct vm_program *prog, char *err, size_t errlen)
{
	uint8_t *bytes;
	size_t len;
	int ret = 0;

	bytes = vm_file_read(path, TEXT_MAX, &len, err, errlen);
	if (!bytes)
		return -1;
	if (vm_has_suffix(path, ".vma"))
		ret = parse(path, bytes, len, prog, err, errlen);
	else
		vm_program_decode(bytes, len, prog);
	free(bytes);
	return ret;
}

int vm_corpus_load(struct vm_corpus *c, const char *path, char *err, size_t errlen)
{
	struct vm_program prog;
	char **paths;
	size_t n;
	int ret = 0;

	if (vm_folder_list(path, NULL, &paths, &n, err, errlen))
		return -1;
	for (size_t i = 0; i < n && !ret; i++) {
		/* libFuzzer gives its files no suffix: every name but text and temporary ones. */
		if (vm_has_suffix(paths[i], ".tmp") || vm_has_suffix(paths[i], ".md"))
			continue;
		ret = vm_corpus_read(paths[i], &prog, err, errlen);
		if (!ret && vm_corpus_add(c, &prog)) {
			snprintf(err, errlen, "no memory for the corpus in %s", path);
			ret = -1;
		}
	}
	vm_folder_list_free(paths, n);
	return ret;
}

static int write_named(const char *folder, const uint8_t *bytes, size_t len, bool *made, char *err,
		       size_t errlen)
{
	uint64_t hash = 14695981039346656037ull;
	char path[VM_PATH_MAX];

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	vm_path(path, "%s/%016" PRIx64 ".bin", folder, hash);
	*made = access(path, F_OK) != 0;
	return *made ? vm_file_write(path, bytes, len, err, errlen) : 0;
}

int vm_corpus_save(const char *out, const struct vm_program *prog, bool *made, char *err,
		   size_t errlen)
{
	uint8_t bytes[VM_BYTES_MAX];
	size_t len = vm_program_encode(prog, bytes, sizeof(bytes));
	char folder[VM_PATH_MAX];

	vm_path(folder, "%s/corpus", out);
	return write_named(folder, bytes, len, made, err, errlen);
}

int vm_corpus_write(const struct vm_corpus *c, size_t i, const char *folder, char *err,
		    size_t errlen)
{
	bool made;

	return write_named(folder, c->entry[i].bytes, c->entry[i].len, &made, err, errlen);
}
