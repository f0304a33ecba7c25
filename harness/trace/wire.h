/* SPDX-License-Identifier: MIT */
/* The records of an event log, shared by who writes (wire.c) and who reads them (decode.c). */
#ifndef VM_WIRE_H
#define VM_WIRE_H

#include "harness/trace/trace.h"
#include "harness/trace/varint.h"

/* First byte of a record: bits 0-2 which, bits 3-4 enum vm_event_status, then: */
#define VM_REC_WHICH	    0x07u
#define VM_REC_STATUS(s)    ((unsigned int)(s) << 3)
#define VM_REC_STATUS_OF(h) ((h) >> 3 & 3u)
#define VM_REC_PLACE	    0x20u /* actor, space and sequence numbers follow */
#define VM_REC_SNAPSHOT	    0x40u /* a snapshot follows */
#define VM_REC_INJECTED	    0x80u /* of VM_REC_RETURN: an allocation failed, its site follows */

enum vm_record {
	VM_REC_BEGIN = 1, /* a call is about to be made */
	VM_REC_RETURN,	  /* it is over */
	VM_REC_START,	  /* VM_EVENT_START */
	VM_REC_LAST,	  /* VM_EVENT_END */
	VM_REC_MORE,	  /* more of a call: enum vm_more */
};

/* What a record of more has; a reader skips kinds that it does not know. */
enum vm_more {
	VM_MORE_EDGES = 1,
	VM_MORE_COMPARES,
};
#define VM_MORE_CUT 1u /* in the record's flags: vm_cover.cut */

/* First byte of a snapshot: its mask (VM_SEEN_*), and which arrays differ from those last written.
 */
#define VM_SNAP_MASK   0x0fu
#define VM_SNAP_VMA    0x10u
#define VM_SNAP_PAGE   0x20u
#define VM_SNAP_OWN    0x40u
#define VM_SNAP_TOTALS 0x80u /* VM_SEEN_TOTALS: the numbers follow the arrays */

/* First byte of a VMA: bits 0-3 mode, 4-6 kind, then: */
#define VM_VMA_KIND(k)	  ((unsigned int)(k) << 4)
#define VM_VMA_KIND_OF(h) ((h) >> 4 & 7u)
#define VM_VMA_FLAGS	  0x80u /* flags follow */

/* First byte of a page: which words of its digest are not zero and follow. */
#define VM_PAGE_HEAD 0x01u
#define VM_PAGE_REST 0x02u

/* One VMA, its start told from the end of the one before (0 for the first). */
#define VM_VMA_BYTES_MAX (1 + 6 * VM_VARINT_MAX)
uint8_t *vm_put_vma(uint8_t *p, const struct vm_vma *vma, uint64_t prev_end);
void vm_get_vma(struct vm_reader *r, struct vm_vma *vma, uint64_t prev_end);

/* The bodies of records of more (cover.c); `first` is carried from one record of edges to the next.
 */
bool vm_get_edges(struct vm_reader *r, struct vm_edge *edge, uint32_t *n, uint64_t *first);
bool vm_get_compares(struct vm_reader *r, struct vm_compare *compare, uint32_t *n);

/* Is it aligned, not empty, of a known kind, and not before prev_end? */
bool vm_vma_valid(const struct vm_vma *vma, uint64_t prev_end, uint64_t page_size);

#endif
