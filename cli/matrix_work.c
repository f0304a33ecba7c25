/* SPDX-License-Identifier: MIT */
/* Running the programs of a matrix on one kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/matrix.h"
#include "cli/run.h"
#include "harness/target/process.h"
#include "harness/trace/preamble.h"

#define SAVE_EVERY 50 /* programs: what an interruption costs */

/* Why this target cannot run the program, or NULL. */
static const char *refused(const struct vm_program *p, const struct vm_target_info *info, char *why,
			   size_t cap)
{
	if (vm_preamble_refused(p, info, why, cap))
		return why;
	for (unsigned int i = 0; i < p->ncalls; i++) {
		if (p->call[i].fail_nth && !(info->features & VM_HAS_FAIL_NTH))
			return "allocations cannot be made to fail there";
	}
	return NULL;
}

struct work {
	const struct cli_matrix *m;
	struct cli_run *run;
	struct vm_matrix_store *store;
	struct vm_matrix_kernel about;
};

/* 1 if it was not known yet, 0 if it was; -1, and said. */
static int run_one(struct work *w, const struct cli_matrix_program *p)
{
	char err[512], why[256];
	const char *skip;
	int ret = 1;

	if (vm_matrix_store_has(w->store, p->key))
		return 0;
	skip = refused(&p->prog, vm_target_info(w->run->target), why, sizeof(why));
	if (!skip)
		ret = cli_run_program(w->run, &p->prog, err, sizeof(err));
	if (ret < 0) {
		cli_error("%s", err);
		return -1;
	}
	if (!vm_matrix_store_put(w->store, p->key, skip ? NULL : &w->run->judgement, !ret, skip))
		return 1;
	cli_error("out of memory");
	return -1;
}

static int save(struct work *w, long long began)
{
	char err[512];

	w->about.run_ms = (uint32_t)(vm_now_ms() - began);
	if (!vm_matrix_store_set_kernel(w->store, &w->about) &&
	    !vm_matrix_store_save(w->store, err, sizeof(err)))
		return 0;
	cli_error("%s", err);
	return -1;
}

/* That the kernel behaves older than its release is a title like another, of no program. */
static int put_profile(struct work *w)
{
	struct vm_judgement *j = &w->run->judgement;

	*j = (struct vm_judgement){ 0 };
	if (w->run->regressed) {
		j->nverdicts = 1;
		j->verdict[0].severity = VM_VIOLATION;
		snprintf(j->verdict[0].title, sizeof(j->verdict[0].title), "%.*s", VM_TITLE_MAX - 1,
			 w->run->regression);
	}
	return vm_matrix_store_put(w->store, "profile", j, false, NULL);
}

static int run_all(struct work *w)
{
	const struct vm_target_info *info = vm_target_info(w->run->target);
	long long began = vm_now_ms();
	int ret = put_profile(w);

	snprintf(w->about.release, sizeof(w->about.release), "%s", info->release);
	snprintf(w->about.profile, sizeof(w->about.profile), "%s", w->run->profile->name);
	snprintf(w->about.contract, sizeof(w->about.contract), "%s",
		 vm_contract_name(w->run->contract));
	for (size_t i = 0; i < w->m->nprograms && ret >= 0; i++) {
		ret = run_one(w, &w->m->program[i]);
		w->about.fresh += ret > 0;
		if (ret > 0 && w->about.fresh % SAVE_EVERY == 0)
			ret = save(w, began);
	}
	return save(w, began) || ret < 0 ? -1 : 0;
}

int cli_matrix_work(const struct cli_matrix *m, const struct cli_matrix_kernel *k)
{
	char path[VM_PATH_MAX], stamp[512];
	struct cli_target target = m->target;
	struct work w = { .m = m };
	long long began = vm_now_ms();
	int bad = -1;

	if (cli_matrix_store(m, k, path, stamp, sizeof(stamp)))
		return CLI_FAILED;
	target.spec = k->spec;
	w.store = vm_matrix_store_open(path, stamp);
	if (!w.store)
		cli_error("out of memory");
	else
		w.run = cli_run_open(&target);
	w.about.boot_ms = (uint32_t)(vm_now_ms() - began);
	if (w.run)
		bad = run_all(&w);
	cli_run_close(w.run);
	vm_matrix_store_close(w.store);
	return bad ? CLI_FAILED : CLI_CONFORMS;
}
