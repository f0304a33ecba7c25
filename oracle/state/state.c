/* SPDX-License-Identifier: MIT */
#include "oracle/state/state.h"

#include <string.h>

void vm_state_copy(struct vm_state *to, const struct vm_state *from)
{
	to->process = from->process;
	to->n = from->n;
	to->lost = from->lost;
	to->locks = from->locks;
	to->guards_used = from->guards_used;
	memcpy(to->area, from->area, from->n * sizeof(from->area[0]));
}

uint32_t vm_state_from(const struct vm_state *s, uint64_t addr)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (s->area[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct vm_area *vm_state_at(const struct vm_state *s, uint64_t addr)
{
	uint32_t i = vm_state_from(s, addr);

	return i < s->n && s->area[i].start <= addr ? &s->area[i] : NULL;
}

bool vm_state_any(const struct vm_state *s, uint64_t start, uint64_t end)
{
	uint32_t i = vm_state_from(s, start);

	return start < end && i < s->n && s->area[i].start < end;
}

enum vm_tri vm_state_clear(const struct vm_state *s, uint64_t start, uint64_t end, uint64_t gap)
{
	uint32_t i = vm_state_from(s, start);
	enum vm_tri grows;

	if (i == s->n)
		return VM_YES;
	if (s->area[i].start < end)
		return VM_NO;
	if (s->area[i].start - end >= gap)
		return VM_YES;
	grows = vm_area_grows(&s->area[i]);
	return grows == VM_MAYBE ? VM_MAYBE : grows == VM_YES ? VM_NO : VM_YES;
}

/* The smallest and the largest of x86. */
#define HUGE_LEAST ((uint64_t)1 << 21)
#define HUGE_MOST  ((uint64_t)1 << 30)

enum vm_tri vm_state_in_huge_page(const struct vm_state *s, uint64_t addr)
{
	const struct vm_area *a = vm_state_at(s, addr);
	enum vm_tri huge = a ? vm_area_huge(a) : VM_NO;
	bool may_be;

	if (a && a->own == VM_OWN_SPECIAL)
		return addr != a->start || a->begins != VM_YES ? VM_YES : VM_NO;
	if (huge == VM_NO || (addr == a->start && a->begins == VM_YES))
		return VM_NO;
	may_be = addr & ((a->huge ? (uint64_t)1 << a->huge : HUGE_MOST) - 1);
	if (!may_be)
		return VM_NO;
	return huge == VM_YES && (a->huge || addr & (HUGE_LEAST - 1)) ? VM_YES : VM_MAYBE;
}

bool vm_state_all(const struct vm_state *s, uint64_t start, uint64_t end)
{
	if (start >= end)
		return false;
	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start <= start; i++) {
		start = s->area[i].end;
		if (start >= end)
			return true;
	}
	return false;
}

enum vm_tri vm_state_sealed(const struct vm_state *s, uint64_t start, uint64_t end)
{
	enum vm_tri sealed = VM_NO;

	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		if (s->area[i].sealed == VM_YES)
			return VM_YES;
		if (s->area[i].sealed == VM_MAYBE)
			sealed = VM_MAYBE;
	}
	return sealed;
}

enum vm_tri vm_state_one_vma(const struct vm_state *s, uint64_t start, uint64_t end)
{
	uint32_t i = vm_state_from(s, start);
	enum vm_tri one = VM_YES;

	if (start >= end)
		return VM_YES;
	for (; i < s->n && s->area[i].end < end; i++) {
		if (i + 1 == s->n || s->area[i + 1].start != s->area[i].end ||
		    s->area[i + 1].begins == VM_YES)
			return VM_NO;
		if (s->area[i + 1].begins == VM_MAYBE)
			one = VM_MAYBE;
	}
	return one;
}

enum vm_tri vm_state_vma_ends(const struct vm_state *s, uint64_t end)
{
	uint32_t i = vm_state_from(s, end - 1);

