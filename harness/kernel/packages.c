/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel/packages.h"
#include "harness/kernel/version.h"

/* A package that only depends on others is smaller, one with a kernel in it is larger. */
#define LEAST_IMAGE (1 << 20)

enum kind { IMAGE, BINARY, BASE, MODULES, NKINDS };

static const char *const prefix[NKINDS] = {
	[IMAGE] = "linux-image-",
	[BINARY] = "linux-binary-",
	[BASE] = "linux-base-",
	[MODULES] = "linux-modules-",
};

struct vm_package_row {
	enum kind kind;
	char release[VM_KERNEL_NAME], version[VM_KERNEL_NAME], suite[32];
	uint64_t size;
};

struct vm_stanza {
	char package[160], version[VM_KERNEL_NAME];
	uint64_t size;
};

void vm_packages_begin(struct vm_packages *p, const char *flavour)
{
	*p = (struct vm_packages){ 0 };
	snprintf(p->flavour, sizeof(p->flavour), "%s", flavour);
	p->stanza = calloc(1, sizeof(*p->stanza));
	p->failed = !p->stanza;
}

void vm_packages_free(struct vm_packages *p)
{
	free(p->list);
	free(p->row);
	free(p->stanza);
	*p = (struct vm_packages){ 0 };
}

/* The release in a package's name, with its kind; NULL for another package. */
static const char *release_of(const char *package, const char *flavour, enum kind *kind)
{
	size_t n = strlen(package), tail = strlen(flavour);

	if (n <= tail || strcmp(package + n - tail, flavour) || package[n - tail - 1] != '-')
		return NULL;
	for (*kind = 0; *kind < NKINDS; ++*kind) {
		const char *release = package + strlen(prefix[*kind]);

		if (strncmp(package, prefix[*kind], strlen(prefix[*kind])))
			continue;
		/* 6.12.117+deb12-FLAVOUR or 6.1.0-57-FLAVOUR; amd64's are not cloud-amd64's. */
		n = strspn(release, "0123456789.");
		if (n < 3 || !strchr("+-", release[n]))
			return NULL;
		n += strcspn(release + n + 1, "-") + 1;
		return release[n] && !strcmp(release + n + 1, flavour) ? release : NULL;
	}
	return NULL;
}

static void end_stanza(struct vm_packages *p, const char *suite)
{
	struct vm_stanza *s = p->stanza;
	struct vm_package_row *row;
	enum kind kind;
	const char *release = release_of(s->package, p->flavour, &kind);

	if (!release || strlen(release) >= sizeof(row->release))
		return;
	if (!(p->nrows & (p->nrows - 1))) {
		row = realloc(p->row, (p->nrows ? 2 * p->nrows : 1) * sizeof(*row));
		if (!row) {
			p->failed = true;
			return;
		}
		p->row = row;
	}
	row = &p->row[p->nrows++];
	*row = (struct vm_package_row){ .kind = kind, .size = s->size };
	snprintf(row->release, sizeof(row->release), "%s", release);
	snprintf(row->version, sizeof(row->version), "%s", s->version);
	snprintf(row->suite, sizeof(row->suite), "%s", suite);
}

/* The value of a field, or NULL if the line is another. */
static const char *field(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && line[n] == ':' ? line + n + 1 + strspn(line + n + 1, " ")
							 : NULL;
}

void vm_packages_line(struct vm_packages *p, const char *suite, const char *line)
{
	struct vm_stanza *s = p->stanza;
	const char *value;

	if (p->failed)
		return;
	if (!*line) {
		end_stanza(p, suite);
		*s = (struct vm_stanza){ 0 };
	} else if ((value = field(line, "Package"))) {
		/* Packages need not be separated where lists are joined. */
		if (s->package[0])
			vm_packages_line(p, suite, "");
		snprintf(s->package, sizeof(s->package), "%s", value);
	} else if ((value = field(line, "Version"))) {
		snprintf(s->version, sizeof(s->version), "%s", value);
	} else if ((value = field(line, "Size"))) {
		s->size = strtoull(value, NULL, 10);
	}
}

static bool has(const struct vm_packages *p, enum kind kind, const struct vm_package *k)
{
	for (size_t i = 0; i < p->nrows; i++) {
		const struct vm_package_row *r = &p->row[i];

		if (r->kind == kind && !strcmp(r->release, k->release) &&
		    !strcmp(r->version, k->version))
			return true;
	}
	return false;
}

/* The same package may lie in two suites. */
static bool known(const struct vm_packages *p, const struct vm_package_row *r)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!strcmp(p->list[i].release, r->release) &&
		    !strcmp(p->list[i].version, r->version))
			return true;
	}
	return false;
}

static int by_version(const void *a, const void *b)
{
	const struct vm_package *x = a, *y = b;
	int diff = vm_version_compare(x->version, y->version);

	return diff ? diff : vm_version_compare(x->release, y->release);
}

int vm_packages_join(struct vm_packages *p)
{
	if (!p->failed)
		vm_packages_line(p, "", "");
	p->list = calloc(p->nrows + 1, sizeof(*p->list));
	if (p->failed || !p->list)
		return -1;
	for (size_t i = 0; i < p->nrows; i++) {
		const struct vm_package_row *r = &p->row[i];
		struct vm_package *k = &p->list[p->n];

		if ((r->kind != IMAGE && r->kind != BINARY) || r->size < LEAST_IMAGE || known(p, r))
			continue;
		memcpy(k->release, r->release, sizeof(k->release));
		memcpy(k->version, r->version, sizeof(k->version));
		memcpy(k->suite, r->suite, sizeof(k->suite));
		snprintf(k->image, sizeof(k->image), "%s%s", prefix[r->kind], r->release);
		k->size = r->size;
		k->base = has(p, BASE, k);
		k->modules = has(p, MODULES, k);
		p->n++;
	}
	qsort(p->list, p->n, sizeof(*p->list), by_version);
	return 0;
}

const struct vm_package *vm_packages_newest(const struct vm_packages *p, const char *wanted)
{
	for (size_t i = p->n; i-- > 0;) {
		if (vm_version_matches(p->list[i].version, wanted))
			return &p->list[i];
	}
	return NULL;
}

bool vm_packages_leads(const struct vm_packages *p, size_t i)
{
	char series[32];

	vm_version_series(p->list[i].version, series, sizeof(series));
	return vm_packages_newest(p, series) == &p->list[i];
}

void vm_package_name(const struct vm_package *k, const char *flavour, char *name, size_t cap)
{
	char upstream[VM_KERNEL_NAME];
	bool cloud = !strncmp(flavour, "cloud-", 6);
	bool plain = !strcmp(flavour, "cloud-amd64");

	vm_version_upstream(k->version, upstream, sizeof(upstream));
	snprintf(name, cap, "debian-%s%s%s", upstream, plain ? "" : "-",
		 plain	 ? ""
		 : cloud ? flavour + 6
			 : flavour);
}
