/* SPDX-License-Identifier: MIT */
/* The table of calls: one row a call says its name, arguments, syntax and what it may touch. */
#ifndef VM_CALL_TABLE_H
#define VM_CALL_TABLE_H

#include "harness/program/program.h"

enum vm_arg_kind {
	VM_ARG_NONE,
	VM_ARG_ADDR,
	VM_ARG_LEN,
	VM_ARG_PROT,   /* words r, w, x; `none` for 0 */
	VM_ARG_FLAGS,  /* words of the row; other bits print as 0x... */
	VM_ARG_OBJECT, /* what is mapped: enum vm_object_name */
	VM_ARG_OFFSET, /* where in it: a quantity */
	VM_ARG_CHOICE, /* one of the row's words, or any other number of 32 bits */
};

/* mincore's flags: what is wrong with the vector; none: it is as long as it must be. */
#define VM_MINCORE_NO_VECTOR 1u /* not a user address */
#define VM_MINCORE_READ_ONLY 2u /* a user address that cannot be written */

/* name: which; both is a third name. */
#define VM_NAME_ONE	1u
#define VM_NAME_TWO	2u
#define VM_NAME_ILLEGAL 4u /* a name with a character that is not allowed */

/* pkey_alloc: PKEY_DISABLE_ACCESS, PKEY_DISABLE_WRITE of <linux/mman.h>; x86 has VM_KEYS keys. */
#define VM_KEY_NO_ACCESS 1u
#define VM_KEY_NO_WRITE	 2u
#define VM_KEYS		 16u

/* mbind: MPOL_* of <linux/mempolicy.h>. */
enum {
	VM_POLICY_DEFAULT,
	VM_POLICY_PREFERRED,
	VM_POLICY_BIND,
	VM_POLICY_INTERLEAVE,
	VM_POLICY_LOCAL,
	VM_POLICY_PREFERRED_MANY,
	VM_POLICY_WEIGHTED,
	VM_POLICY_COUNT
};
#define VM_POLICY_BALANCING 0x2000u
#define VM_POLICY_RELATIVE  0x4000u
#define VM_POLICY_STATIC    0x8000u
#define VM_POLICY_FLAGS	    (VM_POLICY_BALANCING | VM_POLICY_RELATIVE | VM_POLICY_STATIC)
#define VM_MBIND_STRICT	    1u
#define VM_MBIND_MOVE	    2u
#define VM_MBIND_MOVE_ALL   4u

/*
 * Its nodes. Else: no mask (NULL), or one that is not at a user address; maxnode is 1 (so that the
 * mask has no bits), 0, more than a page has bits, or just that many with the last bit set. 65
 * without these.
 */
#define VM_NODES_0	  1u
#define VM_NODES_1	  2u
#define VM_NODES_NO_MASK  4u
#define VM_NODES_BAD_MASK 8u
#define VM_NODES_ONE_MAX  16u
#define VM_NODES_NO_MAX	  32u
#define VM_NODES_LONG_MAX 64u
#define VM_NODES_FAR	  128u
#define VM_NODES_ALL	  255u

/* PR_MDWE_REFUSE_EXEC_GAIN, PR_MDWE_NO_INHERIT of <linux/prctl.h>; older headers lack them. */
#define VM_MDWE_REFUSE	   1u
#define VM_MDWE_NO_INHERIT 2u

/* MAP_DROPPABLE of <linux/mman.h>, a type in place of MAP_PRIVATE; older headers lack it. */
#define VM_MAP_DROPPABLE 8u

/* The size of MAP_HUGETLB's pages: 1 << code; 0: the kernel's default. */
#define VM_MAP_HUGE_CODE(flags) ((flags) >> 26 & 0x3f)

struct vm_word {
	const char *name;
	uint32_t bits; /* VM_ARG_CHOICE: the value */
};