	if (i >= s->n || s->area[i].start >= end)
		return VM_NO;
	if (s->area[i].end > end)
		return VM_NO;
	if (i + 1 == s->n || s->area[i + 1].start != end)
		return VM_YES;
	return s->area[i + 1].begins;
}

uint32_t vm_state_vma_next(const struct vm_state *s, uint32_t i)
{
	for (i++; i < s->n; i++)
		if (s->area[i].start != s->area[i - 1].end || s->area[i].begins != VM_NO)
			break;
	return i;
}

bool vm_area_lockable(const struct vm_area *a)
{
	return a->own != VM_OWN_SPECIAL && !(a->flags & (VM_BIT(VM_FLAG_HT) | VM_BIT(VM_FLAG_DP)));
}

uint64_t vm_state_locked(const struct vm_state *s, uint64_t start, uint64_t end, uint64_t *maybe)
{
	uint64_t sum = 0;

	*maybe = s->locks.doubted ? s->locks.lost : 0;
	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		const struct vm_area *a = &s->area[i];
		uint64_t low = a->start > start ? a->start : start;
		uint64_t size = (a->end < end ? a->end : end) - low;

		if (a->flags_maybe & VM_BIT(VM_FLAG_LO))
			*maybe += size;
		else if (a->flags & VM_BIT(VM_FLAG_LO))
			sum += size;
	}
	return sum;
}

enum vm_tri vm_area_is_data(const struct vm_area *a)
{
	if (!(a->prot & VM_MODE_W) || a->shared || vm_area_grows(a) == VM_YES)
		return VM_NO;
	return vm_area_grows(a) == VM_MAYBE ? VM_MAYBE : VM_YES;
}

void vm_sizes_add(struct vm_sizes *sum, const struct vm_area *like, uint64_t bytes)
{
	enum vm_tri data = vm_area_is_data(like);

	sum->total += bytes;
	sum->data += data == VM_YES ? bytes : 0;
	sum->maybe += data == VM_MAYBE ? bytes : 0;
}

struct vm_sizes vm_state_sizes(const struct vm_state *s, uint64_t start, uint64_t end)
{
	struct vm_sizes sum = { 0, 0, 0 };

	for (uint32_t i = vm_state_from(s, start); i < s->n && s->area[i].start < end; i++) {
		const struct vm_area *a = &s->area[i];
		uint64_t low = a->start > start ? a->start : start;

		vm_sizes_add(&sum, a, (a->end < end ? a->end : end) - low);
	}
	return sum;
}

uint64_t vm_state_largest_hole(const struct vm_state *s, uint64_t low, uint64_t high)
{
	uint64_t best = 0;

	for (uint32_t i = vm_state_from(s, low); low < high; i++) {
		uint64_t next = i < s->n && s->area[i].start < high ? s->area[i].start : high;

		if (next > low && next - low > best)
			best = next - low;
		if (i >= s->n)
			break;
		low = s->area[i].end;
	}
	return best;
}

/* Open room for `count` areas at index i; false (and belief lost) if there is none. */
static bool make_room(struct vm_state *s, uint32_t i, uint32_t count)
{
	if (s->n + count > VM_STATE_MAX_AREAS) {
		s->lost = true;
		return false;
	}
	memmove(&s->area[i + count], &s->area[i], (s->n - i) * sizeof(s->area[0]));
	s->n += count;
	return true;
}

void vm_state_split(struct vm_state *s, uint64_t addr)
{
	uint32_t i = vm_state_from(s, addr);

	if (i >= s->n || s->area[i].start >= addr || !make_room(s, i, 1))
		return;
	s->area[i].end = addr;
	s->area[i + 1].off += addr - s->area[i + 1].start;
	s->area[i + 1].start = addr;
	s->area[i + 1].begins = VM_NO;
}

