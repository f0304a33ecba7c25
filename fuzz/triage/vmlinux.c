/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "fuzz/triage/vmlinux.h"

/* A symbol of the kernel's table ends where the next begins: padding counts in a printed size. */
#define PADDING 128

struct vm_vmlinux {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf;
	GElf_Addr bias; /* dwfl's addresses minus the file's; 0 for a kernel */
	bool arm64;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* What is wrong with the file, if libelf's own words would not help. */
static bool is_kernel(const char *path, bool *arm64, char *err, size_t errlen)
{
	unsigned char id[20];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		snprintf(err, errlen, "cannot read %s: %s", path, strerror(errno));
		return false;
	}
	n = read(fd, id, sizeof(id));
	close(fd);
	if (n != (ssize_t)sizeof(id) || memcmp(id, ELFMAG, SELFMAG)) {
		snprintf(err, errlen, "%s is no ELF file: give the uncompressed vmlinux", path);
		return false;
	}
	*arm64 = id[18] == EM_AARCH64;
	if (*arm64 || id[18] == EM_X86_64)
		return true;
	snprintf(err, errlen, "%s is neither for x86-64 nor for arm64", path);
	return false;
}

struct vm_vmlinux *vm_vmlinux_open(const char *path, char *err, size_t errlen)
{
	struct vm_vmlinux *v = calloc(1, sizeof(*v));

	if (!v) {
		snprintf(err, errlen, "no memory to read %s", path);
		return NULL;
	}
	if (!is_kernel(path, &v->arm64, err, errlen)) {
		free(v);
		return NULL;
	}
	v->dwfl = dwfl_begin(&callbacks);
	if (v->dwfl) {
		dwfl_report_begin(v->dwfl);
		v->module = dwfl_report_offline(v->dwfl, "vmlinux", path, -1);
		dwfl_report_end(v->dwfl, NULL, NULL);
	}
	if (v->module)
		v->elf = dwfl_module_getelf(v->module, &v->bias);
	if (v->elf)
		return v;
	snprintf(err, errlen, "cannot read %s: %s", path, dwfl_errmsg(-1));
	vm_vmlinux_close(v);
	return NULL;
}

void vm_vmlinux_close(struct vm_vmlinux *v)
{
	if (v && v->dwfl)
		dwfl_end(v->dwfl);
	free(v);
}

bool vm_vmlinux_is_arm64(const struct vm_vmlinux *v)
{
	return v->arm64;
}

static void fill(struct vm_function *f, const char *name, uint64_t begin, uint64_t size)
{
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->begin = begin;
	f->size = size;
}

unsigned int vm_vmlinux_find(struct vm_vmlinux *v, const struct vm_place *place,
			     struct vm_function *f, unsigned int max)
{
	int symbols = dwfl_module_getsymtab(v->module);
	unsigned int n = 0, fitting = 0;

	for (int i = 0; i < symbols; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name =
			dwfl_module_getsym_info(v->module, i, &sym, &at, NULL, NULL, NULL);

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    strncmp(name, place->full, VM_SYMBOL_MAX - 1) || sym.st_size <= place->offset)
			continue;
		if (n == max)
			break;
		fill(&f[n], name, at - v->bias, sym.st_size);
		if (sym.st_size <= place->size && place->size < sym.st_size + PADDING) {
			struct vm_function swap = f[fitting];

			f[fitting++] = f[n];
			f[n] = swap;
		}
		n++;
	}
	return fitting ? fitting : n;
}

bool vm_vmlinux_at(struct vm_vmlinux *v, uint64_t address, struct vm_function *f)
{
	GElf_Off offset;
	GElf_Sym sym;
	const char *name =
		dwfl_module_addrinfo(v->module, address + v->bias, &offset, &sym, NULL, NULL, NULL);

	if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC)
		return false;
	fill(f, name, address - offset, sym.st_size);
	return true;
}

