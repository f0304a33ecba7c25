/* SPDX-License-Identifier: MIT */
/* Building kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kernel.h"
#include "harness/kernel/build.h"
#include "harness/kernel/source.h"

/* On a terminal one line that changes, elsewhere a line for every 200 files. */
struct progress {
	bool tty;
	unsigned int files;
};

static void say(void *arg, const char *line)
{
	struct progress *p = arg;
	bool file = line[0] >= 'A' && line[0] <= 'Z';

	p->files += file;
	if (!file)
		printf("%s%s\n", p->tty ? "\r\033[K" : "", line);
	else if (p->tty)
		printf("\r\033[K%5u %.70s", p->files, line);
	else if (p->files % 200 == 0)
		printf("%u files: %s\n", p->files, line);
	fflush(stdout);
}

/* Where the source is: a tree, or debian:VERSION, which is fetched. */
static int find_tree(const struct cli_kernel *k, struct progress *p, char tree[VM_KERNEL_PATH])
{
	const char *what = k->operand[0];
	struct vm_apt apt;
	char err[1024], *real;

	if (!strncmp(what, "debian:", 7)) {
		if (!vm_apt_open(&apt, k->arch, k->mirror, err, sizeof(err)) &&
		    (vm_apt_fresh(&apt) || !vm_apt_update(&apt, err, sizeof(err))) &&
		    !vm_source_fetch(&apt, what + 7, say, p, tree, err, sizeof(err)))
			return 0;
		cli_error("%s", err);
		return -1;
	}
	real = realpath(what, NULL);
	if (!real || vm_kernel_path(tree, "%s", real)) {
		cli_error("there is no source tree %s", what);
		free(real);
		return -1;
	}
	free(real);
	return 0;
}

int cli_kernel_build(const struct cli_kernel *k)
{
	struct progress p = { .tty = isatty(STDOUT_FILENO) };
	char tree[VM_KERNEL_PATH], err[1024];
	struct vm_build b = { .tree = tree,
			      .preset = k->preset,
			      .name = k->name,
			      .cover = k->cover,
			      .jobs = (unsigned int)k->jobs,
			      .progress = say,
			      .arg = &p };
	struct vm_kernel built;
	int bad;

	if (strcmp(k->arch, "amd64")) {
		cli_error("kernel build knows amd64 alone: fetch others");
		return CLI_FAILED;
	}
	if (find_tree(k, &p, tree))
		return CLI_FAILED;
	bad = vm_kernel_build(&b, &built, err, sizeof(err));
	if (p.tty)
		printf("\r\033[K");
	if (bad) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	printf("%s: ready, Linux %s, %u files compiled\n", built.name, built.release, p.files);
	return CLI_CONFORMS;
}
