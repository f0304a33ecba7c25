/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/cover.h"
#include "fuzz/campaign/distil.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/session.h"

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The features of a run, none twice; 0 or -1. */
static int take_features(struct vm_cover_item *item, struct vm_result *r)
{
	qsort(r->feature, r->nfeatures, sizeof(r->feature[0]), by_id);
	item->feature = malloc((r->nfeatures + 1) * sizeof(item->feature[0]));
	if (!item->feature)
		return -1;
	for (uint32_t i = 0; i < r->nfeatures; i++)
		if (!i || r->feature[i] != r->feature[i - 1])
			item->feature[item->n++] = r->feature[i];
	return 0;
}

static int run_all(const struct vm_campaign *c, const struct vm_corpus *corpus,
		   struct vm_cover_item *item, char *err, size_t errlen)
{
	struct vm_options opt = c->opt;
	struct vm_session *session;
	struct vm_program prog;
	struct vm_result result;
	int ret;

	opt.target = vm_guests_target(&c->guests, 0, c->opt.target);
	session = vm_session_open(&opt, false, err, errlen);
	ret = session ? 0 : -1;
	for (size_t i = 0; i < corpus->n && !ret; i++) {
		vm_corpus_get(corpus, i, &prog);
		item[i].cost = prog.ncalls;
		ret = vm_session_run(session, &prog, &result, err, errlen);
		if (!ret && take_features(&item[i], &result)) {
			snprintf(err, errlen, "no memory for features");
			ret = -1;
		}
	}
	vm_session_close(session);
	return ret;
}

/* Exchange the new folder for OUT/corpus, and delete the old one. */
static int put_in_place(const char *made, const char *corpus, char *err, size_t errlen)
{
	if (renameat2(AT_FDCWD, made, AT_FDCWD, corpus, RENAME_EXCHANGE)) {
		snprintf(err, errlen, "cannot put %s in the place of %s: %s; do so by hand", made,
			 corpus, strerror(errno));
		return -1;
	}
	vm_folder_remove(made);
	return 0;
}

static int write_taken(const struct vm_campaign *c, const struct vm_corpus *corpus,
		       const struct vm_cover_item *item, struct vm_distilled *out, char *err,
		       size_t errlen)
{
	char folder[VM_PATH_MAX], made[VM_PATH_MAX];

	vm_path(folder, "%s/corpus", c->opt.out);
	vm_path(made, "%s/corpus.new", c->opt.out);
	vm_folder_remove(made);
	if (vm_folder_make(made, err, errlen))
		return -1;
	for (size_t i = 0; i < corpus->n; i++) {
		if (!item[i].taken)
			continue;
		if (vm_corpus_write(corpus, i, made, err, errlen))
			return -1;
		out->after++;
	}
	return put_in_place(made, folder, err, errlen);
}

static int choose(const struct vm_campaign *c, const struct vm_corpus *corpus,
		  struct vm_cover_item *item, struct vm_distilled *out, char *err, size_t errlen)
{
	int64_t features;

	if (run_all(c, corpus, item, err, errlen))
		return -1;
	features = vm_cover(item, corpus->n);
	if (features < 0) {
		snprintf(err, errlen, "no memory to choose programs");
		return -1;
	}
	out->features = (uint64_t)features;
	return write_taken(c, corpus, item, out, err, errlen);
}

int vm_distil(const struct vm_campaign *c, struct vm_distilled *out, char *err, size_t errlen)
{
	struct vm_corpus corpus = { 0 };
	struct vm_cover_item *item;
	char folder[VM_PATH_MAX];
	int ret = -1;

	*out = (struct vm_distilled){ 0 };
	vm_path(folder, "%s/corpus", c->opt.out);
	if (vm_corpus_load(&corpus, folder, err, errlen))
		return -1;
	out->before = corpus.n;
	item = calloc(corpus.n + 1, sizeof(*item));
	if (!corpus.n)
		snprintf(err, errlen, "%s is empty: run a campaign with this --out first", folder);
	else if (!item)
		snprintf(err, errlen, "no memory for %zu programs", corpus.n);
	else
		ret = choose(c, &corpus, item, out, err, errlen);
	for (size_t i = 0; item && i < corpus.n; i++)
		free(item[i].feature);
	free(item);
	vm_corpus_free(&corpus);
	return ret;
}
