/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/report/json.h"

static void add(struct vm_json *j, const char *s, size_t n)
{
	if (j->failed)
		return;
	if (j->len + n + 1 > j->cap) {
		size_t cap = (j->len + n + 1) * 2;
		char *more = realloc(j->text, cap);

		if (!more) {
			j->failed = true;
			return;
		}
		j->text = more;
		j->cap = cap;
	}
	memcpy(j->text + j->len, s, n);
	j->len += n;
	j->text[j->len] = '\0';
}

static void add_line(struct vm_json *j)
{
	add(j, "\n", 1);
	for (unsigned int i = 0; i < j->depth; i++)
		add(j, "  ", 2);
}

static void add_string(struct vm_json *j, const char *s)
{
	char escape[8];

	add(j, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			add(j, escape, (size_t)snprintf(escape, sizeof(escape), "\\%c", c));
		else if (c < 0x20 || c == 0x7f)
			add(j, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", c));
		else
			add(j, s, 1);
	}
	add(j, "\"", 1);
}

static void begin(struct vm_json *j, const char *key)
{
	if (j->comma)
		add(j, ",", 1);
	if (j->depth)
		add_line(j);
	j->comma = true;
	if (!key)
		return;
	add_string(j, key);
	add(j, ": ", 2);
}

void vm_json_open(struct vm_json *j, const char *key, char bracket)
{
	begin(j, key);
	add(j, &bracket, 1);
	j->depth++;
	j->comma = false;
}

void vm_json_close(struct vm_json *j, char bracket)
{
	j->depth--;
	if (j->comma)
		add_line(j);
	add(j, &bracket, 1);
	j->comma = true;
}

void vm_json_number(struct vm_json *j, const char *key, uint64_t n)
{
	char text[24];

	begin(j, key);
	add(j, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, n));
}

void vm_json_bool(struct vm_json *j, const char *key, bool value)
{
	begin(j, key);
	add(j, value ? "true" : "false", value ? 4 : 5);
}

void vm_json_text(struct vm_json *j, const char *key, const char *text)
{
	begin(j, key);
	add_string(j, text);
}

char *vm_json_finish(struct vm_json *j)
{
	add(j, "\n", 1);
	if (!j->failed)
		return j->text;
	free(j->text);
	return NULL;
}
