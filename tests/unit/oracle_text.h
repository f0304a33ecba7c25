/* SPDX-License-Identifier: MIT */
/* Beliefs, effects and outcomes as one line of text, so that tests of the oracle are short. */
#ifndef VM_ORACLE_TEXT_H
#define VM_ORACLE_TEXT_H

#include "oracle/oracle.h"
#include "oracle/rules/rule.h"

/* Address of arena page n of vm_model_default_info(). */
#define PAGE	  4096ull
#define ARENA(n)  ((1ull << 45) + (uint64_t)(n)*PAGE)
#define TASK_SIZE ((1ull << 47) - PAGE)

/*
 * A state from text. Areas are separated by `|` (a VMA begins), `?` (one may begin) or `~` (none
 * begins). An area: `pN+LEN` (or `xHEX+LEN`), then words: a protection (`rw`, `none`, ...),
 * `shared`, `sealed`, `sealed?`, `ac`, `ac?`, `noac` (private writable areas are `ac` otherwise),
 * `own`, `special` (own, never locked), `lo`, `lo?`, `lf` (locks), `gd`, `gd?` (grows down), `dp`
 * (droppable), `ht`, `ht1g`, `ht?` (huge pages of 2 MiB, of 1 GiB, maybe), and `oN@PAGE`, the
 * object behind it (each area has a new one otherwise). Shared objects are as long as their areas
 * reach; inode N
 * + 1 is theirs.
 */
void state_of_text(const char *text, struct vm_state *s, struct vm_objects *o);

/* The inverse; the result is valid until the next call. */
const char *text_of_state(const struct vm_state *s);

/*
 * A bench for rules: a state, a target, and what the last question gave. Starts zeroed with
 * bench_open(), ends with bench_close().
 */
struct bench {
	struct vm_target_info info;
	struct vm_state state, work;
	struct vm_objects objects;
	struct vm_outcomes out;
};
struct bench *bench_open(const char *state);
void bench_state(struct bench *b, const char *state);
void bench_close(struct bench *b);

/* One line of .vma text as run-time values. */
struct vm_syscall syscall_of_text(const char *call, const struct vm_layout *layout);

/*
 * The outcomes of a call as text: `RESULT (cause) {step, step} documented`, separated by `; `.
 * RESULT: an errno, `= p4` or `= 3`, `chosen 4` (pages), `SIGSEGV/1 after 2`. Valid until the next.
 */
const char *bench_ask(struct bench *b, const char *profile, bool documented, const char *call);

/* Assert what a profile's rule (exact), or every profile's, says. */
#define SAYS(b, profile, call, text) assert_string_equal(bench_ask(b, profile, false, call), text)
#define BOTH_SAY(b, call, text)                                                                    \
	do {                                                                                       \
		SAYS(b, "6.12", call, text);                                                       \
		SAYS(b, "6.18", call, text);                                                       \
	} while (0)

#endif
