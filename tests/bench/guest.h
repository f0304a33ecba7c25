/* SPDX-License-Identifier: MIT */
/* vmafuzz-bench target. docs/bench.md. */
#ifndef VM_BENCH_GUEST_H
#define VM_BENCH_GUEST_H

/* The arguments after the word `target`; exit status: 0, or 3 if it cannot run. */
int vm_bench_guest(int argc, char **argv);

#endif
