/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "harness/kernel/apt.h"
#include "harness/kernel/files.h"

#define APT_HELPER "/usr/lib/apt/apt-helper"
#define KEYRING	   "/usr/share/keyrings/debian-archive-keyring.gpg"
#define MAX_AGE_S  86400
#define MAX_WORDS  16

/* Each brought kernels that no other has; `security`: on the security mirror. */
static const struct {
	const char *name;
	bool security;
} suites[] = {
	{ "bookworm", false }, { "bookworm-backports", false }, { "bookworm-security", true },
	{ "trixie", false },   { "trixie-backports", false },	{ "trixie-security", true },
	{ "sid", false },
};

#define NSUITES (sizeof(suites) / sizeof(suites[0]))

const char *vm_apt_native(void)
{
	struct utsname u;

	if (uname(&u))
		return NULL;
	return !strcmp(u.machine, "x86_64")    ? "amd64"
	       : !strcmp(u.machine, "aarch64") ? "arm64"
					       : NULL;
}

/* ---- the machine's own configuration ---- */

struct mirror {
	char plain[256], security[256], keyring[256];
};

/* A line of `apt-get indextargets`: address, origin, keyring of one list. */
static void take_target(void *arg, const char *line)
{
	struct mirror *m = arg;
	char uri[256] = "", origin[64] = "", keyring[256] = "";
	size_t n;

	if (sscanf(line, "%255[^|]|%63[^|]|%255[^|]", uri, origin, keyring) < 1)
		return;
	n = strlen(uri);
	while (n && uri[n - 1] == '/')
		uri[--n] = '\0';
	if (n > 16 && !strcmp(uri + n - 16, "/debian-security")) {
		if (!m->security[0])
			memcpy(m->security, uri, n + 1);
	} else if (!strcmp(origin, "Debian") || (n > 7 && !strcmp(uri + n - 7, "/debian"))) {
		if (!m->plain[0])
			memcpy(m->plain, uri, n + 1);
	} else {
		return;
	}
	/* An apt that does not know the word prints it as it is. */
	if (keyring[0] == '/' && !m->keyring[0])
		memcpy(m->keyring, keyring, sizeof(m->keyring));
}

static int find_mirror(struct mirror *m, const char *given, char *err, size_t errlen)
{
	static const char *const argv[] = { "apt-get",
					    "indextargets",
					    "--format",
					    "$(REPO_URI)|$(ORIGIN)|$(SIGNED_BY)",
					    "Created-By: Packages",
					    NULL };
	struct vm_tool tool = { .argv = argv, .line = take_target, .arg = m };
	int status = vm_tool_run(&tool, err, errlen);

	if (status < 0) {
		snprintf(err, errlen,
			 "there is no apt-get here: fetching kernels needs it (or put "
			 "kernels into the cache by vmafuzz kernel build)");
		return -1;
	}
	if (given)
		snprintf(m->plain, sizeof(m->plain), "%s", given);
	if (!m->plain[0]) {
		snprintf(err, errlen,
			 "this machine's apt has no Debian mirror: give one with "
			 "--mirror http://deb.debian.org/debian");
		return -1;
	}
	if (given || !m->security[0])
		snprintf(m->security, sizeof(m->security), "%.240s-security", m->plain);
	if (!m->keyring[0] && !access(KEYRING, R_OK))
		snprintf(m->keyring, sizeof(m->keyring), "%s", KEYRING);
	return 0;
}

/* ---- ours ---- */

static int write_sources(const struct vm_apt *a, const struct mirror *m, char *err, size_t errlen)
{
	char path[VM_KERNEL_PATH], text[4096];
	size_t n = 0;

	for (size_t i = 0; i < NSUITES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "deb %s%s%s %s %s main\n",
				      m->keyring[0] ? "[signed-by=" : "", m->keyring,
				      m->keyring[0] ? "]" : "",
				      suites[i].security ? m->security : m->plain, suites[i].name);
	vm_kernel_path(path, "%s/sources.list", a->dir);
	return vm_write_text(path, text, err, errlen);
}

