/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/executor/executor.h"
#include "harness/executor/kcov.h"

#define PATH		      "/sys/kernel/debug/kcov"
#define COMPARE_WORDS	      4 /* of one comparison in the buffer: type, two operands, where */
#define COMPARE_LOG2_OF(type) ((type) >> 1 & 3)

void vm_kcov_open(struct vm_kcov *k)
{
	for (int i = 0; i < VM_KCOV_BUFFERS; i++)
		k->fd[i] = open(PATH, O_RDWR | O_CLOEXEC);
}

static void give_up(struct vm_kcov *k)
{
	for (int i = 0; i < VM_KCOV_BUFFERS; i++) {
		if (k->buffer[i])
			munmap(k->buffer[i], VM_KCOV_WORDS * sizeof(uint64_t));
		if (k->fd[i] >= 0)
			close(k->fd[i]);
		k->buffer[i] = NULL;
		k->fd[i] = -1;
	}
}

static bool map_one(struct vm_kcov *k, int i)
{
	size_t size = VM_KCOV_WORDS * sizeof(uint64_t);
	void *at;

	if (k->fd[i] < 0 || ioctl(k->fd[i], KCOV_INIT_TRACE, VM_KCOV_WORDS))
		return false;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd[i], 0);
	if (at == MAP_FAILED)
		return false;
	k->buffer[i] = at;
	return true;
}

void vm_kcov_map(struct vm_kcov *k, struct vm_target_info *info)
{
	for (int i = 0; i < VM_KCOV_BUFFERS; i++) {
		if (!map_one(k, i)) {
			give_up(k);
			return;
		}
	}
	info->features |= VM_HAS_KCOV;
}

bool vm_kcov_start(const struct vm_kcov *k, enum vm_kcov_who who, bool compares)
{
	return k->buffer[who] &&
	       !ioctl(k->fd[who], KCOV_ENABLE, compares ? KCOV_TRACE_CMP : KCOV_TRACE_PC);
}

/* ---- each once ---- */

static uint32_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	return (uint32_t)(h >> 40) & (VM_KCOV_SLOTS - 1);
}

static bool same_edge(const struct vm_edge *a, const struct vm_edge *b)
{
	return a->from == b->from && a->to == b->to;
}

static bool same_compare(const struct vm_compare *a, const struct vm_compare *b)
{
	return a->pc == b->pc && a->a == b->a && a->b == b->b;
}

/* The slot of an edge, or the empty one that it is to have. */
static uint16_t *edge_slot(struct vm_kcov_call *call, const struct vm_edge *e)
{
	uint32_t h = hash(e->from, e->to);

	while (call->slot[h] && !same_edge(&call->edge[call->slot[h] - 1], e))
		h = (h + 1) & (VM_KCOV_SLOTS - 1);
	return &call->slot[h];
}

static uint16_t *compare_slot(struct vm_kcov_call *call, const struct vm_compare *c)
{
	uint32_t h = hash(c->a ^ c->pc, c->b);

	while (call->slot[h] && !same_compare(&call->compare[call->slot[h] - 1], c))
		h = (h + 1) & (VM_KCOV_SLOTS - 1);
	return &call->slot[h];
}

/* The table is empty, but for what a process left there that was killed at work. */
static void begin(struct vm_kcov_call *call)
{
	if (call->busy)
		memset(call->slot, 0, sizeof(call->slot));
	call->busy = 1;
}

void vm_kcov_edges(const struct vm_kcov *k, enum vm_kcov_who who, uint64_t n,
		   struct vm_kcov_call *call, struct vm_cover *cover)
{
	const uint64_t *pc = k->buffer[who] + 1;
	struct vm_edge e = { 0 };
	uint32_t kept = 0;

	begin(call);
	cover->cut = n >= VM_KCOV_WORDS - 1;
	for (uint64_t i = 0; i < n && i < VM_KCOV_WORDS - 1; i++) {
		uint16_t *slot;

		/* As if nothing else were instrumented: an excursion leaves no trace. */
		if (!vm_places_have(&k->places, pc[i]))
			continue;
		e.from = e.to;
		e.to = pc[i];
		slot = edge_slot(call, &e);
		if (*slot)
			continue;
		if (kept == VM_MAX_EDGES) {
			cover->cut = true;
			break;
		}
		call->edge[kept++] = e;
		*slot = (uint16_t)kept;
	}
	/* From the last to the first, so that what stands between an edge and its slot is there. */
	for (uint32_t i = kept; i-- > 0;)
		*edge_slot(call, &call->edge[i]) = 0;
	call->busy = 0;
	cover->edge = call->edge;
	cover->nedges = kept;
}

static struct vm_compare read_compare(const uint64_t *word)
{
	return (struct vm_compare){
		.a = word[1],
		.b = word[2],
		.pc = word[3],
		.size = (uint8_t)(1u << COMPARE_LOG2_OF(word[0])),
		.constant = word[0] & KCOV_CMP_CONST,
	};
}

void vm_kcov_compares(const struct vm_kcov *k, enum vm_kcov_who who, uint64_t n,
		      struct vm_kcov_call *call, struct vm_cover *cover)
{
	const uint64_t most = (VM_KCOV_WORDS - 1) / COMPARE_WORDS;
	const uint64_t *word = k->buffer[who] + 1;
	uint32_t kept = 0;

	begin(call);
	cover->cut = n >= most;
	for (uint64_t i = 0; i < n && i < most; i++) {
		struct vm_compare c = read_compare(word + i * COMPARE_WORDS);
		uint16_t *slot = compare_slot(call, &c);

		if (*slot || c.a == c.b || !vm_places_have(&k->places, c.pc))
			continue;
		if (kept == VM_MAX_COMPARES) {
			cover->cut = true;
			break;
		}
		call->compare[kept++] = c;
		*slot = (uint16_t)kept;
	}
	for (uint32_t i = kept; i-- > 0;)
		*compare_slot(call, &call->compare[i]) = 0;
	call->busy = 0;
	cover->compare = call->compare;
	cover->ncompares = kept;
}
