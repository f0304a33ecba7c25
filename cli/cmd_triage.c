/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "fuzz/report/json.h"
#include "fuzz/triage/decode.h"

enum { OPT_VMLINUX = CLI_OPT_OWN, OPT_JSON };

static const struct cli_option options[] = {
	{ "vmlinux", OPT_VMLINUX, "FILE",
	  "the uncompressed kernel: instructions get their place, functions their source line" },
	{ "json", OPT_JSON, NULL, "one JSON object instead of text" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"triage LOG... [options]",
	"Find what a kernel's console complains of, a title for each complaint, the code at the\n"
	"place (- reads the log from stdin). Exit status: 0 nothing, 1 warnings or stalls, 2 the\n"
	"kernel broke.",
	options,
};

struct request {
	const char *vmlinux;
	bool json;
};

struct triage {
	const char *path;
	struct vm_vmlinux *vmlinux;
	struct vm_console *console;
	json_t *reports; /* with --json */
	enum cli_exit status;
};

static int parse(struct request *q, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (id == OPT_VMLINUX)
			q->vmlinux = arg;
		else
			q->json = true;
	}
	if (optind < argc)
		return 0;
	cli_error("triage needs a console log; see vmafuzz triage --help");
	return CLI_BAD;
}

/* Feed a whole file; 0, or -1 and said. */
static int read_log(struct triage *t)
{
	bool standard = !strcmp(t->path, "-");
	FILE *f = standard ? stdin : fopen(t->path, "r");
	char buf[16384];
	int bad = 0;
	size_t n;

	if (f) {
		while ((n = fread(buf, 1, sizeof(buf), f)))
			vm_console_feed(t->console, buf, n);
		bad = ferror(f);
	}
	if (!f || bad)
		cli_error("cannot read %s: %s", t->path, strerror(errno));
	if (f && !standard)
		fclose(f);
	vm_console_settle(t->console);
	return f && !bad ? 0 : -1;
}

static void print_instruction(const struct vm_instruction *i, bool linked)
{
	char bytes[3 * sizeof(i->bytes) + 1];
	size_t at = 0;

	for (unsigned int b = 0; b < i->len; b++)
		at += (size_t)snprintf(bytes + at, sizeof(bytes) - at, "%02x ", i->bytes[b]);
	if (linked)
		printf("    %s %016" PRIx64 ": %-30s %s%s\n", i->at_pc ? "->" : "  ", i->address,
		       bytes, i->text, i->patched ? "  # patched at run time" : "");
	else
		printf("    %s %+5" PRId64 ": %-30s %s\n", i->at_pc ? "->" : "  ",
		       (int64_t)i->address, bytes, i->text);
}

static void print_code(const struct triage *t, const struct vm_report *r,
		       const struct vm_decoded *d)
{
	if (d->linked)
		printf("  at %s+0x%" PRIx64 "/0x%" PRIx64 "%s%s\n", d->function.name,
		       d->pc - d->function.begin, d->function.size, d->source[0] ? ", " : "",
		       d->source);
	else if (r->pc.symbol[0])
		printf("  at %s+0x%" PRIx64 "/0x%" PRIx64 "%s%s\n", r->pc.full, r->pc.offset,
		       r->pc.size, r->pc.module[0] ? " in module " : "", r->pc.module);
	for (unsigned int i = 0; i < d->n; i++)
		print_instruction(&d->insn[i], d->linked);
	if (d->note[0] && (t->vmlinux || r->pc.symbol[0]))
		printf("  (%s)\n", d->note);
}

static void print_report(const struct triage *t, const struct vm_report *r,
			 const struct vm_decoded *d)
{
	char source[128];

	printf("%s:%" PRIu64 ": %s\n", t->path, r->line, r->title);
	printf("  %s, %s%s\n", vm_report_kind_name(r->kind), vm_report_severity_name(r->severity),
	       r->after ? ", after an earlier one broke the kernel" : "");
	print_code(t, r, d);
	for (unsigned int i = 0; i < r->nframes; i++) {
		const struct vm_place *f = &r->frame[i];
		bool known = t->vmlinux && vm_decode_frame(t->vmlinux, f, source, sizeof(source));

		printf("  called by %s+0x%" PRIx64 "%s%s\n", f->symbol, f->offset,
		       known ? ", " : "", known ? source : "");
	}
}

static json_t *json_frame(const struct triage *t, const struct vm_place *f)
{
	json_t *o = json_object();
	char source[128];

	vm_json_text(o, "function", f->symbol);
	vm_json_number(o, "offset", f->offset);
	if (f->module[0])
		vm_json_text(o, "module", f->module);
	if (t->vmlinux && vm_decode_frame(t->vmlinux, f, source, sizeof(source)))
		vm_json_text(o, "source", source);
	return o;
}