struct vm_arg_desc {
	const char *name;
	enum vm_arg_kind kind;
	/* Ends with a NULL name; the order is the byte format's: append only. */
	const struct vm_word *words;
	/* VM_ARG_FLAGS: bits that a decoded program may have set; others are cleared. */
	uint32_t legal;
	uint32_t legal_v1; /* ... in version 1 of the byte format; 0: the same */
	uint8_t since;	   /* first version of the byte format that has it; 0: all */
};

struct vm_call_desc {
	const char *name; /* first word of a line */
	uint8_t nargs;
	bool returns_addr; /* `let` is allowed */
	bool whole;	   /* works on all that is mapped: its footprint says nothing */
	/* System call number, or -1 where the executor has its own run_<call>.c. */
	long nr;
	/*
	 * Does it take memory or time for each page of [arg 0, + arg 1)? Then it is bounded by
	 * VM_TOUCH_MAX_PAGES. NULL: never.
	 */
	bool (*populates)(const struct vm_syscall *sc);
	/* Would it harm the whole machine if CAP_SYS_ADMIN allowed it? NULL: never. */
	bool (*harmful)(const struct vm_syscall *sc);
	struct vm_arg_desc arg[VM_CALL_MAX_ARGS];
	/*
	 * Text after the name; each directive takes the next arguments of its kinds. %r: ADDR and
	 * LEN as a range; %p: PROT; %f: FLAGS joined by `|`, `0` for none; %w: FLAGS as words,
	 * nothing for none, the last of a line; %a: ADDR alone; %c: CHOICE as a word or a number;
	 * %g: as %r, and the flags' placement words (mmap); %m: ADDR, LEN, LEN, ADDR as a source,
	 * its lengths and a destination (mremap).
	 */
	const char *syntax;
	/*
	 * The ranges that a correct kernel may read, change or map over for these run-time values,
	 * at most two: [0] is the call's own source (or only) range, [1] its destination. A range
	 * that wraps, or that such a kernel refuses before looking at it, is left empty. `range`
	 * must be zeroed before. Never less than what such a kernel may touch; it may be more.
	 */
	void (*footprint)(const struct vm_syscall *sc, const struct vm_layout *layout,
			  struct vm_range range[2]);
};

/* The word of a VM_ARG_CHOICE value, or NULL if it has none. */
const char *vm_choice_name(const struct vm_arg_desc *desc, uint64_t value);

/* The row of an opcode; op must be below VM_OP_COUNT. */
const struct vm_call_desc *vm_call_desc(uint8_t op);

/*
 * The bytes that mmap maps: the length in whole pages, of MAP_HUGETLB in huge ones (the default
 * ones are taken to be PMD_SIZE). Wraps to 0 near 2^64.
 */
uint64_t vm_mmap_length(const struct vm_syscall *sc, const struct vm_layout *layout);

/* Is it an access of a program to its memory, and no system call? */
static inline bool vm_call_is_touch(uint8_t op)
{
	return op == VM_OP_READ || op == VM_OP_WRITE || op == VM_OP_FILL;
}

/* The opcode of a name of `len` characters, or -1. */
int vm_call_by_name(const char *name, size_t len);

/*
 * The one predicate that guards what the executor needs: may this call be made, given the
 * executor's own ranges? A call is withheld if a correct kernel could let it touch one of them, or
 * if it would populate more memory than allowed.
 */
enum vm_withheld {
	VM_PERMITTED,
	VM_WITHHELD_GUARD,  /* could touch the executor's own memory */
	VM_WITHHELD_MEMORY, /* would touch more than VM_TOUCH_MAX_PAGES pages */
	/* Said by the executor: no meaning here (fork in a forked child, end or exec outside of
	   one), or the system has no more processes. */
	VM_WITHHELD_FORK,
	VM_WITHHELD_PRIVILEGE, /* would harm the machine, and the executor has the right to */
};
enum vm_withheld vm_call_withheld(const struct vm_syscall *sc, const struct vm_layout *layout,
				  const struct vm_range *guard, size_t nguard);

/* ... or if the process, with these capabilities, is allowed to harm the machine with it. */
bool vm_call_harmful(const struct vm_syscall *sc, const struct vm_layout *layout,
		     uint64_t cap_effective);

#endif
