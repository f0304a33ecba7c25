/* SPDX-License-Identifier: MIT */
/* Frames (protocol.h) over the executor's stdin and stdout. */
#ifndef VM_FRAME_H
#define VM_FRAME_H

#include "harness/executor/executor.h"

struct vm_frame_reader {
	uint8_t *buf;	  /* VM_FRAME_MAX and a header */
	size_t from, len; /* bytes that came and are not used: buf[from, len) */
};

enum vm_frame_got {
	VM_FRAME_GOT,
	VM_FRAME_EOF,	 /* the host has closed its end between two frames */
	VM_FRAME_BROKEN, /* *why says how */
};

/* The next frame; *body (header->len bytes) is good until the next call. */
enum vm_frame_got vm_frame_read(struct vm_frame_reader *r, struct vm_frame_header *header,
				const uint8_t **body, const char **why);

/* Write a frame of two parts. False if the host is gone. */
bool vm_frame_write(enum vm_frame_type type, uint32_t id, const void *head, size_t headlen,
		    const void *rest, size_t restlen);

#endif
