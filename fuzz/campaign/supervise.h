/* SPDX-License-Identifier: MIT */
/* The supervisor: starts engines, watches them, shows and stores the numbers, ends them. */
#ifndef VM_SUPERVISE_H
#define VM_SUPERVISE_H

#include "fuzz/campaign/prepare.h"
#include "fuzz/engine/engine.h"

/*
 * Run a prepared campaign to its end: time, programs, SIGINT or SIGTERM. Prints the status line and
 * the summary (JSON to stdout with opt.json, all else then to stderr). Returns the exit status: 0
 * conforms, 1 found something that counts, 2 the kernel hung, 3 broken or incomplete.
 */
int vm_supervise(struct vm_campaign *c, enum vm_engine engine);

#endif
