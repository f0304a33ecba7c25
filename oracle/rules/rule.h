/* SPDX-License-Identifier: MIT */
/*
 * The one form of a rule: outcomes(state, call, profile) -> the set of {result, effect, cause} that
 * this kernel may show. One file a call; the table of rules is in rule.c.
 */
#ifndef VM_RULE_H
#define VM_RULE_H

#include <string.h>

#include "harness/trace/trace.h"
#include "oracle/profiles/profile.h"
#include "oracle/state/effect.h"
#include "oracle/state/process.h"

/* Why an outcome comes about. Constant data of the rule files; the text is part of titles. */
struct vm_cause {
	const char *text;  /* "source crosses a VMA" */
	const char *basis; /* kernel function or document */
	bool resource; /* a limit or an allocation, not a check of arguments, boundaries or seals */
	bool seal;     /* a seal was in the way */
	bool starved;  /* an allocation was made to fail */
};

enum vm_result_kind {
	VM_RESULT_VALUE,  /* just `value` */
	VM_RESULT_ERRNO,  /* -value */
	VM_RESULT_CHOSEN, /* the start of `len` bytes that the kernel chose: page aligned, free;
			     value, if not 0: in [1 GiB, value) */
	VM_RESULT_BITS,	  /* the bits of `len` are those of `value`; the others are not known */
	VM_RESULT_FAULT,  /* a touch: `value` pages done, then signo/sigcode (sigcode -1: any) */
};

/* How a failure that has an effect is meant. */
enum vm_licence {
	VM_MEANT, /* this version does so; a deviation from the strict contract if anything changed
		   */
	VM_DOCUMENTED, /* documents allow it: a note */
	VM_BUG, /* a known bug of some versions, never meant: see known_bugs.c (not in outcome sets)
		 */
};

struct vm_outcome {
	uint8_t kind;	 /* enum vm_result_kind */
	uint8_t licence; /* enum vm_licence */
	int32_t signo, sigcode;
	int64_t value;
	uint64_t len, align; /* VM_RESULT_CHOSEN; align 0: a page */
	const struct vm_cause *cause;
	const char *what; /* wording of a partial effect for titles, or NULL: found by comparing */
	bool lacking;	  /* success, with less than the call is documented to do */
	struct vm_effect effect;
};

#define VM_MAX_OUTCOMES 40

struct vm_outcomes {
	uint32_t n;
	bool silent; /* the rule does not know: anything is accepted */
	const char *why_silent;
	struct vm_outcome o[VM_MAX_OUTCOMES];
};

/* What a rule works on. */
struct vm_rule {
	const struct vm_state *s; /* the address space now: before the call, or after `done` */
	const struct vm_syscall *sc;
	const struct vm_target_info *info;
	const struct vm_profile *p;
	uint8_t call; /* index in the program (tags of fills) */
	/*
	 * false: exact, the first check that fails decides. true: the set of all that apply; then a
	 * check that certainly fails only rules success out.
	 */
	bool documented;
	bool failed;
	bool starved; /* an allocation failed inside of the call (vm_event.injected) */
	/* The look just before the call, if it showed which pages are present; else NULL. */
	const struct vm_snapshot *seen;
	struct vm_effect done;	    /* effects of the steps already made */
	uint32_t nkept;		    /* steps of it that no failure takes back */
	uint8_t licence;	    /* of a failure from here on */
	const char *what;	    /* wording for it */
	struct vm_state *work;	    /* scratch for the state after `done` */
	struct vm_objects *objects; /* `work` may add to it; the judge undoes that */
	struct vm_outcomes *out;
};

/*
 * The call fails here with err if cond holds. Returns true if the rule must stop: the check
 * certainly fails and decides. vm_stops() is for checks after which going on has no meaning: it
 * stops also where only the set of applicable errors is asked for.
 */
bool vm_fails(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause);
bool vm_stops(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause);

/*
 * vm_fails() after VMAs were split at the ends of [start, end) to be unmapped: since 6.12 the
 * splits stay (mm/vma.c vms_gather_munmap_vmas()).
 */
bool vm_fails_split(struct vm_rule *r, enum vm_tri cond, int err, const struct vm_cause *cause,
		    uint64_t start, uint64_t end);

