/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "harness/trace/site.h"

#define KIND "name "

/* Functions that make an allocation fail, or say so. */
static bool is_injector(const char *name, size_t len)
{
	static const char *const prefix[] = { "dump_stack", "should_fail", "__should_fail",
					      "fail_dump" };

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (len >= strlen(prefix[i]) && !strncmp(name, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

/* Where every call comes from. */
static bool is_entry(const char *name, size_t len)
{
	static const char *const entry[] = { "x64_sys_call",	  "do_syscall_64", "invoke_syscall",
					     "do_el0_svc",	  "el0_svc",	   "exc_page_fault",
					     "asm_exc_page_fault" };

	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++)
		if (len == strlen(entry[i]) && !strncmp(name, entry[i], len))
			return true;
	return false;
}

/* The rest is left away once one word has no room. */
static void add_word(struct vm_site *s, const char *word, size_t len)
{
	if (s->len + len + 2 > VM_SITE_MAX) {
		s->done = true;
		return;
	}
	if (s->len)
		s->text[s->len++] = ' ';
	memcpy(s->text + s->len, word, len);
	s->len += len;
	s->text[s->len] = '\0';
}

/* " do_mmap+0x1a/0x40": the name ends with '+', or ".constprop.0+". "? " is a guess. */
static void add_frame(struct vm_site *s, const char *line, const char *end)
{
	const char *plus = memchr(line, '+', (size_t)(end - line));
	size_t len;

	if (!plus || *line == '?' || plus == line)
		return;
	len = strcspn(line, ".+");
	if (is_injector(line, len))
		return;
	if (is_entry(line, len))
		s->done = true;
	else
		add_word(s, line, len);
}

void vm_site_line(struct vm_site *s, const char *record, size_t len)
{
	const char *line = memchr(record, ';', len), *end = record + len, *nl;

	if (!line || s->done)
		return;
	line++;
	nl = memchr(line, '\n', (size_t)(end - line));
	end = nl ? nl : end;
	while (line < end && *line == ' ')
		line++;
	if (!s->len) {
		const char *kind = memmem(line, (size_t)(end - line), KIND, strlen(KIND));

		if (memmem(line, (size_t)(end - line), "FAULT_INJECTION", 15) && kind)
			add_word(s, kind + strlen(KIND), strcspn(kind + strlen(KIND), ", \n"));
	} else if (end - line >= 10 && !strncmp(line, "Call Trace", 10)) {
		s->in_trace = true;
	} else if (end - line >= 7 && !strncmp(line, "</TASK>", 7)) {
		s->done = true;
	} else if (s->in_trace) {
		add_frame(s, line, end);
	}
}
