/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/load.h"
#include "fuzz/campaign/folder.h"

#define FILE_LIMIT	((size_t)16 << 20)
#define TRACE_MAGIC	"VMATRACE"
#define TRACE_MAGIC_LEN (sizeof(TRACE_MAGIC) - 1)

/* Length of the UTF-8 character at p, 0 if it is none. */
static size_t utf8_length(const uint8_t *p, size_t left)
{
	size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
	}
	return n;
}

/* Program bytes begin with their version, a control character. */
static bool is_text(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;

	while (p < end) {
		size_t n = utf8_length(p, (size_t)(end - p));

		if (!n || *p == 0x7f || (*p < 0x20 && !strchr("\t\n\r", *p)) || !*p)
			return false;
		p += n;
	}
	return true;
}

/* `path`, or the file `name` in it if it is a folder. */
static int in_folder(const char *path, const char *name, char *out, size_t cap, char *err,
		     size_t errlen)
{
	struct stat st;
	bool folder = !stat(path, &st) && S_ISDIR(st.st_mode);
	int n = snprintf(out, cap, "%s%s%s", path, folder ? "/" : "", folder ? name : "");

	if (n >= 0 && (size_t)n < cap)
		return 0;
	snprintf(err, errlen, "cannot read %.100s...: the path is too long", path);
	return -1;
}

static int parse(struct cli_program *p, const char *text, size_t len, char *err, size_t errlen)
{
	struct vm_parse_error e;

	if (!vm_text_parse(text, len, &p->script, &e))
		return 0;
	snprintf(err, errlen, "%s:%u:%u: %s", p->path, e.line, e.column, e.message);
	return -1;
}

static int take_trace(struct cli_program *p, char *err, size_t errlen)
{
	struct vm_trace *trace = calloc(1, sizeof(*trace));
	int ret;

	if (!trace) {
		snprintf(err, errlen, "no memory to read %s", p->path);
		return -1;
	}
	ret = vm_trace_load(p->path, trace, err, errlen);
	if (!ret)
		p->script.prog = trace->prog;
	vm_trace_free(trace);
	free(trace);
	return ret;
}

static int take(struct cli_program *p, const uint8_t *buf, size_t len, char *err, size_t errlen)
{
	int ret = 0;

	if (len >= TRACE_MAGIC_LEN && !memcmp(buf, TRACE_MAGIC, TRACE_MAGIC_LEN)) {
		p->kind = CLI_KIND_TRACE;
		ret = take_trace(p, err, errlen);
	} else if (is_text(buf, len)) {
		p->kind = CLI_KIND_TEXT;
		return parse(p, (const char *)buf, len, err, errlen);
	} else {
		p->kind = CLI_KIND_BYTES;
		vm_program_decode(buf, len, &p->script.prog);
	}
	for (unsigned int i = 0; i < p->script.prog.ncalls; i++)
		p->script.line[i] = (uint16_t)(i + 1);
	return ret;
}

int cli_load(const char *path, struct cli_program *p, char *err, size_t errlen)
{
	uint8_t *buf;
	size_t len;
	int ret;

	memset(&p->script, 0, sizeof(p->script));
	if (in_folder(path, "program.vma", p->path, sizeof(p->path), err, errlen))
		return -1;
	buf = vm_file_read(p->path, FILE_LIMIT, &len, err, errlen);
	if (!buf)
		return -1;
	ret = take(p, buf, len, err, errlen);
	free(buf);
	return ret;
}

int cli_load_trace(const char *path, struct vm_trace *trace, char *err, size_t errlen)
{
	char file[PATH_MAX];

	if (in_folder(path, "trace.bin", file, sizeof(file), err, errlen))
		return -1;
	return vm_trace_load(file, trace, err, errlen);
}
