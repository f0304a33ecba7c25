/* SPDX-License-Identifier: MIT */
/* Coverage as one self-contained page. */
#include <inttypes.h>
#include <stdlib.h>

#include "fuzz/cover/blocks.h"
#include "fuzz/cover/reach.h"
#include "fuzz/report/xml.h"

static const char head[] =
	"<style>\n"
	"body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 60em;"
	" padding: 0 1em; color: #1d2430; background: #fff; }\n"
	"table { border-collapse: collapse; width: 100%; margin: 1em 0 2em; }\n"
	"td, th { padding: .2em .6em; text-align: right; border-bottom: 1px solid #dde1e7; }\n"
	"td:first-child, th:first-child { text-align: left; }\n"
	"td a { color: inherit; }\n"
	".bar { width: 10em; padding: 0 .6em; }\n"
	".bar div { background: #d9dee6; height: .7em; border-radius: .2em; overflow: hidden; }\n"
	".bar i { display: block; height: 100%; background: #2f7d4f; }\n"
	"pre { background: #f4f6f9; padding: .6em; overflow-x: auto; font-size: 13px; }\n"
	"code { font-size: 14px; }\n"
	".why { color: #6a4b00; }\n"
	"@media (prefers-color-scheme: dark) { body { background: #14181f; color: #dfe4ec; }\n"
	" td, th { border-color: #333b47; } .bar div { background: #333b47; }\n"
	" .bar i { background: #58b27e; } pre { background: #1d232d; } .why { color: #e0b54e; } }\n"
	"</style>\n";

static double percent(uint32_t n, uint32_t of)
{
	return of ? 100.0 * n / of : 0;
}

static void cells(FILE *to, const struct vm_reach *r, const struct vm_cover_row *row)
{
	double share = percent(row->here, row->npoints);

	fprintf(to,
		"<td>%u</td><td>%u</td><td>%.1f%%</td><td class=\"bar\"><div><i style=\"width: "
		"%.1f%%\"></i></div></td>",
		row->here, row->npoints, share, share);
	if (r->compared)
		fprintf(to, "<td>%u</td><td>%.1f%%</td>", row->there,
			percent(row->there, row->npoints));
	fprintf(to, "<td>%u</td></tr>\n", row->excused);
}

static void table_head(FILE *to, const struct vm_reach *r, const char *what)
{
	fprintf(to, "<table>\n<tr><th>%s</th><th>reached</th><th>points</th><th></th><th></th>",
		what);
	if (r->compared)
		fprintf(to, "<th>the other</th><th></th>");
	fprintf(to, "<th>not reached, with a reason</th></tr>\n");
}

static const char *file_name(const struct vm_reach *r, uint32_t file)
{
	return r->points.file[file][0] ? r->points.file[file] : "functions";
}

static void files(FILE *to, const struct vm_reach *r)
{
	struct vm_cover_row sum;

	table_head(to, r, "file");
	for (uint32_t f = 0; f < r->points.nfiles; f++) {
		sum = vm_reach_sum(r, f);
		fprintf(to, "<tr><td><a href=\"#file%u\">", f);
		vm_xml_content(to, file_name(r, f));
		fprintf(to, "</a></td>");
		cells(to, r, &sum);
	}
	sum = vm_reach_sum(r, UINT32_MAX);
	fprintf(to, "<tr><td><b>all</b></td>");
	cells(to, r, &sum);
	fprintf(to, "</table>\n");
}

static void functions(FILE *to, const struct vm_reach *r, uint32_t file)
{
	fprintf(to, "<h2 id=\"file%u\">", file);
	vm_xml_content(to, file_name(r, file));
	fprintf(to, "</h2>\n");
	table_head(to, r, "function");
	for (uint32_t i = 0; i < r->nrows; i++) {
		if (r->row[i].file != file)
			continue;
		fprintf(to, "<tr><td><code>");
		vm_xml_content(to, r->row[i].name);
		fprintf(to, "</code></td>");
		cells(to, r, &r->row[i]);
	}
	fprintf(to, "</table>\n");
}

static void point(FILE *to, const struct vm_reach *r, uint32_t i)
{
	const struct vm_point *p = &r->points.point[i];
	const struct vm_cover_function *f = &r->points.function[p->function];
	char *code = vm_blocks_text(r->v, &p->block);

	fprintf(to, "<details><summary><code>");
	vm_xml_content(to, f->code.name);
	fprintf(to, "+0x%" PRIx64 "</code> ", p->pc - f->code.begin);
	vm_xml_content(to, r->at[i].source);
	fprintf(to, "%s", r->compared && r->at[i].there ? " (the other reached it)" : "");
	if (r->at[i].excuse) {
		fprintf(to, " <span class=\"why\">");
		vm_xml_content(to, r->at[i].excuse);
		fprintf(to, "</span>");
	}
	fprintf(to, "</summary>\n<pre>");
	if (code)
		vm_xml_content(to, code);
	fprintf(to, "</pre></details>\n");
	free(code);
}

static void missing(FILE *to, const struct vm_reach *r, uint32_t file)
{
	bool any = false;

	for (uint32_t i = 0; i < r->points.npoints; i++) {
		if (r->at[i].here || r->points.function[r->points.point[i].function].file != file)
			continue;
		if (!any)
			fprintf(to, "<h3>Not reached</h3>\n");
		any = true;
		point(to, r, i);
	}
}

char *vm_reach_html(const struct vm_reach *r, const char *title)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	fprintf(to, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>");
	vm_xml_content(to, title);
	fprintf(to,
		"</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n%s</head>"
		"<body>\n<h1>",
		head);
	vm_xml_content(to, title);
	fprintf(to, "</h1>\n");
	files(to, r);
	for (uint32_t f = 0; f < r->points.nfiles; f++) {
		functions(to, r, f);
		missing(to, r, f);
	}
	fprintf(to, "</body></html>\n");
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}
