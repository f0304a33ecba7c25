/* SPDX-License-Identifier: MIT */
/* What a guest has written on its console, in a file. */
#ifndef VM_CONSOLE_H
#define VM_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

/* Append a line of our own, which says where a run begins. */
void vm_console_mark(const char *path, unsigned int run);

/*
 * Why it ended, from what was written since `from`: the line of a panic, or the last one of init;
 * "" if there is neither. What could steer a terminal becomes `?`.
 */
void vm_console_reason(const char *path, uint64_t from, char *line, size_t size);

#endif
