/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/mman.h>

#include "fuzz/mutate/rng.h"
#include "tests/bench/programs.h"

#define PAGES	 64 /* of the arena that are used */
#define MAX_SPAN 8

/* What is mapped, as far as the choice of calls needs it. */
struct page {
	uint8_t mapping; /* 0: none */
	uint8_t prot;
};

struct builder {
	struct vm_rng *rng;
	struct vm_program *prog;
	struct page page[PAGES];
	uint8_t mappings;
};

struct span {
	uint32_t start, len; /* len 0: there is none */
};

static bool same(const struct page *a, const struct page *b)
{
	return a->mapping == b->mapping && a->prot == b->prot;
}

/* Pages in a row, all alike, that are mapped (or not) and have at least the rights `prot`. */
static struct span pick(struct builder *b, bool mapped, uint8_t prot)
{
	struct span found[PAGES];
	uint32_t n = 0;

	for (uint32_t i = 0, j; i < PAGES; i = j) {
		for (j = i + 1; j < PAGES && same(&b->page[i], &b->page[j]); j++)
			;
		if (!b->page[i].mapping == !mapped && (b->page[i].prot & prot) == prot)
			found[n++] = (struct span){ i, j - i };
	}
	return n ? found[vm_rng_below(b->rng, n)] : (struct span){ 0, 0 };
}

/* A part of the span, in half of the cases all of it; MAX_SPAN pages at most. */
static struct span part(struct builder *b, struct span s)
{
	struct span p = s;

	if (s.len > MAX_SPAN || vm_rng_chance(b->rng, 50)) {
		p.len = 1 + vm_rng_below(b->rng, s.len < MAX_SPAN ? s.len : MAX_SPAN);
		p.start += vm_rng_below(b->rng, s.len - p.len + 1);
	}
	return p;
}

static void set(struct builder *b, struct span s, uint8_t mapping, uint8_t prot)
{
	for (uint32_t i = s.start; i < s.start + s.len; i++)
		b->page[i] = (struct page){ mapping, prot };
}

static union vm_arg page_arg(uint32_t page)
{
	return (union vm_arg){ .addr = { .base = VM_BASE_ARENA, .index = (uint8_t)page } };
}

static struct vm_call *add(struct builder *b, uint8_t op, struct span s)
{
	struct vm_call *call = &b->prog->call[b->prog->ncalls++];

	call->op = op;
	call->arg[0] = page_arg(s.start);
	call->arg[1].len.pages = (int32_t)s.len;
	return call;
}

static void add_mmap(struct builder *b)
{
	struct span s = part(b, pick(b, false, 0));
	uint64_t shared = vm_rng_chance(b->rng, 25) ? MAP_SHARED : MAP_PRIVATE;
	struct vm_call *call = add(b, VM_OP_MMAP, s);

	call->arg[2].bits = PROT_READ | PROT_WRITE;
	call->arg[3].bits = MAP_ANONYMOUS | MAP_FIXED | shared;
	set(b, s, ++b->mappings, PROT_READ | PROT_WRITE);
}

static void add_mprotect(struct builder *b)
{
	static const uint8_t choice[] = { PROT_READ, PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE };
	struct span s = part(b, pick(b, true, 0));
	uint8_t prot = choice[vm_rng_below(b->rng, 4)];

	add(b, VM_OP_MPROTECT, s)->arg[2].bits = prot;
	for (uint32_t i = s.start; i < s.start + s.len; i++)
		b->page[i].prot = prot;
}

static void add_mremap(struct builder *b)
{
	struct span s = part(b, pick(b, true, 0)), hole = pick(b, false, 0);
	struct page was = b->page[s.start];
	struct vm_call *call;

	if (s.len > hole.len)
		s.len = hole.len;
	hole.start += vm_rng_below(b->rng, hole.len - s.len + 1);
	hole.len = s.len;
	call = add(b, VM_OP_MREMAP, s);
	call->arg[2].len.pages = (int32_t)s.len;
	call->arg[3].bits = MREMAP_MAYMOVE | MREMAP_FIXED;
	call->arg[4] = page_arg(hole.start);
	set(b, s, 0, 0);
	set(b, hole, was.mapping, was.prot);
}

static void add_munmap(struct builder *b)
{
	struct span s = part(b, pick(b, true, 0));

	add(b, VM_OP_MUNMAP, s);
	set(b, s, 0, 0);
}

/* Fill, write or read where there is a right to. */
static void add_touch(struct builder *b, uint8_t op)
{
	struct span s = pick(b, true, op == VM_OP_READ ? PROT_READ : PROT_READ | PROT_WRITE);

	if (s.len)
		add(b, op, part(b, s));
	else
		add_mmap(b);
}

static void add_any(struct builder *b)
{
	static const uint8_t weight[VM_OP_COUNT] = {
		[VM_OP_MMAP] = 4,   [VM_OP_FILL] = 5,	[VM_OP_WRITE] = 2,    [VM_OP_READ] = 2,
		[VM_OP_MREMAP] = 4, [VM_OP_MUNMAP] = 2, [VM_OP_MPROTECT] = 4,
	};
	uint8_t op = (uint8_t)vm_rng_weighted(b->rng, weight, VM_OP_COUNT);

	if (op == VM_OP_MMAP || !pick(b, true, 0).len)
		add_mmap(b);
	else if (op == VM_OP_MREMAP)
		add_mremap(b);
	else if (op == VM_OP_MUNMAP)
		add_munmap(b);
	else if (op == VM_OP_MPROTECT)
		add_mprotect(b);
	else
		add_touch(b, op);
}

void vm_bench_program(struct vm_rng *rng, struct vm_program *prog)
{
	struct builder b = { .rng = rng, .prog = prog };
	bool seals = vm_rng_below(rng, 3) == 0;

	memset(prog, 0, sizeof(*prog));
	add_mmap(&b);
	add_touch(&b, VM_OP_FILL);
	while (prog->ncalls < VM_BENCH_CALLS - seals)
		add_any(&b);
	if (seals && pick(&b, true, 0).len)
		add(&b, VM_OP_MSEAL, part(&b, pick(&b, true, 0)));
	else if (seals)
		add_mmap(&b);
	vm_program_normalise(prog);
}
