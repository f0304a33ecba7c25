/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/cover/blocks.h"
#include "fuzz/cover/points.h"

#define TRACE "__sanitizer_cov_trace_pc"

struct finder {
	struct vm_points *p;
	struct vm_vmlinux *v;
	const char *functions; /* or NULL */
	struct vm_range *unit; /* of the file at hand */
	int nunits;
	uint32_t file;
	char *err;
	size_t errlen;
	bool failed;
};

static int fail(struct finder *f, const char *what)
{
	if (!f->failed)
		snprintf(f->err, f->errlen, "%s", what);
	f->failed = true;
	return -1;
}

/* ---- which functions ---- */

static bool in_unit(const struct finder *f, uint64_t address)
{
	for (int i = 0; i < f->nunits; i++)
		if (address >= f->unit[i].start && address < f->unit[i].end)
			return true;
	return false;
}

/* Is the name one of the list's? */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static void base_name(const char *full, char name[VM_SYMBOL_MAX])
{
	snprintf(name, VM_SYMBOL_MAX, "%s", full);
	name[strcspn(name, ".")] = '\0';
	if (!name[0])
		snprintf(name, VM_SYMBOL_MAX, "%s", full);
}

static bool add_function(void *arg, const struct vm_function *code)
{
	struct finder *f = arg;
	struct vm_points *p = f->p;
	struct vm_cover_function *more;
	char name[VM_SYMBOL_MAX];

	base_name(code->name, name);
	if (f->functions ? !is_listed(f->functions, name) : !in_unit(f, code->begin))
		return true;
	for (uint32_t i = 0; i < p->nfunctions; i++)
		if (p->function[i].code.begin == code->begin)
			return true; /* an alias */
	more = realloc(p->function, (p->nfunctions + 1) * sizeof(*more));
	if (!more) {
		fail(f, "no memory for the functions of vmlinux");
		return false;
	}
	p->function = more;
	more = &more[p->nfunctions++];
	*more = (struct vm_cover_function){ .code = *code, .file = f->file };
	memcpy(more->name, name, sizeof(name));
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct vm_cover_function *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->code.begin > y->code.begin) - (x->code.begin < y->code.begin);
}

static int add_file(struct finder *f, const char *name)
{
	char **more = realloc(f->p->file, (f->p->nfiles + 1) * sizeof(*more));
	char *copy = strdup(name);

	if (more)
		f->p->file = more;
	if (!more || !copy) {
		free(copy);
		return fail(f, "no memory for the names of files");
	}
	f->file = f->p->nfiles;
	f->p->file[f->p->nfiles++] = copy;
	return 0;
}

static int add_unit(struct finder *f, const char *name)
{
	char line[512];

	if (add_file(f, name))
		return -1;
	f->nunits = vm_vmlinux_unit(f->v, name, &f->unit);
	if (f->nunits < 0)
		return fail(f, "no memory for the units of vmlinux");
	if (!f->nunits) {
		snprintf(line, sizeof(line),
			 "vmlinux says of no code that it is of %s: is it built with "
			 "CONFIG_DEBUG_INFO_DWARF5? (or give --functions)",
			 name);
		return fail(f, line);
	}
	vm_vmlinux_each(f->v, add_function, f);
	free(f->unit);
	f->unit = NULL;
	return f->failed ? -1 : 0;
}

/* Files that are asked for by default need not be there: mm/vma.c came with 6.11. */
static int add_units(struct finder *f, const char *files)
{
	bool by_default = !strcmp(files, VM_COVER_FILES);
	char name[256];

	for (const char *at = files; *at;) {
		size_t len = strcspn(at, ",");

		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		at += len + (at[len] == ',');
		if (!len || (!add_unit(f, name)))
			continue;
		if (!by_default || f->p->nfunctions == 0)
			return -1;
		free(f->p->file[--f->p->nfiles]);
		f->failed = false;
	}
	return 0;
}

static int choose(struct finder *f, const char *files)
{
	if (!f->functions)
		return add_units(f, files);
	if (add_file(f, ""))
		return -1;
	vm_vmlinux_each(f->v, add_function, f);
	return f->failed ? -1 : 0;
}

static int all_are_there(struct finder *f)
{
	char line[256], name[VM_SYMBOL_MAX];

	for (const char *at = f->functions; at && *at;) {
		size_t len = strcspn(at, ",");
		bool found = !len;

		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		at += len + (at[len] == ',');
		for (uint32_t i = 0; i < f->p->nfunctions; i++)
			found |= !strcmp(f->p->function[i].name, name);
		if (found)
			continue;
		snprintf(line, sizeof(line), "vmlinux has no function %s (it may be inlined)",
			 name);
		return fail(f, line);
	}
	return 0;
}

