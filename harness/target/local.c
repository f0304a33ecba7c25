/* SPDX-License-Identifier: MIT */
/*
 * `local`: the executor beside this program; `exec:COMMAND`: whatever a shell command starts;
 * `qemu:IMAGE`: a keeper, which starts a guest; `keeper:DIR`: the keeper that another process owns.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/kernel/kernel.h"
#include "harness/target/command.h"

#define EXECUTOR "vmafuzz-executor"
#define ARM64	 "-arm64"
#define CROSS_COMPILER                                                                             \
	"install the Debian packages gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, and "
#define KEEPER "vmafuzz-keeper"

/* A file in the folder of the running program. */
static bool beside(char *path, size_t size, const char *file)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(file) >= size)
		return false;
	strcpy(slash + 1, file);
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

/* Where the file is: `given`, or beside this program; and that it can be run. */
static int find(char path[PATH_MAX], const char *given, const char *file, const char *what,
		char *err, size_t errlen)
{
	if (given) {
		snprintf(path, PATH_MAX, "%s", given);
	} else if (!beside(path, PATH_MAX, file)) {
		snprintf(err, errlen, "target: cannot tell where %s is: mount /proc", file);
		return -1;
	}
	if (!access(path, X_OK))
		return 0;
	snprintf(err, errlen, "target: no %s at %s (%s): %sbuild it with ./dev build", what, path,
		 strerror(errno), !given && !strcmp(file, EXECUTOR ARM64) ? CROSS_COMPILER : "");
	return -1;
}

