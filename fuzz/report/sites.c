/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/report/sites.h"

/* What allocates for others; names that begin so. */
static const char *const allocators[] = {
	"kmem_cache_alloc", "__kmem_cache_alloc",   "kmalloc",	       "__kmalloc",
	"___slab_alloc",    "__slab_alloc",	    "slab_alloc",      "allocate_slab",
	"new_slab",	    "alloc_slab_page",	    "__alloc_pages",   "alloc_page",
	"__alloc_frozen",   "get_page_from",	    "__folio_alloc",   "folio_alloc",
	"vma_alloc_folio",  "__get_free_page",	    "get_free_page",   "get_zeroed_page",
	"mas_alloc_nodes",  "mas_node_count",	    "mas_preallocate", "mas_nomem",
	"kvmalloc",	    "__kvmalloc",	    "prepare_alloc",   "krealloc",
	"kmemdup",	    "mas_expected_entries", "__do_kmalloc",    "mas_store_gfp",
	"get_free_pages",
};

/* What every call goes through. */
static const char *const entries[] = { "__x64_sys_", "__arm64_sys_", "__se_sys_", "__ia32_sys_" };

static bool begins(const char *word, const char *const *prefix, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(word, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

void vm_site_name(const char *site, char name[VM_SITE_NAME_MAX])
{
	const char *end, *word = site ? strchr(site, ' ') : NULL;
	bool slab = site && strstr(site, " allocate_slab");
	size_t len = 0;

	snprintf(name, VM_SITE_NAME_MAX, "%s", site ? slab ? "(new slab)" : "" : "(not known)");
	len = strlen(name);
	while (word) {
		char one[64];

		word += strspn(word, " ");
		end = strchr(word, ' ');
		snprintf(one, sizeof(one), "%.*s", (int)(end ? end - word : 64), word);
		word = end;
		if (begins(one, allocators, sizeof(allocators) / sizeof(allocators[0])))
			continue;
		if (begins(one, entries, sizeof(entries) / sizeof(entries[0])) ||
		    len + strlen(one) + 4 > VM_SITE_NAME_MAX)
			return;
		len += (size_t)snprintf(name + len, VM_SITE_NAME_MAX - len, "%s%s",
					!len				      ? ""
					: slab && len == strlen("(new slab)") ? " "
									      : " < ",
					one);
	}
}

const char *vm_taken_name(enum vm_taken t)
{
	static const char *const names[] = {
		[VM_TAKEN_DONE] = "succeeds",	     [VM_TAKEN_CHECK] = "fails anyway",
		[VM_TAKEN_KEPT] = "fails untouched", [VM_TAKEN_NOTE] = "note",
		[VM_TAKEN_DEVIATION] = "deviation",  [VM_TAKEN_VIOLATION] = "violation",
		[VM_TAKEN_UNSEEN] = "not looked at",
	};

	return names[t];
}

static struct vm_alloc_site *find(struct vm_alloc_sites *s, uint8_t op, const char *name)
{
	struct vm_alloc_site *found;

	for (size_t i = 0; i < s->n; i++)
		if (s->site[i].op == op && !strcmp(s->site[i].name, name))
			return &s->site[i];
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct vm_alloc_site *more = realloc(s->site, cap * sizeof(*more));

		if (!more)
			return NULL;
		s->site = more;
		s->cap = cap;
	}
	found = &s->site[s->n++];
	memset(found, 0, sizeof(*found));
	found->op = op;
	snprintf(found->name, sizeof(found->name), "%s", name);
	return found;
}

static enum vm_taken taken(const struct vm_event *e, const struct vm_judged_call *call,
			   const struct vm_verdict *later)
{
	/* brk tells a failure by the break */
	bool failed = e->status == VM_STATUS_FAULTED || (e->result < 0 && e->result >= -4095) ||
		      (e->sc.op == VM_OP_BRK && call->cause);

	if (later || call->severity == VM_VIOLATION)
		return VM_TAKEN_VIOLATION;
	if (call->cause && strcmp(call->cause, VM_ALLOCATION_FAILED))
		return VM_TAKEN_CHECK;
	if (call->severity == VM_DEVIATION)
		return VM_TAKEN_DEVIATION;
	if (call->severity == VM_NOTE)
		return VM_TAKEN_NOTE;
	if (!failed)
		return VM_TAKEN_DONE;
	return call->changed == 0 ? VM_TAKEN_KEPT : VM_TAKEN_UNSEEN;
}

bool vm_sites_add(struct vm_alloc_sites *s, const struct vm_trace *trace,
		  const struct vm_judgement *j, uint32_t event, const struct vm_verdict *later,
		  const char *where)
{
	const struct vm_event *e = &trace->event[event];
	enum vm_taken how = taken(e, &j->call[event], later);
	struct vm_alloc_site *site;
	char name[VM_SITE_NAME_MAX];

	vm_site_name(e->site, name);
	site = find(s, e->sc.op, name);
	if (!site)
		return false;
	site->taken[how]++;
	if (how == VM_TAKEN_CHECK)
		return true;
	for (uint32_t i = 0; i <= j->nverdicts; i++) {
		const struct vm_verdict *v = i < j->nverdicts ? &j->verdict[i] : later;

		if (!v || (v != later && v->event != event) || v->severity <= site->severity)
			continue;
		site->severity = v->severity;
		snprintf(site->title, sizeof(site->title), "%s", v->title);
		snprintf(site->where, sizeof(site->where), "%s", where);
	}
	return true;
}

static int order(const void *a, const void *b)
{
	const struct vm_alloc_site *x = a, *y = b;

	return x->op != y->op ? (int)x->op - (int)y->op : strcmp(x->name, y->name);
}

void vm_sites_sort(struct vm_alloc_sites *s)
{
	if (s->n)
		qsort(s->site, s->n, sizeof(*s->site), order);
}

void vm_sites_free(struct vm_alloc_sites *s)
{
	free(s->site);
	*s = (struct vm_alloc_sites){ 0 };
}
