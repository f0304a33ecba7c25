/* SPDX-License-Identifier: MIT */
/* mbind(2), set_mempolicy_home_node(2). mm/mempolicy.c kernel_mbind(), do_mbind(). */
#include "oracle/rules/rule.h"

#include <errno.h>

#define CAP_SYS_NICE_BIT 23

static const struct vm_cause no_numa = { .text = "kernel without NUMA",
					 .basis = "kernel/sys_ni.c; CONFIG_NUMA" };
static const struct vm_cause bad_mode = { .text = "unknown policy",
					  .basis = "mm/mempolicy.c sanitize_mpol_flags()" };
static const struct vm_cause both_nodes = { .text = "nodes are static and relative",
					    .basis = "mm/mempolicy.c sanitize_mpol_flags()" };
static const struct vm_cause no_balancing = { .text = "balancing of a policy that has none",
					      .basis = "mm/mempolicy.c sanitize_mpol_flags()" };
static const struct vm_cause long_mask = { .text = "mask of nodes too long",
					   .basis = "mm/mempolicy.c get_nodes()" };
static const struct vm_cause no_mask = { .text = "mask of nodes is no user address",
					 .basis = "mm/mempolicy.c get_bitmap()" };
static const struct vm_cause far_node = { .text = "node beyond all that can be",
					  .basis = "mm/mempolicy.c get_nodes()" };
static const struct vm_cause flags = { .text = "unknown flags",
				       .basis = "mm/mempolicy.c do_mbind(); mbind(2)" };
static const struct vm_cause privilege = { .text = "MPOL_MF_MOVE_ALL needs CAP_SYS_NICE",
					   .basis = "mm/mempolicy.c do_mbind(); mbind(2)" };
static const struct vm_cause unaligned = { .text = "address not page aligned",
					   .basis = "mm/mempolicy.c do_mbind(); mbind(2)" };
static const struct vm_cause wraps = { .text = "range wraps",
				       .basis = "mm/mempolicy.c do_mbind(); mbind(2)" };
static const struct vm_cause unwanted_nodes = { .text = "nodes of a policy that has none",
						.basis = "mm/mempolicy.c mpol_new(); mbind(2)" };
static const struct vm_cause no_nodes = { .text = "policy without nodes",
					  .basis = "mm/mempolicy.c mpol_new(); mbind(2)" };
static const struct vm_cause no_memory = { .text = "none of the nodes has memory",
					   .basis =
						   "mm/mempolicy.c mpol_set_nodemask(); mbind(2)" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/mempolicy.c queue_pages_test_walk(); mbind(2)" };
static const struct vm_cause elsewhere = { .text = "a page is on another node",
					   .basis = "mm/mempolicy.c queue_folios_pte_range(); "
						    "mbind(2)" };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/vma.c split_vma()",
					   .resource = true };
static const struct vm_cause home_flags = { .text = "flags are not 0",
					    .basis = "mm/mempolicy.c set_mempolicy_home_node()" };
static const struct vm_cause bad_node = { .text = "node is not there",
					  .basis = "mm/mempolicy.c set_mempolicy_home_node()" };
static const struct vm_cause no_policy = { .text = "no policy in the range",
					   .basis = "mm/mempolicy.c set_mempolicy_home_node()" };
static const struct vm_cause no_home = { .text = "policy that has no home node",
					 .basis = "mm/mempolicy.c set_mempolicy_home_node()" };

/* What is asked for. */
struct request {
	uint64_t start, end;
	uint32_t mode, mode_flags, flags;
	uint32_t nodes; /* VM_NODES_0, VM_NODES_1: as read */
};

static bool check_mode(struct vm_rule *r, const struct request *q)
{
	const uint32_t both = VM_POLICY_STATIC | VM_POLICY_RELATIVE;
	bool balances = q->mode == VM_POLICY_BIND || q->mode == VM_POLICY_PREFERRED_MANY;

	unsigned int known = r->p->no_weighted_interleave ? VM_POLICY_WEIGHTED : VM_POLICY_COUNT;

	return vm_fails(r, vm_is(q->mode >= known), EINVAL, &bad_mode) ||
	       vm_fails(r, vm_is((q->mode_flags & both) == both), EINVAL, &both_nodes) ||
	       vm_fails(r, vm_is(q->mode_flags & VM_POLICY_BALANCING && !balances), EINVAL,
			&no_balancing);
}

