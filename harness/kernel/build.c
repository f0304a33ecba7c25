/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/kernel/build.h"
#include "harness/kernel/files.h"
#include "harness/kernel/presets.h"
#include "harness/kernel/source.h"

#define MAX_COVER  64
#define MAX_CONFIG (1 << 20)

struct work {
	const struct vm_build *b;
	struct vm_kernel *k;
	char out[VM_KERNEL_PATH];      /* make's O= */
	char fragment[VM_KERNEL_PATH]; /* the preset in it */
	char complaint[512];	       /* the compiler's or make's first error */
	FILE *log;
	char *err;
	size_t errlen;
};

/* ---- what a build needs ---- */

/* Programs, and headers of the machine's; the Debian packages that have them. */
static const struct {
	const char *command, *header, *package;
} needs[] = {
	{ "make", NULL, "make" },
	{ "gcc", NULL, "gcc" },
	{ "ld", NULL, "binutils" },
	{ "flex", NULL, "flex" },
	{ "bison", NULL, "bison" },
	{ "bc", NULL, "bc" },
	{ "perl", NULL, "perl" },
	{ NULL, "gelf.h", "libelf-dev" },
	{ NULL, "openssl/evp.h", "libssl-dev" },
};

static bool in_path(const char *command)
{
	char path[VM_KERNEL_PATH];
	const char *p = getenv("PATH");

	for (size_t n; p && *p; p += n + (p[n] == ':')) {
		n = strcspn(p, ":");
		if (!vm_kernel_path(path, "%.*s/%s", (int)n, p, command) && !access(path, X_OK))
			return true;
	}
	return false;
}

static bool has_header(const char *header)
{
	const char *argv[] = { "gcc", "-E", "-include", header, "-x", "c", "/dev/null", NULL };
	struct vm_tool tool = { .argv = argv };
	char err[256];

	return !vm_tool_run(&tool, err, sizeof(err));
}

static int check_needs(struct work *w)
{
	char missing[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (needs[i].command ? in_path(needs[i].command) : has_header(needs[i].header))
			continue;
		n += (size_t)snprintf(missing + n, sizeof(missing) - n, " %s", needs[i].package);
	}
	if (!n)
		return 0;
	snprintf(w->err, w->errlen,
		 "building a kernel needs Debian packages that are not here: apt-get install%s",
		 missing);
	return -1;
}

/* ---- make ---- */

/* Lines like "  CC      mm/mremap.o" are progress; the first error is kept. */
static void take_line(void *arg, const char *line)
{
	struct work *w = arg;

	fprintf(w->log, "%s\n", line);
	if (!w->complaint[0] && (strstr(line, "error:") || strstr(line, "*** ")))
		snprintf(w->complaint, sizeof(w->complaint), "%s", line);
	if (w->b->progress && line[0] == ' ' && isupper((unsigned char)line[2]))
		w->b->progress(w->b->arg, line + 2);
}

/* make -C TREE O=OUT WORD...; 0, or -1 with the first error. */
static int make(struct work *w, const char *const *words)
{
	char jobs[32], out[VM_KERNEL_PATH + 4], config[VM_KERNEL_PATH + 32];
	const char *argv[MAX_COVER + 12] = { "make", "-C", w->b->tree, jobs, out, config };
	struct vm_tool tool = { .argv = argv, .nice = 5, .line = take_line, .arg = w };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status;

	snprintf(jobs, sizeof(jobs), "-j%u",
		 w->b->jobs ? w->b->jobs : (unsigned int)(cpus > 0 ? cpus : 1));
	snprintf(out, sizeof(out), "O=%s", w->out);
	snprintf(config, sizeof(config), "KCONFIG_ALLCONFIG=%s", w->fragment);
	for (int i = 6; *words; i++)
		argv[i] = *words++;
	w->complaint[0] = '\0';
	status = vm_tool_run(&tool, w->err, w->errlen);
	if (status > 0)
		snprintf(w->err, w->errlen, "make failed: %s (all it said: %s/vmafuzz.log)",
			 w->complaint[0] ? w->complaint : "without a word", w->out);
	return status ? -1 : 0;
}

/* ---- configuration ---- */

static const char *preset_text(const char *name)
{
	for (const struct vm_preset *p = vm_presets; p->name; p++) {
		if (!strcmp(p->name, name))
			return p->text;
	}
	return NULL;
}

