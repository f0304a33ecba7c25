/* SPDX-License-Identifier: MIT */
/* Kernels and programs of a matrix. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/load.h"
#include "cli/matrix.h"
#include "harness/kernel/apt.h"
#include "harness/kernel/files.h"
#include "harness/kernel/version.h"

int cli_matrix_cached(struct cli_matrix_kernel *k, const char *name, char *err, size_t errlen)
{
	struct vm_kernel kernel;
	struct vm_kernel_id id = { 0 };
	struct stat st;

	*k = (struct cli_matrix_kernel){ 0 };
	if (vm_kernel_find(name, &kernel, err, errlen))
		return -1;
	if (stat(kernel.image, &st)) {
		snprintf(err, errlen, "%s has lost its image %s: delete its folder and fetch it",
			 kernel.name, kernel.image);
		return -1;
	}
	vm_kernel_id_parse(kernel.name, &id);
	snprintf(k->name, sizeof(k->name), "%s", kernel.name);
	snprintf(k->spec, sizeof(k->spec), "kernel:%s", kernel.name);
	snprintf(k->file, sizeof(k->file), "%s.json", kernel.name);
	snprintf(k->version, sizeof(k->version), "%s", kernel.version);
	snprintf(k->order, sizeof(k->order), "%s", id.version);
	snprintf(k->label, sizeof(k->label), "%.31s",
		 strncmp(kernel.name, "debian-", 7) ? kernel.name : kernel.name + 7);
	snprintf(k->image, sizeof(k->image), "%lld-%lld.%09ld", (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return 0;
}

static struct cli_matrix_kernel *grow(struct cli_matrix *m)
{
	struct cli_matrix_kernel *more = realloc(m->kernel, (m->nkernels + 1) * sizeof(*m->kernel));

	if (!more) {
		cli_error("out of memory");
		return NULL;
	}
	m->kernel = more;
	return &more[m->nkernels];
}

/* The same kernel may be named twice, or by two names. */
static void keep(struct cli_matrix *m, const struct cli_matrix_kernel *k)
{
	for (size_t i = 0; i < m->nkernels; i++) {
		if (!strcmp(m->kernel[i].spec, k->spec))
			return;
	}
	m->nkernels++;
}

