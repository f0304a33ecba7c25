/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "fuzz/matrix/matrix.h"
#include "fuzz/report/json.h"

static json_t *kernel(const struct vm_matrix_kernel *k)
{
	json_t *o = json_object();
	int bad =
		vm_json_text(o, "name", k->name) || vm_json_text(o, "release", k->release) ||
		vm_json_text(o, "version", k->version) || vm_json_text(o, "profile", k->profile) ||
		vm_json_text(o, "contract", k->contract) || vm_json_text(o, "error", k->error) ||
		vm_json_number(o, "programs", k->programs) ||
		vm_json_number(o, "skipped", k->skipped) || vm_json_number(o, "fresh", k->fresh) ||
		vm_json_number(o, "boot_ms", k->boot_ms) || vm_json_number(o, "run_ms", k->run_ms);

	if (!bad)
		return o;
	json_decref(o);
	return NULL;
}

/* Kernel names to what the title is there. */
static json_t *cells(const struct vm_matrix *m, const struct vm_matrix_title *t)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < m->nkernels; i++) {
		const struct vm_matrix_cell *c = &t->cell[i];
		json_t *v;

		if (!c->programs)
			continue;
		v = json_pack("{ss sb sI}", "severity", vm_severity_name(c->severity), "known",
			      (int)c->known, "programs", (json_int_t)c->programs);
		if (json_object_set_new(o, m->kernel[i].name, v)) {
			json_decref(o);
			o = NULL;
		}
	}
	return o;
}

static json_t *title(const struct vm_matrix *m, const struct vm_matrix_title *t)
{
	char span[1024];
	json_t *o = json_object();
	int bad;

	vm_matrix_span(m, t, span, sizeof(span));
	bad = vm_json_text(o, "title", t->title) || vm_json_text(o, "where", span) ||
	      vm_json_text(o, "program", t->program) ||
	      json_object_set_new(o, "explained", json_boolean(vm_matrix_explained(m, t))) ||
	      json_object_set_new(o, "kernels", cells(m, t));
	if (!bad)
		return o;
	json_decref(o);
	return NULL;
}

char *vm_matrix_json(const struct vm_matrix *m)
{
	json_t *root = json_object(), *kernels = json_array(), *titles = json_array();
	int bad = 0;

	for (size_t i = 0; i < m->nkernels && !bad; i++)
		bad = json_array_append_new(kernels, kernel(&m->kernel[i]));
	for (size_t i = 0; i < m->ntitles && !bad; i++)
		bad = json_array_append_new(titles, title(m, &m->title[i]));
	bad |= json_object_set_new(root, "kernels", kernels);
	bad |= json_object_set_new(root, "titles", titles);
	if (!bad)
		return vm_json_dump(root);
	json_decref(root);
	return NULL;
}
