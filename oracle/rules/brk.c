/* SPDX-License-Identifier: MIT */
/*
 * brk(2), the system call: it returns the break after it, the old one where it is refused.
 * mm/mmap.c sys_brk(), do_brk_flags().
 */
#include "oracle/rules/rule.h"

#define SYS_BRK "mm/mmap.c sys_brk()"

static const struct vm_cause below = { .text = "below the heap", .basis = SYS_BRK };
static const struct vm_cause nothing = { .text = "nothing left of the heap to shrink",
					 .basis = SYS_BRK };
static const struct vm_cause sealed = { .text = "sealed page above the new break",
					.basis = SYS_BRK ": do_vmi_align_munmap(); mseal.rst",
					.seal = true };
static const struct vm_cause in_huge_page = { .text = "split inside a huge page",
					      .basis = "mm/hugetlb.c hugetlb_vm_op_split()" };
static const struct vm_cause beyond = { .text = "range ends beyond TASK_SIZE",
					.basis = "mm/mmap.c check_brk_limits()" };
static const struct vm_cause in_the_way = { .text = "a mapping is in the way",
					    .basis = SYS_BRK ": vm_start_gap()" };
static const struct vm_cause memlock = { .text = "RLIMIT_MEMLOCK",
					 .basis = "mm/mmap.c check_brk_limits(): mlock_future_ok()",
					 .resource = true };
static const struct vm_cause segment = { .text = "data segment beyond RLIMIT_DATA",
					 .basis = SYS_BRK ": check_data_rlimit()",
					 .resource = true };
static const struct vm_cause rlimit = { .text = "RLIMIT_AS or RLIMIT_DATA",
					.basis = "mm/mmap.c do_brk_flags(): may_expand_vm()",
					.resource = true };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mmap.c do_brk_flags()",
					   .resource = true };
static const struct vm_cause commit = { .text = "commit limit",
					.basis = "mm/mmap.c do_brk_flags()",
					.resource = true };

/*
 * A page must stay free above the new break; below a mapping that grows down its gap, too. Only the
 * nearest mapping is looked at.
 */
static enum vm_tri collides(const struct vm_rule *r, uint64_t from, uint64_t to)
{
	const struct vm_state *s = r->s;
	uint64_t page = r->info->layout.page_size, gap = vm_stack_gap(r);
	uint32_t i = vm_state_from(s, from);

	if (i == s->n || s->area[i].start >= to + page + gap)
		return VM_NO;
	if (s->area[i].start < to + page)
		return VM_YES;
	return vm_area_grows(&s->area[i]);
}

static void shrink(struct vm_rule *r, uint64_t from, uint64_t to, int64_t now)
{
	struct vm_step step = { .kind = VM_STEP_UNMAP, .start = to, .end = from };
	struct vm_step split = { .kind = VM_STEP_SPLIT, .start = to, .end = from };

	if (vm_refuses(r, vm_is(!vm_state_any(r->s, to, from)), now, &nothing))
		return;
	r->done.step[r->done.n++] = split;
	if (vm_refuses(r, vm_state_sealed(r->s, to, from), now, &sealed))
		return;
	if (vm_refuses(r, vm_state_in_huge_page(r->s, to), now, &in_huge_page) ||
	    vm_refuses(r, vm_state_in_huge_page(r->s, from), now, &in_huge_page))
		return;
	r->done.n--;
	vm_does(r, &step);
	vm_succeeds(r, (int64_t)r->sc->arg[0]);
}

static void grow(struct vm_rule *r, uint64_t from, uint64_t to, int64_t now)
{
	uint64_t task = r->info->layout.task_size, pages = (to - from) / r->info->layout.page_size;
	struct vm_step step = { .kind = VM_STEP_MAP,
				.prot = VM_MODE_R | VM_MODE_W,
				.start = from,
				.end = to,
				.object = VM_NO_OBJECT,
				.flags = VM_MAY_ALL | r->s->locks.def_flags,
				.maybe = r->s->locks.def_maybe };

	if (vm_refuses(r, vm_is(to < from || to > task), now, &beyond) ||
	    vm_refuses(r, vm_new_over_memlock(r, 0, to - from), now, &memlock) ||
	    vm_refuses(r, collides(r, from, to), now, &in_the_way) ||
	    vm_refuses(r, vm_over_rlimit(r, to - from, VM_YES), now, &rlimit) ||
	    vm_refuses(r, vm_over_map_count(r), now, &map_count) ||
	    vm_refuses(r, vm_over_commit(r, pages, pages), now, &commit))
		return;
	vm_does(r, &step);
	vm_succeeds(r, (int64_t)r->sc->arg[0]);
}

void vm_rule_brk(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[0], now = r->s->process.brk;
	uint64_t from = vm_page_align(r, now), to = vm_page_align(r, addr);

	/* between the two the call would be withheld */
	if (vm_refuses(r, vm_is(addr < r->info->layout.brk_base), (int64_t)now, &below))
		return;
	if (vm_refuses(r, vm_over_data_segment(r, addr), (int64_t)now, &segment))
		return;
	if (from == to)
		vm_succeeds(r, (int64_t)addr);
	else if (addr <= now)
		shrink(r, from, to, (int64_t)now);
	else
		grow(r, from, to, (int64_t)now);
}
