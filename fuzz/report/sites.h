/* SPDX-License-Identifier: MIT */
/* Which allocation sites of which calls have failed, and how the calls took it. */
#ifndef VM_REPORT_SITES_H
#define VM_REPORT_SITES_H

#include "oracle/oracle.h"

#define VM_SITE_NAME_MAX 320

/* The text of causes that are a failed allocation: part of titles. */
#define VM_ALLOCATION_FAILED "an allocation failed"

/* How a call took it that an allocation of its failed. */
enum vm_taken {
	VM_TAKEN_DONE,	    /* it succeeded all the same */
	VM_TAKEN_CHECK,	    /* it failed for another reason, as it would have anyway */
	VM_TAKEN_KEPT,	    /* it failed and changed nothing: its promise */
	VM_TAKEN_NOTE,	    /* it failed, and left what documents allow */
	VM_TAKEN_DEVIATION, /* it failed or succeeded with something lost or left behind */
	VM_TAKEN_VIOLATION, /* no rule says that */
	VM_TAKEN_UNSEEN,    /* it was not looked at */
	VM_TAKEN_COUNT
};

const char *vm_taken_name(enum vm_taken t);

struct vm_alloc_site {
	uint8_t op;
	char name[VM_SITE_NAME_MAX]; /* as vm_site_name() */
	uint64_t taken[VM_TAKEN_COUNT];
	char title[VM_TITLE_MAX]; /* of the worst verdict; "" if there was none */
	uint8_t severity;
	char where[160]; /* the first program with that verdict, call and N */
};

struct vm_alloc_sites {
	size_t n, cap;
	struct vm_alloc_site *site;
};

/*
 * Functions between the call and its allocation, the innermost first, `a < b < c`: without those of
 * the allocators and the maple tree's own, up to the system call. "(new slab) ..." where it was the
 * slab allocator that wanted a page, which it asks for again. "(not known)" without a site.
 */
void vm_site_name(const char *site, char name[VM_SITE_NAME_MAX]);

/*
 * The event of a call whose allocation failed, as it was judged, and the worst violation after it
 * that the same program does not have otherwise (NULL: none). False without memory.
 */
bool vm_sites_add(struct vm_alloc_sites *s, const struct vm_trace *trace,
		  const struct vm_judgement *j, uint32_t event, const struct vm_verdict *later,
		  const char *where);

/* By call, then by name. */
void vm_sites_sort(struct vm_alloc_sites *s);

void vm_sites_free(struct vm_alloc_sites *s);

#endif