static bool same_text(const char *path, const char *text)
{
	size_t n = strlen(text);
	char *there = malloc(n + 2);
	FILE *f = fopen(path, "re");
	bool same = f && there && fread(there, 1, n + 1, f) == n && !memcmp(there, text, n);

	if (f)
		fclose(f);
	free(there);
	return same;
}

/* Is this line of the fragment, CONFIG_X=y, in the kernel's configuration? */
static bool is_set(const char *config, const char *line, size_t len)
{
	for (const char *p = config; (p = strstr(p, "CONFIG_")); p++) {
		if ((p == config || p[-1] == '\n') && !strncmp(p, line, len) && p[len] == '\n')
			return true;
	}
	return false;
}

/* What the preset wants and this kernel has not, for another version may lack it. */
static void report_unset(struct work *w, const char *text)
{
	char path[VM_KERNEL_PATH], line[128];
	char *config = calloc(1, MAX_CONFIG);
	size_t n;
	FILE *f;

	vm_kernel_path(path, "%s/.config", w->out);
	f = fopen(path, "re");
	/* The last byte stays 0. Without memory or a file, nothing can be said. */
	n = f && config ? fread(config, 1, MAX_CONFIG - 1, f) : 0;
	if (f)
		fclose(f);
	for (bool read = n; read && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (text[0] == '#' || !n || text[n - 1] == 'n' || is_set(config, text, n))
			continue;
		snprintf(line, sizeof(line), "note: this kernel has no %.*s", (int)n, text);
		if (w->b->progress)
			w->b->progress(w->b->arg, line);
	}
	free(config);
}

/* allnoconfig and the preset, unless that is how it was left. */
static int configure(struct work *w)
{
	static const char *const words[] = { "-s", "allnoconfig", NULL };
	const char *base = preset_text("base"), *own = preset_text(w->b->preset);
	char path[VM_KERNEL_PATH];
	char *text = NULL;
	int ret = 0;

	if (!own || !strcmp(w->b->preset, "base")) {
		snprintf(w->err, w->errlen, "there is no preset %s; there are fuzz, debug, perf",
			 w->b->preset);
		return -1;
	}
	if (asprintf(&text, "%s%s", base, own) < 0) {
		snprintf(w->err, w->errlen, "out of memory");
		return -1;
	}
	vm_kernel_path(path, "%s/.config", w->out);
	if (access(path, R_OK) || !same_text(w->fragment, text)) {
		ret = vm_write_text(w->fragment, text, w->err, w->errlen);
		if (!ret && (ret = make(w, words)))
			unlink(w->fragment);
		else if (!ret)
			report_unset(w, text);
	}
	free(text);
	return ret;
}

int vm_build_cover_word(const char *file, size_t len, char *word, size_t cap)
{
	const char *base = memrchr(file, '/', len);
	int n;

	base = base ? base + 1 : file;
	len -= (size_t)(base - file);
	if (len < 3 || memcmp(base + len - 2, ".c", 2) || memchr(base, ' ', len))
		return -1;
	n = snprintf(word, cap, "KCOV_INSTRUMENT_%.*s.o=y", (int)len - 2, base);
	return n < 0 || (size_t)n >= cap ? -1 : 0;
}

static int compile(struct work *w)
{
	char word[MAX_COVER][80];
	const char *words[MAX_COVER + 2];
	const char *p = w->b->cover ? w->b->cover : VM_BUILD_COVER;
	size_t n = 0;

	for (size_t len; *p; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		if (n == MAX_COVER || vm_build_cover_word(p, len, word[n], sizeof(word[n]))) {
			snprintf(w->err, w->errlen, "cannot instrument %.*s: give C files like %s",
				 (int)len, p, "mm/mremap.c");
			return -1;
		}
		words[n] = word[n];
		n++;
	}
	words[n++] = "bzImage";
	words[n] = NULL;
	return make(w, words);
}

/* ---- into the cache ---- */

static int copy(struct work *w, const char *from, const char *folder, const char *to)
{
	char source[VM_KERNEL_PATH], target[VM_KERNEL_PATH];
	const char *argv[] = { "cp", "--reflink=auto", source, target, NULL };
	struct vm_tool tool = { .argv = argv, .line = take_line, .arg = w };
	int status;

	vm_kernel_path(source, "%s/%s", w->out, from);
	vm_kernel_path(target, "%s/%s", folder, to);
	status = vm_tool_run(&tool, w->err, w->errlen);
	if (status > 0)
		snprintf(w->err, w->errlen, "cannot copy %s to %s: is the disk full?", source,
			 target);
	return status ? -1 : 0;
}

