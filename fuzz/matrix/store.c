/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/folder.h"
#include "fuzz/matrix/store.h"
#include "fuzz/report/json.h"

#define DIED "program: the executor died"

struct vm_matrix_store {
	char path[VM_PATH_MAX];
	json_t *root; /* stamp, kernel, programs: KEY -> {skip} or {titles: [{title, severity,
			 known}]} */
};

void vm_matrix_program_key(const struct vm_program *p, char key[VM_PROGRAM_KEY])
{
	uint8_t bytes[VM_BYTES_MAX];
	size_t n = vm_program_encode(p, bytes, sizeof(bytes));
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	snprintf(key, VM_PROGRAM_KEY, "%016llx", (unsigned long long)hash);
}

struct vm_matrix_store *vm_matrix_store_open(const char *path, const char *stamp)
{
	struct vm_matrix_store *s = calloc(1, sizeof(*s));
	const char *there;

	if (!s)
		return NULL;
	vm_path(s->path, "%s", path);
	s->root = json_load_file(path, 0, NULL);
	there = json_string_value(json_object_get(s->root, "stamp"));
	if (!there || strcmp(there, stamp) ||
	    !json_is_object(json_object_get(s->root, "programs"))) {
		json_decref(s->root);
		s->root = json_pack("{ss s{} s{}}", "stamp", stamp, "kernel", "programs");
	}
	if (s->root)
		return s;
	free(s);
	return NULL;
}

void vm_matrix_store_close(struct vm_matrix_store *s)
{
	if (!s)
		return;
	json_decref(s->root);
	free(s);
}

int vm_matrix_store_set_kernel(struct vm_matrix_store *s, const struct vm_matrix_kernel *k)
{
	json_t *o = json_object_get(s->root, "kernel");

	return vm_json_text(o, "release", k->release) || vm_json_text(o, "profile", k->profile) ||
			       vm_json_text(o, "contract", k->contract) ||
			       vm_json_number(o, "boot_ms", k->boot_ms) ||
			       vm_json_number(o, "run_ms", k->run_ms) ||
			       vm_json_number(o, "fresh", k->fresh)
		       ? -1
		       : 0;
}

static void get_text(const json_t *o, const char *key, char *to, size_t cap)
{
	const char *text = json_string_value(json_object_get(o, key));

	snprintf(to, cap, "%s", text ? text : "");
}

void vm_matrix_store_kernel(const struct vm_matrix_store *s, struct vm_matrix_kernel *k)
{
	const json_t *o = json_object_get(s->root, "kernel");

	get_text(o, "release", k->release, sizeof(k->release));
	get_text(o, "profile", k->profile, sizeof(k->profile));
	get_text(o, "contract", k->contract, sizeof(k->contract));
	k->boot_ms = (uint32_t)json_integer_value(json_object_get(o, "boot_ms"));
	k->run_ms = (uint32_t)json_integer_value(json_object_get(o, "run_ms"));
	k->fresh = (uint32_t)json_integer_value(json_object_get(o, "fresh"));
}

static json_t *program(const struct vm_matrix_store *s, const char *key)
{
	return json_object_get(json_object_get(s->root, "programs"), key);
}

bool vm_matrix_store_has(const struct vm_matrix_store *s, const char *key)
{
	return program(s, key);
}

bool vm_matrix_store_gave(const struct vm_matrix_store *s, const char *key, const char *title)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(program(s, key), "titles"), i, o)
	{
		const char *t = json_string_value(json_object_get(o, "title"));

		if (t && !strcmp(t, title))
			return true;
	}
	return false;
}

/* The entry of a title, with the worse of both severities. */
static int put_title(json_t *titles, const char *title, uint8_t severity, bool known)
{
	json_t *o;
	size_t i;

	json_array_foreach(titles, i, o)
	{
		if (strcmp(json_string_value(json_object_get(o, "title")), title))
			continue;
		known &= json_is_true(json_object_get(o, "known"));
		if (severity < json_integer_value(json_object_get(o, "severity")))
			severity = (uint8_t)json_integer_value(json_object_get(o, "severity"));
		return json_object_set_new(o, "severity", json_integer(severity)) ||
		       json_object_set_new(o, "known", json_boolean(known));
	}
	o = json_pack("{ss si sb}", "title", title, "severity", (int)severity, "known", (int)known);
	return json_array_append_new(titles, o);
}

int vm_matrix_store_put(struct vm_matrix_store *s, const char *key, const struct vm_judgement *j,
			bool died, const char *skip)
{
	json_t *o = json_object(), *titles = json_array();
	int bad = 0;

	if (skip)
		bad = vm_json_text(o, "skip", skip);
	for (uint32_t i = 0; j && i < j->nverdicts; i++) {
		const struct vm_verdict *v = &j->verdict[i];

		if (v->severity >= VM_DEVIATION)
			bad |= put_title(titles, v->title, v->severity, v->known);
	}
	if (died)
		bad |= put_title(titles, DIED, VM_VIOLATION, false);
	bad |= json_object_set_new(o, "titles", titles);
	bad |= json_object_set_new(json_object_get(s->root, "programs"), key, o);
	return bad ? -1 : 0;
}

int vm_matrix_store_save(const struct vm_matrix_store *s, char *err, size_t errlen)
{
	char *text = json_dumps(s->root, JSON_COMPACT | JSON_SORT_KEYS);
	int ret;

	if (!text) {
		snprintf(err, errlen, "out of memory");
		return -1;
	}
	ret = vm_file_write(s->path, text, strlen(text), err, errlen);
	free(text);
	return ret;
}

int vm_matrix_store_add(const struct vm_matrix_store *s, const char *key, struct vm_matrix *m,
			size_t kernel, const char *name)
{
	const json_t *o = program(s, key), *t;
	size_t i;

	if (!o)
		return 0;
	if (json_object_get(o, "skip"))
		m->kernel[kernel].skipped++;
	else
		m->kernel[kernel].programs++;
	json_array_foreach(json_object_get(o, "titles"), i, t)
	{
		const char *title = json_string_value(json_object_get(t, "title"));

		if (title &&
		    vm_matrix_add(m, kernel, title,
				  (uint8_t)json_integer_value(json_object_get(t, "severity")),
				  json_is_true(json_object_get(t, "known")), name))
			return -1;
	}
	return 1;
}
