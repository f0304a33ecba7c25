/* SPDX-License-Identifier: MIT */
/* Between madvise.c (the walk) and madvise_vma.c (what one VMA says to an advice). */
#ifndef VM_RULE_MADVISE_H
#define VM_RULE_MADVISE_H

#include "harness/program/advice.h"
#include "oracle/rules/rule.h"

#define VM_ADVICE_NOTHING 0xff /* vm_step.kind: the advice changes nothing that is believed in */

/* vma_is_anonymous(): private, and no file behind it. */
static inline bool vm_area_is_anonymous(const struct vm_area *a)
{
	return !a->shared && a->anon == VM_NO_OBJECT;
}

/*
 * The errors of one VMA, of which [start, end) is advised, but for seals. As vm_fails(): true if
 * one is certain and decides. mm/madvise.c madvise_vma_behavior().
 */
bool vm_advice_refused(struct vm_rule *r, int32_t advice, const struct vm_area *a, uint64_t start,
		       uint64_t end);

/* What an advice does to the mapped pages from `start` on; the end is left open. */
struct vm_step vm_advice_step(int32_t advice, uint64_t start);

/* Up to where a VMA is advised, asked to `end`: huge pages only as a whole. */
uint64_t vm_advice_end(const struct vm_rule *r, int32_t advice, const struct vm_area *a,
		       uint64_t end);

#endif
