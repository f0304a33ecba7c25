/* SPDX-License-Identifier: MIT */
/* `local`: the executor beside this program; `exec:COMMAND`: whatever a shell command starts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/target/command.h"

#define EXECUTOR "vmafuzz-executor"

/* The executor in the folder of the running program. */
static bool default_path(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + sizeof(EXECUTOR) > size)
		return false;
	strcpy(slash + 1, EXECUTOR);
	return true;
}

static bool add(struct vm_command *c, const char *arg)
{
	unsigned int i = 0;

	while (c->argv[i])
		i++;
	c->argv[i] = strdup(arg);
	return c->argv[i];
}

/* On one line and not too long, for messages. */
static void name(struct vm_command *c, const char *command)
{
	int n = snprintf(c->named, sizeof(c->named), "%s '%.100s%s'", c->what, command,
			 strlen(command) > 100 ? "..." : "");

	for (int i = 0; i < n; i++)
		if ((unsigned char)c->named[i] < 0x20 || c->named[i] == 0x7f)
			c->named[i] = '?';
}

static int build_local(struct vm_command *c, const struct vm_target_options *opt, char *err,
		       size_t errlen)
{
	char path[PATH_MAX], timeout[16];
	bool ok;

	if (opt->executor) {
		snprintf(path, sizeof(path), "%s", opt->executor);
	} else if (!default_path(path, sizeof(path))) {
		snprintf(err, errlen, "target: cannot tell where %s is: mount /proc", EXECUTOR);
		return -1;
	}
	name(c, path);
	if (access(path, X_OK)) {
		snprintf(err, errlen, "target: no executor at %s (%s): build it with ./dev build",
			 path, strerror(errno));
		return -1;
	}
	snprintf(timeout, sizeof(timeout), "%u", opt->timeout_ms);
	ok = add(c, path) && add(c, "--timeout") && add(c, timeout);
	if (opt->inject && opt->inject[0])
		ok = ok && add(c, "--inject") && add(c, opt->inject);
	if (opt->privileged)
		ok = ok && add(c, "--privileged");
	if (!ok)
		snprintf(err, errlen, "target: out of memory");
	return ok ? 0 : -1;
}

static int build_exec(struct vm_command *c, const char *command,
		      const struct vm_target_options *opt, char *err, size_t errlen)
{
	if (!command[0]) {
		snprintf(err, errlen, "target: exec: lacks its command: use exec:COMMAND");
		return -1;
	}
	if ((opt->inject && opt->inject[0]) || opt->privileged) {
		snprintf(err, errlen, "target: exec: takes no %s: write it into the command",
			 opt->privileged ? "--privileged" : "--inject");
		return -1;
	}
	name(c, command);
	if (add(c, "/bin/sh") && add(c, "-c") && add(c, command))
		return 0;
	snprintf(err, errlen, "target: out of memory");
	return -1;
}

int vm_command_build(struct vm_command *c, const char *spec, const struct vm_target_options *opt,
		     char *err, size_t errlen)
{
	memset(c, 0, sizeof(*c));
	if (!strcmp(spec, "local")) {
		c->what = "the executor";
		c->hint = "build it with ./dev build, or give one that works with --executor";
		return build_local(c, opt, err, errlen);
	}
	if (!strncmp(spec, "exec:", 5)) {
		c->what = "the command";
		c->hint = "it must start vmafuzz-executor and leave it stdin and stdout";
		return build_exec(c, spec + 5, opt, err, errlen);
	}
	snprintf(err, errlen, "target: unknown target '%s': use local or exec:COMMAND", spec);
	return -1;
}

void vm_command_free(struct vm_command *c)
{
	for (unsigned int i = 0; c->argv[i]; i++)
		free(c->argv[i]);
	memset(c, 0, sizeof(*c));
}