/* What the machine does after an update is none of our lists' business. */
static int write_conf(const struct vm_apt *a, char *err, size_t errlen)
{
	char text[4 * VM_KERNEL_PATH];

	snprintf(text, sizeof(text),
		 "#clear APT::Update::Post-Invoke;\n"
		 "#clear APT::Update::Post-Invoke-Success;\n"
		 "Dir::Etc::sourcelist \"%s/sources.list\";\n"
		 "Dir::Etc::sourceparts \"-\";\n"
		 "Dir::State::lists \"%s\";\n"
		 "Dir::Cache \"%s/cache\";\n"
		 "APT::Architecture \"%s\";\n"
		 "#clear APT::Architectures;\n"
		 "APT::Architectures { \"%s\"; };\n"
		 "Acquire::Languages \"none\";\n"
		 "Acquire::PDiffs \"false\";\n"
		 "Acquire::Retries \"3\";\n",
		 a->dir, a->lists, a->dir, a->arch, a->arch);
	return vm_write_text(a->conf, text, err, errlen);
}

int vm_apt_open(struct vm_apt *a, const char *arch, const char *mirror, char *err, size_t errlen)
{
	char top[VM_KERNEL_PATH], path[VM_KERNEL_PATH];
	struct mirror m = { 0 };

	*a = (struct vm_apt){ 0 };
	snprintf(a->arch, sizeof(a->arch), "%s", arch);
	if (vm_cache_folder(top, "apt", err, errlen) || find_mirror(&m, mirror, err, errlen))
		return -1;
	if (vm_kernel_path(a->dir, "%s/%s", top, arch) ||
	    vm_kernel_path(a->conf, "%s/apt.conf", a->dir) ||
	    vm_kernel_path(a->lists, "%s/lists", a->dir) ||
	    vm_kernel_path(path, "%s/cache/archives/partial", a->dir)) {
		snprintf(err, errlen, "the path of the cache is too long: %s", top);
		return -1;
	}
	if (vm_make_folders(path, err, errlen))
		return -1;
	vm_kernel_path(path, "%s/partial", a->lists);
	if (vm_make_folders(path, err, errlen) || write_sources(a, &m, err, errlen))
		return -1;
	return write_conf(a, err, errlen);
}

bool vm_apt_fresh(const struct vm_apt *a)
{
	char path[VM_KERNEL_PATH];
	struct stat st;

	vm_kernel_path(path, "%s/updated", a->dir);
	return !stat(path, &st) && time(NULL) - st.st_mtime < MAX_AGE_S;
}

/* Keep what apt complains about; "E: " lines say why it failed, the first why first. */
static void take_complaint(void *arg, const char *line)
{
	struct vm_apt *a = arg;

	if (!strncmp(line, "E: ", 3) && strncmp(a->last, "E: ", 3))
		snprintf(a->last, sizeof(a->last), "%s", line);
	else if (!strncmp(line, "Err:", 4) && !a->last[0])
		snprintf(a->last, sizeof(a->last), "%s", line);
}

/* apt-get -c OUR-CONFIGURATION WORD...; its complaint becomes the error. */
static int apt_get(struct vm_apt *a, const char *cwd, const char *const *words, char *err,
		   size_t errlen)
{
	const char *argv[MAX_WORDS] = { "apt-get", "-q", "-c", a->conf };
	struct vm_tool tool = { .argv = argv, .cwd = cwd, .line = take_complaint, .arg = a };
	int status;

	for (int i = 4; *words && i < MAX_WORDS - 1; i++)
		argv[i] = *words++;
	a->last[0] = '\0';
	status = vm_tool_run(&tool, err, errlen);
	if (status > 0)
		snprintf(err, errlen, "apt-get: %s",
			 a->last[0] ? a->last + (a->last[1] == ':' ? 3 : 0) : "failed silently");
	return status ? -1 : 0;
}

int vm_apt_update(struct vm_apt *a, char *err, size_t errlen)
{
	static const char *const words[] = { "update", "--error-on=any", NULL };
	char path[VM_KERNEL_PATH];

	if (apt_get(a, NULL, words, err, errlen))
		return -1;
	vm_kernel_path(path, "%s/kernels", a->dir);
	unlink(path);
	vm_kernel_path(path, "%s/updated", a->dir);
	return vm_write_text(path, "", err, errlen);
}

