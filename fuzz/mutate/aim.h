/* SPDX-License-Identifier: MIT */
/* Calls and arguments that aim at what the model believes to be mapped. */
#ifndef VM_AIM_H
#define VM_AIM_H

#include "fuzz/mutate/mutate.h"
#include "harness/program/call_table.h"

/* ---- span.c ---- */

/* A range for a call that works on mapped memory: a VMA, a part, across a border, a hole, ... */
struct vm_span vm_span_aimed(struct vm_mutator *m);

/* A range of the arena's named pages, mapped or not. */
struct vm_span vm_span_arena(struct vm_mutator *m);

/* A VMA or a part of one; of an arena range if nothing is mapped. */
struct vm_span vm_span_inside(struct vm_mutator *m);

/* From inside one VMA to beyond its end, into the next one if there is one. */
struct vm_span vm_span_crossing(struct vm_mutator *m);

/* A hole beside a VMA. */
struct vm_span vm_span_hole(struct vm_mutator *m);

/* `pages` pages that lie half on a sealed VMA, half beside it; false if nothing is sealed. */
bool vm_span_half_sealed(struct vm_mutator *m, uint64_t pages, struct vm_span *s);

/* The start of a mapping that the kernel chose; false if there is none. */
bool vm_span_chosen(struct vm_mutator *m, struct vm_span *s);

/* A range that a call before had, source or destination; false if there was none. */
bool vm_span_recent(struct vm_mutator *m, struct vm_span *s);

/* A shared VMA; false if there is none. */
bool vm_span_shared(struct vm_mutator *m, struct vm_span *s);

/* A VMA with one of these VmFlags (1 << VM_FLAG_*); false if there is none. */
bool vm_span_flagged(struct vm_mutator *m, uint64_t flags, struct vm_span *s);

/* An address that makes no sense: null, below the lowest, TASK_SIZE, near 2^64, not aligned. */
uint64_t vm_addr_nonsense(struct vm_mutator *m);

/* A length that makes no sense or is very long: 0, 64 to 512 pud, TASK_SIZE, wrapping, odd bytes.
 */
uint64_t vm_len_nonsense(struct vm_mutator *m);

/* A run-time value as a program writes it. */
struct vm_addr vm_addr_from(struct vm_mutator *m, uint64_t value);
struct vm_quantity vm_quantity_from(const struct vm_layout *layout, uint64_t value);

/* ---- aim.c ---- */

/* A whole call for the state that the model is in: op, arguments, and a name where it has a use. */
void vm_aim_call(struct vm_mutator *m, struct vm_call *call);

/* The same with the op given. */
void vm_aim_op(struct vm_mutator *m, uint8_t op, struct vm_call *call);

/* ---- preamble.c ---- */

/* One word or a few more in the preamble, of those that the target can give. */
void vm_aim_preamble(struct vm_mutator *m, struct vm_preamble *p);

/* Change a word of the preamble, or take it out; a new one where there is none. */
void vm_tweak_preamble(struct vm_mutator *m, struct vm_preamble *p);

/* ---- mutate.c ---- */

/* A call more at the end, and the model past it. False when the program is full. */
bool vm_append(struct vm_mutator *m, struct vm_program *prog, const struct vm_call *call);

/* ---- scene.c ---- */

/*
 * A few calls that lead to where single aimed ones seldom get: the brink of what can be promised or
 * locked, the last offset of a file. Fewer or none when the program is full.
 */
void vm_scene(struct vm_mutator *m, struct vm_program *prog);

/* ---- aim_mremap.c ---- */

void vm_aim_mremap(struct vm_mutator *m, struct vm_call *call);

/* ---- aim_memory.c ---- */

/* Now and then, make of an aimed call one that makes, or meets, rarer memory: droppable,
 * such that grows down when it is touched below, huge pages. */
void vm_aim_memory(struct vm_mutator *m, struct vm_call *call);

/* ---- aim.c ---- */

/* PROT_* bits as programs have them: rw mostly, some of all, few illegal. */
uint64_t vm_aim_prot(struct vm_mutator *m);

/* A value of a VM_ARG_CHOICE: mostly one that has a word, else a number near them or any. */
uint64_t vm_aim_choice(struct vm_mutator *m, const struct vm_arg_desc *desc);

/* Give the call a name slot that the program does not use (any, if all are). */
void vm_aim_name(struct vm_mutator *m, struct vm_call *call);

#endif