/* As vm_fails(), for a call that says that it failed by a value and no errno. */
bool vm_refuses(struct vm_rule *r, enum vm_tri cond, int64_t value, const struct vm_cause *cause);

/* Add a step to what is done, and show its effect in r->s. */
void vm_does(struct vm_rule *r, const struct vm_step *step);

/* Success, with what is done as effect. Nothing is added if a check certainly failed before. */
void vm_succeeds(struct vm_rule *r, int64_t value);
/* `below`: the end of where the kernel may choose, from 1 GiB on (MAP_32BIT); 0: anywhere. */
void vm_succeeds_chosen(struct vm_rule *r, uint64_t len, uint64_t below);
void vm_succeeds_bits(struct vm_rule *r, uint64_t value, uint64_t mask);

/*
 * starve.c. An allocation may have failed just here, with what is done so far as effect; nothing is
 * added unless r->starved. Where a call fails before one of the steps that it ends with is said
 * without this, of all rules (vm_starve()): this is for effects in between.
 */
void vm_starves(struct vm_rule *r, const struct vm_cause *cause);

/*
 * The call does not look at a failure that it meets: it succeeds, as the outcome added last, with
 * less than it is documented to do: with what is done now.
 */
void vm_starves_unsaid(struct vm_rule *r, const struct vm_cause *cause);

/* The set of outcomes, once it is there, and those that a failed allocation adds. */
void vm_starve(struct vm_rule *r);

/* rule.c: a new outcome with what is done as effect; kind: enum vm_result_kind. */
struct vm_outcome *vm_add_outcome(struct vm_rule *r, uint8_t kind, int64_t value);

/* The rule does not know. */
void vm_silent(struct vm_rule *r, const char *why);

/* The outcomes of one call. `r` must have s, sc, info, p, documented, work, objects and out set. */
void vm_outcomes(struct vm_rule *r);

/* Name of the rule of an opcode: its file in oracle/rules/. */
const char *vm_rule_name(uint8_t op);

/* ---- shared by rules (common.c) ---- */

static inline enum vm_tri vm_is(bool yes)
{
	return yes ? VM_YES : VM_NO;
}

uint64_t vm_page_mask(const struct vm_rule *r);
/* PAGE_ALIGN(): wraps to 0 near 2^64. */
uint64_t vm_page_align(const struct vm_rule *r, uint64_t len);
bool vm_unaligned(const struct vm_rule *r, uint64_t addr);

/* Would charging between min and max pages exceed the commit limit? (mm/util.c
 * __vm_enough_memory()) */
enum vm_tri vm_over_commit(const struct vm_rule *r, uint64_t min_pages, uint64_t max_pages);

/* Is a fixed address below mmap_min_addr refused? (security_mmap_addr()) */
enum vm_tri vm_below_min_addr(const struct vm_rule *r, uint64_t addr);

/* Does get_unmapped_area() without MAP_FIXED find no room for len bytes? */
enum vm_tri vm_no_room(const struct vm_rule *r, uint64_t len);

/*
 * Does it return just this hint? YES or NO where certain. `hint` as passed; *addr becomes what
 * would be returned. `object`: what is to be mapped, from `off` on.
 */
enum vm_tri vm_hint_taken(const struct vm_rule *r, uint64_t *addr, uint64_t len, uint32_t object,
			  uint64_t off);

/* Is `addr` in the vdso or vvar? Calls on them that are made lie wholly inside of one. */
bool vm_is_special(const struct vm_rule *r, uint64_t addr);

/*
 * To unmap [start, end), VMAs are split at its ends, but no sealed one (cause `sealed`: EPERM), and
 * none inside of a huge page (`in_huge_page`: EINVAL). As vm_fails(). mm/vma.c
 * vms_gather_munmap_vmas().
 */
bool vm_gather_fails(struct vm_rule *r, uint64_t start, uint64_t end, const struct vm_cause *sealed,
		     const struct vm_cause *in_huge_page);

/* The architecture, where the calls differ by it. */
static inline bool vm_is_x86(const struct vm_rule *r)
{
	return !strcmp(r->info->machine, "x86_64");
}

static inline bool vm_is_arm64(const struct vm_rule *r)
{
	return !strcmp(r->info->machine, "aarch64");
}

