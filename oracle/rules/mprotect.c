/* SPDX-License-Identifier: MIT */
/* mprotect(2), pkey_mprotect(2). mm/mprotect.c do_mprotect_pkey(), mprotect_fixup(). */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#define PROT_SEM_BIT 8u
#define PROT_BTI_BIT 0x10u /* arch/arm64/include/asm/mman.h arch_validate_prot() */
#define PROT_MTE_BIT 0x20u
#define VM_NO_KEY    UINT32_MAX /* -1 */

static const struct vm_cause both_grow = { .text = "PROT_GROWSDOWN and PROT_GROWSUP",
					   .basis = "mm/mprotect.c do_mprotect_pkey()" };
static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/mprotect.c do_mprotect_pkey()" };
static const struct vm_cause wraps = { .text = "range wraps",
				       .basis = "mm/mprotect.c do_mprotect_pkey()" };
static const struct vm_cause bad_prot = { .text = "unknown protection bits",
					  .basis = "arch_validate_prot()" };
static const struct vm_cause no_key = { .text = "key is not allocated",
					.basis = "mm_pkey_is_allocated()" };
static const struct vm_cause no_map = { .text = "start is not mapped",
					.basis = "mm/mprotect.c do_mprotect_pkey()" };
static const struct vm_cause no_grow = {
	.text = "PROT_GROWSDOWN or PROT_GROWSUP on a plain mapping",
	.basis = "mm/mprotect.c do_mprotect_pkey()"
};
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/mprotect.c do_mprotect_pkey(); mprotect(2)" };
static const struct vm_cause not_allowed = {
	.text = "the file does not allow it",
	.basis = "mm/mprotect.c do_mprotect_pkey(): VM_MAYWRITE"
};
static const struct vm_cause mdwe = { .text = "PR_SET_MDWE: executable, and writable or not before",
				      .basis = "map_deny_write_exec(); PR_SET_MDWE(2const)" };
static const struct vm_cause sealed = { .text = "sealed page in the range",
					.basis = "mm/mprotect.c mprotect_fixup(); mseal.rst",
					.seal = true };
static const struct vm_cause commit = { .text = "commit limit",
					.basis = "mm/mprotect.c mprotect_fixup()",
					.resource = true };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/vma.c split_vma()",
					   .resource = true };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause in_special = { .text = "split inside a special mapping",
					    .basis = "mm/mmap.c special_mapping_split()" };
static const struct vm_cause rlimit = { .text = "RLIMIT_DATA",
					.basis = "mm/mprotect.c mprotect_fixup()",
					.resource = true };

/* Pages of one VMA within [start, end): is writing to be charged, and for how many pages? */
static enum vm_tri charge_fails(struct vm_rule *r, uint32_t first, uint32_t next, uint64_t start,
				uint64_t end)
{
	const struct vm_area *a = &r->s->area[first];
	uint64_t low = a->start > start ? a->start : start;
	uint64_t high = r->s->area[next - 1].end < end ? r->s->area[next - 1].end : end;
	uint64_t pages = (high - low) / r->info->layout.page_size, more = pages;

	if (a->shared || a->prot & VM_MODE_W || a->account == VM_YES ||
	    a->flags & (VM_BIT(VM_FLAG_NR) | VM_BIT(VM_FLAG_HT)))
		return VM_NO;
	/* VMAs that may have merged are charged as one */
	for (; next < r->s->n && r->s->area[next].start == r->s->area[next - 1].end &&
	       r->s->area[next].begins == VM_MAYBE;
	     next++)
		more += (r->s->area[next].end - r->s->area[next].start) / r->info->layout.page_size;
	return vm_over_commit(r, a->account == VM_NO ? pages : 0, more);
}

/* What is known of limits while VMAs are changed one after the other. */
struct growth {
	struct vm_sizes mapped;
	bool loose; /* it depends on how VMAs have merged */
};

/*
 * mprotect_fixup() of `bytes` that are like `a`: may_expand_vm() refuses the new flags and not the
 * old ones. So nothing fails where RLIMIT_AS would refuse so much again, or where it was data.
 */
static enum vm_tri over_data_limit(const struct vm_rule *r, const struct growth *g,
				   const struct vm_area *a, uint64_t bytes)
{
	struct vm_area now = *a;
	enum vm_tri refused, before;

	now.prot = vm_mode_of_prot(r->sc->arg[2]);
	refused = vm_cannot_expand(r, &g->mapped, bytes, vm_area_is_data(&now));
	before = vm_cannot_expand(r, &g->mapped, bytes, vm_area_is_data(a));
	if (refused == VM_NO || before == VM_YES)
		return VM_NO;
	return before == VM_NO ? refused : VM_MAYBE;
}

