/* SPDX-License-Identifier: MIT */
/* The bytes of an oops' `Code:` line. */
#ifndef VM_TRIAGE_CODE_LINE_H
#define VM_TRIAGE_CODE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vm_code {
	uint8_t byte[128];
	size_t len, pc; /* the faulting instruction begins at byte[pc] */
};

/*
 * Read `48 89 <0f> 0b ...` (x86: bytes) or `d503245f (d4210000)` (arm64: words). False if it marks
 * no place, or is something else; a line that was cut gives what it has.
 */
bool vm_code_parse(const char *text, struct vm_code *code);

#endif
