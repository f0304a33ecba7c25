/* SPDX-License-Identifier: MIT */
/*
 * The trace: the whole experiment. In memory here, as bytes in wire.c (the executor's child writes
 * events straight into its log in that form; decode.c reads them), on disk in file.c.
 * docs/trace-format.md.
 */
#ifndef VM_TRACE_H
#define VM_TRACE_H

#include "harness/program/program.h"
#include "harness/program/call_table.h"
#include "harness/snapshot/snapshot.h"
#include "harness/trace/cover.h"

/*
 * 2: VM_SEEN_TOTALS; 3: records of more, VM_REC_MORE; preambles, and what they rest on; failed
 * allocations
 */
#define VM_TRACE_VERSION 3
#define VM_MAX_OWN	 32
#define VM_MAX_GUARD	 8
#define VM_SITE_MAX	 512 /* bytes of vm_event.site */

/* vm_target_info.features */
#define VM_HAS_MSEAL	     (1ull << 0)
#define VM_HAS_PROCMAP_QUERY (1ull << 1)
#define VM_HAS_PAGEMAP	     (1ull << 2) /* present bits are readable */
#define VM_HAS_PAGEMAP_SCAN  (1ull << 3)
#define VM_HAS_PROC_MEM	     (1ull << 4) /* /proc/self/mem reads PROT_NONE pages */
#define VM_HAS_SMAPS	     (1ull << 5) /* smaps has VmFlags */
#define VM_HAS_SMAPS_SEAL    (1ull << 6) /* ... and they show `sl` (probed by sealing a page) */
#define VM_HAS_PKU	     (1ull << 7)
#define VM_HAS_SYSV_SHM	     (1ull << 9) /* a SysV segment can be made */
#define VM_IS_NAMESPACED     (1ull << 8) /* the executor has process and IPC namespaces of its own */
#define VM_HAS_SWAP	     (1ull << 10) /* pages may leave memory while they are mapped */
#define VM_HAS_ANON_NAME     (1ull << 11) /* CONFIG_ANON_VMA_NAME */
#define VM_HAS_THP	     (1ull << 12) /* MAP_STACK gives VM_NOHUGEPAGE: 6.7, with THP */
#define VM_HAS_KCOV	     (1ull << 13) /* kcov can be asked what a call went through */
#define VM_NO_RLIMIT_DATA    (1ull << 14) /* mappings are not held to it: ignore_rlimit_data */
#define VM_IS_WHOLE_MACHINE  (1ull << 15) /* preambles may change settings of the machine */
#define VM_HAS_FAIL_NTH	     (1ull << 22) /* vm_call.fail_nth is acted upon: /proc/self/fail-nth */
#define VM_LACKS_MDWE	     (1ull << 20) /* no PR_SET_MDWE: before 6.3 */
#define VM_LACKS_DROPPABLE   (1ull << 21) /* no MAP_DROPPABLE: before 6.11 */
#define VM_SMAPS_LACKS_LF    (1ull << 23) /* smaps does not show VM_LOCKONFAULT (probed) */
/* What madvise knows: asked for with length 0, before anything else is looked at. */
#define VM_HAS_MADV_HUGEPAGE  (1ull << 24) /* ... and nohugepage, collapse */
#define VM_HAS_MADV_MERGEABLE (1ull << 25) /* ... and unmergeable */
#define VM_HAS_MADV_HWPOISON  (1ull << 26) /* ... and soft_offline */
#define VM_HAS_MADV_GUARD     (1ull << 27) /* guard_install, guard_remove */
#define VM_HAS_MADV_SWAPIN    (1ull << 28) /* willneed of anonymous memory (CONFIG_SWAP) */
#define VM_HAS_NUMA	      (1ull << 40) /* mbind: CONFIG_NUMA */
#define VM_HAS_ONE_NODE	      (1ull << 41) /* memory may be of node 0 alone */
#define VM_HAS_SEALED_SYSTEM  (1ull << 42) /* vdso and vvar: CONFIG_MSEAL_SYSTEM_MAPPINGS (6.16) */
/* Probes of behaviour (oracle/profiles/): run once, in a child, when the executor starts. */
/* Huge pages (MAP_HUGETLB): which sizes there are, not how many pages. */
#define VM_HAS_HUGE_2MB	    (1ull << 29)
#define VM_HAS_HUGE_1GB	    (1ull << 30)
#define VM_HAS_HUGE_DEFAULT (1ull << 31) /* the default size is PMD_SIZE */
#define VM_HAS_HUGE_POOL    (1ull << 32) /* ... and there may be some */

#define VM_PROBED_BEHAVIOUR (1ull << 16) /* the bits below mean something */
#define VM_PROBE_DEST_KEPT                                                                         \
	(1ull << 17)			 /* fixed growth over a boundary, EFAULT: destination kept \
					  */
