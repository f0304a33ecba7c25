/* SPDX-License-Identifier: MIT */
/*
 * The faults that the guidance benchmark plants: each takes several calls to reach. They were
 * chosen before the mutator was tuned (docs/bench.md); do not fit them to it.
 */
#ifndef VM_GUIDANCE_FAULTS_H
#define VM_GUIDANCE_FAULTS_H

#include "tests/bench/guidance/kernel.h"

#define VM_FAULTS	8 /* what tuning was allowed to look at */
#define VM_FAULTS_HELD	4 /* what it was not: measured once, at the end */
#define VM_FAULTS_TOTAL (VM_FAULTS + VM_FAULTS_HELD)

const char *vm_fault_name(unsigned int fault);
const char *vm_fault_text(unsigned int fault);

/*
 * After a call of the kernel: the faults whose condition it met, as bits. The harm of `planted`
 * (-1: of none) is done to k->now and k->objects.
 */
uint32_t vm_faults_check(struct vm_kernel *k, int planted);

#endif
