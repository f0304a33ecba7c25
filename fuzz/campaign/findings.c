/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"

#define TEXT_MAX (128u << 10)

void vm_target_name(const struct vm_target_info *info, char *buf, size_t len)
{
	snprintf(buf, len, "%s %s %s", info->sysname, info->release, info->machine);
}

static int put(const char *folder, const char *name, const void *bytes, size_t len, char *err,
	       size_t errlen)
{
	char path[VM_PATH_MAX];

	vm_path(path, "%s/%s", folder, name);
	return vm_file_write(path, bytes, len, err, errlen);
}

static int put_program(const char *folder, const char *name, const struct vm_program *prog,
		       char *err, size_t errlen)
{
	uint8_t bytes[VM_BYTES_MAX];
	size_t n = vm_program_encode(prog, bytes, sizeof(bytes));

	return put(folder, name, bytes, n, err, errlen);
}

static void add_header(const struct vm_finding_context *ctx, const struct vm_trace *trace,
		       const struct vm_verdict *v, const char *mark, struct vm_text *t)
{
	char kernel[256];

	vm_target_name(&trace->info, kernel, sizeof(kernel));
	vm_text_add(t, "%s%s\n", mark, v->title);
	vm_text_add(t, "%s%s on %s, profile %s, contract %s, seed %" PRIu64, mark,
		    vm_severity_name(v->severity), kernel, ctx->profile->name,
		    vm_contract_name(ctx->contract), ctx->seed);
	if (ctx->inject && *ctx->inject)
		vm_text_add(t, ", injected fault %s", ctx->inject);
	vm_text_add(t, "\n");
}

static int write_text(const struct vm_finding_context *ctx, const char *folder,
		      const struct vm_program *prog, const struct vm_trace *trace,
		      const struct vm_verdict *v, char *buf, char *err, size_t errlen)
{
	struct vm_text t = { .buf = buf, .cap = TEXT_MAX };
	size_t len;

	add_header(ctx, trace, v, "# ", &t);
	len = t.len + vm_text_print(prog, buf + t.len, TEXT_MAX - t.len);
	if (len >= TEXT_MAX)
		len = TEXT_MAX - 1;
	if (put(folder, "program.vma", buf, len, err, errlen))
		return -1;

	t.len = 0;
	add_header(ctx, trace, v, "", &t);
	vm_text_add(&t, "\n");
	vm_explain_verdict(trace, v, &t);
	len = t.len < TEXT_MAX ? t.len : TEXT_MAX - 1;
	return put(folder, "explanation.txt", buf, len, err, errlen);
}

static int write_files(const struct vm_finding_context *ctx, const char *folder,
		       const struct vm_program *prog, const struct vm_trace *trace,
		       const struct vm_verdict *v, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];
	char *buf = malloc(TEXT_MAX);
	int ret;

	if (!buf) {
		snprintf(err, errlen, "no memory to write the finding %s", v->title);
		return -1;
	}
	vm_path(path, "%s/trace.bin", folder);
	ret = put_program(folder, "program.bin", prog, err, errlen) ||
	      put(folder, "count", "1\n", 2, err, errlen) ||
	      write_text(ctx, folder, prog, trace, v, buf, err, errlen) ||
	      vm_trace_save(path, trace, err, errlen);
	free(buf);
	return ret ? -1 : 0;
}

/* Put the folder `from` where `to` may be already. */
static int replace_folder(const char *from, const char *to, char *err, size_t errlen)
{
	vm_folder_remove(to);
	if (!rename(from, to))
		return 0;
	snprintf(err, errlen, "cannot rename %s to %s: %s", from, to, strerror(errno));
	return -1;
}

