/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel/version.h"

static int order(char c)
{
	if (c == '~')
		return -1;
	if (isdigit((unsigned char)c) || !c)
		return 0;
	return isalpha((unsigned char)c) ? (unsigned char)c : (unsigned char)c + 256;
}

static bool digit(const char *p)
{
	return isdigit((unsigned char)*p);
}

/* Runs of digits, moved over: by length without leading zeroes, then by value. */
static int compare_numbers(const char **a, const char **b)
{
	int first = 0;

	while (**a == '0')
		++*a;
	while (**b == '0')
		++*b;
	for (; digit(*a) && digit(*b); ++*a, ++*b) {
		if (!first)
			first = **a - **b;
	}
	if (digit(*a))
		return 1;
	return digit(*b) ? -1 : first;
}

int vm_version_compare(const char *a, const char *b)
{
	while (*a || *b) {
		int diff;

		while ((*a && !digit(a)) || (*b && !digit(b))) {
			diff = order(*a) - order(*b);
			if (diff)
				return diff;
			a++;
			b++;
		}
		diff = compare_numbers(&a, &b);
		if (diff)
			return diff;
	}
	return 0;
}

bool vm_version_matches(const char *version, const char *wanted)
{
	size_t n = strlen(wanted);

	return n && !strncmp(version, wanted, n) && !isdigit((unsigned char)version[n]) &&
	       !(wanted[n - 1] == '.' || isalpha((unsigned char)version[n]));
}

void vm_version_upstream(const char *version, char *upstream, size_t cap)
{
	const char *dash = strrchr(version, '-');
	size_t n = dash ? (size_t)(dash - version) : strlen(version);

	if (n >= cap)
		n = 0;
	memcpy(upstream, version, n);
	upstream[n] = '\0';
}

void vm_version_series(const char *version, char *series, size_t cap)
{
	size_t a = strspn(version, "0123456789");
	size_t b = version[a] == '.' ? strspn(version + a + 1, "0123456789") : 0;

	if (!a || !b || a + 1 + b >= cap)
		a = b = 0;
	else
		a++;
	memcpy(series, version, a + b);
	series[a + b] = '\0';
}

bool vm_kernel_id_parse(const char *name, struct vm_kernel_id *id)
{
	const char *dash = strchr(name, '-'), *end;

	/* The version begins at the first digit after a dash. */
	while (dash && !isdigit((unsigned char)dash[1]))
		dash = strchr(dash + 1, '-');
	if (!dash || dash == name)
		return false;
	end = strchr(dash + 1, '-');
	if (!end)
		end = dash + strlen(dash);
	snprintf(id->kind, sizeof(id->kind), "%.*s", (int)(dash - name), name);
	snprintf(id->version, sizeof(id->version), "%.*s", (int)(end - dash - 1), dash + 1);
	snprintf(id->suffix, sizeof(id->suffix), "%s", *end ? end + 1 : "");
	return true;
}
