/* SPDX-License-Identifier: MIT */
/* What afl-fuzz says in its output folder; its exit status says nothing of what it found. */
#ifndef VM_AFL_FILES_H
#define VM_AFL_FILES_H

#include "fuzz/report/summary.h"

/* Count the crashes of all of OUT/afl, and read the stability, into `o`. */
void vm_afl_look(const char *out, struct vm_outcome *o);

#endif
