/* SPDX-License-Identifier: MIT */
/* What kernels are in the cache. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kernel.h"
#include "fuzz/report/json.h"
#include "harness/kernel/kernel.h"

static int print_json(const struct vm_kernel *list, size_t n)
{
	json_t *root = json_array();
	char *text;

	for (size_t i = 0; i < n; i++) {
		const struct vm_kernel *k = &list[i];
		json_t *o = json_pack("{ss ss ss ss ss}", "name", k->name, "release", k->release,
				      "arch", k->arch, "version", k->version, "image", k->image);

		if (vm_json_text(o, "modules", k->modules) ||
		    vm_json_text(o, "vmlinux", k->vmlinux) ||
		    vm_json_text(o, "config", k->config) || vm_json_text(o, "origin", k->origin) ||
		    json_array_append_new(root, o)) {
			json_decref(root);
			cli_error("out of memory");
			return CLI_FAILED;
		}
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

int cli_kernel_list(const struct cli_kernel *k)
{
	struct vm_kernel *list;
	char err[512];
	size_t n;
	int ret = CLI_CONFORMS;

	if (vm_kernel_list(&list, &n, err, sizeof(err))) {
		cli_error("%s", err);
		return CLI_FAILED;
	}
	if (k->json)
		ret = print_json(list, n);
	else if (!n)
		printf("no kernel in the cache yet: vmafuzz kernel fetch debian:6.12\n");
	for (size_t i = 0; i < n && !k->json; i++)
		printf("%-24s %-32s %-8s %s\n", list[i].name, list[i].release, list[i].arch,
		       list[i].origin);
	free(list);
	return ret;
}