int vm_finding_write(const struct vm_finding_context *ctx, const struct vm_title *title,
		     const struct vm_program *prog, const struct vm_program *original,
		     const struct vm_trace *trace, const struct vm_verdict *v, char *err,
		     size_t errlen)
{
	char tmp[VM_PATH_MAX], folder[VM_PATH_MAX];

	vm_path(tmp, "%s/pending/.%s.%d", ctx->out, title->slug, (int)getpid());
	vm_path(folder, "%s/pending/%s", ctx->out, title->slug);
	if (vm_folder_make(tmp, err, errlen))
		return -1;
	if (write_files(ctx, tmp, prog, trace, v, err, errlen) ||
	    (original && put_program(tmp, "original.bin", original, err, errlen))) {
		vm_folder_remove(tmp);
		return -1;
	}
	return replace_folder(tmp, folder, err, errlen);
}

int vm_finding_settle(const char *out, const struct vm_title *title, bool confirmed, char *err,
		      size_t errlen)
{
	char from[VM_PATH_MAX], to[VM_PATH_MAX], parent[VM_PATH_MAX];

	vm_path(parent, "%s/%s", out, confirmed ? "findings" : "flaky");
	vm_path(from, "%s/pending/%s", out, title->slug);
	vm_path(to, "%s/%s", parent, title->slug);
	if (vm_folder_make(parent, err, errlen))
		return -1;
	return replace_folder(from, to, err, errlen);
}

int vm_findings_counts(const char *out, const struct vm_stats *stats, char *err, size_t errlen)
{
	char folder[VM_PATH_MAX], text[32];

	for (int i = 0; i < VM_MAX_TITLES; i++) {
		const struct vm_title *t = &stats->title[i];
		int n;

		if (atomic_load(&t->state) != VM_TITLE_CONFIRMED || !t->slug[0])
			continue;
		vm_path(folder, "%s/findings/%s", out, t->slug);
		n = snprintf(text, sizeof(text), "%" PRIu64 "\n", atomic_load(&t->count));
		if (put(folder, "count", text, (size_t)n, err, errlen))
			return -1;
	}
	return 0;
}

static uint64_t stored_count(const char *folder)
{
	char path[VM_PATH_MAX], err[256];
	uint64_t count;
	uint8_t *text;
	size_t len;

	vm_path(path, "%s/count", folder);
	text = vm_file_read(path, 64, &len, err, sizeof(err));
	if (!text)
		return 1;
	count = strtoull((char *)text, NULL, 10);
	free(text);
	return count;
}

/* Enter one finding, whose program.vma begins with `# TITLE` and `# SEVERITY on ...`. */
static void load_one(const char *folder, struct vm_stats *stats)
{
	char path[VM_PATH_MAX], err[256], title[VM_TITLE_MAX], severity[16];
	struct vm_title *t;
	uint8_t *text;
	size_t len;
	bool fresh;

	vm_path(path, "%s/program.vma", folder);
	text = vm_file_read(path, TEXT_MAX, &len, err, sizeof(err));
	if (!text)
		return;
	if (sscanf((char *)text, "# %127[^\n]\n# %15s", title, severity) == 2) {
		bool violation = !strcmp(severity, vm_severity_name(VM_VIOLATION));

		t = vm_stats_title(stats, title, violation ? VM_VIOLATION : VM_DEVIATION, &fresh);
		if (t && fresh) {
			atomic_store(&t->count, stored_count(folder));
			atomic_store(&t->state, VM_TITLE_CONFIRMED);
		}
	}
	free(text);
}

int vm_findings_load(const char *out, struct vm_stats *stats, char *err, size_t errlen)
{
	char parent[VM_PATH_MAX], folder[VM_PATH_MAX];
	struct dirent *d;
	DIR *dir;

	vm_path(parent, "%s/findings", out);
	dir = opendir(parent);
	if (!dir) {
		if (errno == ENOENT)
			return 0;
		snprintf(err, errlen, "cannot read %s: %s", parent, strerror(errno));
		return -1;
	}
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		vm_path(folder, "%s/%s", parent, d->d_name);
		load_one(folder, stats);
	}
	closedir(dir);
	return 0;
}
