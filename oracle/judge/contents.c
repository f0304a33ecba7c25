/* SPDX-License-Identifier: MIT */
/* Bytes: a page that survives or moves keeps them; a new page is zero. */
#include "oracle/judge/judge.h"

#include <stdio.h>

static bool is_zero(const struct vm_content *c)
{
	return !c->head && !c->rest;
}

/* Is this the believed page as it was written? */
static bool as_written(const struct vm_object_page *e, const struct vm_content *seen)
{
	return e->content.head == seen->head && (!e->rest_known || e->content.rest == seen->rest);
}

/* ... or as it is if the kernel dropped it, before any later write or after? */
static bool as_dropped(const struct vm_object_page *e, const struct vm_content *seen)
{
	bool last = e->may_zero & VM_ZERO_HEAD;
	bool before = e->may_zero && (!last || e->may_zero & VM_ZERO_EITHER);

	return !seen->rest && ((last && !seen->head) || (before && seen->head == e->content.head));
}

static bool differs(const struct vm_object_page *believed, bool zero, const struct vm_content *seen)
{
	if (!believed)
		return zero && !is_zero(seen);
	if (!believed->known)
		return false;
	return !as_written(believed, seen) && !as_dropped(believed, seen);
}

/* What was seen is certain; but as long as no write came, a page can still be dropped later. */
static void settle(struct vm_object_page *e, const struct vm_content *seen)
{
	if (!(e->may_zero & VM_ZERO_HEAD) || (!seen->head && !seen->rest))
		e->may_zero = 0;
	e->content = *seen;
	e->known = e->rest_known = true;
}

static void report(struct vm_judge *j, uint64_t addr, const struct vm_object_page *believed,
		   const struct vm_content *seen, const char *what)
{
	struct vm_verdict *v;

	if (j->judged)
		return;
	j->judged = true;
	v = vm_report(j, VM_VIOLATION, "content",
		      "a page that survives or moves keeps its bytes; a new page is zero");
	if (!v)
		return;
	vm_title_of_content(j, addr, what, v->title);
	v->start = addr;
	v->end = addr + j->info->layout.page_size;
	snprintf(v->expected, sizeof(v->expected), "first word %#llx",
		 believed ? (unsigned long long)believed->content.head : 0);
	if (seen)
		snprintf(v->observed, sizeof(v->observed),
			 "first word %#llx, digest of the rest %#llx",
			 (unsigned long long)seen->head, (unsigned long long)seen->rest);
	else
		snprintf(v->observed, sizeof(v->observed), "no page is present: it reads as zero");
}

/* A present page: compare, then believe what was seen. */
static void present(struct vm_judge *j, const struct vm_area *a, const struct vm_page *p)
{
	struct vm_objects *o = &j->scratch->objects;
	uint64_t off = a->off + (p->addr - a->start);
	bool zero = false;
	struct vm_object_page *e = vm_object_look(o, a->object, a->anon, off, &zero);

	if (!e && zero && is_zero(&p->content))
		return;
	if (e && e->known && e->rest_known && !e->may_zero && e->content.head == p->content.head &&
	    e->content.rest == p->content.rest)
		return;
	if (differs(e, zero, &p->content))
		report(j, p->addr, e, &p->content, is_zero(&p->content) ? "zeroed" : "changed");
	if (!e && a->anon != VM_NO_OBJECT && o->object[a->anon].partial)
		return; /* the object's page or a copy of it */
	if (!e)		/* a copy would have an entry: it is the object's page */
		e = vm_object_page(&o->object[a->object], off);
	if (!e)
		return;
	settle(e, &p->content);
	vm_object_written(o, a->object, off, j->info->layout.page_size);
}

/* Believed pages of [from, to) that only this mapping has and that are not present: their bytes are
 * gone. */
static void absent(struct vm_judge *j, const struct vm_area *a, uint64_t from, uint64_t to)
{
	struct vm_objects *o = &j->scratch->objects;
	struct vm_object *x = &o->object[a->anon != VM_NO_OBJECT ? a->anon : a->object];
	uint64_t end = a->off + (to - a->start);

	if (a->shared)
		return; /* another mapping may hold it, or none: the object keeps it */
	for (uint32_t i = vm_object_from(x, a->off + (from - a->start));
	     i < x->npages && x->page[i].off < end; i++) {
		struct vm_object_page *e = &x->page[i];

		if (e->may_zero & VM_ZERO_HEAD)
			settle(e, &(struct vm_content){ 0 });
		else if (e->known && (e->rest_known || e->content.head) && !is_zero(&e->content)) {
			report(j, a->start + (e->off - a->off), e, NULL, "lost");
			e->content = (struct vm_content){ 0 };
		} else if (!e->known && a->anon == VM_NO_OBJECT) {
			e->known = e->rest_known = true;
			e->content = (struct vm_content){ 0 };
		}
	}
}

void vm_check_contents(struct vm_judge *j, const struct vm_snapshot *snap)
{
	const struct vm_state *s = j->before;
	uint64_t page = j->info->layout.page_size;
	uint32_t p = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct vm_area *a = &s->area[i];
		uint64_t at = a->start;

		/* whether huge pages can be had, and keep their bytes, is the pool's matter */
		if (a->own || vm_area_huge(a) != VM_NO)
			continue;
		while (p < snap->npage && snap->page[p].addr < a->start)
			p++;
		for (; p < snap->npage && snap->page[p].addr < a->end; p++) {
			absent(j, a, at, snap->page[p].addr);
			present(j, a, &snap->page[p]);
			at = snap->page[p].addr + page;
		}
		absent(j, a, at, a->end);
	}
}
