/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/suite.h"
#include "fuzz/campaign/folder.h"

#define SUFFIX ".vma"

void cli_suite_free(struct cli_suite *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->test[i].path);
		free(s->test[i].name);
	}
	free(s->test);
	*s = (struct cli_suite){ 0 };
}

/* `name` without its suffix becomes the test's name. */
static int add(struct cli_suite *s, const char *path, const char *name)
{
	size_t len = strlen(name) - (vm_has_suffix(name, SUFFIX) ? strlen(SUFFIX) : 0);
	struct cli_test t;

	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct cli_test *more = realloc(s->test, cap * sizeof(*more));

		if (!more)
			return -1;
		s->test = more;
		s->cap = cap;
	}
	t.path = strdup(path);
	t.name = strndup(name, len);
	if (!t.path || !t.name) {
		free(t.path);
		free(t.name);
		return -1;
	}
	s->test[s->n++] = t;
	return 0;
}

/* The last two parts of a path. */
static const char *short_name(const char *path)
{
	const char *p = strrchr(path, '/');

	if (!p)
		return path;
	while (p > path && p[-1] != '/')
		p--;
	return *p == '/' || *p == '.' ? strrchr(path, '/') + 1 : p;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int unreadable(const char *path, int error, char *err, size_t errlen)
{
	snprintf(err, errlen, "cannot read %s: %s", path, strerror(error));
	return -1;
}

static int walk(struct cli_suite *s, FTS *fts, const char *root, char *err, size_t errlen)
{
	size_t skip = strlen(root);
	FTSENT *f;

	while (root[skip - 1] == '/' && skip > 1)
		skip--;
	for (errno = 0; (f = fts_read(fts)); errno = 0) {
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS)
			return unreadable(f->fts_path, f->fts_errno, err, errlen);
		if (f->fts_info == FTS_D && f->fts_level > 0 && f->fts_name[0] == '.')
			fts_set(fts, f, FTS_SKIP);
		if (f->fts_info != FTS_F)
			continue;
		if (f->fts_level > 0 && !vm_has_suffix(f->fts_name, SUFFIX))
			continue;
		if (add(s, f->fts_path,
			f->fts_level ? f->fts_path + skip + strspn(f->fts_path + skip, "/")
				     : short_name(f->fts_path)))
			return unreadable(f->fts_path, ENOMEM, err, errlen);
	}
	return errno ? unreadable(root, errno, err, errlen) : 0;
}

int cli_suite_add(struct cli_suite *s, const char *path, char *err, size_t errlen)
{
	char *const roots[] = { (char *)path, NULL };
	size_t before = s->n;
	FTS *fts;
	int ret;

	if (!*path)
		return unreadable("''", ENOENT, err, errlen);
	fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	if (!fts)
		return unreadable(path, errno, err, errlen);
	ret = walk(s, fts, path, err, errlen);
	fts_close(fts);
	if (!ret && s->n == before) {
		snprintf(err, errlen, "there is no .vma file in %s", path);
		return -1;
	}
	return ret;
}

void cli_corpus_path(const char *folder, char *path, size_t cap)
{
	ssize_t n;
	char *slash;

	snprintf(path, cap, "corpus/%s", folder);
	if (!access(path, R_OK))
		return;
	n = readlink("/proc/self/exe", path, cap - 1);
	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		n = slash - path;
		snprintf(slash, cap - (size_t)n, "/../corpus/%s", folder);
		if (!access(path, R_OK))
			return;
	}
	snprintf(path, cap, "corpus/%s", folder);
}