/* get_nodes() */
static bool read_nodes(struct vm_rule *r, struct request *q)
{
	uint64_t how = r->sc->arg[3];
	bool one = how & VM_NODES_ONE_MAX;

	if (one || how & VM_NODES_NO_MASK)
		return false;
	if (vm_fails(r, vm_is(how & (VM_NODES_NO_MAX | VM_NODES_LONG_MAX)), EINVAL, &long_mask) ||
	    vm_fails(r, vm_is(how & VM_NODES_BAD_MASK), EFAULT, &no_mask) ||
	    vm_fails(r, vm_is(how & VM_NODES_FAR), EINVAL, &far_node))
		return true;
	q->nodes = how & (VM_NODES_0 | VM_NODES_1);
	return false;
}

static bool has_nodes(const struct request *q)
{
	return q->mode != VM_POLICY_DEFAULT && q->mode != VM_POLICY_LOCAL;
}

/* mpol_new(): PREFERRED without nodes is LOCAL. */
static bool check_policy(struct vm_rule *r, struct request *q)
{
	bool masked = q->mode_flags & (VM_POLICY_STATIC | VM_POLICY_RELATIVE);

	if (q->mode == VM_POLICY_DEFAULT)
		return vm_fails(r, vm_is(q->nodes), EINVAL, &unwanted_nodes);
	if (q->mode == VM_POLICY_PREFERRED && !q->nodes) {
		q->mode = VM_POLICY_LOCAL;
		return vm_fails(r, vm_is(masked), EINVAL, &no_nodes);
	}
	if (q->mode == VM_POLICY_LOCAL)
		return vm_fails(r, vm_is(q->nodes || masked), EINVAL, &unwanted_nodes);
	return vm_fails(r, vm_is(!q->nodes), EINVAL, &no_nodes);
}

/* mpol_set_nodemask(): of the nodes some must have memory; relative ones are made to. */
static bool check_memory(struct vm_rule *r, const struct request *q)
{
	enum vm_tri none =
		r->info->features & VM_HAS_ONE_NODE ? vm_is(!(q->nodes & VM_NODES_0)) : VM_MAYBE;

	if (!has_nodes(q) || q->mode_flags & VM_POLICY_RELATIVE)
		return false;
	return vm_fails(r, none, EINVAL, &no_memory);
}

/* May a page of [start, end) be present? It may be the zero page, which is of no node. */
static bool may_be_present(const struct vm_rule *r, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; r->seen && i < r->seen->npage; i++)
		if (r->seen->page[i].addr >= start && r->seen->page[i].addr < end)
			return true;
	return !r->seen;
}

/* Pages of other nodes than the mask says: with no bits in it, all. */
static bool misplaced(const struct vm_rule *r, const struct request *q, uint64_t start,
		      uint64_t end)
{
	bool here = r->info->features & VM_HAS_ONE_NODE && q->nodes & VM_NODES_0;

	return q->flags & VM_MBIND_STRICT && !here && may_be_present(r, start, end);
}

/* queue_pages_range(): VMA after VMA; a hole is met before the pages in front of it are looked at.
 */
static bool walk(struct vm_rule *r, const struct request *q)
{
	bool fast = !(q->flags & (VM_MBIND_MOVE | VM_MBIND_MOVE_ALL));
	const struct vm_state *s = r->s;
	uint64_t at = q->start;

	if (!vm_state_any(s, q->start, q->end))
		return vm_stops(r, VM_YES, EFAULT, &hole);
	for (uint32_t i = vm_state_from(s, at), next; at < q->end; i = next) {
		bool gap = i >= s->n || s->area[i].start > at;

		if (q->mode == VM_POLICY_DEFAULT && (i >= s->n || s->area[i].start >= q->end))
			break;
		if (gap && q->mode != VM_POLICY_DEFAULT)
			return vm_stops(r, VM_YES, EFAULT, &hole);
		next = vm_state_vma_next(s, i);
		if (s->area[next - 1].end < q->end && q->mode != VM_POLICY_DEFAULT &&
		    (next >= s->n || s->area[next].start > s->area[next - 1].end))
			return vm_stops(r, VM_YES, EFAULT, &hole);
		if (fast && misplaced(r, q, at, s->area[next - 1].end) &&
		    vm_fails(r, VM_MAYBE, EIO, &elsewhere))
			return true;
		at = s->area[next - 1].end;
	}
	return false;
}