static int build_local(struct vm_command *c, const struct vm_target_options *opt, char *err,
		       size_t errlen)
{
	char path[PATH_MAX], timeout[16];
	bool ok;

	if (find(path, opt->executor, EXECUTOR, "executor", err, errlen))
		return -1;
	name(c, path);
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

/* The keeper's command line: what it needs to know, and where the executor is. */
static bool add_keeper(struct vm_command *c, const char *keeper, const char *executor,
		       const char *spec, const struct vm_target_options *opt)
{
	char timeout[16], hello[16];
	bool ok;

	snprintf(timeout, sizeof(timeout), "%u", opt->timeout_ms);
	ok = add(c, keeper) && add(c, "--dir") && add(c, c->dir) && add(c, "--executor") &&
	     add(c, executor) && add(c, "--timeout") && add(c, timeout);
	if (opt->hello_ms) {
		snprintf(hello, sizeof(hello), "%u", opt->hello_ms);
		ok = ok && add(c, "--hello") && add(c, hello);
	}
	if (opt->inject && opt->inject[0])
		ok = ok && add(c, "--inject") && add(c, opt->inject);
	if (opt->privileged)
		ok = ok && add(c, "--privileged");
	return ok && add(c, spec);
}

/* `shown`: what messages call it. */
static int build_guest(struct vm_command *c, const char *spec, const char *shown,
		       const struct vm_target_options *opt, char *err, size_t errlen)
{
	const char *arm64 = strstr(spec, ",arch=arm64") ? EXECUTOR ARM64 : EXECUTOR;
	char keeper[PATH_MAX], executor[PATH_MAX];

	c->what = "the guest";
	c->hint = "look at it with vmafuzz-keeper --help";
	/* The keeper has limits of its own, several times over. */
	c->hello_ms = opt->hello_ms ? (int)opt->hello_ms * 6 : 600000;
	c->owned = true;
	name(c, shown);
	if (find(keeper, NULL, KEEPER, "keeper of guests", err, errlen) ||
	    find(executor, opt->executor, arm64, "executor", err, errlen) ||
	    vm_private_dir_make(c->dir, err, errlen))
		return -1;
	if (add_keeper(c, keeper, executor, spec, opt))
		return 0;
	snprintf(err, errlen, "target: out of memory");
	return -1;
}

/* A value of an option of qemu:, where a comma is written twice. False: there is no room. */
static bool add_value(char *spec, size_t size, const char *before, const char *value)
{
	size_t n = strlen(spec) + strlen(before);

	if (n >= size)
		return false;
	strcat(spec, before);
	for (; *value && n + 3 < size; value++) {
		if (*value == ',')
			spec[n++] = ',';
		spec[n++] = *value;
	}
	spec[n] = '\0';
	return !*value;
}

/* `kernel:NAME[,option=value...]`: the image and modules that lie in the cache under this name. */
static int build_kernel(struct vm_command *c, const char *text, const struct vm_target_options *opt,
			char *err, size_t errlen)
{
	size_t n = strcspn(text, ",");
	char spec[4 * PATH_MAX], said[400], given[VM_KERNEL_NAME];
	struct vm_kernel k;
	bool ok;

	if (!n || n >= sizeof(given)) {
		snprintf(err, errlen, "target: kernel: lacks its name: see `vmafuzz kernel list`");
		return -1;
	}
	snprintf(given, sizeof(given), "%.*s", (int)n, text);
	if (vm_kernel_find(given, &k, said, sizeof(said))) {
		snprintf(err, errlen, "target: %s", said);
		return -1;
	}
	strcpy(spec, "qemu:");
	ok = k.image[0] && add_value(spec, sizeof(spec), "", k.image);
	if (k.modules[0])
		ok = ok && add_value(spec, sizeof(spec), ",modules=", k.modules);
	if (!strcmp(k.arch, "aarch64"))
		ok = ok && add_value(spec, sizeof(spec), ",arch=", "arm64");
	ok = ok && strlen(spec) + strlen(text + n) < sizeof(spec);
	if (!ok) {
		snprintf(err, errlen, "target: kernel %s has no image, or its options are too long",
			 given);
		return -1;
	}
	strcat(spec, text + n);
	return build_guest(c, spec, text, opt, err, errlen);
}

static int build_connection(struct vm_command *c, const char *dir, char *err, size_t errlen)
{
	c->what = "the guest";
	c->hint = "the `vmafuzz fuzz` that keeps it must be running";
	c->hello_ms = 600000;
	name(c, dir);
	if ((size_t)snprintf(c->dir, sizeof(c->dir), "%s", dir) < sizeof(c->dir))
		return 0;
	snprintf(err, errlen, "target: keeper: the path is too long");
	return -1;
}

int vm_command_build(struct vm_command *c, const char *spec, const struct vm_target_options *opt,
		     char *err, size_t errlen)
{
	memset(c, 0, sizeof(*c));
	if (!strcmp(spec, "local")) {
		c->hello_ms = opt->hello_ms ? (int)opt->hello_ms : 10000;
		c->what = "the executor";
		c->hint = "build it with ./dev build, or give one that works with --executor";
		return build_local(c, opt, err, errlen);
	}
	if (!strncmp(spec, "exec:", 5)) {
		/* a guest boots first, slowly on a busy machine */
		c->hello_ms = opt->hello_ms ? (int)opt->hello_ms : 60000;
		c->what = "the command";
		c->hint = "it must start vmafuzz-executor and leave it stdin and stdout";
		return build_exec(c, spec + 5, opt, err, errlen);
	}
	if (!strncmp(spec, "qemu:", 5))
		return build_guest(c, spec, spec, opt, err, errlen);
	if (!strncmp(spec, "kernel:", 7))
		return build_kernel(c, spec + 7, opt, err, errlen);
	if (!strncmp(spec, "keeper:", 7))
		return build_connection(c, spec + 7, err, errlen);
	snprintf(err, errlen,
		 "target: unknown target '%s': use local, exec:COMMAND, qemu:IMAGE or kernel:NAME",
		 spec);
	return -1;
}

void vm_command_free(struct vm_command *c)
{
	for (unsigned int i = 0; c->argv[i]; i++)
		free(c->argv[i]);
	if (c->owned && c->dir[0])
		vm_private_dir_remove(c->dir); /* a keeper that was killed leaves it */
	memset(c, 0, sizeof(*c));
}