void vm_state_unmap(struct vm_state *s, uint64_t start, uint64_t end)
{
	uint32_t first, last;

	if (start >= end || !vm_state_any(s, start, end))
		return;
	vm_state_split(s, start);
	vm_state_split(s, end);
	first = vm_state_from(s, start);
	for (last = first; last < s->n && s->area[last].start < end; last++)
		;
	memmove(&s->area[first], &s->area[last], (s->n - last) * sizeof(s->area[0]));
	s->n -= last - first;
	if (first < s->n)
		s->area[first].begins = VM_YES;
}

void vm_state_put(struct vm_state *s, const struct vm_area *a)
{
	uint32_t i;

	vm_state_unmap(s, a->start, a->end);
	i = vm_state_from(s, a->start);
	if (!make_room(s, i, 1))
		return;
	s->area[i] = *a;
	if (i + 1 < s->n)
		s->area[i + 1].begins = VM_MAYBE;
}

/* Do two neighbours certainly differ in what VMAs must have in common? */
static bool differ(const struct vm_area *a, const struct vm_area *b)
{
	if (a->policy != b->policy && a->policy != VM_POLICY_UNKNOWN &&
	    b->policy != VM_POLICY_UNKNOWN)
		return true;
	if (a->name != b->name && a->name != VM_NAME_UNKNOWN && b->name != VM_NAME_UNKNOWN)
		return true;
	if (a->prot != b->prot || a->shared != b->shared || a->own != b->own)
		return true;
	if ((a->flags ^ b->flags) & ~(a->flags_maybe | b->flags_maybe))
		return true;
	return a->sealed != b->sealed && a->sealed != VM_MAYBE && b->sealed != VM_MAYBE;
}

/* Mappings of one inode merge only where offsets go on, of segments if one shmat made them.
 * `objects` say what has one: see object.h.
 */
static bool apart(const struct vm_area *a, const struct vm_area *b)
{
	bool inode = a->shared || a->anon != VM_NO_OBJECT,
	     other = b->shared || b->anon != VM_NO_OBJECT;

	if (inode != other || a->attach != b->attach)
		return true;
	return inode && (a->object != b->object || a->off + (a->end - a->start) != b->off);
}

/* No VMA begins inside of a huge page, whatever calls did to either side. */
static bool in_one_huge_page(const struct vm_area *a, const struct vm_area *b)
{
	return vm_area_huge(a) == VM_YES && vm_area_huge(b) == VM_YES && a->end == b->start &&
	       a->huge && a->huge == b->huge && b->start & (((uint64_t)1 << b->huge) - 1);
}

/* A special mapping has an object of its own; it neither splits nor merges. */
static bool in_one_special(const struct vm_area *a, const struct vm_area *b)
{
	return a->own == VM_OWN_SPECIAL && b->own == VM_OWN_SPECIAL && a->end == b->start &&
	       a->object == b->object;
}

void vm_state_settle(struct vm_state *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct vm_area *a = &s->area[i];
		const struct vm_area *b = i ? &s->area[i - 1] : NULL;

		if (b && (in_one_huge_page(b, a) || in_one_special(b, a)))
			a->begins = VM_NO;
		else if (a->own == VM_OWN_SPECIAL || !b || b->end != a->start || differ(b, a) ||
			 apart(b, a))
			a->begins = VM_YES;
	}
}

void vm_state_doubt_locks(struct vm_state *s, bool observed)
{
	s->locks.doubted = true;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->area[i].flags & VM_LOCK_FLAGS)
			s->area[i].flags_maybe |= VM_LOCK_FLAGS;
	for (uint32_t i = 1; !observed && i < s->n; i++) {
		const struct vm_area *b = &s->area[i - 1];
		struct vm_area *a = &s->area[i];

		/* special mappings never were one */
		if (a->begins == VM_YES && b->end == a->start && a->own != VM_OWN_SPECIAL &&
		    !differ(b, a) && !apart(b, a))
			a->begins = VM_MAYBE;
	}
}
