/* SPDX-License-Identifier: MIT */
/* What file.c needs of container.c beyond trace.h. */
#ifndef VM_CONTAINER_H
#define VM_CONTAINER_H

#include "harness/trace/trace.h"

/* No encoded trace is longer: the full log of every event, and some room for the rest. */
#define VM_TRACE_FILE_MAX ((size_t)16 << 20)

/* vm_trace_decode() with the name that its messages use. */
int vm_trace_decode_named(const char *name, const uint8_t *buf, size_t len, struct vm_trace *trace,
			  char *err, size_t errlen);

#endif
