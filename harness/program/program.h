/* SPDX-License-Identifier: MIT */
/*
 * A program: up to 64 calls over an arena of pages, kept as a struct here, as text in .vma files
 * (text_*.c) and as bytes for engines (bytes.c). Pure: no system call, no I/O, no global state.
 */
#ifndef VM_PROGRAM_H
#define VM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/program/calls.h"

#define VM_PROGRAM_MAX_CALLS 64
#define VM_CALL_MAX_ARGS     6
#define VM_NAME_SLOTS	     16	 /* slot 0 means "no name"; slots 1..15 print as a..o */
#define VM_ARENA_PAGES	     128 /* pages that pN can name; more of the arena by [2pmd], [1pud] */
#define VM_TOUCH_MAX_PAGES   256 /* a touch or fill of more pages is withheld (bounds memory) */
#define VM_LOCK_MAX	     (8ull << 20) /* bytes that a process may lock: the kernel's own default */
#define VM_MINCORE_MAX_PAGES 256	  /* the vector of a longer mincore cannot be written */
#define VM_MINCORE_BITS	     62		  /* pages that its result shows */
#define VM_NO_ADDR	     ((uint64_t)-1)

/*
 * What can be mapped beside anonymous memory: objects that the executor makes for each program when
 * they are first used, VM_OBJECT_PAGES pages long and zero. Numbers are the byte format's: append
 * only.
 */
enum vm_object_name {
	VM_OBJECT_NONE, /* no object: file descriptor -1 */
	VM_OBJECT_M0,	/* m0, m1: memfds */
	VM_OBJECT_M1,
	VM_OBJECT_F0, /* f0: a file without a name in /tmp */
	VM_OBJECT_R0, /* r0: m0 again, opened read-only */
	VM_OBJECT_S0, /* s0: a SysV segment, for shmat alone: made when nothing maps it */
	VM_OBJECT_COUNT
};
#define VM_OBJECT_PAGES 8

/* "m0", ...; "" for VM_OBJECT_NONE. */
const char *vm_object_name(uint64_t object);

/* Opcodes of the byte format: append only, never renumber. One row each in call_table.c. */
enum vm_op {
#define VM_CALL(op, since, share, file, rule) VM_OP_##op,
	VM_CALLS(VM_CALL)
#undef VM_CALL
		VM_OP_COUNT
};

/* How much is looked at around calls; a trace's events say what was really observed. */
enum vm_observe {
	VM_OBSERVE_FULL, /* layout around every call, contents of present pages, VmFlags */
	VM_OBSERVE_MAPS, /* layout around every call; flags and contents at the end only */
	VM_OBSERVE_END,	 /* everything at the end only: observation can hide a bug */
	VM_OBSERVE_COUNT
};

/*
 * A length or an offset: task * TASK_SIZE + pud * PUD_SIZE + pmd * PMD_SIZE + pages * PAGE_SIZE +
 * bytes, modulo 2^64; each part may be negative. Text: `4`, `-1`, `4-1b`, `2pmd`, `1task+1b`,
 * `0x10b`.
 */
struct vm_quantity {
	int64_t bytes;
	int32_t pages;
	int16_t pmd;
	int16_t pud;
	int8_t task;
};

enum vm_base {
	VM_BASE_ARENA, /* pN: page N of the arena */
	VM_BASE_NAME,  /* a..o: the address that a `let` call returned; 0 if it returned none */
	VM_BASE_NULL,  /* null: address 0, so that null[...] says any absolute address */
	VM_BASE_TASK,  /* task: TASK_SIZE */
	VM_BASE_BRK,   /* brk: where the program's heap begins */
	VM_BASE_VDSO, /* vdso, vvar: where these mappings of the kernel's begin; 0: there is none */
	VM_BASE_VVAR,
	VM_BASE_COUNT
};

struct vm_addr {
	uint8_t base;  /* enum vm_base */
	uint8_t index; /* arena page, or name slot */
	struct vm_quantity off;
};

