/* SPDX-License-Identifier: MIT */
/*
 * shmat(2) and shmdt(2). ipc/shm.c do_shmat(), ksys_shmdt(); the same from 6.12 to 7.2.
 *
 * The segment s0 is one that is removed already: it lives as long as it is mapped somewhere, and an
 * shmat after that makes a new one.
 */
#include "oracle/rules/rule.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

static const struct vm_cause no_segment = { .text = "no such segment",
					    .basis = "ipc/shm.c do_shmat()" };
static const struct vm_cause unaligned = { .text = "address not SHMLBA aligned",
					   .basis = "ipc/shm.c do_shmat(); shmat(2)" };
static const struct vm_cause remap_null = { .text = "SHM_REMAP without an address",
					    .basis = "ipc/shm.c do_shmat(); shmat(2)" };
static const struct vm_cause wraps = { .text = "range wraps", .basis = "ipc/shm.c do_shmat()" };
static const struct vm_cause occupied = { .text = "something is mapped there",
					  .basis = "ipc/shm.c do_shmat(); shmat(2)" };
static const struct vm_cause map_count = { .text = "too many mappings",
					   .basis = "mm/mmap.c do_mmap()",
					   .resource = true };
static const struct vm_cause detach_unaligned = { .text = "address not page aligned",
						  .basis = "ipc/shm.c ksys_shmdt()" };
static const struct vm_cause not_attached = { .text = "no segment attached there",
					      .basis = "ipc/shm.c ksys_shmdt(); shmdt(2)" };

static const struct vm_cause not_unmapped = {
	.text = "an allocation failed",
	.basis = "ipc/shm.c ksys_shmdt() ignores do_vmi_align_munmap()",
	.resource = true,
	.starved = true,
};

/* Is anything known of segments? */
static bool unknown(struct vm_rule *r)
{
	if (!(r->info->features & VM_HAS_SYSV_SHM))
		vm_silent(r, "no SysV shared memory here");
	else if (r->objects->segment_unknown)
		vm_silent(r, "belief about the segment was lost");
	else
		return false;
	return true;
}

/* The address that is meant: rounded, if asked to be. False if the call ends here. */
static bool place(struct vm_rule *r, uint64_t *addr, uint64_t flags)
{
	uint64_t lba = r->info->layout.page_size; /* SHMLBA of x86 */

	if (!*addr)
		return !vm_fails(r, vm_is(flags & SHM_REMAP), EINVAL, &remap_null);
	if (!(*addr & (lba - 1)))
		return true;
	if (!(flags & SHM_RND))
		return !vm_stops(r, VM_YES, EINVAL, &unaligned);
	*addr &= ~(lba - 1);
	return !vm_fails(r, vm_is(!*addr && flags & SHM_REMAP), EINVAL, &remap_null);
}

void vm_rule_shmat(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[1], flags = r->sc->arg[2];
	struct vm_map_request q = { .object = VM_OBJECT_S0,
				    .len = VM_OBJECT_PAGES * r->info->layout.page_size,
				    .flags = MAP_SHARED | (addr ? MAP_FIXED : 0),
				    .prot = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
					    (flags & SHM_EXEC ? PROT_EXEC : 0),
				    .backing = VM_NO_OBJECT,
				    .attach = (uint16_t)(r->call + 1u),
				    .read_only = flags & SHM_RDONLY,
				    .shared = true };

	if (unknown(r) || vm_stops(r, vm_is(r->sc->arg[0] != VM_OBJECT_S0), EINVAL, &no_segment) ||
	    !place(r, &addr, flags))
		return;
	q.addr = addr;
	if (addr && !(flags & SHM_REMAP) &&
	    (vm_stops(r, vm_is(addr + q.len < addr), EINVAL, &wraps) ||
	     vm_fails(r, vm_is(vm_state_any(r->s, addr, addr + q.len)), EINVAL, &occupied)))
		return;
	if (vm_fails(r, vm_over_map_count(r), ENOMEM, &map_count))
		return;
	if (vm_object_attached(r->objects, r->s))
		q.backing = r->objects->named[VM_OBJECT_S0];
	vm_rule_map(r, &q);
}

