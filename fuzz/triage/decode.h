/* SPDX-License-Identifier: MIT */
/* The instructions around the place where a report happened, by Capstone. */
#ifndef VM_TRIAGE_DECODE_H
#define VM_TRIAGE_DECODE_H

#include "fuzz/triage/console.h"
#include "fuzz/triage/vmlinux.h"

#define VM_DECODED_MAX 40

struct vm_instruction {
	uint64_t address; /* as linked; without a vmlinux, relative to the pc */
	uint8_t bytes[16];
	uint8_t len;
	bool at_pc;
	bool patched; /* vmlinux has other bytes there: alternatives, static calls, ftrace */
	char text[192];
};

struct vm_decoded {
	unsigned int n;
	struct vm_instruction insn[VM_DECODED_MAX];
	bool linked; /* the pc was found in vmlinux: what follows is set */
	struct vm_function function;
	uint64_t pc;
	char source[128]; /* FILE:LINE, or "" */
	char note[160];	  /* what keeps this from being more, or "" */
};

/*
 * Decode the `Code:` line of a report, and place it in vmlinux if there is one (v may be NULL).
 * Names and offsets lead to the place whatever KASLR did; a bare address needs `kaslr`, what the
 * log's `Kernel Offset:` says (0 if it is off). False if there is nothing to decode: d->note says
 * why.
 */
bool vm_decode(const struct vm_report *r, struct vm_vmlinux *v, uint64_t kaslr,
	       struct vm_decoded *d);

/* Source line of a frame's call (the instruction before its return address); false if unknown. */
bool vm_decode_frame(struct vm_vmlinux *v, const struct vm_place *frame, char *buf, size_t len);

#endif
