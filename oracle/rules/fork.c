/* SPDX-License-Identifier: MIT */
/*
 * fork and the end of the child. kernel/fork.c dup_mmap() (mm/mmap.c from 6.17 on).
 *
 * A fork that succeeds is judged in the child: the address space after it is the child's. The `end`
 * is judged in the parent, against what was believed before the fork: but for shared objects, a
 * child is a bystander's bystander.
 */
#include "oracle/rules/rule.h"

#include <errno.h>

static const struct vm_cause commit = { .text = "commit limit",
					.basis = "kernel/fork.c dup_mmap()",
					.resource = true };

/* Pages of the VMA that begins with area i: least, and most where VMAs may have merged. */
static uint32_t vma_pages(const struct vm_rule *r, uint32_t i, uint64_t *least, uint64_t *most)
{
	const struct vm_state *s = r->s;
	uint64_t page = r->info->layout.page_size;
	uint32_t next = vm_state_vma_next(s, i), k = next;

	*least = (s->area[next - 1].end - s->area[i].start) / page;
	while (k < s->n && s->area[k].start == s->area[k - 1].end && s->area[k].begins != VM_YES)
		k++;
	*most = (s->area[k - 1].end - s->area[i].start) / page;
	return next;
}

/* Each VMA that is charged is charged anew, one at a time; the executor's may be too. */
static bool charge(struct vm_rule *r)
{
	for (uint32_t i = 0, next; i < r->s->n; i = next) {
		const struct vm_area *a = &r->s->area[i];
		uint64_t least, most;

		next = vma_pages(r, i, &least, &most);
		if (a->account == VM_NO || a->flags & VM_BIT(VM_FLAG_DC))
			continue;
		if (vm_fails(r, vm_over_commit(r, a->account == VM_YES ? least : 0, most), ENOMEM,
			     &commit))
			return true;
	}
	return false;
}

void vm_rule_fork(struct vm_rule *r)
{
	const uint64_t copied = VM_BIT(VM_FLAG_DC) | VM_BIT(VM_FLAG_WF);
	struct vm_step step = { .kind = VM_STEP_FORK };

	for (uint32_t i = 0; i < r->s->n; i++)
		if (!r->s->area[i].own && r->s->area[i].flags_maybe & copied) {
			vm_silent(r, "a mapping may be VM_DONTCOPY or VM_WIPEONFORK");
			return;
		}
	if (charge(r))
		return;
	/* nothing is judged after it */
	r->done.step[r->done.n++] = step;
	vm_succeeds(r, 0);
}

void vm_rule_end(struct vm_rule *r)
{
	vm_succeeds(r, 0);
}

/*
 * exec in a forked child, of an executor that looks at itself and ends. fs/exec.c exec_mmap(): a
 * new address space, in which nothing of the old one is left, sealed or not. The executor's own
 * memory is where it was or elsewhere; that is not judged.
 */
void vm_rule_exec(struct vm_rule *r)
{
	struct vm_step step = { .kind = VM_STEP_EXEC };

	/* nothing is judged after it */
	r->done.step[r->done.n++] = step;
	vm_succeeds(r, 0);
}