/* Is the VMA of areas first to next - 1 refused? What turns into data counts from then on. */
static enum vm_tri data_fails(const struct vm_rule *r, struct growth *g, uint32_t first,
			      uint32_t next, uint64_t start, uint64_t end)
{
	const struct vm_area *area = r->s->area, *a = &area[first];
	uint64_t low = a->start > start ? a->start : start;
	uint64_t high = area[next - 1].end < end ? area[next - 1].end : end;
	enum vm_tri fails = over_data_limit(r, g, a, high - low);
	struct vm_area now = *a;

	for (; next < r->s->n && area[next].start == area[next - 1].end && area[next].start < end &&
	       area[next].begins == VM_MAYBE;
	     next++)
		g->loose |= over_data_limit(r, g, a,
					    (area[next].end < end ? area[next].end : end) - low) !=
			    fails;
	now.prot = vm_mode_of_prot(r->sc->arg[2]);
	if (vm_area_is_data(a) == VM_NO) {
		vm_sizes_add(&g->mapped, &now, high - low);
		g->mapped.total -= high - low;
	}
	return g->loose ? VM_MAYBE : fails;
}

static uint64_t key_asked(const struct vm_rule *r)
{
	return r->sc->op == VM_OP_PKEY_MPROTECT ? r->sc->arg[3] : VM_NO_KEY;
}

/*
 * The step of all VMAs that can be changed: the key that is asked for, or that of PROT_EXEC alone
 * if there is one. arch/x86/mm/pkeys.c __arch_override_mprotect_pkey().
 */
static struct vm_step protect_step(struct vm_rule *r, uint64_t start)
{
	uint64_t prot = r->sc->arg[2] & ~(uint64_t)(PROT_GROWSDOWN | PROT_GROWSUP);
	struct vm_step step = { .kind = VM_STEP_PROTECT,
				.prot = vm_mode_of_prot(prot),
				.keeps_charge = r->p->mprotect_keeps_charge,
				.starved = r->starved,
				.start = start };

	if (key_asked(r) != VM_NO_KEY)
		step.flags = key_asked(r) << VM_FLAG_K0;
	else if (prot == PROT_EXEC)
		step.flags = vm_takes_exec_key(r, &step.maybe);
	if (key_asked(r) != VM_NO_KEY || step.flags || step.maybe)
		step.clear = VM_KEY_FLAGS;
	return step;
}

static void protect_up_to(struct vm_rule *r, struct vm_step *step, uint64_t end)
{
	step->end = end;
	r->done.n = r->nkept;
	r->what = NULL;
	if (step->start < end) {
		r->done.step[r->done.n++] = *step;
		r->what = "partly applied";
	}
}

/* Do VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC of a VMA refuse these rights? */
static enum vm_tri may_not(const struct vm_area *a, uint64_t prot)
{
	uint64_t wanted = (prot & PROT_READ ? VM_BIT(VM_FLAG_MR) : 0) |
			  (prot & PROT_WRITE ? VM_BIT(VM_FLAG_MW) : 0) |
			  (prot & PROT_EXEC ? VM_BIT(VM_FLAG_ME) : 0);

	if (wanted & a->flags_maybe)
		return VM_MAYBE;
	return vm_is(wanted & ~a->flags);
}

/* A VMA that has these rights already is not split. */
static bool cannot_split(struct vm_rule *r, const struct vm_area *a, uint64_t start, uint64_t end,
			 bool sure)
{
	enum vm_tri head = vm_state_in_huge_page(r->s, start);
	enum vm_tri tail = vm_state_in_huge_page(r->s, end);
	const struct vm_cause *cause = vm_is_special(r, start) ? &in_special : &in_huge_page;

	if (!sure) {
		head = head == VM_NO ? VM_NO : VM_MAYBE;
		tail = tail == VM_NO ? VM_NO : VM_MAYBE;
	}
	if (a->prot == vm_mode_of_prot(r->sc->arg[2]))
		return false;
	return vm_fails(r, head, EINVAL, cause) ||
	       vm_fails_split(r, tail, EINVAL, cause, start, start);
}

/*
 * VMAs are changed one at a time: a failure leaves those before it changed (prefix), which
 * mprotect(2) and mseal.rst allow. Only 6.10 and 6.11 looked at all seals first.
 */
