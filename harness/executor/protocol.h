/* SPDX-License-Identifier: MIT */
/*
 * The protocol between host and executor over two byte streams (pipes here; a serial port or ssh
 * elsewhere). Frames: a header, then `len` bytes. All integers little-endian. Requests carry an id
 * and may be sent ahead; replies come back in any order.
 */
#ifndef VM_PROTOCOL_H
#define VM_PROTOCOL_H

#include <stdint.h>

#define VM_PROTOCOL_VERSION 3		/* 2: preambles; 3: committed */
#define VM_FRAME_MAGIC	    0x464d5656u /* "VVMF": also what a reader resynchronises on */
#define VM_FRAME_MAX	    (4u << 20)

enum vm_frame_type {
	VM_FRAME_HELLO = 1, /* executor, once: u32 protocol version, vm_info_encode() bytes */
	VM_FRAME_RUN,	    /* host: struct vm_run_request, program bytes */
	VM_FRAME_TRACE,	    /* executor: struct vm_run_reply, event log bytes */
	VM_FRAME_ERROR,	    /* executor: one line of text; id 0: the executor cannot go on */
	VM_FRAME_DIED,	    /* keeper: struct vm_death, one line of text; the request that was
			       being run when the guest ended. It has been started again. */
	VM_FRAME_RESTART,   /* host, to a keeper: end the guest and start it again */
};

struct vm_frame_header {
	uint32_t magic;
	uint32_t len; /* of what follows */
	uint16_t type;
	uint16_t flags; /* 0 */
	uint32_t id;	/* of the request; 0 in HELLO */
};

struct vm_run_request {
	uint32_t timeout_ms; /* of the child; 0: the executor's default */
	uint32_t flags;	     /* VM_RUN_* */
};
#define VM_RUN_UNOBSERVED 1u /* make the calls, look at nothing (the floor of `dev bench`) */
#define VM_RUN_FULL_TEXT  2u /* look by full text (maps) even where PROCMAP_QUERY is cheaper */
/* With kcov (VM_HAS_KCOV), else without effect: */
#define VM_RUN_COVER   4u /* tell which points of the kernel each call went through */
#define VM_RUN_COMPARE 8u /* ... or what it compared */
#define VM_RUN_PLACES                                                                              \
	16u /* only in some code: vm_places_put() stands between request and program */

struct vm_run_reply {
	uint8_t exit;		 /* enum vm_exit */
	uint8_t committed_known; /* 1: `committed` was measured */
	uint8_t pad[2];
	int32_t exit_value;
	int64_t committed; /* pages by which the machine's Committed_AS grew over the program */
};

struct vm_death {
	uint32_t hung; /* 1: it did not end but gave no answer */
	int32_t value; /* exit status, or 128 and a signal */
};

#endif