/* Where a VMA ends that begins with area i: it certainly reaches *least, and maybe *most. */
static uint32_t vma_end(const struct vm_state *s, uint32_t i, uint64_t *least, uint64_t *most)
{
	uint32_t next = vm_state_vma_next(s, i), k = next;

	while (k < s->n && s->area[k].start == s->area[k - 1].end && s->area[k].begins != VM_YES)
		k++;
	*least = s->area[next - 1].end;
	*most = s->area[k - 1].end;
	return next;
}

static bool began_at(const struct vm_area *a, uint64_t addr)
{
	return a->attach && a->start >= addr && a->start - addr == a->off;
}

/* do_vmi_align_munmap(): its failure, on a seal, is not looked at. False if the rule is silent. */
static bool detach(struct vm_rule *r, struct vm_effect *gone, uint64_t start, uint64_t end)
{
	struct vm_step *last = gone->n ? &gone->step[gone->n - 1] : NULL;
	enum vm_tri sealed = vm_state_sealed(r->s, start, end);

	if (sealed == VM_YES)
		return true;
	if (sealed == VM_MAYBE) {
		vm_silent(r, "a mapping of the segment may be sealed");
		return false;
	}
	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	if (gone->n == VM_EFFECT_MAX) {
		vm_silent(r, "more steps than fit");
		return false;
	}
	gone->step[gone->n++] =
		(struct vm_step){ .kind = VM_STEP_UNMAP, .start = start, .end = end };
	return true;
}

/*
 * The first VMA that lies where the shmat would have put it goes, whole; then all that do so, come
 * from the same shmat, and end within the segment's size.
 */
static bool detach_all(struct vm_rule *r, uint32_t i, uint64_t addr, struct vm_effect *gone)
{
	const struct vm_state *s = r->s;
	uint64_t limit = VM_OBJECT_PAGES * r->info->layout.page_size, least, most;
	uint16_t attach = s->area[i].attach;

	for (uint32_t first = i, next; i < s->n; i = next) {
		const struct vm_area *a = &s->area[i];

		next = vma_end(s, i, &least, &most);
		if (i != first && least - addr > limit)
			break;
		if (!began_at(a, addr) || a->attach != attach)
			continue;
		if (most - addr > limit && most > least) {
			vm_silent(r, "a mapping of the segment may be one VMA or two");
			return false;
		}
		if (!detach(r, gone, a->start, least))
			return false;
	}
	return true;
}

/* One of the VMAs could not be unmapped. */
static void stays(struct vm_rule *r, const struct vm_effect *gone, uint32_t which)
{
	r->done.n = 0;
	for (uint32_t i = 0; i < gone->n; i++)
		if (i != which)
			r->done.step[r->done.n++] = gone->step[i];
	vm_starves_unsaid(r, &not_unmapped);
}

void vm_rule_shmdt(struct vm_rule *r)
{
	uint64_t addr = r->sc->arg[0];
	struct vm_effect gone = { 0 };
	uint32_t i;

	if (unknown(r) || vm_fails(r, vm_is(vm_unaligned(r, addr)), EINVAL, &detach_unaligned))
		return;
	for (i = vm_state_from(r->s, addr); i < r->s->n; i++)
		if (began_at(&r->s->area[i], addr))
			break;
	if (vm_stops(r, vm_is(i == r->s->n), EINVAL, &not_attached) ||
	    !detach_all(r, i, addr, &gone))
		return;
	for (uint32_t k = 0; k < gone.n; k++)
		vm_does(r, &gone.step[k]);
	vm_succeeds(r, 0);
	for (uint32_t k = 0; k < gone.n; k++)
		stays(r, &gone, k);
}