/* May there be huge pages to be had (MAP_HUGETLB)? MAYBE or NO: the pool is everybody's. */
enum vm_tri vm_huge_to_be_had(const struct vm_rule *r);

/* Is an area of huge pages, of which none can be had? */
enum vm_tri vm_huge_missing(const struct vm_rule *r, const struct vm_area *a);

/* Bytes below a mapping that grows down which are kept free: stack_guard_gap. */
uint64_t vm_stack_gap(const struct vm_rule *r);

/* ---- limits.c ---- */

/*
 * may_expand_vm() says no: `bytes` more, of data or not, would exceed RLIMIT_AS or RLIMIT_DATA
 * where so much is mapped. mm/mmap.c (6.12; mm/vma.c and mm/mmap.c later)
 */
enum vm_tri vm_cannot_expand(const struct vm_rule *r, const struct vm_sizes *mapped, uint64_t bytes,
			     enum vm_tri data);

/* The same for what is mapped now. */
enum vm_tri vm_over_rlimit(const struct vm_rule *r, uint64_t bytes, enum vm_tri data);

/* check_data_rlimit() says no: the heap may not end at `brk`. Asked before all else, always. */
enum vm_tri vm_over_data_segment(const struct vm_rule *r, uint64_t brk);

/* Does can_do_mlock() say no: RLIMIT_MEMLOCK is 0, and there is no CAP_IPC_LOCK? */
bool vm_cannot_lock(const struct vm_rule *r);

/* Bytes that may be locked, in whole pages; UINT64_MAX with CAP_IPC_LOCK. */
uint64_t vm_lock_limit(const struct vm_rule *r);

/* Would locking `bytes` more exceed RLIMIT_MEMLOCK? (mm/mmap.c mlock_future_ok()) */
enum vm_tri vm_over_memlock(const struct vm_rule *r, uint64_t bytes);

/*
 * Are mappings that are made with the lock flags `asked` for locked, as mlockall(MCL_FUTURE) may
 * say too (mm->def_flags), and do `bytes` of them exceed RLIMIT_MEMLOCK then?
 */
enum vm_tri vm_new_over_memlock(const struct vm_rule *r, uint64_t asked, uint64_t bytes);

/* Are there (nearly) as many VMAs as vm.max_map_count allows? */
enum vm_tri vm_over_map_count(const struct vm_rule *r);

/*
 * Does PR_SET_MDWE refuse a VMA with the rights `now` that had the rights `was` (VM_MODE_*; a new
 * one: the same)? include/linux/mman.h map_deny_write_exec().
 */
bool vm_mdwe_refuses(const struct vm_rule *r, uint8_t was, uint8_t now);

/*
 * From here on a key is taken for memory with PROT_EXEC alone: its flags, and in *maybe those that
 * are not known. execute_only_pkey().
 */
uint64_t vm_takes_exec_key(struct vm_rule *r, uint64_t *maybe);

/* Does the key of an area keep the program from reading (or writing) it? */
enum vm_tri vm_area_key_denies(const struct vm_rule *r, const struct vm_area *a, bool write);

/* The prot bits of a VMA for a PROT_* argument. */
uint8_t vm_mode_of_prot(uint64_t prot);

/* What is to be mapped. Lengths and offsets are whole pages. */
struct vm_map_request {
	uint64_t addr, len, prot, flags, offset; /* flags: MAP_* */
	uint64_t object;	 /* enum vm_object_name; VM_OBJECT_NONE for anonymous memory */
	uint32_t backing;	 /* in r->objects; VM_NO_OBJECT: new */
	uint16_t attach;	 /* by shmat: as vm_area.attach */
	uint64_t key, key_maybe; /* VM_KEY_FLAGS: of what has PROT_EXEC alone, and unknown ones */
	bool shared;
	bool read_only; /* opened without the right to write */
	uint8_t huge;	/* MAP_HUGETLB: log2 of the page size; else 0 */
};

/* mmap.c: do_mmap() from get_unmapped_area() on, to the end of the call. */
void vm_rule_map(struct vm_rule *r, struct vm_map_request *q);

/* The rules, one for each call; some serve several. */
#define VM_CALL(op, since, share, file, rule) void vm_rule_##rule(struct vm_rule *r);
VM_CALLS(VM_CALL)
#undef VM_CALL

#endif