int vm_apt_download(struct vm_apt *a, const char *to, const char *const *packages, char *err,
		    size_t errlen)
{
	const char *words[MAX_WORDS] = { "download" };

	for (int i = 1; *packages && i < MAX_WORDS - 1; i++)
		words[i] = *packages++;
	return apt_get(a, to, words, err, errlen);
}

/* ---- reading the lists ---- */

struct list {
	char suite[32], path[VM_KERNEL_PATH];
};

struct lists {
	struct list list[NSUITES];
	size_t n;
};

static void take_list(void *arg, const char *line)
{
	struct lists *l = arg;
	struct list *to = &l->list[l->n];

	if (l->n < NSUITES && sscanf(line, "%31[^|]|%1023[^\n]", to->suite, to->path) == 2)
		l->n++;
}

/* Reads a list, and writes what it says of packages of the kernel's into `digest`. */
struct reader {
	struct vm_packages *packages;
	const char *suite;
	FILE *digest;
	bool kernel; /* the package that is being read is one */
};

static void take_line(void *arg, const char *line)
{
	struct reader *r = arg;

	if (!strncmp(line, "Package: ", 9))
		r->kernel = !strncmp(line + 9, "linux-", 6);
	if (!r->kernel || (strncmp(line, "Package:", 8) && strncmp(line, "Version:", 8) &&
			   strncmp(line, "Size:", 5)))
		return;
	vm_packages_line(r->packages, r->suite, line);
	fprintf(r->digest, "%s|%s\n", r->suite, line);
}

static int read_list(struct reader *r, const struct list *l, char *err, size_t errlen)
{
	const char *argv[] = { APT_HELPER, "cat-file", l->path, NULL };
	struct vm_tool tool = { .argv = argv, .line = take_line, .arg = r };
	int status;

	r->suite = l->suite;
	r->kernel = false;
	status = vm_tool_run(&tool, err, errlen);
	vm_packages_line(r->packages, l->suite, "");
	if (status > 0)
		snprintf(err, errlen, "cannot read %s: run with --update", l->path);
	return status ? -1 : 0;
}

/* From all lists, into the digest at `path`. */
static int read_lists(struct vm_apt *a, struct vm_packages *p, const char *path, char *err,
		      size_t errlen)
{
	const char *argv[] = { "apt-get",
			       "-c",
			       a->conf,
			       "indextargets",
			       "--format",
			       "$(RELEASE)|$(FILENAME)",
			       "Created-By: Packages",
			       NULL };
	struct lists lists = { 0 };
	struct vm_tool tool = { .argv = argv, .line = take_list, .arg = &lists };
	struct reader r = { .packages = p };
	char temp[VM_KERNEL_PATH];
	int ret = 0;

	if (vm_tool_run(&tool, err, errlen) < 0)
		return -1;
	vm_kernel_path(temp, "%s.%d", path, (int)getpid());
	r.digest = fopen(temp, "we");
	if (!r.digest) {
		snprintf(err, errlen, "cannot write %s: %s", temp, strerror(errno));
		return -1;
	}
	for (size_t i = 0; i < lists.n && !ret; i++) {
		if (!access(lists.list[i].path, R_OK))
			ret = read_list(&r, &lists.list[i], err, errlen);
	}
	if (fclose(r.digest) || ret || rename(temp, path))
		unlink(temp); /* the lists are read again next time */
	return ret;
}

static int read_digest(struct vm_packages *p, FILE *f)
{
	char line[512], *end;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		end = strchr(line, '|');
		if (!end)
			continue;
		*end = '\0';
		vm_packages_line(p, line, end + 1);
		if (!strncmp(end + 1, "Size:", 5))
			vm_packages_line(p, line, "");
	}
	return fclose(f);
}

int vm_apt_kernels(struct vm_apt *a, const char *flavour, struct vm_packages *p, char *err,
		   size_t errlen)
{
	char path[VM_KERNEL_PATH];
	FILE *f;

	vm_packages_begin(p, flavour);
	vm_kernel_path(path, "%s/kernels", a->dir);
	f = fopen(path, "re");
	if (f ? read_digest(p, f) : read_lists(a, p, path, err, errlen))
		return -1;
	if (vm_packages_join(p)) {
		snprintf(err, errlen, "out of memory");
		return -1;
	}
	return 0;
}
