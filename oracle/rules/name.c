/* SPDX-License-Identifier: MIT */
/*
 * prctl(PR_SET_VMA_ANON_NAME). mm/madvise.c madvise_set_anon_name(), madvise_walk_vmas(): names
 * change no page, but VMAs with different ones stay apart.
 */
#include "oracle/rules/rule.h"

#include <errno.h>

#define SET_NAME "mm/madvise.c madvise_set_anon_name()"

static const struct vm_cause no_names = { .text = "no names on this kernel",
					  .basis = "CONFIG_ANON_VMA_NAME" };
static const struct vm_cause illegal = { .text = "character not allowed in a name",
					 .basis = "is_valid_name_char()" };
static const struct vm_cause unaligned = { .text = "address not page aligned", .basis = SET_NAME };
static const struct vm_cause wraps = { .text = "range wraps", .basis = SET_NAME };
static const struct vm_cause has_file = { .text = "mapping of a file",
					  .basis = "mm/madvise.c madvise_vma_anon_name()" };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = "mm/madvise.c madvise_walk_vmas()" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/madvise.c madvise_vma_anon_name()",
					   .resource = true };

/*
 * vma_is_anon_shmem(): shared anonymous memory, memfds too since they have no link, but no SysV
 * segment. Of f0 and of what was found mapped nobody knows the file system.
 */
static enum vm_tri of_file(const struct vm_rule *r, const struct vm_area *a)
{
	const struct vm_objects *o = r->objects;

	/* huge pages are of a file of hugetlbfs, also where they are private */
	if (a->attach || vm_area_huge(a) == VM_YES)
		return VM_YES;
	if (vm_area_huge(a) == VM_MAYBE)
		return VM_MAYBE;
	if ((!a->shared && a->anon == VM_NO_OBJECT) || a->object == o->named[VM_OBJECT_M0] ||
	    a->object == o->named[VM_OBJECT_M1])
		return VM_NO;
	if (a->object != o->named[VM_OBJECT_F0] && a->shared && o->object[a->object].zero)
		return VM_NO;
	return VM_MAYBE;
}

static void named_up_to(struct vm_rule *r, uint64_t start, uint64_t end)
{
	struct vm_step step = {
		.kind = VM_STEP_NAME, .name = (uint8_t)r->sc->arg[2], .start = start, .end = end
	};

	r->done.n = 0;
	if (start < end)
		r->done.step[r->done.n++] = step;
}

static void walk(struct vm_rule *r, uint64_t start, uint64_t end)
{
	const struct vm_state *s = r->s;
	uint64_t at = start;
	bool holes = false;

	r->licence = VM_DOCUMENTED;
	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		holes |= s->area[i].start > at;
		named_up_to(r, start, s->area[i].start > start ? s->area[i].start : start);
		vm_starves(r, NULL);
		if (vm_fails(r, of_file(r, &s->area[i]), EBADF, &has_file))
			return;
		at = s->area[i].end;
	}
	named_up_to(r, start, end);
	if (!vm_fails(r, vm_is(holes || at < end), ENOMEM, &hole))
		vm_succeeds(r, 0);
}

void vm_rule_name_area(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], len = vm_page_align(r, r->sc->arg[1]);

	if (vm_stops(r, vm_is(!(r->info->features & VM_HAS_ANON_NAME)), EINVAL, &no_names) ||
	    vm_fails(r, vm_is(r->sc->arg[2] & VM_NAME_ILLEGAL), EINVAL, &illegal) ||
	    vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned) ||
	    vm_stops(r, vm_is((r->sc->arg[1] && !len) || start + len < start), EINVAL, &wraps))
		return;
	if (!len)
		vm_succeeds(r, 0);
	else if (!vm_fails(r, vm_over_map_count(r), EAGAIN, &map_count))
		walk(r, start, start + len);
}
