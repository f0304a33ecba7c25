/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>

#include "tests/bench/guidance/faults.h"

#define PAGE(k) ((k)->info.layout.page_size)

static const struct vm_past_call *current(const struct vm_kernel *k)
{
	return &k->past[k->ncalls - 1];
}

static uint64_t up(const struct vm_kernel *k, uint64_t len)
{
	return (len + PAGE(k) - 1) & ~(PAGE(k) - 1);
}

static bool worked(const struct vm_past_call *c, uint8_t op)
{
	return c->made && c->sc.op == op && (c->result >= 0 || c->result < -4095);
}

static bool moved(const struct vm_past_call *c)
{
	return worked(c, VM_OP_MREMAP) && (uint64_t)c->result != c->sc.arg[0];
}

/* VMAs that [start, end) lies in, before the call; 0 if a page of it is not mapped. */
static uint32_t vmas(const struct vm_kernel *k, uint64_t start, uint64_t end)
{
	const struct vm_state *s = &k->before;
	uint32_t n = 0;

	if (!vm_state_all(s, start, end))
		return 0;
	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++)
		n += !n || s->area[i].begins != VM_NO;
	return n;
}

static bool sealed_at(const struct vm_kernel *k, uint64_t addr)
{
	const struct vm_area *a = vm_state_at(&k->before, addr);

	return a && a->sealed == VM_YES;
}

/* ---- harm ---- */

static struct vm_area *area_at(struct vm_kernel *k, uint64_t addr)
{
	uint32_t i = vm_state_from(&k->now, addr);

	return i < k->now.n && k->now.area[i].start <= addr ? &k->now.area[i] : NULL;
}

/* The page's own bytes, as its mapping sees them, become `content`. */
static void set_bytes(struct vm_kernel *k, uint64_t addr, struct vm_content content)
{
	struct vm_area *a = area_at(k, addr);
	struct vm_object_page *p;
	uint64_t off;

	if (!a)
		return;
	off = a->off + (addr - a->start);
	p = vm_object_page(&k->objects.object[a->anon != VM_NO_OBJECT ? a->anon : a->object], off);
	if (!p)
		return;
	p->content = content;
	p->known = p->rest_known = true;
}

static void lose_bytes(struct vm_kernel *k, uint64_t addr)
{
	set_bytes(k, addr, (struct vm_content){ 0 });
}

static void lose_pages(struct vm_kernel *k, uint64_t start, uint64_t end)
{
	vm_state_unmap(&k->now, start, end);
	vm_state_settle(&k->now);
}

/* One page becomes an area of its own; NULL if it is not mapped. */
static struct vm_area *cut_out(struct vm_kernel *k, uint64_t start, uint64_t end)
{
	if (!area_at(k, start))
		return NULL;
	vm_state_split(&k->now, start);
	vm_state_split(&k->now, end);
	return area_at(k, start);
}

/* ---- #2: destination lost ---- */

static bool dest_lost(const struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;
	uint64_t len = sc->arg[1] < sc->arg[2] ? sc->arg[1] : sc->arg[2];
	uint64_t to = sc->arg[4], end = to + up(k, sc->arg[2]);

	return sc->op == VM_OP_MREMAP && current(k)->result == -EFAULT &&
	       sc->arg[3] & MREMAP_FIXED && vmas(k, sc->arg[0], sc->arg[0] + up(k, len)) >= 3 &&
	       vm_state_any(&k->before, to, end) && (sealed_at(k, to - 1) || sealed_at(k, end));
}

static void lose_destination(struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;

	lose_pages(k, sc->arg[4], sc->arg[4] + up(k, sc->arg[2]));
}

/* ---- #35: MREMAP_DONTUNMAP and back ---- */

static bool back_again(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);

	if (!moved(c))
		return false;
	for (uint32_t i = 0; i + 1 < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];

		if (moved(p) && p->sc.arg[3] & MREMAP_DONTUNMAP &&
		    c->sc.arg[0] == (uint64_t)p->result && (uint64_t)c->result == p->sc.arg[0])
			return true;
	}
	return false;
}

static void lose_first_bytes(struct vm_kernel *k)
{
	lose_bytes(k, (uint64_t)current(k)->result);
}

/* ---- #6, #15: a refused call that ends inside a sealed middle ---- */

