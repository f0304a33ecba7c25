/* SPDX-License-Identifier: MIT */
/*
 * Putting values into JSON objects. All return 0, or -1 when memory ran out; jansson passes a
 * missing value on as such an error.
 */
#ifndef VM_REPORT_JSON_H
#define VM_REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

/* jansson's integers are signed: no count comes so far, and --seed goes no further. */
int vm_json_number(json_t *to, const char *key, uint64_t n);

/* Paths and what a target says of itself may be any bytes, JSON is UTF-8: `?` for what is not. */
int vm_json_text(json_t *to, const char *key, const char *text);

/* The lines of `text`, each with a newline at its end, as an array of strings. */
int vm_json_lines(json_t *to, const char *key, const char *text);

/* The whole of it, with a final newline, malloc()ed; NULL without memory. Takes over `root`. */
char *vm_json_dump(json_t *root);

#endif
