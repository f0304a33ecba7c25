/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void cli_error(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "vmafuzz: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void print_option(const struct cli_option *o)
{
	char left[64];
	int n = 0;

	if (o->id < 128 && isprint(o->id))
		n = snprintf(left, sizeof(left), "-%c, ", o->id);
	else
		n = snprintf(left, sizeof(left), "    ");
	snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	printf("  %-26s %s\n", left, o->help);
}

void cli_print_help(const struct cli_command *cmd)
{
	static const struct cli_option help = { "help", 'h', NULL, "this text" };

	printf("usage: vmafuzz %s\n\n%s\n\noptions:\n", cmd->usage, cmd->about);
	for (const struct cli_option *o = cmd->options; o->name; o++)
		print_option(o);
	print_option(&help);
	printf("\nexit status: 0 conforms, 1 found something that counts, 2 the kernel crashed or "
	       "hung,\n             3 usage, infrastructure, or incomplete\n");
}

/* getopt's two tables from ours. */
static void fill_tables(const struct cli_command *cmd, struct option *longs, char *shorts)
{
	size_t n = 0, s = 0;

	shorts[s++] = ':';
	shorts[s++] = 'h';
	for (const struct cli_option *o = cmd->options; o->name && n < CLI_MAX_OPTIONS; o++) {
		longs[n++] = (struct option){ o->name, o->arg ? required_argument : no_argument,
					      NULL, o->id };
		if (o->id >= 128 || !isprint(o->id))
			continue;
		shorts[s++] = (char)o->id;
		if (o->arg)
			shorts[s++] = ':';
	}
	longs[n++] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[n] = (struct option){ 0 };
	shorts[s] = '\0';
}

/* The name of getopt's `optopt` if it is an option of ours, or NULL. */
static const char *known_name(const struct cli_command *cmd)
{
	for (const struct cli_option *o = cmd->options; o->name; o++)
		if (o->id == optopt)
			return o->name;
	return optopt == 'h' ? "help" : NULL;
}

/*
 * Say what getopt refused; CLI_BAD. It moves operands behind options, so the word it was at is
 * known afterwards only: the one before `optind`, but for letters, whose word may go on.
 */
static int refuse(const struct cli_command *cmd, int answer, char **argv)
{
	const char *word = argv[optind - 1], *name = known_name(cmd);

	if (answer == ':' && optopt < 128 && strncmp(word, "--", 2))
		cli_error("-%c needs an argument; see vmafuzz %s --help", optopt, argv[0]);
	else if (answer == ':')
		cli_error("--%s needs an argument; see vmafuzz %s --help", name, argv[0]);
	else if (name)
		cli_error("--%s takes no argument; see vmafuzz %s --help", name, argv[0]);
	else if (optopt)
		cli_error("there is no option -%c; see vmafuzz %s --help", optopt, argv[0]);
	else
		cli_error("%s is no option, or short for several; see vmafuzz %s --help", word,
			  argv[0]);
	return CLI_BAD;
}

int cli_next(const struct cli_command *cmd, int argc, char **argv, const char **arg)
{
	struct option longs[CLI_MAX_OPTIONS + 2];
	char shorts[2 * CLI_MAX_OPTIONS + 4];
	int id;

	fill_tables(cmd, longs, shorts);
	opterr = 0;
	id = getopt_long(argc, argv, shorts, longs, NULL);
	*arg = optarg;
	switch (id) {
	case -1:
		return CLI_END;
	case 'h':
		cli_print_help(cmd);
		return CLI_HELP;
	case ':':
	case '?':
		return refuse(cmd, id, argv);
	default:
		return id;
	}
}

int cli_number(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (isdigit((unsigned char)*text) && !*end && !errno && *value >= min && *value <= max)
		return 0;
	cli_error("--%s %s: give a whole number from %llu to %llu", what, text,
		  (unsigned long long)min, (unsigned long long)max);
	return -1;
}

int cli_seconds(const char *what, const char *text, uint32_t *seconds)
{
	static const struct {
		char suffix;
		uint32_t seconds;
	} units[] = { { '\0', 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!isdigit((unsigned char)*text) || errno || *end != units[i].suffix ||
		    (*end && end[1]) || n > UINT32_MAX / units[i].seconds)
			continue;
		*seconds = (uint32_t)n * units[i].seconds;
		return 0;
	}
	cli_error("--%s %s: give a time like 90, 90s, 5m, 2h or 1d", what, text);
	return -1;
}

void cli_target_init(struct cli_target *t)
{
	*t = (struct cli_target){ .spec = "local", .contract = VM_CONTRACT_EXACT };
}

static int take_profile(struct cli_target *t, const char *name)
{
	if (vm_profile_by_name(name)) {
		t->profile = name;
		return 1;
	}
	fprintf(stderr, "vmafuzz: there is no profile %s; there are", name);
	for (size_t i = 0; vm_profile_at(i); i++)
		fprintf(stderr, "%s %s", i ? "," : "", vm_profile_at(i)->name);
	fputc('\n', stderr);
	return -1;
}

static int take_contract(struct cli_target *t, const char *name)
{
	int c = vm_contract_by_name(name);

	if (c < 0) {
		cli_error("there is no contract %s; there are exact, documented, strict", name);
		return -1;
	}
	t->contract = (enum vm_contract)c;
	return 1;
}

int cli_target_option(struct cli_target *t, int id, const char *arg)
{
	uint64_t ms;

	switch (id) {
	case CLI_OPT_TARGET:
		t->spec = arg;
		return 1;
	case CLI_OPT_PROFILE:
		return take_profile(t, arg);
	case CLI_OPT_CONTRACT:
		return take_contract(t, arg);
	case CLI_OPT_EXECUTOR:
		t->opt.executor = arg;
		return 1;
	case CLI_OPT_INJECT:
		t->opt.inject = arg;
		return 1;
	case CLI_OPT_TIMEOUT:
		if (cli_number("timeout", arg, 1, 3600000, &ms))
			return -1;
		t->opt.timeout_ms = (uint32_t)ms;
		return 1;
	case CLI_OPT_PRIVILEGED:
		t->opt.privileged = true;
		return 1;
	default:
		return 0;
	}
}

const struct vm_profile *cli_profile(const struct cli_target *t, const struct vm_target_info *info,
				     char *why, size_t whylen)
{
	char title[VM_TITLE_MAX];
	bool regressed;

	if (!t->profile)
		return vm_profile_choose(info, why, whylen, &regressed, title, sizeof(title));
	snprintf(why, whylen, "pinned by --profile");
	return vm_profile_by_name(t->profile);
}
