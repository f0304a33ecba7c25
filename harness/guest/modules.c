/* SPDX-License-Identifier: MIT */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fts.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/modules.h"

#define MODULE_MAX (16u << 20)
#define READ_BYTES (256u << 10)

/* Virtio over PCI, and the driver of serial ports. */
static const char *const wanted[] = { "virtio_pci", "virtio_console" };

#define NWANTED (sizeof(wanted) / sizeof(wanted[0]))

/* A module's file somewhere in the folder. */
struct file {
	char *path;
	struct file *next;
};

struct gatherer {
	struct vm_modules *m;
	struct file *files;
	char *err;
	size_t errlen;
};

/* In names of modules - and _ are the same. */
static bool same_name(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i]))
			return false;
	return true;
}

/* Is this the file of the module: NAME.ko, or compressed? */
static bool is_file_of(const char *path, const char *name)
{
	const char *base = strrchr(path, '/') + 1;
	size_t n = strlen(name);

	return strlen(base) > n && same_name(base, name, n) && !strncmp(base + n, ".ko", 3) &&
	       (!base[n + 3] || base[n + 3] == '.');
}

static int list_files(struct gatherer *g, const char *folder)
{
	char *const paths[] = { (char *)(uintptr_t)folder, NULL };
	FTS *fts = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	FTSENT *e;

	while (fts && (e = fts_read(fts))) {
		struct file *f;

		/* `build` and `source` lead out of it. */
		if (e->fts_level == 1 && e->fts_info == FTS_D &&
		    (!strcmp(e->fts_name, "build") || !strcmp(e->fts_name, "source")))
			fts_set(fts, e, FTS_SKIP);
		if (e->fts_info == FTS_D || !strstr(e->fts_name, ".ko"))
			continue;
		f = malloc(sizeof(*f));
		if (!f || !(f->path = strdup(e->fts_path))) {
			free(f);
			break;
		}
		f->next = g->files;
		g->files = f;
	}
	if (fts && !errno) {
		fts_close(fts);
		return 0;
	}
	snprintf(g->err, g->errlen, "cannot read the modules in %s: %s", folder, strerror(errno));
	if (fts)
		fts_close(fts);
	return -1;
}

/* ---- one module ---- */

/* Read and decompress a file. */
static int load(struct gatherer *g, const char *path, struct vm_module *m)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	la_ssize_t n = -1;

	if (!a)
		return -1;
	archive_read_support_filter_all(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_filename(a, path, READ_BYTES) == ARCHIVE_OK &&
	    archive_read_next_header(a, &e) == ARCHIVE_OK) {
		m->bytes = malloc(MODULE_MAX);
		if (m->bytes)
			n = archive_read_data(a, m->bytes, MODULE_MAX);
	}
	if (n > 0) {
		uint8_t *less = realloc(m->bytes, (size_t)n);

		m->bytes = less ? less : m->bytes;
		m->len = (size_t)n;
	} else {
		snprintf(g->err, g->errlen, "cannot read the module %s: %s", path,
			 archive_error_string(a) ? archive_error_string(a) : "it is empty");
	}
	archive_read_free(a);
	return n > 0 ? 0 : -1;
}

static const char *modinfo(Elf *elf, const char *key)
{
	size_t names, n = strlen(key);
	Elf_Scn *scn = NULL;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr head;
		const char *name =
			gelf_getshdr(scn, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		Elf_Data *d = name && !strcmp(name, ".modinfo") ? elf_getdata(scn, NULL) : NULL;
		const char *at = d ? d->d_buf : NULL, *end = d ? at + d->d_size : NULL;

		if (!d || !d->d_size || end[-1])
			continue;
		for (; at < end; at += strlen(at) + 1)
			if (!strncmp(at, key, n))
				return at + n;
	}
	return NULL;
}

/* "a,b": the modules that must be loaded before it. */
static int dependencies(const struct vm_module *m, char *list, size_t size)
{
	const char *found;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)m->bytes, m->len);
	found = modinfo(elf, "depends=");
	snprintf(list, size, "%s", found ? found : "");
	if (elf)
		elf_end(elf);
	return found ? 0 : -1;
}

static bool have(const struct vm_modules *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strlen(m->module[i].name) == strlen(name) &&
		    same_name(m->module[i].name, name, strlen(name)))
			return true;
	return false;
}

static int gather(struct gatherer *g, const char *name, unsigned int depth);

static int gather_list(struct gatherer *g, char *list, unsigned int depth)
{
	char *save = NULL;

	for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (gather(g, w, depth))
			return -1;
	return 0;
}

/* A module after what it depends on. */
static int gather(struct gatherer *g, const char *name, unsigned int depth)
{
	struct vm_module m = { .bytes = NULL };
	const struct file *f = g->files;
	char list[512];
	int ret;

	while (f && !is_file_of(f->path, name))
		f = f->next;
	if (!f || have(g->m, name))
		return 0;
	snprintf(m.name, sizeof(m.name), "%s", name);
	ret = load(g, f->path, &m);
	if (!ret && dependencies(&m, list, sizeof(list))) {
		snprintf(g->err, g->errlen, "%s is no kernel module", f->path);
		ret = -1;
	}
	if (!ret && depth < VM_MAX_MODULES)
		ret = gather_list(g, list, depth + 1);
	if (!ret && g->m->n == VM_MAX_MODULES) {
		snprintf(g->err, g->errlen, "virtio-serial needs more than %d modules",
			 VM_MAX_MODULES);
		ret = -1;
	}
	if (ret)
		free(m.bytes);
	else
		g->m->module[g->m->n++] = m;
	return ret;
}

int vm_modules_gather(struct vm_modules *m, const char *folder, char *err, size_t errlen)
{
	struct gatherer g = { .m = m, .err = err, .errlen = errlen };
	int ret = list_files(&g, folder);

	m->n = 0;
	for (size_t i = 0; i < NWANTED && !ret; i++)
		ret = gather(&g, wanted[i], 0);
	while (g.files) {
		struct file *f = g.files;

		g.files = f->next;
		free(f->path);
		free(f);
	}
	if (ret)
		vm_modules_free(m);
	return ret;
}

void vm_modules_free(struct vm_modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->module[i].bytes);
	m->n = 0;
}
