/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/findings.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/in_flight.h"
#include "fuzz/campaign/prepare.h"
#include "fuzz/mutate/mutate.h"
#include "harness/target/target.h"

#define INFO_MAX (64u << 10)

const struct vm_profile *vm_options_profile(const struct vm_options *opt,
					    const struct vm_target_info *info)
{
	const struct vm_profile *p = opt->profile ? vm_profile_by_name(opt->profile) : NULL;
	char why[256], title[VM_TITLE_MAX];
	bool regressed;

	return p ? p : vm_profile_choose(info, why, sizeof(why), &regressed, title, sizeof(title));
}

int vm_target_info_save(const char *out, const struct vm_target_info *info, char *err,
			size_t errlen)
{
	uint8_t *buf = malloc(INFO_MAX);
	char path[VM_PATH_MAX];
	size_t n = buf ? vm_info_encode(info, buf, INFO_MAX) : 0;
	int ret = -1;

	vm_path(path, "%s/target.info", out);
	if (n)
		ret = vm_file_write(path, buf, n, err, errlen);
	else
		snprintf(err, errlen, "no memory to write %s", path);
	free(buf);
	return ret;
}

int vm_target_info_load(const char *out, struct vm_target_info *info, char *err, size_t errlen)
{
	char path[VM_PATH_MAX];
	uint8_t *buf;
	size_t len;
	int ret;

	vm_path(path, "%s/target.info", out);
	buf = vm_file_read(path, INFO_MAX, &len, err, errlen);
	if (!buf)
		return -1;
	ret = vm_info_decode(buf, len, info);
	if (ret)
		snprintf(err, errlen, "%s is damaged; start again with `vmafuzz fuzz`", path);
	free(buf);
	return ret;
}

static int take_folder(struct vm_campaign *c, char *err, size_t errlen)
{
	static const char *const folders[] = { "corpus", "findings", "pending", "seeds" };
	char path[VM_PATH_MAX];

	if (strlen(c->opt.out) > VM_PATH_MAX / 2) {
		snprintf(err, errlen, "the path given with --out is too long");
		return -1;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		vm_path(path, "%s/%s", c->opt.out, folders[i]);
		if (vm_folder_make(path, err, errlen))
			return -1;
	}
	vm_path(path, "%s/lock", c->opt.out);
	c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (c->lock < 0) {
		snprintf(err, errlen, "cannot write %s: %s; choose a folder of yours with --out",
			 path, strerror(errno));
		return -1;
	}
	if (flock(c->lock, LOCK_EX | LOCK_NB)) {
		snprintf(err, errlen, "another campaign is running in %s; choose another --out",
			 c->opt.out);
		return -1;
	}
	return 0;
}

static int ask_target(struct vm_campaign *c, char *err, size_t errlen)
{
	struct vm_target_options topt = vm_options_of_target(&c->opt);
	struct vm_target *t = vm_target_open(c->opt.target, &topt, err, errlen);
	const char *harm;

	if (!t)
		return -1;
	c->info = *vm_target_info(t);
	if (vm_guests_adopt(&c->guests, t, err, errlen))
		return -1;
	harm = !strcmp(c->opt.target, "local") ? vm_host_harm(&c->info) : NULL;
	if (harm) {
		snprintf(err, errlen, "%s", harm);
		return -1;
	}
	c->profile = vm_profile_choose(&c->info, c->why, sizeof(c->why), &c->regressed,
				       c->regression, sizeof(c->regression));
	if (c->opt.profile) {
		c->profile = vm_profile_by_name(c->opt.profile);
		if (!c->profile) {
			snprintf(err, errlen, "there is no profile %s", c->opt.profile);
			return -1;
		}
		c->regressed = false;
		snprintf(c->why, sizeof(c->why), "pinned by --profile");
	}
	c->contract = vm_profile_contract(c->profile, c->opt.contract);
	return 0;
}