static bool sealed_middle_cut(const struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;
	uint64_t end = sc->arg[0] + up(k, sc->arg[1]);
	const struct vm_area *first = vm_state_at(&k->before, sc->arg[0]);
	const struct vm_area *last = vm_state_at(&k->before, end), *next;

	if ((sc->op != VM_OP_MPROTECT && sc->op != VM_OP_MUNMAP) || current(k)->result != -EPERM ||
	    !first || first->sealed != VM_NO || !last || last->sealed != VM_YES ||
	    last->start >= end)
		return false;
	next = vm_state_at(&k->before, last->end);
	return next && next->sealed == VM_NO && next->object == last->object;
}

static void lose_cut_seal(struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;
	uint64_t end = sc->arg[0] + up(k, sc->arg[1]);
	const struct vm_area *last = area_at(k, end - 1);
	struct vm_area *a = last ? cut_out(k, last->start, end) : NULL;

	if (a)
		a->sealed = VM_NO;
	vm_state_settle(&k->now);
}

/* ---- #4: a move of many VMAs that fails late ---- */

static const struct vm_step *part_moved(const struct vm_kernel *k)
{
	for (uint32_t i = 0; i < k->did->effect.n; i++)
		if (k->did->effect.step[i].kind == VM_STEP_MOVE)
			return &k->did->effect.step[i];
	return NULL;
}

static bool fails_at_third(const struct vm_kernel *k)
{
	const struct vm_step *st = part_moved(k);

	return st && current(k)->result == -EPERM && vmas(k, st->start, st->end) >= 2;
}

static void lose_last_bytes(struct vm_kernel *k)
{
	const struct vm_step *st = part_moved(k);

	lose_bytes(k, st->to + (st->end - st->start) - PAGE(k));
}

/* ---- #28: what was at a kernel-chosen address before shows again ---- */

static bool covers(const struct vm_past_call *c, uint64_t addr)
{
	return c->made && c->sc.arg[0] <= addr && addr - c->sc.arg[0] < c->sc.arg[1];
}

/* The fill of a page at `addr` that was unmapped since; UINT32_MAX if there is none. */
static uint32_t stale_fill(const struct vm_kernel *k, uint64_t addr)
{
	uint32_t filled = UINT32_MAX;
	bool gone = false;

	for (uint32_t i = 0; i + 1 < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];

		if (p->sc.op == VM_OP_FILL && covers(p, addr) && p->result > 0) {
			filled = i;
			gone = false;
		} else if (worked(p, VM_OP_MUNMAP) && covers(p, addr)) {
			gone = true;
		}
	}
	return gone ? filled : UINT32_MAX;
}

static bool address_reused(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);
	bool chosen = false;

	if (!moved(c) || k->did->kind != VM_RESULT_CHOSEN)
		return false;
	for (uint32_t i = 0; i + 1 < k->ncalls; i++)
		chosen |= worked(&k->past[i], VM_OP_MMAP) &&
			  !(k->past[i].sc.arg[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) &&
			  k->past[i].result == c->result;
	return chosen && stale_fill(k, (uint64_t)c->result) != UINT32_MAX;
}

static void show_stale(struct vm_kernel *k)
{
	uint64_t addr = (uint64_t)current(k)->result;
	uint32_t call = stale_fill(k, addr);

	set_bytes(k, addr, vm_content_of_tag(vm_fill_tag(call, 0), PAGE(k)));
}

/* ---- old length 0, then the original shrinks ---- */

static const struct vm_past_call *duplicate_of(const struct vm_kernel *k, uint64_t addr)
{
	for (uint32_t i = 0; i + 1 < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];

		if (moved(p) && !p->sc.arg[1] && p->sc.arg[0] == addr)
			return p;
	}
	return NULL;
}

static bool shrunk(const struct vm_past_call *c, const struct vm_kernel *k)
{
	return worked(c, VM_OP_MREMAP) && (uint64_t)c->result == c->sc.arg[0] &&
	       up(k, c->sc.arg[2]) < up(k, c->sc.arg[1]);
}

static bool duplicated_shrinks(const struct vm_kernel *k)
{
	return shrunk(current(k), k) && duplicate_of(k, current(k)->sc.arg[0]);
}