#define VM_PROBE_MULTI_MOVE (1ull << 18) /* a fixed move may span VMAs */
#define VM_PROBE_DU_ROUNDED (1ull << 19) /* DONTUNMAP compares lengths after page rounding */

/* The kernel and the process that calls are made in; constant while an executor lives. */
struct vm_target_info {
	char sysname[16], release[96], version[128], machine[16];
	struct vm_layout layout;
	uint64_t features;
	uint64_t mmap_min_addr; /* the sysctl: fixed addresses below are refused */
	uint64_t hint_min_addr; /* hints are rounded up to it, and chosen addresses lie above */
	uint64_t max_map_count;
	uint64_t overcommit_memory, overcommit_ratio;
	uint64_t total_pages; /* RAM + swap: the heuristic overcommit limit */
	uint64_t rlimit_as, rlimit_data, rlimit_memlock, rlimit_stack; /* bytes; UINT64_MAX: none */
	uint64_t cap_effective;
	/* Version 3 of the trace; before, what an unprivileged process without limits has. */
	uint64_t rlimit_max_as, rlimit_max_data, rlimit_max_memlock, rlimit_max_stack;
	uint64_t cap_permitted;
	/* Bytes that brk() holds to RLIMIT_DATA at brk_base (check_data_rlimit()); UINT64_MAX: not
	 * known. */
	uint64_t data_segment;
	uint64_t lsm_min_addr; /* CONFIG_LSM_MMAP_MIN_ADDR; UINT64_MAX: not known */
	uint32_t uid, gid;
	char inject[32]; /* the injected fault, or "" */
	uint32_t nguard; /* ranges that no call may touch (vm_call_withheld) */
	struct vm_range guard[VM_MAX_GUARD];
	uint32_t nown; /* VMAs of a fresh child that are the executor's, before the first call */
	struct vm_vma own[VM_MAX_OWN];
};

enum vm_event_kind {
	VM_EVENT_START, /* the address space before the first call */
	VM_EVENT_CALL,	/* one call, and the address space after it */
	VM_EVENT_END,	/* the last look at an address space */
};

enum vm_event_status {
	VM_STATUS_DONE,	    /* the call returned: result is its value, or -errno */
	VM_STATUS_FAULTED,  /* a touch got a signal: signo, sigcode, sigaddr; result: pages done */
	VM_STATUS_WITHHELD, /* not made: result is an enum vm_withheld */
	VM_STATUS_RUNNING,  /* begun, never ended: the child died or was killed inside it */
};

/*
 * Address space 0 is the program's own; 1 that of a forked child, whose actor is 1. They take
 * turns: a fork that succeeds is an event of space 1 (the child returns from it), then come the
 * calls of the child and its own VM_EVENT_END; with the next event of space 0 the child is gone. A
 * child that dies takes its parent with it: nothing follows. Today seq_end == seq_begin + 1;
 * readers must not rely on it.
 */
struct vm_event {
	uint8_t kind;	/* enum vm_event_kind */
	uint8_t status; /* enum vm_event_status */
	uint8_t call;	/* index in the program */
	uint16_t actor, space;
	uint32_t seq_begin, seq_end;
	struct vm_syscall sc; /* run-time arguments */
	int64_t result; /* value or -errno; for touches the number of pages done before a fault */
	int32_t signo, sigcode;
	uint64_t sigaddr;
	/*
	 * An allocation inside of the call was made to fail (vm_call.fail_nth). `site`: where, as
	 * words: what failed ("failslab", "fail_page_alloc"), then the functions that wanted it,
	 * innermost first; NULL: not known.
	 */
	bool injected;
	const char *site;
	struct vm_snapshot
		after; /* mask 0: nothing observed. Unchanged arrays share their pointer */
	struct vm_cover
		cover; /* of a call, where it was asked for (VM_RUN_COVER, VM_RUN_COMPARE) */
};

/* The errno of a call that returned one, or 0: it succeeded, faulted, or was not made. */
static inline int vm_event_errno(const struct vm_event *e)
{
	return e->status == VM_STATUS_DONE ? vm_result_errno(e->result) : 0;
}

enum vm_exit {
	VM_EXIT_DONE,	  /* the child ran every call and ended by itself */
	VM_EXIT_SIGNAL,	  /* it was killed by exit_value */
	VM_EXIT_STATUS,	  /* it ended too early with status exit_value */
	VM_EXIT_TIMEOUT,  /* it did not end in time and was killed */
	VM_EXIT_STUCK,	  /* it could not even be killed */
	VM_EXIT_LOG_FULL, /* the log had no room for what it saw */
	VM_EXIT_SKIPPED,  /* not run: its preamble asks for what cannot be given here */
	VM_EXIT_COUNT
};

/* START and END, and another END for each pair of fork and end. */
#define VM_TRACE_MAX_EVENTS (VM_PROGRAM_MAX_CALLS * 3 / 2 + 3)