static int read_release(struct work *w)
{
	char path[VM_KERNEL_PATH];
	FILE *f;
	bool got;

	vm_kernel_path(path, "%s/include/config/kernel.release", w->out);
	f = fopen(path, "re");
	got = f && fgets(w->k->release, sizeof(w->k->release), f);
	if (f)
		fclose(f);
	if (!got) {
		snprintf(w->err, w->errlen, "cannot read %s", path);
		return -1;
	}
	w->k->release[strcspn(w->k->release, "\n")] = '\0';
	return 0;
}

static int store(struct work *w, const char *folder)
{
	struct vm_kernel *k = w->k;
	char temp[VM_KERNEL_PATH], old[VM_KERNEL_PATH];

	if (vm_kernel_path(temp, "%s/.build-%s", folder, k->name) ||
	    vm_kernel_path(old, "%s/.old-%s", folder, k->name) ||
	    vm_kernel_path(k->dir, "%s/%s", folder, k->name) ||
	    vm_kernel_path(k->image, "%s/bzImage", k->dir) ||
	    vm_kernel_path(k->vmlinux, "%s/vmlinux", k->dir) ||
	    vm_kernel_path(k->config, "%s/config", k->dir)) {
		snprintf(w->err, w->errlen, "the path of the cache is too long: %s", folder);
		return -1;
	}
	snprintf(k->arch, sizeof(k->arch), "x86_64");
	snprintf(k->origin, sizeof(k->origin), "preset %s, from %.120s", w->b->preset, w->b->tree);
	if (vm_remove_tree(temp, w->err, w->errlen) || vm_remove_tree(old, w->err, w->errlen) ||
	    vm_make_folders(temp, w->err, w->errlen) || read_release(w) ||
	    copy(w, "arch/x86/boot/bzImage", temp, "bzImage") ||
	    copy(w, "vmlinux", temp, "vmlinux") || copy(w, ".config", temp, "config") ||
	    vm_kernel_write(k, temp, w->err, w->errlen))
		return -1;
	if ((rename(k->dir, old) && errno != ENOENT) || rename(temp, k->dir)) {
		snprintf(w->err, w->errlen, "cannot make %s: %s", k->dir, strerror(errno));
		return -1;
	}
	return vm_remove_tree(old, w->err, w->errlen);
}

static int open_work(struct work *w)
{
	char path[VM_KERNEL_PATH], builds[VM_KERNEL_PATH];

	if (vm_source_version(w->b->tree, w->k->version, w->err, w->errlen))
		return -1;
	if (w->b->name)
		snprintf(w->k->name, sizeof(w->k->name), "%s", w->b->name);
	else
		snprintf(w->k->name, sizeof(w->k->name), "%.30s-%.48s", w->b->preset,
			 w->k->version);
	if (strchr(w->k->name, '/') || w->k->name[0] == '.') {
		snprintf(w->err, w->errlen, "%s cannot be a kernel's name", w->k->name);
		return -1;
	}
	if (vm_cache_folder(builds, "builds", w->err, w->errlen))
		return -1;
	vm_kernel_path(w->out, "%s/%s", builds, w->k->name);
	vm_kernel_path(w->fragment, "%s/vmafuzz.config", w->out);
	if (vm_make_folders(w->out, w->err, w->errlen))
		return -1;
	vm_kernel_path(path, "%s/vmafuzz.log", w->out);
	w->log = fopen(path, "we");
	if (w->log) {
		setvbuf(w->log, NULL, _IOLBF, 0);
		return 0;
	}
	snprintf(w->err, w->errlen, "cannot write %s: %s", path, strerror(errno));
	return -1;
}

int vm_kernel_build(const struct vm_build *b, struct vm_kernel *k, char *err, size_t errlen)
{
	struct work w = { .b = b, .k = k, .err = err, .errlen = errlen };
	char folder[VM_KERNEL_PATH], path[VM_KERNEL_PATH];
	int lock, ret;

	*k = (struct vm_kernel){ 0 };
	if (vm_kernel_folder(folder, err, errlen) || vm_make_folders(folder, err, errlen) ||
	    open_work(&w))
		return -1;
	vm_kernel_path(path, "%s/.vmafuzz-lock", w.out);
	lock = vm_lock(path, NULL, err, errlen);
	ret = lock < 0 || check_needs(&w) || configure(&w) || compile(&w) || store(&w, folder);
	fclose(w.log);
	if (lock >= 0)
		close(lock);
	return ret ? -1 : 0;
}
