/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/draw.h"
#include "cli/load.h"
#include "fuzz/campaign/folder.h"
#include "oracle/model.h"

#define TEXT_MAX      ((size_t)64 << 10)
#define DEFAULT_WIDTH 100

enum { OPT_BYTES = CLI_OPT_OWN, OPT_TEXT, OPT_PROFILE };

static const struct cli_option options[] = {
	{ "bytes", OPT_BYTES, NULL, "print the program as bytes, as engines have it" },
	{ "text", OPT_TEXT, NULL, "print the canonical text alone, no picture" },
	{ "output", 'o', "FILE", "write to FILE; text unless --bytes is given" },
	{ "profile", OPT_PROFILE, "NAME", "whose kernel the picture foretells; default: 6.18" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"show FILE [options]",
	"Print a program (.vma text, program bytes, a finding's folder) as canonical text, without "
	"its\n"
	"comments and expectations, and draw the address space after each call as the rules of a\n"
	"profile foretell it; that of a trace as it was observed. Nothing is run. The picture is "
	"in\n"
	"comments: the output is a .vma file too.",
	options,
};

struct request {
	bool bytes, text;
	const char *output;
	const struct vm_profile *profile;
};

static int take(struct request *q, int id, const char *arg)
{
	switch (id) {
	case OPT_BYTES:
		q->bytes = true;
		return 0;
	case OPT_TEXT:
		q->text = true;
		return 0;
	case 'o':
		q->output = arg;
		return 0;
	default:
		q->profile = vm_profile_by_name(arg);
		if (q->profile && q->profile->exact)
			return 0;
		cli_error("there is no profile %s to foretell with; there are 6.1, 6.12, 6.18",
			  arg);
		return -1;
	}
}

static int parse(struct request *q, int argc, char **argv)
{
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP || id == CLI_BAD)
			return id;
		if (take(q, id, arg))
			return CLI_BAD;
	}
	if (q->bytes && q->text)
		cli_error("show: --bytes and --text exclude each other");
	else if (optind + 1 != argc)
		cli_error("show takes one file; see vmafuzz show --help");
	else
		return 0;
	return CLI_BAD;
}

static unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 40)
		return w.ws_col;
	if (columns && atoi(columns) >= 40 && atoi(columns) <= 10000)
		return (unsigned int)atoi(columns);
	return DEFAULT_WIDTH;
}

static void label(struct cli_row *row, const struct vm_call *call, const struct vm_event *e,
		  const struct vm_target_info *info)
{
	struct vm_text t = { .buf = row->label, .cap = sizeof(row->label) };

	t.len = vm_text_print_call(call, t.buf, t.cap);
	vm_text_add(&t, " = ");
	vm_explain_result(e, info, &t);
}

/* What the model says that a call does, as an event without a snapshot. */
static void foretell(struct vm_model *m, const struct vm_program *prog, unsigned int i,
		     uint64_t names[VM_NAME_SLOTS], struct vm_event *e)
{
	const struct vm_target_info *info = vm_model_info(m);
	const struct vm_call *call = &prog->call[i];
	enum vm_withheld withheld;

	*e = (struct vm_event){ .kind = VM_EVENT_CALL, .call = (uint8_t)i };
	e->sc = vm_call_resolve(call, &info->layout, names);
	withheld = vm_call_withheld(&e->sc, &info->layout, info->guard, info->nguard);
	if (!withheld && vm_call_harmful(&e->sc, &info->layout, info->cap_effective))
		withheld = VM_WITHHELD_PRIVILEGE;
	if (withheld) {
		e->status = VM_STATUS_WITHHELD;
		e->result = withheld;
	} else {
		e->result = vm_model_step(m, call, i);
	}
	if (call->let)
		names[call->let] = !withheld && e->result > 0 ? (uint64_t)e->result : 0;
}

static bool draw_model(struct cli_drawing *d, const struct vm_program *prog,
		       const struct vm_profile *profile, struct vm_target_info *info)
{
	uint64_t names[VM_NAME_SLOTS] = { 0 };
	struct vm_model *m;
	bool ok;

	vm_model_default_info(info);
	m = vm_model_new(info, profile);
	ok = m;
	if (ok)
		vm_model_start(m, prog);
	for (unsigned int i = 0; ok && i < prog->ncalls; i++) {
		const struct vm_model_area *area;
		struct vm_event e;
		struct cli_row *row;
		size_t n;

		foretell(m, prog, i, names, &e);
		n = vm_model_areas(m, &area);
		row = cli_draw_row(d, n);
		ok = row;
		for (size_t k = 0; ok && k < n; k++)
			row->span[k] = (struct cli_span){ area[k].start, area[k].end, area[k].prot,
							  area[k].sealed };
		if (ok)
			label(row, &prog->call[i], &e, info);
	}
	memcpy(d->name, names, sizeof(names));
	vm_model_free(m);
	return ok;
}

