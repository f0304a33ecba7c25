/* SPDX-License-Identifier: MIT */
/* An executor that makes no call, but misbehaves on request: what a target must live with. */
#ifndef VM_FAKE_EXECUTOR_H
#define VM_FAKE_EXECUTOR_H

#include <stdint.h>

/* How it starts: `--fake MODE`. */
#define FAKE_OK	      "ok"
#define FAKE_BANNER   "banner"	 /* text before the hello, as a login shell prints */
#define FAKE_OLD      "old"	 /* another protocol version */
#define FAKE_DIES     "dies"	 /* words on stderr, status 3 */
#define FAKE_FAILS    "fails"	 /* an ERROR frame instead of the hello */
#define FAKE_BABBLES  "babbles"	 /* no end of text */
#define FAKE_SILENT   "silent"	 /* no hello */
#define FAKE_STUBBORN "stubborn" /* a child holds the pipes; neither ends at end of input */

/* What it does with a program: call[0].fail_nth. */
enum fake_order {
	FAKE_ANSWER,  /* a trace with one START event, exit_value ncalls */
	FAKE_KILLED,  /* kills itself */
	FAKE_ENDS,    /* words on stderr, status 7 */
	FAKE_GARBAGE, /* bytes that are no frame */
	FAKE_BAD_LOG, /* a trace that cannot be decoded */
	FAKE_BAD_EXIT,
	FAKE_REFUSES,	   /* an ERROR frame for the request */
	FAKE_GIVES_UP,	   /* an ERROR frame for all */
	FAKE_LATER,	   /* answered after the next one */
	FAKE_STRANGER,	   /* first a trace that nobody asked for, then the answer */
	FAKE_LARGE,	   /* much text on stderr, then the answer */
	FAKE_LEAVES_CHILD, /* ends while a child holds its stdout open */
	FAKE_HANGS,	   /* neither answers nor ends */
	FAKE_HALF,	   /* half a frame, then status 5 */
};

int fake_executor_main(int argc, char **argv);

#endif