static void lose_duplicate(struct vm_kernel *k)
{
	const struct vm_past_call *d = duplicate_of(k, current(k)->sc.arg[0]);
	uint64_t end = (uint64_t)d->result + up(k, d->sc.arg[2]);

	lose_pages(k, end - PAGE(k), end);
}

/* ---- #34, #55: growth from inside a VMA up to a neighbour ---- */

static bool grows_to_neighbour(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);
	uint64_t end = c->sc.arg[0] + up(k, c->sc.arg[2]);
	const struct vm_area *a = vm_state_at(&k->before, c->sc.arg[0]);
	const struct vm_area *next = vm_state_at(&k->before, end);

	return worked(c, VM_OP_MREMAP) && (uint64_t)c->result == c->sc.arg[0] && a && next &&
	       up(k, c->sc.arg[2]) > up(k, c->sc.arg[1]) && a->start < c->sc.arg[0] &&
	       next->start == end && next->prot != a->prot;
}

static void protect_neighbour(struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;
	uint64_t end = sc->arg[0] + up(k, sc->arg[2]);
	uint8_t prot = vm_state_at(&k->before, sc->arg[0])->prot;
	struct vm_area *a = cut_out(k, end, end + PAGE(k));

	if (a)
		a->prot = prot;
	vm_state_settle(&k->now);
}

/* ---- #31, #36: what remains of a VMA whose middle moved away ---- */

/* Was the head of this moved middle unmapped by the calls from `i` on? */
static bool head_unmapped(const struct vm_kernel *k, uint32_t i, uint64_t middle)
{
	for (; i + 1 < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];

		if (worked(p, VM_OP_MUNMAP) && p->sc.arg[0] < middle &&
		    p->sc.arg[0] + up(k, p->sc.arg[1]) == middle)
			return true;
	}
	return false;
}

/* The tail that a middle left, protected now and its head gone; 0 if there is none. */
static uint64_t remainder_at(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);

	for (uint32_t i = 0; worked(c, VM_OP_MPROTECT) && i + 1 < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];
		uint64_t end = p->sc.arg[0] + up(k, p->sc.arg[1]);

		if (moved(p) && p->sc.arg[1] && up(k, p->sc.arg[2]) > up(k, p->sc.arg[1]) &&
		    c->sc.arg[0] == end && vm_state_at(&k->before, end) &&
		    !vm_state_any(&k->before, p->sc.arg[0] - PAGE(k), end) &&
		    head_unmapped(k, i + 1, p->sc.arg[0]))
			return end;
	}
	return 0;
}

static bool remainder_left(const struct vm_kernel *k)
{
	return remainder_at(k) != 0;
}

static void lose_remainder_flag(struct vm_kernel *k)
{
	uint64_t at = remainder_at(k);
	struct vm_area *a = cut_out(k, at, at + PAGE(k));

	if (a)
		a->flags &= ~VM_BIT(VM_FLAG_MW);
	vm_state_settle(&k->now);
}

/* ---- held out ---- */

/* #30: a shrink whose tail covers a VMA, a hole and a VMA. */
static bool shrinks_over_hole(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);
	uint64_t start = c->sc.arg[0] + up(k, c->sc.arg[2]),
		 end = c->sc.arg[0] + up(k, c->sc.arg[1]);

	return shrunk(c, k) && vm_state_at(&k->before, start) &&
	       vm_state_at(&k->before, end - PAGE(k)) && !vm_state_all(&k->before, start, end) &&
	       vm_state_at(&k->before, end);
}

static void lose_page_after(struct vm_kernel *k)
{
	const struct vm_syscall *sc = &current(k)->sc;
	uint64_t end = sc->arg[0] + up(k, sc->arg[1]);

	lose_pages(k, end, end + PAGE(k));
}

/* #44: the third change of rights of one range has no effect on its first page. */
static bool third_protect(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);
	uint32_t same = 0;
	uint64_t prot = UINT64_MAX;

	for (uint32_t i = 0; worked(c, VM_OP_MPROTECT) && i < k->ncalls; i++) {
		const struct vm_past_call *p = &k->past[i];

		if (!worked(p, VM_OP_MPROTECT) || p->sc.arg[0] != c->sc.arg[0] ||
		    p->sc.arg[1] != c->sc.arg[1] || p->sc.arg[2] == prot)
			continue;
		same++;
		prot = p->sc.arg[2];
	}
	return same >= 3 && c->sc.arg[2] == prot;
}

