/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/report/json.h"

int vm_json_number(json_t *to, const char *key, uint64_t n)
{
	return json_object_set_new(to, key, json_integer((json_int_t)n));
}

static json_t *string_of(const char *text, size_t len)
{
	json_t *value = json_stringn(text, len);
	char *plain;

	if (value)
		return value;
	plain = strndup(text, len);
	for (char *c = plain; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	value = json_string(plain);
	free(plain);
	return value;
}

int vm_json_text(json_t *to, const char *key, const char *text)
{
	return json_object_set_new(to, key, string_of(text, strlen(text)));
}

int vm_json_lines(json_t *to, const char *key, const char *text)
{
	json_t *array = json_array();
	int bad = json_object_set_new(to, key, array);

	while (!bad && *text) {
		size_t len = strcspn(text, "\n");

		bad = json_array_append_new(array, string_of(text, len));
		text += len + (text[len] == '\n');
	}
	return bad;
}

char *vm_json_dump(json_t *root)
{
	char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL, *line = NULL;

	json_decref(root);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}