/* What mpol_equal() compares: mode, flags, the nodes; the mask too where flags say how to read it.
 */
static uint16_t policy_code(const struct vm_rule *r, const struct request *q)
{
	bool masked = q->mode_flags & (VM_POLICY_STATIC | VM_POLICY_RELATIVE);

	if (q->mode == VM_POLICY_DEFAULT)
		return 0;
	if (has_nodes(q) && !(r->info->features & VM_HAS_ONE_NODE))
		return VM_POLICY_UNKNOWN;
	return (uint16_t)(VM_AREA_POLICY | q->mode | (q->mode_flags >> 13) << 4 |
			  (masked ? q->nodes << 7 : 0));
}

/* mbind_range(): a VMA that has the policy already is left alone, others are split at the ends. */
static bool cannot_split(struct vm_rule *r, const struct vm_area *a, uint16_t policy,
			 uint64_t start, uint64_t end, bool sure)
{
	enum vm_tri head = vm_state_in_huge_page(r->s, start);
	enum vm_tri tail = vm_state_in_huge_page(r->s, end);

	if (a->policy == policy && policy != VM_POLICY_UNKNOWN)
		return false;
	if (!sure || a->policy == VM_POLICY_UNKNOWN || policy == VM_POLICY_UNKNOWN) {
		head = head == VM_NO ? VM_NO : VM_MAYBE;
		tail = tail == VM_NO ? VM_NO : VM_MAYBE;
	}
	return vm_fails(r, head, EINVAL, &in_huge_page) ||
	       vm_fails_split(r, tail, EINVAL, &in_huge_page, start, start);
}

static void done_up_to(struct vm_rule *r, struct vm_step *step, uint64_t end)
{
	step->end = end;
	r->done.n = 0;
	r->what = NULL;
	if (step->start < end) {
		r->done.step[r->done.n++] = *step;
		r->what = "partly applied";
	}
}

/*
 * A VMA that may begin at `low` is refused alone, after what is before it was done, or with all
 * from `begin` on, where one certainly begins. True if the call certainly ends here.
 */
static bool refused_at(struct vm_rule *r, struct vm_step *step, const struct vm_area *a,
		       uint16_t policy, uint64_t begin, uint64_t low, uint64_t high)
{
	if (begin < low) {
		done_up_to(r, step, begin);
		cannot_split(r, a, policy, low, high, false);
		done_up_to(r, step, low);
	}
	return cannot_split(r, a, policy, low, high, true);
}

/* One VMA after the other. Returns true if the call certainly ends here. */
static bool bind_each(struct vm_rule *r, const struct request *q)
{
	const struct vm_state *s = r->s;
	struct vm_step step = { .kind = VM_STEP_POLICY,
				.start = q->start,
				.policy = policy_code(r, q) };
	uint64_t begin = q->start; /* of the last VMA that certainly begins */

	for (uint32_t i = vm_state_from(s, q->start), next; i < s->n && s->area[i].start < q->end;
	     i = next) {
		const struct vm_area *a = &s->area[i];
		uint64_t low = a->start > q->start ? a->start : q->start, high;

		next = vm_state_vma_next(s, i);
		high = s->area[next - 1].end < q->end ? s->area[next - 1].end : q->end;
		if (a->begins == VM_YES || low == q->start)
			begin = low;
		vm_starves(r, NULL);
		if (refused_at(r, &step, a, step.policy, begin, low, high))
			return true;
		done_up_to(r, &step, high);
	}
	done_up_to(r, &step, q->end);
	r->what = NULL;
	return false;
}

/*
 * From queue_pages_range() on. Pages that should move and cannot are told at the end, when the
 * policy is set.
 */
static void bind(struct vm_rule *r, const struct request *q)
{
	if (walk(r, q) || vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count) || bind_each(r, q))
		return;
	if (q->flags & (VM_MBIND_MOVE | VM_MBIND_MOVE_ALL) && misplaced(r, q, q->start, q->end) &&
	    vm_fails(r, VM_MAYBE, EIO, &elsewhere))
		return;
	vm_succeeds(r, 0);
}

