/* SPDX-License-Identifier: MIT */
/* What kernels a Debian mirror has, and getting them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel.h"
#include "fuzz/report/json.h"
#include "harness/kernel/fetch.h"
#include "harness/kernel/version.h"

/* Lists that are a day old are fetched anew; where that fails, the old ones still serve. */
static int open_lists(const struct cli_kernel *k, struct vm_apt *apt, struct vm_packages *p)
{
	char err[1024];

	if (vm_apt_open(apt, k->arch, k->mirror, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	if (k->update || !vm_apt_fresh(apt)) {
		fprintf(stderr, "vmafuzz: fetching the mirror's lists of packages\n");
		if (vm_apt_update(apt, err, sizeof(err)))
			cli_error("%s; going on with the lists that are there", err);
	}
	if (vm_apt_kernels(apt, k->flavour, p, err, sizeof(err))) {
		cli_error("%s", err);
		return -1;
	}
	if (p->n)
		return 0;
	cli_error("the mirror's lists name no kernel of flavour %s", k->flavour);
	return -1;
}

static bool fetched(const struct vm_package *p, const char *flavour)
{
	char name[VM_KERNEL_NAME], err[512];
	struct vm_kernel k;

	vm_package_name(p, flavour, name, sizeof(name));
	return !vm_kernel_read(name, &k, err, sizeof(err)) && !strcmp(k.version, p->version);
}

static int print_json(const struct vm_packages *p)
{
	json_t *root = json_array();
	char *text;

	for (size_t i = 0; i < p->n; i++) {
		const struct vm_package *k = &p->list[i];
		json_t *o = json_pack("{ss ss ss ss sI sb}", "release", k->release, "version",
				      k->version, "suite", k->suite, "package", k->image, "size",
				      (json_int_t)k->size, "fetched", fetched(k, p->flavour));

		json_array_append_new(root, o);
	}
	text = vm_json_dump(root);
	if (!text) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	fputs(text, stdout);
	free(text);
	return CLI_CONFORMS;
}

int cli_kernel_available(const struct cli_kernel *k)
{
	struct vm_packages p = { 0 };
	struct vm_apt apt;
	char upstream[VM_KERNEL_NAME];
	int ret = CLI_FAILED;

	if (!open_lists(k, &apt, &p)) {
		ret = k->json ? print_json(&p) : CLI_CONFORMS;
		for (size_t i = 0; i < p.n && !k->json; i++) {
			vm_version_upstream(p.list[i].version, upstream, sizeof(upstream));
			printf("debian:%-10s %-22s %-20s %5.1f MB%s\n", upstream, p.list[i].version,
			       p.list[i].suite, (double)p.list[i].size / 1e6,
			       fetched(&p.list[i], p.flavour) ? "  fetched" : "");
		}
	}
	vm_packages_free(&p);
	return ret;
}

static void say(void *arg, const char *line)
{
	(void)arg;
	printf("%s\n", line);
	fflush(stdout);
}

/* 0, or -1 and said. */
static int fetch(const struct vm_fetch *f, const struct vm_package *p)
{
	struct vm_kernel k;
	char err[1024];
	int got = vm_kernel_fetch(f, p, &k, err, sizeof(err));

	if (got < 0) {
		cli_error("%s", err);
		return -1;
	}
	printf("%s: %s, Linux %s\n", k.name, got ? "ready" : "was there", k.release);
	fflush(stdout);
	return 0;
}

static int fetch_named(const struct vm_fetch *f, const struct vm_packages *p, const char *what)
{
	const struct vm_package *k;

	if (strncmp(what, "debian:", 7)) {
		cli_error("%s: kernels are fetched as debian:VERSION, like debian:6.12", what);
		return -1;
	}
	k = vm_packages_newest(p, what + 7);
	if (k)
		return fetch(f, k);
	cli_error("the mirror has no kernel %s of flavour %s: see vmafuzz kernel available", what,
		  f->flavour);
	return -1;
}

int cli_kernel_fetch(const struct cli_kernel *k)
{
	struct vm_packages p = { 0 };
	struct vm_apt apt;
	struct vm_fetch f = { .apt = &apt, .flavour = k->flavour, .progress = say };
	int bad;

	if (k->all ? k->noperands : !k->noperands) {
		cli_error("kernel fetch takes either debian:VERSION... or --all");
		return CLI_FAILED;
	}
	bad = open_lists(k, &apt, &p);
	for (int i = 0; !bad && i < k->noperands; i++)
		bad = fetch_named(&f, &p, k->operand[i]);
	for (size_t i = 0; !bad && k->all && i < p.n; i++) {
		if (vm_packages_leads(&p, i))
			bad = fetch(&f, &p.list[i]);
	}
	vm_packages_free(&p);
	return bad ? CLI_FAILED : CLI_CONFORMS;
}