size_t vm_vmlinux_bytes(struct vm_vmlinux *v, uint64_t address, uint8_t *buf, size_t len)
{
	size_t n, size;
	const char *file = elf_rawfile(v->elf, &size);

	if (!file || elf_getphdrnum(v->elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		uint64_t at, left;

		if (!gelf_getphdr(v->elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		at = p.p_offset + (address - p.p_vaddr);
		left = p.p_filesz - (address - p.p_vaddr);
		if (at >= size)
			return 0;
		if (left > size - at)
			left = size - at;
		if (len > left)
			len = left;
		memcpy(buf, file + at, len);
		return len;
	}
	return 0;
}

/* Kernels name files from their source folder, or with the whole path: cut that down to it. */
static const char *in_tree(const char *path)
{
	static const char *const tops[] = { "/arch/", "/block/",    "/crypto/", "/drivers/",
					    "/fs/",   "/include/",  "/init/",	"/io_uring/",
					    "/ipc/",  "/kernel/",   "/lib/",	"/mm/",
					    "/net/",  "/security/", "/virt/" };
	const char *first = NULL;

	if (*path != '/')
		return path + (strncmp(path, "./", 2) ? 0 : 2);
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		const char *p = strstr(path, tops[i]);

		if (p && (!first || p < first))
			first = p;
	}
	return first ? first + 1 : path;
}

bool vm_vmlinux_source(struct vm_vmlinux *v, uint64_t address, char *buf, size_t len)
{
	Dwfl_Line *line = dwfl_module_getsrc(v->module, address + v->bias);
	const char *file = NULL;
	int number = 0;

	*buf = '\0';
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (!file || number <= 0)
		return false;
	snprintf(buf, len, "%s:%d", in_tree(file), number);
	return true;
}

static bool is_named(const char *name, const char *file)
{
	size_t len, want = strlen(file);

	if (!name)
		return false;
	len = strlen(name);
	return len >= want && !strcmp(name + len - want, file) &&
	       (len == want || name[len - want - 1] == '/');
}

/* The line of `file` that calls what was inlined as `scope`; 0 if it is of another file. */
static Dwarf_Word call_line(Dwarf_Die *scope, Dwarf_Files *files, const char *file)
{
	Dwarf_Word number, line;
	Dwarf_Attribute a;

	if (dwarf_tag(scope) != DW_TAG_inlined_subroutine ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &a), &number) ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &a), &line) ||
	    !is_named(dwarf_filesrc(files, number, NULL, NULL), file))
		return 0;
	return line;
}

bool vm_vmlinux_source_in(struct vm_vmlinux *v, uint64_t address, const char *file, char *buf,
			  size_t len)
{
	Dwarf_Die *unit, *scopes = NULL;
	Dwarf_Word line = 0;
	Dwarf_Files *files;
	Dwarf_Addr bias;
	size_t nfiles;
	char *colon;
	int n;

	if (!vm_vmlinux_source(v, address, buf, len))
		return false;
	colon = strrchr(buf, ':');
	*colon = '\0';
	if (is_named(buf, file)) {
		*colon = ':';
		return true;
	}
	*colon = ':';
	unit = dwfl_module_addrdie(v->module, address + v->bias, &bias);
	if (!unit || dwarf_getsrcfiles(unit, &files, &nfiles))
		return true;
	n = dwarf_getscopes(unit, address + v->bias - bias, &scopes);
	for (int i = 0; i < n && !line; i++)
		line = call_line(&scopes[i], files, file);
	free(scopes);
	if (line)
		snprintf(buf, len, "%s:%u", file, (unsigned int)line);
	return true;
}

void vm_vmlinux_each(struct vm_vmlinux *v, bool (*take)(void *arg, const struct vm_function *f),
		     void *arg)
{
	int symbols = dwfl_module_getsymtab(v->module);
	struct vm_function f;

	for (int i = 0; i < symbols; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name =
			dwfl_module_getsym_info(v->module, i, &sym, &at, NULL, NULL, NULL);

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_size)
			continue;
		fill(&f, name, at - v->bias, sym.st_size);
		if (!take(arg, &f))
			return;
	}
}

static int add_ranges(Dwarf_Die *unit, struct vm_range **range, int n)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(unit, offset, &base, &begin, &end)) > 0) {
		struct vm_range *more = realloc(*range, ((size_t)n + 1) * sizeof(*more));

		if (!more)
			return -1;
		*range = more;
		more[n++] = (struct vm_range){ begin, end };
	}
	return n;
}

int vm_vmlinux_unit(struct vm_vmlinux *v, const char *file, struct vm_range **range)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	int n = 0;

	*range = NULL;
	while (n >= 0 && (unit = dwfl_module_nextcu(v->module, unit, &bias)))
		/* Named from the folder of the build or the source, or with the whole path. */
		if (is_named(dwarf_diename(unit), file))
			n = add_ranges(unit, range, n);
	if (n > 0)
		return n;
	free(*range);
	*range = NULL;
	return n;
}