union vm_arg {
	struct vm_addr addr;	/* VM_ARG_ADDR */
	struct vm_quantity len; /* VM_ARG_LEN, VM_ARG_OFFSET */
	/* VM_ARG_PROT, VM_ARG_FLAGS, VM_ARG_CHOICE: raw; VM_ARG_OBJECT: enum vm_object_name */
	uint64_t bits;
};

struct vm_call {
	uint8_t op;	   /* enum vm_op */
	uint8_t let;	   /* name slot that takes the returned address; 0 for none */
	uint16_t fail_nth; /* fail this call's Nth allocation; 0 for none (guests only) */
	union vm_arg arg[VM_CALL_MAX_ARGS];
};

/*
 * What a program asks for before its first call (preamble.c). Numbers are the byte format's: append
 * only. Those from VM_PREAMBLE_MACHINE on are settings of the whole machine.
 */
enum vm_preamble_word {
	VM_PREAMBLE_AS,	     /* RLIMIT_AS: so much more than is mapped at start */
	VM_PREAMBLE_DATA,    /* RLIMIT_DATA: so much more than the data at start */
	VM_PREAMBLE_MEMLOCK, /* RLIMIT_MEMLOCK, RLIMIT_STACK */
	VM_PREAMBLE_STACK,
	VM_PREAMBLE_IPC_LOCK, /* CAP_*: 0 without, 1 with it */
	VM_PREAMBLE_SYS_ADMIN,
	VM_PREAMBLE_SYS_RAWIO,
	VM_PREAMBLE_MAX_MAP_COUNT, /* vm.*: so many more than the VMAs at start */
	VM_PREAMBLE_OVERCOMMIT_MEMORY,
	VM_PREAMBLE_OVERCOMMIT_RATIO,
	VM_PREAMBLE_NR_HUGEPAGES,
	VM_PREAMBLE_MMAP_MIN_ADDR,
	VM_PREAMBLE_SLAB_WAIT, /* failslab, fail_page_alloc: not ignore-gfp-wait */
	VM_PREAMBLE_PAGE_WAIT,
	VM_PREAMBLE_PAGE_HIGHMEM, /* not ignore-gfp-highmem */
	VM_PREAMBLE_PAGE_MIN_ORDER,
	VM_PREAMBLE_COUNT,
	VM_PREAMBLE_MACHINE = VM_PREAMBLE_MAX_MAP_COUNT
};

struct vm_preamble {
	uint32_t words; /* those that are there, as bits */
	/* Zero for those that are not. What is no length is a number in .pages. */
	struct vm_quantity value[VM_PREAMBLE_COUNT];
};

struct vm_program {
	uint8_t observe; /* enum vm_observe */
	uint8_t ncalls;
	struct vm_preamble preamble;
	struct vm_call call[VM_PROGRAM_MAX_CALLS];
};

struct vm_range {
	uint64_t start, end; /* [start, end) in bytes; empty if start >= end */
};

/* What names mean on one target; comes from the executor (struct vm_target_info). Bytes. */
struct vm_layout {
	uint64_t page_size, pmd_size, pud_size;
	uint64_t task_size;
	uint64_t arena_base, arena_size;
	/* The program's heap begins here, behind the executor's; 0 if it cannot have one. */
	uint64_t brk_base;
	/* The first VMA named [vdso], [vvar]; empty if a program cannot name it. */
	struct vm_range vdso, vvar;
};

/* One call with run-time values, as made or withheld. Argument order is the row's in call_table.c.
 */
struct vm_syscall {
	uint8_t op;
	uint64_t arg[VM_CALL_MAX_ARGS];
};

#define VM_ERRNO_MAX 4095 /* the kernel's MAX_ERRNO: results from -4095 to -1 are errors */

/* The errno that a system call's raw result says, or 0 if it is a value (or an address). */
static inline int vm_result_errno(int64_t result)
{
	return result < 0 && result >= -VM_ERRNO_MAX ? (int)-result : 0;
}

/* The value of a quantity in bytes on `layout`, modulo 2^64. */
uint64_t vm_quantity_value(const struct vm_quantity *q, const struct vm_layout *layout);