/* One row of what was observed after an event; `vma` has the layout before, and gets this one. */
static bool draw_event(struct cli_drawing *d, const struct vm_trace *trace,
		       const struct vm_event *e, struct vm_vma *vma, size_t *nvma)
{
	bool seen = e->after.mask & VM_SEEN_MAPS && e->after.nvma <= VM_SNAPSHOT_MAX_VMAS;
	struct vm_vma before[VM_SNAPSHOT_MAX_VMAS];
	size_t nbefore = *nvma;
	struct cli_row *row;

	memcpy(before, vma, nbefore * sizeof(*vma));
	*nvma = seen ? e->after.nvma : 0;
	if (*nvma)
		memcpy(vma, e->after.vma, *nvma * sizeof(*vma));
	cli_carry_flags(vma, *nvma, before, nbefore);
	row = cli_draw_row(d, *nvma);
	if (!row)
		return false;
	for (size_t k = 0; k < *nvma; k++)
		row->span[k] = (struct cli_span){ vma[k].start, vma[k].end,
						  vma[k].mode & (VM_MODE_R | VM_MODE_W | VM_MODE_X),
						  vma[k].flags >> VM_FLAG_SL & 1 };
	if (e->kind == VM_EVENT_END)
		snprintf(row->label, sizeof(row->label), "at the end");
	else
		label(row, &trace->prog.call[e->call], e, &trace->info);
	if (!seen)
		strncat(row->label, "  (not observed)",
			sizeof(row->label) - strlen(row->label) - 1);
	return true;
}

static bool draw_trace(struct cli_drawing *d, const struct vm_trace *trace)
{
	struct vm_vma vma[VM_SNAPSHOT_MAX_VMAS];
	size_t nvma = 0;

	for (uint32_t i = 0; i < trace->nevents; i++) {
		const struct vm_event *e = &trace->event[i];
		uint8_t let = e->kind == VM_EVENT_CALL ? trace->prog.call[e->call].let : 0;

		if (e->kind == VM_EVENT_START)
			continue;
		if (!draw_event(d, trace, e, vma, &nvma))
			return false;
		if (let && e->status == VM_STATUS_DONE && e->result > 0)
			d->name[let] = (uint64_t)e->result;
	}
	return true;
}

static int draw(const struct request *q, const struct cli_program *p)
{
	struct cli_drawing d = { .width = terminal_width() };
	struct vm_trace *trace = calloc(1, sizeof(*trace));
	struct vm_target_info info;
	char err[512] = "out of memory";
	bool ok = trace;

	if (ok && p->kind == CLI_KIND_TRACE) {
		ok = !cli_load_trace(p->path, trace, err, sizeof(err)) && draw_trace(&d, trace);
		info = trace->info;
		printf("\n# as observed on %s %s %s\n", info.sysname, info.release, info.machine);
	} else if (ok) {
		ok = draw_model(&d, &p->script.prog, q->profile, &info);
		printf("\n# as the rules of profile %s foretell it\n", q->profile->name);
	}
	ok = ok && cli_draw(&d, &info.layout, "# ");
	if (!ok)
		cli_error("%s", err);
	cli_draw_free(&d);
	if (trace)
		vm_trace_free(trace);
	free(trace);
	return ok ? CLI_CONFORMS : CLI_FAILED;
}

static int write_out(const struct request *q, const void *bytes, size_t len)
{
	char err[512];

	if (q->output) {
		if (!vm_file_write(q->output, bytes, len, err, sizeof(err)))
			return CLI_CONFORMS;
		cli_error("%s", err);
		return CLI_FAILED;
	}
	if (fwrite(bytes, 1, len, stdout) == len && !fflush(stdout))
		return CLI_CONFORMS;
	cli_error("cannot write to stdout");
	return CLI_FAILED;
}

static int show(const struct request *q, const struct cli_program *p)
{
	uint8_t bytes[VM_BYTES_MAX];
	char *text;
	int ret;

	if (q->bytes && !q->output && isatty(STDOUT_FILENO)) {
		cli_error("show --bytes does not write bytes to a terminal; use -o FILE");
		return CLI_FAILED;
	}
	if (q->bytes)
		return write_out(q, bytes,
				 vm_program_encode(&p->script.prog, bytes, sizeof(bytes)));
	text = malloc(TEXT_MAX);
	if (!text) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	ret = write_out(q, text, vm_text_print(&p->script.prog, text, TEXT_MAX));
	free(text);
	if (ret || q->text || q->output)
		return ret;
	return draw(q, p);
}

int cmd_show(int argc, char **argv)
{
	struct request q = { .profile = vm_profile_by_name("6.18") };
	struct cli_program *p;
	char err[512];
	int ret = parse(&q, argc, argv);

	if (ret)
		return ret == CLI_HELP ? CLI_CONFORMS : CLI_FAILED;
	p = malloc(sizeof(*p));
	if (!p || cli_load(argv[optind], p, err, sizeof(err))) {
		cli_error("%s", p ? err : "out of memory");
		ret = CLI_FAILED;
	} else {
		ret = show(&q, p);
	}
	free(p);
	return ret;
}
