/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/kernel.h"
#include "harness/kernel/apt.h"

enum {
	OPT_JSON = CLI_OPT_OWN,
	OPT_ALL,
	OPT_UPDATE,
	OPT_ARCH,
	OPT_FLAVOUR,
	OPT_MIRROR,
	OPT_PRESET,
	OPT_NAME,
	OPT_COVER,
	OPT_MEMORY
};

static const struct cli_option options[] = {
	{ "json", OPT_JSON, NULL, "list, available: for machines" },
	{ "all", OPT_ALL, NULL, "fetch: the newest of each series" },
	{ "update", OPT_UPDATE, NULL, "fetch the mirror's lists anew, however young they are" },
	{ "arch", OPT_ARCH, "ARCH", "amd64 or arm64; default: that of this machine" },
	{ "flavour", OPT_FLAVOUR, "NAME", "of Debian's kernels; default: cloud-ARCH" },
	{ "mirror", OPT_MIRROR, "URL", "of Debian; default: what this machine's apt uses" },
	{ "preset", OPT_PRESET, "NAME", "build: fuzz (default), debug or perf" },
	{ "name", OPT_NAME, "NAME", "build: of the result; default: PRESET-VERSION" },
	{ "cover", OPT_COVER, "FILES",
	  "build: C files with coverage, like mm/mremap.c,mm/vma.c; default: those of mm/ that "
	  "the calls run through" },
	{ "jobs", 'j', "N", "build: at a time; default: one a CPU" },
	{ "memory", OPT_MEMORY, "MIB", "boot: of the guest; default 1024" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_command command = {
	"kernel ACTION [options]",
	"Get kernels into the cache and look at them. A target kernel:NAME is one of them.\n\n"
	"  available                what a Debian mirror has\n"
	"  fetch debian:VERSION...  6.12, 6.12.43 or a package's whole version; the newest match\n"
	"  build SRC|debian:VERSION a kernel from a source tree, or from Debian's source package\n"
	"  list                     what is in the cache\n"
	"  boot NAME                a shell in a guest, with busybox; Ctrl-] leaves\n\n"
	"The cache is ${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vmafuzz}. Packages are\n"
	"unpacked there, never installed.",
	options,
};

static const struct {
	const char *name;
	int (*run)(const struct cli_kernel *k);
	int least, most; /* operands */
} actions[] = {
	{ "available", cli_kernel_available, 0, 0 }, { "fetch", cli_kernel_fetch, 0, 64 },
	{ "build", cli_kernel_build, 1, 1 },	     { "list", cli_kernel_list, 0, 0 },
	{ "boot", cli_kernel_boot, 1, 1 },
};

#define NACTIONS (sizeof(actions) / sizeof(actions[0]))

static int take(struct cli_kernel *k, int id, const char *arg)
{
	switch (id) {
	case OPT_JSON:
		k->json = true;
		return 0;
	case OPT_ALL:
		k->all = true;
		return 0;
	case OPT_UPDATE:
		k->update = true;
		return 0;
	case OPT_ARCH:
		k->arch = arg;
		return 0;
	case OPT_FLAVOUR:
		snprintf(k->flavour, sizeof(k->flavour), "%s", arg);
		return 0;
	case OPT_MIRROR:
		k->mirror = arg;
		return 0;
	case OPT_PRESET:
		k->preset = arg;
		return 0;
	case OPT_NAME:
		k->name = arg;
		return 0;
	case OPT_COVER:
		k->cover = arg;
		return 0;
	case 'j':
		return cli_number("jobs", arg, 1, 4096, &k->jobs);
	case OPT_MEMORY:
		return cli_number("memory", arg, 64, 1 << 20, &k->memory);
	default:
		return -1;
	}
}

/* What follows from what was not given. 0, or -1 and said. */
static int complete(struct cli_kernel *k)
{
	if (!k->arch)
		k->arch = vm_apt_native();
	if (!k->arch || (strcmp(k->arch, "amd64") && strcmp(k->arch, "arm64"))) {
		cli_error("--arch %s: give amd64 or arm64", k->arch ? k->arch : "");
		return -1;
	}
	if (!k->flavour[0])
		snprintf(k->flavour, sizeof(k->flavour), "cloud-%s", k->arch);
	return 0;
}

static int act(struct cli_kernel *k, const char *name)
{
	for (size_t i = 0; i < NACTIONS; i++) {
		if (strcmp(name, actions[i].name))
			continue;
		if (k->noperands >= actions[i].least && k->noperands <= actions[i].most)
			return actions[i].run(k);
		cli_error("kernel %s takes %s; see vmafuzz kernel --help", name,
			  actions[i].most ? "one operand" : "no operand");
		return CLI_FAILED;
	}
	cli_error("there is no kernel %s; see vmafuzz kernel --help", name);
	return CLI_FAILED;
}

int cmd_kernel(int argc, char **argv)
{
	struct cli_kernel k = { .preset = "fuzz", .memory = 1024 };
	const char *arg;
	int id;

	while ((id = cli_next(&command, argc, argv, &arg)) != CLI_END) {
		if (id == CLI_HELP)
			return CLI_CONFORMS;
		if (id == CLI_BAD || take(&k, id, arg))
			return CLI_FAILED;
	}
	if (optind == argc) {
		cli_error("kernel needs an action: available, fetch, build, list or boot");
		return CLI_FAILED;
	}
	k.operand = argv + optind + 1;
	k.noperands = argc - optind - 1;
	return complete(&k) ? CLI_FAILED : act(&k, argv[optind]);
}