/*
 * The address that `addr` means, given the addresses that names hold (names[slot], 0 where a `let`
 * has not run or has failed). Modulo 2^64, not checked in any way.
 */
uint64_t vm_addr_value(const struct vm_addr *addr, const struct vm_layout *layout,
		       const uint64_t names[VM_NAME_SLOTS]);

/* The run-time form of a call. */
struct vm_syscall vm_call_resolve(const struct vm_call *call, const struct vm_layout *layout,
				  const uint64_t names[VM_NAME_SLOTS]);

/* ---- preamble.c ---- */

enum vm_preamble_kind {
	VM_PREAMBLE_MORE,    /* a length on top of what there is at start; may be negative */
	VM_PREAMBLE_LENGTH,  /* a length */
	VM_PREAMBLE_CAP,     /* 0 or 1 */
	VM_PREAMBLE_COUNTED, /* a number on top of what there is at start; may be negative */
	VM_PREAMBLE_NUMBER,  /* a number from 0 to .max */
};

struct vm_preamble_desc {
	const char *group, *name; /* as in text: "rlimit", "as" */
	enum vm_preamble_kind kind;
	int32_t max; /* of a number, or of the size of a COUNTED one */
};

/* The row of a word; below VM_PREAMBLE_COUNT. */
const struct vm_preamble_desc *vm_preamble_desc(unsigned int word);

static inline bool vm_preamble_has(const struct vm_preamble *p, unsigned int word)
{
	return p->words >> word & 1;
}

/* Put a word in, its value brought into the range that it may have; or take it out. */
void vm_preamble_set(struct vm_preamble *p, unsigned int word, const struct vm_quantity *value);
void vm_preamble_clear(struct vm_preamble *p, unsigned int word);

/*
 * What a word means where `base` is there at start (ignored by words that are no such sum): bytes,
 * or a number. What would be negative is 0.
 */
uint64_t vm_preamble_value(const struct vm_preamble *p, unsigned int word, uint64_t base,
			   const struct vm_layout *layout);

/* ---- bytes.c: the format of engines; docs/program-format.md ---- */

#define VM_BYTES_VERSION 2
#define VM_BYTES_MAX	 8192 /* no encoded program is longer */

/* Every byte string decodes to a valid program (an empty one to no calls). */
void vm_program_decode(const uint8_t *bytes, size_t len, struct vm_program *prog);

/*
 * The canonical bytes of a program: decode(encode(p)) == p. Returns the length, or 0 if `cap` is
 * too small (VM_BYTES_MAX never is). A program is normalised when every vm_call field that its row
 * does not use is zero, as vm_program_decode and the text parser leave it.
 */
size_t vm_program_encode(const struct vm_program *prog, uint8_t *bytes, size_t cap);

/* Bring a program that was put together by hand (a mutator) into the form that can be encoded. */
void vm_program_normalise(struct vm_program *prog);

bool vm_program_equal(const struct vm_program *a, const struct vm_program *b);

/* ---- text_*.c: .vma files; docs/program-format.md ---- */

/* Which kernels an expectation is about, by the profile that it names. */
enum vm_profile_is {
	VM_PROFILE_IS,	 /* `6.12:` just this one */
	VM_PROFILE_NOT,	 /* `!6.12:` every one but this */
	VM_PROFILE_UPTO, /* `<=6.12:` this one and older ones */
	VM_PROFILE_ABOVE /* `>6.12:` newer ones */
};

/* An expectation after `=>`: judged by oracle/expect.c. */
struct vm_expect {
	char profile[12];   /* "" for every profile, or e.g. "6.12" */
	uint8_t profile_is; /* enum vm_profile_is */
	int8_t result;	    /* 0: not said; 1: ok; 2: this errno; 3: this signal; 4: withheld */
	int32_t value;	    /* errno, or signal number */
	uint16_t words;	    /* VM_EXPECT_*: which were written */
};
#define VM_EXPECT_UNTOUCHED (1u << 0) /* no page was changed by the call */
#define VM_EXPECT_DEVIATION (1u << 1) /* the verdict on this call is a deviation */
#define VM_EXPECT_NOTE	    (1u << 2) /* ... is a note */
#define VM_EXPECT_CHANGED   (1u << 3) /* some page was changed by the call */
#define VM_EXPECT_RESULTS   4
#define VM_MAX_EXPECT	    4 /* expectations a call: one a profile */