static void protect_each(struct vm_rule *r, uint64_t start, uint64_t end)
{
	const struct vm_state *s = r->s;
	struct growth g = { .mapped = vm_state_sizes(s, 0, UINT64_MAX) };
	uint8_t now = vm_mode_of_prot(r->sc->arg[2]);
	struct vm_step step = protect_step(r, start);
	uint64_t at = start, begin = start, upto; /* begin: of the last VMA that certainly begins */

	r->licence = VM_DOCUMENTED;
	for (uint32_t i = vm_state_from(s, start), next; at < end; i = next) {
		if (vm_stops(r, vm_is(i >= s->n || s->area[i].start > at), ENOMEM, &hole))
			return;
		next = vm_state_vma_next(s, i);
		if (vm_fails(r, may_not(&s->area[i], r->sc->arg[2]), EACCES, &not_allowed) ||
		    vm_fails(r, vm_is(vm_mdwe_refuses(r, s->area[i].prot, now)), EACCES, &mdwe) ||
		    vm_fails(r, s->area[i].sealed, EPERM, &sealed))
			return;
		if (r->sc->arg[2] & PROT_WRITE &&
		    (vm_fails(r, data_fails(r, &g, i, next, at, end), ENOMEM, &rlimit) ||
		     vm_fails(r, charge_fails(r, i, next, at, end), ENOMEM, &commit)))
			return;
		upto = s->area[next - 1].end < end ? s->area[next - 1].end : end;
		if (s->area[i].begins == VM_YES || at == start)
			begin = at;
		if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
			return;
		if (begin < at) { /* it may be one VMA from there on: then nothing of it is done */
			protect_up_to(r, &step, begin);
			cannot_split(r, &s->area[i], at, upto, false);
			protect_up_to(r, &step, at);
		}
		if (cannot_split(r, &s->area[i], at, upto, true))
			return;
		at = s->area[next - 1].end;
		protect_up_to(r, &step, at < end ? at : end);
		vm_starves(r, NULL);
	}
	r->what = NULL;
	vm_succeeds(r, 0);
}

/*
 * PROT_GROWSDOWN: from where the first VMA of the range begins, which must grow down. Where that is
 * not known, all that may be.
 */
static void protect_grown(struct vm_rule *r, uint64_t start, uint64_t end)
{
	const struct vm_area *area = r->s->area;
	uint32_t i = vm_state_from(r->s, start);
	bool failed = r->failed, more = true;
	enum vm_tri grows;

	if (vm_stops(r, vm_is(!vm_state_any(r->s, start, end)), ENOMEM, &no_map))
		return;
	grows = vm_area_grows(&area[i]);
	if (vm_stops(r, vm_is(grows == VM_NO), EINVAL, &no_grow) ||
	    vm_fails(r, grows == VM_MAYBE ? VM_MAYBE : VM_NO, EINVAL, &no_grow))
		return;
	for (; more; i--) {
		more = i && area[i - 1].end == area[i].start && area[i].begins != VM_YES;
		if (more && area[i].begins == VM_NO)
			continue;
		r->failed = failed;
		r->done.n = r->nkept = 0;
		r->what = NULL;
		protect_each(r, area[i].start, end);
	}
}

/* Without keys not even key 0 is allocated. */
static bool key_missing(const struct vm_rule *r)
{
	uint64_t key = key_asked(r);

	return key != VM_NO_KEY && !vm_key_is_allocated(&r->s->process.keys, key);
}

void vm_rule_mprotect(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], len = vm_page_align(r, r->sc->arg[1]), end = start + len;
	uint64_t grows = r->sc->arg[2] & (PROT_GROWSDOWN | PROT_GROWSUP);
	uint64_t prot = r->sc->arg[2] & ~grows;
	const uint64_t known = PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM_BIT;
	/* of the processor alone, which is not asked */
	const uint64_t perhaps = vm_is_arm64(r) ? PROT_BTI_BIT | PROT_MTE_BIT : 0;

	if (vm_fails(r, vm_is(grows == (PROT_GROWSDOWN | PROT_GROWSUP)), EINVAL, &both_grow) ||
	    vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned))
		return;
	if (!r->sc->arg[1]) {
		vm_succeeds(r, 0);
		return;
	}
	if (vm_stops(r, vm_is(end <= start), ENOMEM, &wraps) ||
	    vm_fails(r, vm_is(prot & ~(known | perhaps)), EINVAL, &bad_prot) ||
	    vm_fails(r, prot & perhaps ? VM_MAYBE : VM_NO, EINVAL, &bad_prot) ||
	    vm_fails(r, vm_is(key_missing(r)), EINVAL, &no_key))
		return;
	if (grows == PROT_GROWSDOWN) {
		protect_grown(r, start, end);
		return;
	}
	/* nothing grows up on x86 */
	if (vm_stops(r, vm_is(!vm_state_at(r->s, start)), ENOMEM, &no_map) ||
	    vm_stops(r, vm_is(grows), EINVAL, &no_grow))
		return;
	protect_each(r, start, end);
}