static json_t *json_code(const struct vm_decoded *d)
{
	json_t *code = json_array();

	for (unsigned int i = 0; i < d->n; i++) {
		const struct vm_instruction *insn = &d->insn[i];
		json_t *o = json_object();

		/* Relative to the pc, so that no number is too long for JSON. */
		json_object_set_new(o, "at", json_integer((json_int_t)(insn->address - d->pc)));
		vm_json_text(o, "text", insn->text);
		if (insn->at_pc)
			json_object_set_new(o, "pc", json_true());
		if (insn->patched)
			json_object_set_new(o, "patched", json_true());
		json_array_append_new(code, o);
	}
	return code;
}

static void json_report(struct triage *t, const struct vm_report *r, const struct vm_decoded *d)
{
	json_t *o = json_object(), *trace = json_array();
	char pc[32];

	vm_json_text(o, "log", t->path);
	vm_json_number(o, "line", r->line);
	vm_json_number(o, "begin", r->begin);
	vm_json_number(o, "end", r->end);
	vm_json_text(o, "title", r->title);
	vm_json_text(o, "kind", vm_report_kind_name(r->kind));
	vm_json_text(o, "severity", vm_report_severity_name(r->severity));
	vm_json_text(o, "function", r->function);
	json_object_set_new(o, "after", json_boolean(r->after));
	if (d->linked) {
		snprintf(pc, sizeof(pc), "%016" PRIx64, d->pc);
		vm_json_text(o, "pc", pc);
		vm_json_text(o, "source", d->source);
	}
	json_object_set_new(o, "code", json_code(d));
	for (unsigned int i = 0; i < r->nframes; i++)
		json_array_append_new(trace, json_frame(t, &r->frame[i]));
	json_object_set_new(o, "trace", trace);
	if (d->note[0])
		vm_json_text(o, "note", d->note);
	json_array_append_new(t->reports, o);
}

static enum cli_exit status_of(const struct vm_report *r)
{
	switch (r->severity) {
	case VM_REPORT_INFO:
		return CLI_CONFORMS;
	case VM_REPORT_STALLED:
	case VM_REPORT_WARNED:
		return CLI_FOUND;
	default:
		return CLI_CRASHED;
	}
}

static void show(struct triage *t)
{
	struct vm_decoded d;
	struct vm_report r;
	uint64_t kaslr;

	vm_console_kaslr(t->console, &kaslr);
	while (vm_console_next(t->console, &r)) {
		(void)vm_decode(&r, t->vmlinux, kaslr, &d);
		if (t->reports)
			json_report(t, &r, &d);
		else
			print_report(t, &r, &d);
		if (status_of(&r) > t->status)
			t->status = status_of(&r);
	}
	if (vm_console_lost(t->console)) {
		cli_error("no memory for %" PRIu64 " reports of %s", vm_console_lost(t->console),
			  t->path);
		t->status = CLI_FAILED;
	}
}

static void triage(struct triage *t, const char *path)
{
	t->path = path;
	t->console = vm_console_new(0);
	if (!t->console) {
		cli_error("no memory to read %s", path);
		t->status = CLI_FAILED;
		return;
	}
	if (read_log(t))
		t->status = CLI_FAILED;
	else
		show(t);
	vm_console_free(t->console);
}

/* Print what --json promises; takes over the reports. */
static void end_json(struct triage *t)
{
	json_t *root = json_object();
	char *text;

	json_object_set_new(root, "reports", t->reports);
	text = vm_json_dump(root);
	if (!text || fputs(text, stdout) < 0) {
		cli_error("cannot write the JSON: %s", text ? strerror(errno) : "no memory");
		t->status = CLI_FAILED;
	}
	free(text);
}

int cmd_triage(int argc, char **argv)
{
	struct request q = { 0 };
	struct triage t = { 0 };
	char err[512];
	int ret = parse(&q, argc, argv);

	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	if (q.vmlinux) {
		t.vmlinux = vm_vmlinux_open(q.vmlinux, err, sizeof(err));
		if (!t.vmlinux) {
			cli_error("%s", err);
			return CLI_FAILED;
		}
	}
	if (q.json)
		t.reports = json_array();
	for (int i = optind; i < argc; i++)
		triage(&t, argv[i]);
	if (q.json)
		end_json(&t);
	vm_vmlinux_close(t.vmlinux);
	return t.status;
}