static int add_cached(struct cli_matrix *m, const char *name)
{
	struct cli_matrix_kernel *k = grow(m);
	char err[512];

	if (!k)
		return -1;
	if (cli_matrix_cached(k, name, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	keep(m, k);
	return 0;
}

/* Any other target: who knows what kernel it will be next time. */
static int add_target(struct cli_matrix *m, const char *spec)
{
	struct cli_matrix_kernel *k = grow(m);

	if (!k)
		return -1;
	*k = (struct cli_matrix_kernel){ 0 };
	if (strlen(spec) >= sizeof(k->spec)) {
		cli_error("the target %.40s... is too long", spec);
		return -1;
	}
	snprintf(k->spec, sizeof(k->spec), "%s", spec);
	snprintf(k->file, sizeof(k->file), ".once-%d-%zu.json", (int)getpid(), m->nkernels);
	snprintf(k->name, sizeof(k->name), "%.90s", spec);
	snprintf(k->label, sizeof(k->label), "%.30s", spec);
	keep(m, k);
	return 0;
}

static bool is_target(const char *word)
{
	static const char *const kinds[] = { "exec:", "qemu:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strncmp(word, kinds[i], strlen(kinds[i])))
			return true;
	}
	return !strcmp(word, "local") || (!strncmp(word, "kernel:", 7) && strchr(word, ','));
}

static bool is_path(const char *word)
{
	return strchr(word, '/') || vm_has_suffix(word, ".vma") || !access(word, F_OK);
}

static int add_operand(struct cli_matrix *m, const char *word)
{
	char name[VM_KERNEL_NAME], err[512];

	if (is_target(word))
		return add_target(m, word);
	if (!strncmp(word, "kernel:", 7))
		return add_cached(m, word + 7);
	if (!strncmp(word, "debian:", 7)) {
		snprintf(name, sizeof(name), "debian-%.60s", word + 7);
		return add_cached(m, name);
	}
	if (!is_path(word))
		return add_cached(m, word);
	if (!cli_suite_add(&m->suite, word, err, sizeof(err)))
		return 0;
	cli_error("%s", err);
	return -1;
}

/* All of Debian's in the cache that are of this machine's kind. */
static int add_all(struct cli_matrix *m)
{
	struct vm_kernel *list;
	struct vm_kernel_id id;
	char err[512];
	size_t n;
	int bad = 0;

	if (vm_kernel_list(&list, &n, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	for (size_t i = 0; i < n && !bad; i++) {
		if (vm_kernel_id_parse(list[i].name, &id) && !strcmp(id.kind, "debian") &&
		    !id.suffix[0])
			bad = add_cached(m, list[i].name);
	}
	free(list);
	if (bad || m->nkernels)
		return bad;
	cli_error("there is no kernel in the cache: vmafuzz kernel fetch --all");
	return -1;
}

static int add_corpus(struct cli_matrix *m)
{
	static const char *const folders[] = { "conformance", "regressions" };
	char path[PATH_MAX], err[512];

	for (size_t i = 0; i < 2; i++) {
		cli_corpus_path(folders[i], path, sizeof(path));
		if (!cli_suite_add(&m->suite, path, err, sizeof(err)))
			continue;
		cli_error("%s", err);
		return -1;
	}
	return 0;
}

/* Every program can be read, or nothing is run. */
static int load_all(struct cli_matrix *m)
{
	struct cli_program *p = malloc(sizeof(*p));
	char err[512] = "out of memory";
	int bad;

	m->program = calloc(m->suite.n, sizeof(*m->program));
	bad = !p || !m->program;
	for (size_t i = 0; i < m->suite.n && !bad; i++) {
		struct cli_matrix_program *to = &m->program[m->nprograms++];

		bad = cli_load(m->suite.test[i].path, p, err, sizeof(err));
		to->prog = p->script.prog;
		to->name = m->suite.test[i].name;
		vm_matrix_program_key(&to->prog, to->key);
	}
	free(p);
	if (bad)
		cli_error("%s", err);
	return bad ? -1 : 0;
}

static int by_order(const void *a, const void *b)
{
	const struct cli_matrix_kernel *x = a, *y = b;
	int diff = !x->order[0] - !y->order[0];

	if (!diff)
		diff = vm_version_compare(x->order, y->order);
	return diff ? diff : strcmp(x->name, y->name);
}

int cli_matrix_gather(struct cli_matrix *m, char **operand, int n)
{
	for (int i = 0; i < n; i++) {
		if (add_operand(m, operand[i]))
			return -1;
	}
	if (!m->nkernels && add_all(m))
		return -1;
	if (!m->suite.n && add_corpus(m))
		return -1;
	qsort(m->kernel, m->nkernels, sizeof(*m->kernel), by_order);
	return load_all(m);
}

void cli_matrix_free(struct cli_matrix *m)
{
	free(m->program);
	free(m->kernel);
	cli_suite_free(&m->suite);
}

/* ---- where verdicts are kept ---- */

/* Another build of a program is another size or time. */
static void file_stamp(const char *path, char *text, size_t cap)
{
	struct stat st = { 0 };

	if (stat(path, &st))
		st.st_size = -1;
	snprintf(text, cap, "%lld-%lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
}

int cli_matrix_store(const struct cli_matrix *m, const struct cli_matrix_kernel *k,
		     char path[VM_PATH_MAX], char *stamp, size_t cap)
{
	char folder[VM_KERNEL_PATH], self[PATH_MAX], executor[PATH_MAX], err[512];
	char exe[64], exec[64];
	const struct cli_target *t = &m->target;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (vm_cache_folder(folder, "matrix", err, sizeof(err)) ||
	    vm_make_folders(folder, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	self[n > 0 ? n : 0] = '\0';
	snprintf(executor, sizeof(executor), "%.*s/vmafuzz-executor",
		 (int)(n > 0 ? strrchr(self, '/') - self : 0), self);
	file_stamp(self, exe, sizeof(exe));
	file_stamp(t->opt.executor ? t->opt.executor : executor, exec, sizeof(exec));
	vm_path(path, "%s/%s", folder, k->file);
	snprintf(stamp, cap, "%s %s %s profile=%s contract=%d inject=%s privileged=%d", k->image,
		 exe, exec, t->profile ? t->profile : "", (int)t->contract,
		 t->opt.inject ? t->opt.inject : "", t->opt.privileged);
	return 0;
}
