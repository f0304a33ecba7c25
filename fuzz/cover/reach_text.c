/* SPDX-License-Identifier: MIT */
/* Coverage as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/cover/blocks.h"
#include "fuzz/cover/reach.h"
#include "fuzz/report/json.h"

static double percent(uint32_t n, uint32_t of)
{
	return of ? 100.0 * n / of : 0;
}

static void print_row(FILE *to, const struct vm_reach *r, const struct vm_cover_row *row,
		      const char *name)
{
	fprintf(to, "%-36s %5u / %-5u %5.1f%%", name, row->here, row->npoints,
		percent(row->here, row->npoints));
	if (r->compared)
		fprintf(to, "   %5u %5.1f%%", row->there, percent(row->there, row->npoints));
	if (row->excused)
		fprintf(to, "   %u with a reason", row->excused);
	fputc('\n', to);
}

static void print_file(FILE *to, const struct vm_reach *r, uint32_t file)
{
	struct vm_cover_row sum = vm_reach_sum(r, file);
	char name[64];

	fprintf(to, "\n");
	print_row(to, r, &sum, r->points.file[file][0] ? r->points.file[file] : "functions");
	for (uint32_t i = 0; i < r->nrows; i++) {
		if (r->row[i].file != file)
			continue;
		snprintf(name, sizeof(name), "  %s", r->row[i].name);
		print_row(to, r, &r->row[i], name);
	}
}

static void print_code(FILE *to, const struct vm_reach *r, const struct vm_point *point)
{
	char *text = vm_blocks_text(r->v, &point->block), *line = text;

	while (line && *line) {
		size_t len = strcspn(line, "\n");

		fprintf(to, "      %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
	free(text);
}

static void print_missing(FILE *to, const struct vm_reach *r)
{
	fprintf(to, "\nnot reached:\n");
	for (uint32_t i = 0; i < r->points.npoints; i++) {
		const struct vm_point *point = &r->points.point[i];
		const struct vm_cover_function *f = &r->points.function[point->function];

		if (r->at[i].here)
			continue;
		fprintf(to, "\n  %s+0x%" PRIx64 "%s%s%s\n", f->code.name, point->pc - f->code.begin,
			r->at[i].source[0] ? "  " : "", r->at[i].source,
			r->compared && r->at[i].there ? "  (the other reached it)" : "");
		if (r->at[i].excuse)
			fprintf(to, "    %s\n", r->at[i].excuse);
		print_code(to, r, point);
	}
}

void vm_reach_print(FILE *to, const struct vm_reach *r, bool missing)
{
	struct vm_cover_row all = vm_reach_sum(r, UINT32_MAX);

	fprintf(to, "%-36s reached / all points%s\n", "", r->compared ? "   the other" : "");
	for (uint32_t f = 0; f < r->points.nfiles; f++)
		print_file(to, r, f);
	fprintf(to, "\n");
	print_row(to, r, &all, "all");
	if (missing)
		print_missing(to, r);
}

/* ---- JSON ---- */

static json_t *json_row(const struct vm_reach *r, const struct vm_cover_row *row, const char *name)
{
	json_t *o = json_object();

	vm_json_text(o, "name", name);
	vm_json_number(o, "points", row->npoints);
	vm_json_number(o, "reached", row->here);
	if (r->compared)
		vm_json_number(o, "other", row->there);
	vm_json_number(o, "with_reason", row->excused);
	return o;
}

static json_t *json_missing(const struct vm_reach *r, uint32_t i)
{
	const struct vm_point *point = &r->points.point[i];
	const struct vm_cover_function *f = &r->points.function[point->function];
	char *code = vm_blocks_text(r->v, &point->block), pc[24];
	json_t *o = json_object();

	snprintf(pc, sizeof(pc), "%" PRIx64, point->pc);
	vm_json_text(o, "pc", pc);
	vm_json_text(o, "function", f->code.name);
	vm_json_number(o, "offset", point->pc - f->code.begin);
	if (r->at[i].source[0])
		vm_json_text(o, "source", r->at[i].source);
	if (r->at[i].excuse)
		vm_json_text(o, "reason", r->at[i].excuse);
	if (r->compared)
		json_object_set_new(o, "other", json_boolean(r->at[i].there));
	if (code)
		vm_json_lines(o, "code", code);
	free(code);
	return o;
}

char *vm_reach_json(const struct vm_reach *r)
{
	struct vm_cover_row all = vm_reach_sum(r, UINT32_MAX);
	json_t *root = json_row(r, &all, "all"), *files = json_array(), *missing = json_array();

	for (uint32_t f = 0; f < r->points.nfiles; f++) {
		struct vm_cover_row sum = vm_reach_sum(r, f);
		json_t *file = json_row(r, &sum, r->points.file[f]), *functions = json_array();

		for (uint32_t i = 0; i < r->nrows; i++)
			if (r->row[i].file == f)
				json_array_append_new(functions,
						      json_row(r, &r->row[i], r->row[i].name));
		json_object_set_new(file, "functions", functions);
		json_array_append_new(files, file);
	}
	for (uint32_t i = 0; i < r->points.npoints; i++)
		if (!r->at[i].here)
			json_array_append_new(missing, json_missing(r, i));
	json_object_set_new(root, "files", files);
	json_object_set_new(root, "not_reached", missing);
	return vm_json_dump(root);
}
