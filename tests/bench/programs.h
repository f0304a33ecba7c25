/* SPDX-License-Identifier: MIT */
/* The programs that are timed: 12 calls that touch memory, nearly all of which succeed. */
#ifndef VM_BENCH_PROGRAMS_H
#define VM_BENCH_PROGRAMS_H

#include "fuzz/mutate/rng.h"
#include "harness/program/program.h"

#define VM_BENCH_CALLS 12

/*
 * The next program of a sequence that `rng` decides: maps, fills, protects, moves and unmaps one to
 * eight pages at a time, and in one of three seals at the end.
 */
void vm_bench_program(struct vm_rng *rng, struct vm_program *prog);

#endif
