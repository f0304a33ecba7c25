/* SPDX-License-Identifier: MIT */
/* Writes JSON into a growing buffer, indented; the caller keeps the nesting right. */
#ifndef VM_JSON_H
#define VM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vm_json {
	char *text; /* malloc()ed, ends with a NUL */
	size_t len, cap;
	unsigned int depth;
	bool comma;  /* something stands before in this object or array */
	bool failed; /* no memory: text is not whole */
};

/* Starts zeroed. `key` is NULL in arrays and at the top. */
void vm_json_open(struct vm_json *j, const char *key, char bracket); /* '{' or '[' */
void vm_json_close(struct vm_json *j, char bracket);		     /* '}' or ']' */
void vm_json_number(struct vm_json *j, const char *key, uint64_t n);
void vm_json_bool(struct vm_json *j, const char *key, bool value);

/* Bytes that are not ASCII are written as they are if they are UTF-8's, so `text` should be. */
void vm_json_text(struct vm_json *j, const char *key, const char *text);

/* The text with a final newline, for the caller to free(); NULL if memory ran out. */
char *vm_json_finish(struct vm_json *j);

#endif