struct vm_trace {
	struct vm_target_info info;
	struct vm_program prog;
	uint8_t exit; /* enum vm_exit */
	int32_t exit_value;
	/* Pages by which the Committed_AS of a quiet machine grew over the program. */
	bool committed_known;
	int64_t committed;
	uint32_t nevents;
	struct vm_event event[VM_TRACE_MAX_EVENTS];
	/*
	 * Storage of the snapshots' arrays: one block with room for the largest trace (8 MiB of
	 * address space, of which only what a trace needs is touched), reused by the next decode.
	 */
	void *arena;
	size_t arena_size;
};

/* A trace starts zeroed; this frees what decoding allocated, and zeroes it again. */
void vm_trace_free(struct vm_trace *trace);

/* ---- wire.c, decode.c, info.c ---- */

/*
 * Writes events into a fixed buffer, each delta-coded against the one before; no allocation, so
 * that the executor's child can use it on its shared log. If there is no room, `full` is set and
 * nothing more is written.
 */
struct vm_event_writer {
	uint8_t *buf;
	size_t cap, len;
	bool full;
	uint32_t next_seq; /* the seq_begin that costs no bytes: 0, then 1 above the seq_end before
			    */
	/*
	 * The arrays as last written, for the delta; the writer keeps copies. Small ones first:
	 * each page touched costs a fresh child a fault.
	 */
	uint32_t nvma, npage, nown;
	uint64_t cover_at; /* the first point of the last call that had any */
	struct vm_vma own[VM_MAX_OWN];
	struct vm_vma vma[VM_SNAPSHOT_MAX_VMAS];
	struct vm_page page[VM_SNAPSHOT_MAX_PAGES];
};

/* Start writing; `own` are the executor's VMAs as in vm_target_info (the base of own[]'s delta). */
void vm_event_writer_init(struct vm_event_writer *w, uint8_t *buf, size_t cap,
			  const struct vm_vma *own, uint32_t nown);

/*
 * A call is written in two halves, so that what a child did not survive is in the log: begin before
 * it is made, end after it. START and END events are only an end, and have no result. The bytes up
 * to `len` after each are a valid log. Sequence numbers are cheapest as 0, 1, 2, 3, ... (begin,
 * end, begin, end). A snapshot array too long for the writer counts as not observed.
 */
void vm_event_write_begin(struct vm_event_writer *w, const struct vm_event *e);
void vm_event_write_end(struct vm_event_writer *w, const struct vm_event *e);

/*
 * What kcov told of call e->call, which has begun: e->cover, in any order after it. Nothing is
 * written where that is empty, and where the log is more than half full: what the oracle needs goes
 * first.
 */
void vm_event_write_cover(struct vm_event_writer *w, const struct vm_event *e);

/*
 * Decode a log into trace->event (info and prog must be set: own VMAs and op names come from
 * there). 0, or -1 with one line in err; never reads beyond len, whatever the bytes.
 */
int vm_events_decode(const uint8_t *bytes, size_t len, struct vm_trace *trace, char *err,
		     size_t errlen);

/*
 * vm_target_info as bytes, for the protocol's hello and for files: length written, or 0 if cap is
 * too small / 0, or -1 if the bytes are no valid info (*info is then zeroed).
 */
size_t vm_info_encode(const struct vm_target_info *info, uint8_t *buf, size_t cap);
int vm_info_decode(const uint8_t *buf, size_t len, struct vm_target_info *info);

/*
 * Set layout.brk_base by own[]: the end of the shared page that ends the executor's heap; 0 if
 * there is none.
 */
void vm_info_find_heap(struct vm_target_info *info);

/*
 * Set layout.vdso and layout.vvar by own[]: the first VMA of each name. Empty where there is none,
 * and where the executor's signal handlers return through the vdso (all but x86_64).
 */
void vm_info_find_special(struct vm_target_info *info);

/* ---- file.c ---- */

/*
 * A trace as a file: magic "VMATRACE", version, sections (info, program, events, exit), each with
 * its length, and a CRC-32 over all. Writes to a temporary name and renames; 0, or -1 with one line
 * in err that says what failed and what to do.
 */
int vm_trace_save(const char *path, const struct vm_trace *trace, char *err, size_t errlen);

/* Refuses a truncated, corrupt or newer file with one clear line. */
int vm_trace_load(const char *path, struct vm_trace *trace, char *err, size_t errlen);

/*
 * The same on memory: length written, or 0 if cap is too small (a record needs room for its
 * worst case) / 0 or -1.
 */
size_t vm_trace_encode(const struct vm_trace *trace, uint8_t *buf, size_t cap);
int vm_trace_decode(const uint8_t *buf, size_t len, struct vm_trace *trace, char *err,
		    size_t errlen);

#endif
