/* SPDX-License-Identifier: MIT */
/* msync(2). mm/msync.c: changes nothing, whatever it says. */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>

#define SYS_MSYNC "mm/msync.c sys_msync()"

static const struct vm_cause bad_flags = { .text = "unknown flags", .basis = SYS_MSYNC };
static const struct vm_cause unaligned = { .text = "address not page aligned", .basis = SYS_MSYNC };
static const struct vm_cause both = { .text = "MS_ASYNC and MS_SYNC", .basis = SYS_MSYNC };
static const struct vm_cause wraps = { .text = "range wraps", .basis = SYS_MSYNC };
static const struct vm_cause hole = { .text = "hole in the range",
				      .basis = SYS_MSYNC "; msync(2)" };
static const struct vm_cause locked = { .text = "MS_INVALIDATE of locked pages",
					.basis = SYS_MSYNC "; msync(2)" };

/* Is an area locked? */
static enum vm_tri is_locked(const struct vm_area *a)
{
	if (a->flags_maybe & VM_BIT(VM_FLAG_LO))
		return VM_MAYBE;
	return vm_is(a->flags & VM_BIT(VM_FLAG_LO));
}

/*
 * One VMA after the other. A hole ends the walk only of plain MS_ASYNC; otherwise it is reported
 * when nothing worse was met.
 */
static void walk(struct vm_rule *r, uint64_t start, uint64_t end, uint64_t flags)
{
	const struct vm_state *s = r->s;
	bool holes = false;
	uint64_t at = start;

	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		holes |= s->area[i].start > at;
		if (holes && flags == MS_ASYNC)
			break;
		at = s->area[i].end;
		if (flags & MS_INVALIDATE && vm_fails(r, is_locked(&s->area[i]), EBUSY, &locked))
			return;
	}
	if (!vm_fails(r, vm_is(holes || at < end), ENOMEM, &hole))
		vm_succeeds(r, 0);
}

void vm_rule_msync(struct vm_rule *r)
{
	uint64_t start = r->sc->arg[0], len = vm_page_align(r, r->sc->arg[1]);
	uint64_t flags = r->sc->arg[2];

	if (vm_fails(r, vm_is(flags & ~(uint64_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC)), EINVAL,
		     &bad_flags) ||
	    vm_fails(r, vm_is(vm_unaligned(r, start)), EINVAL, &unaligned) ||
	    vm_fails(r, vm_is(flags & MS_ASYNC && flags & MS_SYNC), EINVAL, &both) ||
	    vm_stops(r, vm_is(start + len < start), ENOMEM, &wraps))
		return;
	if (!len)
		vm_succeeds(r, 0);
	else
		walk(r, start, start + len, flags);
}