static void keep_rights(struct vm_kernel *k)
{
	uint64_t at = current(k)->sc.arg[0];
	const struct vm_area *was = vm_state_at(&k->before, at);
	struct vm_area *a = cut_out(k, at, at + PAGE(k));

	if (a && was)
		a->prot = was->prot;
	vm_state_settle(&k->now);
}

/* #56: MAP_FIXED that a seal refuses, over pages that were moved there. */
static bool mapped_over_moved(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k);
	bool found = false;

	if (c->sc.op != VM_OP_MMAP || c->result != -EPERM || sealed_at(k, c->sc.arg[0]))
		return false;
	for (uint32_t i = 0; i + 1 < k->ncalls; i++)
		found |= moved(&k->past[i]) && (uint64_t)k->past[i].result == c->sc.arg[0];
	return found && vm_state_at(&k->before, c->sc.arg[0]);
}

static void lose_first_page(struct vm_kernel *k)
{
	uint64_t at = current(k)->sc.arg[0];

	lose_pages(k, at, at + PAGE(k));
}

/* #20: a move of memory of which a second mapping was written to. */
static bool alias_moves(const struct vm_kernel *k)
{
	const struct vm_past_call *c = current(k), *d = duplicate_of(k, c->sc.arg[0]);

	if (!moved(c) || !c->sc.arg[1] || !d)
		return false;
	for (const struct vm_past_call *p = d; p < c; p++)
		if ((p->sc.op == VM_OP_WRITE || p->sc.op == VM_OP_FILL) && p->result > 0 &&
		    covers(p, (uint64_t)d->result))
			return true;
	return false;
}

static const struct {
	const char *name, *text;
	bool (*trips)(const struct vm_kernel *k);
	void (*harm)(struct vm_kernel *k);
} faults[VM_FAULTS_TOTAL] = {
	{ "dest-lost",
	  "fixed mremap, EFAULT, source in 3 VMAs, destination beside a seal: destination lost",
	  dest_lost, lose_destination },
	{ "dontunmap-back", "MREMAP_DONTUNMAP, then the pages move back: bytes lost", back_again,
	  lose_first_bytes },
	{ "seal-cut", "refused munmap or mprotect ends inside a sealed middle of a VMA: seal lost",
	  sealed_middle_cut, lose_cut_seal },
	{ "multi-move", "a move of VMAs fails at the third or later: bytes of the last moved lost",
	  fails_at_third, lose_last_bytes },
	{ "address-reused", "chosen by mmap, filled, unmapped, chosen by mremap: old bytes show",
	  address_reused, show_stale },
	{ "dup-shrink", "old length 0, then the original shrinks: the copy loses a page",
	  duplicated_shrinks, lose_duplicate },
	{ "grow-neighbour", "growth in place from inside a VMA to a neighbour: its rights change",
	  grows_to_neighbour, protect_neighbour },
	{ "remainder",
	  "the middle moves and grows, the head is unmapped: the protected tail loses `mw`",
	  remainder_left, lose_remainder_flag },
	{ "shrink-hole", "shrink over a VMA, a hole and a VMA: the page after is lost",
	  shrinks_over_hole, lose_page_after },
	{ "third-protect", "the third change of rights of one range: none on its first page",
	  third_protect, keep_rights },
	{ "moved-replaced", "MAP_FIXED refused by a seal over moved pages: the first is lost",
	  mapped_over_moved, lose_first_page },
	{ "alias-moves", "old length 0, the copy is written, the original moves: bytes lost",
	  alias_moves, lose_first_bytes },
};

const char *vm_fault_name(unsigned int fault)
{
	return faults[fault].name;
}

const char *vm_fault_text(unsigned int fault)
{
	return faults[fault].text;
}

uint32_t vm_faults_check(struct vm_kernel *k, int planted)
{
	uint32_t tripped = 0;

	for (int i = 0; i < VM_FAULTS_TOTAL; i++) {
		if (!faults[i].trips(k))
			continue;
		tripped |= 1u << i;
		if (i == planted)
			faults[i].harm(k);
	}
	return tripped;
}