/* A few programs from nothing, where there are no seeds at all. */
static int generate_seeds(const struct vm_campaign *c, struct vm_corpus *seeds, char *err,
			  size_t errlen)
{
	struct vm_mutator m;
	struct vm_program prog;
	int ret = 0;

	if (vm_mutator_init(&m, &c->info, c->profile, c->opt.seed)) {
		snprintf(err, errlen, "no memory for the mutator");
		return -1;
	}
	for (int i = 0; i < 16 && !ret; i++) {
		vm_generate(&m, &prog);
		ret = vm_corpus_add(seeds, &prog);
	}
	vm_mutator_free(&m);
	if (ret)
		snprintf(err, errlen, "no memory for the seeds");
	return ret;
}

/* Findings that were seen but not replayed when an earlier run ended: seen again as seeds. */
static int load_pending(const char *out, struct vm_corpus *seeds, char *err, size_t errlen)
{
	char parent[VM_PATH_MAX], path[VM_PATH_MAX];
	struct vm_program prog;
	struct dirent *d;
	int ret = 0;
	DIR *dir;

	vm_path(parent, "%s/pending", out);
	dir = opendir(parent);
	if (!dir)
		return 0;
	while (!ret && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		vm_path(path, "%s/%s/program.bin", parent, d->d_name);
		if (!access(path, R_OK) && !vm_corpus_read(path, &prog, err, errlen))
			ret = vm_corpus_add(seeds, &prog);
	}
	closedir(dir);
	if (ret)
		snprintf(err, errlen, "no memory for the seeds");
	return ret;
}

static int write_seeds(const struct vm_campaign *c, const struct vm_corpus *seeds, char *err,
		       size_t errlen)
{
	char folder[VM_PATH_MAX];

	vm_path(folder, "%s/seeds", c->opt.out);
	vm_folder_remove(folder);
	if (vm_folder_make(folder, err, errlen))
		return -1;
	for (size_t i = 0; i < seeds->n; i++) {
		if (vm_corpus_write(seeds, i, folder, err, errlen))
			return -1;
	}
	return 0;
}

static int gather_seeds(struct vm_campaign *c, char *err, size_t errlen)
{
	struct vm_corpus seeds = { 0 };
	char path[VM_PATH_MAX];
	int ret = 0;

	if (c->opt.corpus)
		ret = vm_corpus_load(&seeds, c->opt.corpus, err, errlen);
	c->seeds = seeds.n;
	vm_path(path, "%s/corpus", c->opt.out);
	if (!ret)
		ret = vm_corpus_load(&seeds, path, err, errlen);
	c->resumed = seeds.n - c->seeds;
	if (!ret)
		ret = load_pending(c->opt.out, &seeds, err, errlen);
	if (!ret && !seeds.n)
		ret = generate_seeds(c, &seeds, err, errlen);
	if (!ret)
		ret = write_seeds(c, &seeds, err, errlen);
	vm_corpus_free(&seeds);
	return ret;
}

static void enter_regression(struct vm_campaign *c)
{
	struct vm_title *t;
	bool fresh;

	if (!c->regressed)
		return;
	t = vm_stats_title(c->stats, c->regression, VM_VIOLATION, &fresh);
	if (!t)
		return;
	t->slug[0] = '\0'; /* seen by the probes: there is no program to show */
	atomic_store(&t->count, 1);
	atomic_store(&t->state, VM_TITLE_CONFIRMED);
}

int vm_campaign_prepare(struct vm_campaign *c, const struct vm_options *opt, char *err,
			size_t errlen)
{
	*c = (struct vm_campaign){ .opt = *opt, .lock = -1 };
	if (ask_target(c, err, errlen) || take_folder(c, err, errlen) ||
	    vm_target_info_save(opt->out, &c->info, err, errlen) ||
	    vm_in_flight_rescue(opt->out, err, errlen) || gather_seeds(c, err, errlen))
		return -1;
	c->stats = vm_stats_open(opt->out, true, err, errlen);
	if (!c->stats || vm_findings_load(opt->out, c->stats, err, errlen))
		return -1;
	enter_regression(c);
	return 0;
}

void vm_campaign_release(struct vm_campaign *c)
{
	vm_guests_close(&c->guests);
	if (c->stats)
		vm_in_flight_clear(c->opt.out);
	vm_stats_close(c->stats);
	c->stats = NULL;
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}
