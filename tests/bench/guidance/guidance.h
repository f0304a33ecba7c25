/* SPDX-License-Identifier: MIT */
/* vmafuzz-bench guidance. docs/guidance.md. */
#ifndef VM_GUIDANCE_H
#define VM_GUIDANCE_H

/* The arguments after the word `guidance`; exit status: 0, or 3 if it cannot run. */
int vm_bench_guidance(int argc, char **argv);

#endif
