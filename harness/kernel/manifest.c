/* SPDX-License-Identifier: MIT */
/* manifest.json of a kernel's folder; paths in it are relative to the folder. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/kernel/kernel.h"

#define MANIFEST "manifest.json"

struct field {
	const char *key;
	size_t at, size;
	bool path;
};

#define TEXT(f)                                                                                    \
	{                                                                                          \
#f, offsetof(struct vm_kernel, f), sizeof(((struct vm_kernel *)0)->f), false       \
	}
#define PATH(f)                                                                                    \
	{                                                                                          \
#f, offsetof(struct vm_kernel, f), sizeof(((struct vm_kernel *)0)->f), true        \
	}

static const struct field fields[] = { TEXT(name),    TEXT(release), TEXT(arch),
				       TEXT(version), TEXT(origin),  PATH(image),
				       PATH(modules), PATH(vmlinux), PATH(config) };

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

/* What follows `dir` in an absolute path; the path itself where it lies elsewhere. */
static const char *relative(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return n && !strncmp(path, dir, n) && path[n] == '/' ? path + n + 1 : path;
}

static json_t *to_json(const struct vm_kernel *k)
{
	json_t *root = json_object();

	for (size_t i = 0; i < NFIELDS; i++) {
		const char *text = (const char *)k + fields[i].at;

		if (fields[i].path)
			text = relative(text, k->dir);
		if (json_object_set_new(root, fields[i].key, json_string(text))) {
			json_decref(root);
			return NULL;
		}
	}
	return root;
}

int vm_kernel_write(const struct vm_kernel *k, const char *dir, char *err, size_t errlen)
{
	char path[VM_KERNEL_PATH + 32];
	json_t *root = to_json(k);
	FILE *f;
	int bad;

	snprintf(path, sizeof(path), "%s/" MANIFEST, dir);
	f = root ? fopen(path, "we") : NULL;
	if (!f) {
		snprintf(err, errlen, "cannot write %s: %s", path,
			 root ? strerror(errno) : "not UTF-8, or out of memory");
		json_decref(root);
		return -1;
	}
	bad = json_dumpf(root, f, JSON_INDENT(2)) || fputc('\n', f) == EOF || fflush(f) ||
	      fsync(fileno(f));
	json_decref(root);
	if (fclose(f) || bad) {
		snprintf(err, errlen, "cannot write %s: %s", path, strerror(errno));
		unlink(path);
		return -1;
	}
	return 0;
}

static int take(struct vm_kernel *k, const struct field *f, const json_t *root)
{
	const char *text = json_string_value(json_object_get(root, f->key));
	char *to = (char *)k + f->at;
	const char *dir = f->path && text && text[0] && text[0] != '/' ? k->dir : NULL;
	int n;

	if (!text)
		return -1;
	n = snprintf(to, f->size, "%s%s%s", dir ? dir : "", dir ? "/" : "", text);
	return n < 0 || (size_t)n >= f->size ? -1 : 0;
}

int vm_kernel_read(const char *name, struct vm_kernel *k, char *err, size_t errlen)
{
	char path[VM_KERNEL_PATH + 32], folder[VM_KERNEL_PATH];
	json_error_t why;
	json_t *root;

	*k = (struct vm_kernel){ 0 };
	if (!name[0] || name[0] == '.' || strchr(name, '/')) {
		snprintf(err, errlen, "%s cannot be a kernel's name", name);
		return -1;
	}
	if (vm_kernel_folder(folder, err, errlen))
		return -1;
	if (vm_kernel_path(k->dir, "%s/%s", folder, name)) {
		snprintf(err, errlen, "the path of kernel %s is too long", name);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/" MANIFEST, k->dir);
	root = json_load_file(path, 0, &why);
	if (!root) {
		snprintf(err, errlen, "cannot read %s: %s", path, why.text);
		return -1;
	}
	for (size_t i = 0; i < NFIELDS; i++) {
		if (take(k, &fields[i], root)) {
			snprintf(err, errlen, "%s: \"%s\" is missing or too long", path,
				 fields[i].key);
			json_decref(root);
			return -1;
		}
	}
	json_decref(root);
	return 0;
}
