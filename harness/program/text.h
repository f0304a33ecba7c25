/* SPDX-License-Identifier: MIT */
/* What the printer and the parser of .vma text share; not for others. */
#ifndef VM_TEXT_H
#define VM_TEXT_H

#include "harness/program/call_table.h"

/* Canonical text calls slots 1..15 a..o. */
#define VM_FIRST_NAME 'a'
#define VM_LAST_NAME  'o'

/* The index of the row's next argument of a kind that is not in *used (bits), and mark it used. */
unsigned int vm_row_take(const struct vm_call_desc *desc, enum vm_arg_kind kind,
			 unsigned int *used);

/* The row's FLAGS argument, or NULL. */
const struct vm_arg_desc *vm_row_flags(const struct vm_call_desc *desc, unsigned int *index);

/* The bits of a flag word, or 0 if there is no such word. */
uint32_t vm_word_bits(const struct vm_arg_desc *flags, const char *word);

/* Are `fixed` and `noreplace` the placement of this row's range (%g)? Their bits, or 0. */
uint32_t vm_row_placement(const struct vm_call_desc *desc);

bool vm_quantity_is_zero(const struct vm_quantity *q);

/* The value of an errno name such as EINVAL of `len` characters, or -1. */
int vm_errno_by_name(const char *name, size_t len);

#endif