/* ---- their points ---- */

static int add_points(struct finder *f, uint32_t index, const struct vm_blocks *b)
{
	struct vm_points *p = f->p;
	struct vm_cover_function *function = &p->function[index];
	struct vm_point *more;

	function->first = p->npoints;
	function->npoints = b->ncalls;
	function->nblocks = b->nblocks;
	if (!b->ncalls)
		return 0;
	more = realloc(p->point, (p->npoints + b->ncalls) * sizeof(*more));
	if (!more)
		return fail(f, "no memory for the points of vmlinux");
	p->point = more;
	for (uint32_t i = 0; i < b->ncalls; i++)
		more[p->npoints++] = (struct vm_point){
			.pc = b->call[i].after,
			.function = index,
			.block = b->call[i].block,
		};
	return 0;
}

static int disassemble(struct finder *f, uint64_t trace)
{
	struct vm_blocks b;
	char line[512];

	for (uint32_t i = 0; i < f->p->nfunctions; i++) {
		const struct vm_function *code = &f->p->function[i].code;
		int bad = vm_blocks_read(&b, f->v, code, trace, line, sizeof(line));

		if (bad)
			return fail(f, line);
		bad = add_points(f, i, &b);
		vm_blocks_free(&b);
		if (bad)
			return -1;
	}
	return 0;
}

int vm_points_find(struct vm_points *p, struct vm_vmlinux *v, const char *functions,
		   const char *files, char *err, size_t errlen)
{
	struct finder f = { .p = p, .v = v, .functions = functions, .err = err, .errlen = errlen };
	struct vm_place place = { .symbol = TRACE, .full = TRACE };
	struct vm_function trace;

	if (!vm_vmlinux_find(v, &place, &trace, 1))
		return fail(&f, "vmlinux has no " TRACE ": it was built without CONFIG_KCOV");
	if (choose(&f, files) || all_are_there(&f))
		goto out;
	qsort(p->function, p->nfunctions, sizeof(*p->function), by_address);
	if (!disassemble(&f, trace.begin) && !p->npoints)
		fail(&f, "nothing of this is instrumented: build the kernel with kcov for it "
			 "(KCOV_INSTRUMENT_FILE.o := y, or CONFIG_KCOV_INSTRUMENT_ALL)");
out:
	free(f.unit);
	if (f.failed)
		vm_points_free(p);
	return f.failed ? -1 : 0;
}

void vm_points_free(struct vm_points *p)
{
	for (uint32_t i = 0; i < p->nfiles; i++)
		free(p->file[i]);
	free(p->file);
	free(p->function);
	free(p->point);
	*p = (struct vm_points){ 0 };
}

const struct vm_point *vm_points_at(const struct vm_points *p, uint64_t pc)
{
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		const struct vm_cover_function *f = &p->function[i];

		if (pc < f->code.begin || pc > f->code.begin + f->code.size)
			continue;
		for (uint32_t k = f->first; k < f->first + f->npoints; k++)
			if (p->point[k].pc == pc)
				return &p->point[k];
	}
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct vm_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorted ranges less than `gap` apart become one: padding, or little that does not matter. */
static uint32_t merge(struct vm_range *range, uint32_t n, uint64_t gap)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < n; i++) {
		if (range[i].start > range[last].end + gap)
			range[++last] = range[i];
		else if (range[i].end > range[last].end)
			range[last].end = range[i].end;
	}
	return n ? last + 1 : 0;
}

int vm_points_places(const struct vm_points *p, struct vm_places *places)
{
	struct vm_range *range = calloc(p->nfunctions + 1, sizeof(*range));
	uint32_t n;

	if (!range)
		return -1;
	/* What a call at a function's very end returns to is behind it. */
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		const struct vm_function *f = &p->function[i].code;

		range[i] = (struct vm_range){ f->begin, f->begin + f->size + 1 };
	}
	qsort(range, p->nfunctions, sizeof(*range), by_start);
	n = merge(range, p->nfunctions, 64);
	for (uint64_t gap = 128; n > VM_MAX_PLACES; gap *= 2)
		n = merge(range, n, gap);
	*places = (struct vm_places){ .n = n, .range = range };
	return 0;
}
