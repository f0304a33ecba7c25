/* SPDX-License-Identifier: MIT */
/* What the executor and the keeper of the machine's settings say to each other; not for others. */
#ifndef VM_MACHINE_KEEPER_H
#define VM_MACHINE_KEEPER_H

#include "harness/program/program.h"

/* Set these words; none: put all back that was set. */
struct vm_machine_request {
	uint32_t id, words;
	uint64_t value[VM_PREAMBLE_COUNT];
};

struct vm_machine_reply {
	uint32_t id;
	int32_t error; /* errno, or 0 */
	uint32_t word; /* that it is about */
	uint64_t lsm_min_addr;
};

/* Be the keeper until the other end of the socket is closed. */
_Noreturn void vm_machine_keep(int fd);

#endif