void vm_rule_mbind(struct vm_rule *r)
{
	uint32_t mode = (uint32_t)(r->sc->arg[2] | r->sc->arg[5]);
	bool nice = r->info->cap_effective >> CAP_SYS_NICE_BIT & 1;
	struct request q = { .start = r->sc->arg[0],
			     .end = r->sc->arg[0] + vm_page_align(r, r->sc->arg[1]),
			     .mode = mode & ~VM_POLICY_FLAGS,
			     .mode_flags = mode & VM_POLICY_FLAGS,
			     .flags = (uint32_t)r->sc->arg[4] };
	const uint32_t known = VM_MBIND_STRICT | VM_MBIND_MOVE | VM_MBIND_MOVE_ALL;

	if (vm_stops(r, vm_is(!(r->info->features & VM_HAS_NUMA)), ENOSYS, &no_numa) ||
	    check_mode(r, &q) || read_nodes(r, &q) ||
	    vm_fails(r, vm_is(q.flags & ~known), EINVAL, &flags) ||
	    vm_fails(r, vm_is(q.flags & VM_MBIND_MOVE_ALL && !nice), EPERM, &privilege) ||
	    vm_fails(r, vm_is(vm_unaligned(r, q.start)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is(q.end < q.start), EINVAL, &wraps))
		return;
	if (q.mode == VM_POLICY_DEFAULT)
		q.flags &= ~VM_MBIND_STRICT;
	if (q.start == q.end) {
		vm_succeeds(r, 0);
		return;
	}
	if (!check_policy(r, &q) && !check_memory(r, &q))
		bind(r, &q);
}

static bool may_have_home(const struct vm_area *a)
{
	uint16_t mode = a->policy & VM_POLICY_MODE;

	return mode == VM_POLICY_BIND || mode == VM_POLICY_PREFERRED_MANY;
}

/* One VMA after the other; holes and VMAs without a policy do not matter if there is one with. */
static void set_home(struct vm_rule *r, uint64_t start, uint64_t end)
{
	struct vm_step step = { .kind = VM_STEP_POLICY, .keep = true, .start = start };
	const struct vm_state *s = r->s;
	uint64_t begin = start; /* of the last VMA that certainly begins */
	bool any = false;

	for (uint32_t i = vm_state_from(s, start), next; i < s->n && s->area[i].start < end;
	     i = next) {
		const struct vm_area *a = &s->area[i];
		uint64_t low = a->start > start ? a->start : start, high;

		next = vm_state_vma_next(s, i);
		high = s->area[next - 1].end < end ? s->area[next - 1].end : end;
		if (a->begins == VM_YES || low == start)
			begin = low;
		if (!a->policy)
			continue;
		if (a->policy == VM_POLICY_UNKNOWN) {
			vm_silent(r, "the policy of a mapping is not known");
			return;
		}
		if (vm_fails(r, vm_is(!may_have_home(a)), EOPNOTSUPP, &no_home))
			return;
		any = true;
		vm_starves(r, NULL);
		if (refused_at(r, &step, a, a->policy | VM_POLICY_HOME, begin, low, high))
			return;
		done_up_to(r, &step, high);
	}
	if (vm_fails(r, vm_is(!any), ENOENT, &no_policy))
		return;
	if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
		return;
	r->what = NULL;
	vm_succeeds(r, 0);
}

void vm_rule_home_node(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], end = start + vm_page_align(r, r->sc->arg[1]);
	enum vm_tri missing = !r->sc->arg[2]			    ? VM_NO
			      : r->info->features & VM_HAS_ONE_NODE ? VM_YES
								    : VM_MAYBE;

	if (vm_stops(r, vm_is(!(r->info->features & VM_HAS_NUMA)), ENOSYS, &no_numa) ||
	    vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned) ||
	    vm_fails(r, vm_is(r->sc->arg[3]), EINVAL, &home_flags) ||
	    vm_fails(r, missing, EINVAL, &bad_node) ||
	    vm_stops(r, vm_is(end < start), EINVAL, &wraps))
		return;
	if (start == end)
		vm_succeeds(r, 0);
	else
		set_home(r, start, end);
}
