/* SPDX-License-Identifier: MIT */
/* Small changes to one argument, blind to what is mapped. */
#ifndef VM_TWEAK_H
#define VM_TWEAK_H

#include "fuzz/mutate/mutate.h"

/* Change one argument of the call, or what it is named. */
void vm_tweak_call(struct vm_mutator *m, struct vm_call *call);

#endif