#define VM_STATE_MAX_FLAGS 4 /* VmFlags that one line names */

/* A line `expect RANGE WORDS`: what the observed address space holds at that point of the program.
 */
struct vm_state_expect {
	uint8_t after; /* number of calls before this line */
	struct vm_addr start;
	struct vm_quantity len;
	struct vm_expect when; /* only .profile and .profile_is are used */
	uint16_t words;	       /* VM_STATE_*: which were written */
	uint8_t prot;	       /* with VM_STATE_PROT: PROT_* bits */
	struct vm_addr from;   /* with VM_STATE_FROM: bytes are those last filled at this address */
	uint16_t vmas;	       /* with VM_STATE_VMAS */
	uint8_t nflags;
	struct {
		char name[3]; /* as in VmFlags of smaps: "nr" */
		bool lacks;   /* no page may show it; else every page must */
	} flag[VM_STATE_MAX_FLAGS];
};
#define VM_STATE_UNMAPPED   (1u << 0) /* `unmapped`: no page of the range is mapped */
#define VM_STATE_PROT	    (1u << 1) /* `r`, `rw`, `none`, ...: every page mapped with just this */
#define VM_STATE_SHARED	    (1u << 2)
#define VM_STATE_PRIVATE    (1u << 3)
#define VM_STATE_SEALED	    (1u << 4)
#define VM_STATE_UNSEALED   (1u << 5)
#define VM_STATE_ZERO	    (1u << 6) /* `zero`: bytes are zero (not present counts as zero) */
#define VM_STATE_FROM	    (1u << 7) /* `from ADDR`: bytes of the last fill there */
#define VM_STATE_MAPPED	    (1u << 8)
#define VM_STATE_VMAS	    (1u << 9) /* `vmas N`: so many VMAs lie in the range or reach into it */
#define VM_STATE_FLAGS	    (1u << 10) /* `has nr`, `lacks ac`: VmFlags of every page */
#define VM_MAX_STATE_EXPECT 64

/* A .vma file: the program, and what is only text. */
struct vm_script {
	struct vm_program prog;
	char doc[512];	  /* the first comment block, lines joined by spaces */
	char machine[12]; /* `machine x86_64`: of this one alone (uname -m); "": any */
	uint16_t line[VM_PROGRAM_MAX_CALLS]; /* source line of each call, from 1 */
	uint8_t nexpect[VM_PROGRAM_MAX_CALLS];
	struct vm_expect expect[VM_PROGRAM_MAX_CALLS][VM_MAX_EXPECT];
	uint8_t nstate;
	struct vm_state_expect state[VM_MAX_STATE_EXPECT];
};

struct vm_parse_error {
	unsigned int line, column; /* from 1 */
	char message[200];	   /* what was expected, and what was found */
};

/* Parse .vma text. 0, or -1 with *err filled in. */
int vm_text_parse(const char *text, size_t len, struct vm_script *script,
		  struct vm_parse_error *err);

/*
 * Print canonically: text -> program -> text is the identity on text this printed. Returns the
 * length without the final NUL, as snprintf does; never writes more than `cap` bytes.
 */
size_t vm_text_print(const struct vm_program *prog, char *buf, size_t cap);

/*
 * The same for one call (no newline), and for a call with run-time values: addresses in the arena
 * by page, lengths in pages where they are whole pages, the rest in hex. `layout` may be NULL: all
 * in hex.
 */
size_t vm_text_print_call(const struct vm_call *call, char *buf, size_t cap);
/* The same for the line of one word of a preamble that is there. */
size_t vm_text_print_preamble(const struct vm_preamble *p, unsigned int word, char *buf,
			      size_t cap);
size_t vm_text_print_syscall(const struct vm_syscall *sc, const struct vm_layout *layout, char *buf,
			     size_t cap);

#endif
