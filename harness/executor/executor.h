/* SPDX-License-Identifier: MIT */
/*
 * The executor: state that the parent sets up once, and the area shared with its children. A child
 * inherits all of it and writes only into the area, which no fuzzed call can reach.
 */
#ifndef VM_EXECUTOR_H
#define VM_EXECUTOR_H

#include <stdatomic.h>

#include "harness/executor/fault.h"
#include "harness/executor/inject.h"
#include "harness/executor/kcov.h"
#include "harness/executor/protocol.h"
#include "harness/snapshot/observe.h"
#include "harness/trace/trace.h"

#define VM_LOG_CAP	  (2u << 20) /* bytes of one program's events */
#define VM_ALTSTACK_SIZE  (32u << 10)
#define VM_TIMEOUT_MS	  2000 /* of a child, unless the request or --timeout says otherwise */
#define VM_EXIT_USAGE	  3
#define VM_NOBODY	  65534
#define VM_NR_MSEAL	  462
#define VM_NR_CLOSE_RANGE 436

/* How a call went that an allocation was to fail in; of the process that asked, and its child. */
struct vm_fail_answer {
	_Atomic bool ready;
	bool injected;
	char left[16]; /* what fail-nth says after the call */
	char site[VM_SITE_MAX];
};

/*
 * What a child writes. Shared memory: the parent believes nothing in it without a check. A child
 * has a page fault for each page that it touches first, so what most programs need begins on a
 * page.
 */
#define VM_ON_A_PAGE __attribute__((aligned(4096)))
struct vm_area {
	_Atomic uint64_t log_len; /* valid bytes of log[] */
	struct vm_fault fault;
	uint32_t refused; /* the word of the preamble that the system did not give */
	struct vm_program prog;
	struct vm_observer obs VM_ON_A_PAGE;
	struct vm_event_writer writer VM_ON_A_PAGE;
	char text[VM_OBSERVE_TEXT] VM_ON_A_PAGE; /* of obs */
	uint8_t altstack[VM_ALTSTACK_SIZE];
	uint8_t log[VM_LOG_CAP] VM_ON_A_PAGE;
	struct vm_inject inject;
	struct vm_fail_answer fail_answer;
	struct vm_kcov_call kcov VM_ON_A_PAGE;
};

struct vm_options {
	enum vm_inject_fault inject;
	const char *inject_name;
	bool privileged;
	bool whole_machine; /* it is ours alone: settings that concern all of it may be changed */
	uint32_t timeout_ms;
};

struct vm_executor {
	struct vm_options opt;
	struct vm_target_info info;
	struct vm_observe_ways ways;
	bool namespaced;
	struct {
		int fd; /* to the keeper (machine.h), or -1 */
		uint32_t last_id;
		uint64_t lsm_min_addr;
	} machine;
	struct vm_kcov kcov;
	struct {
		int meminfo;   /* /proc/meminfo, or -1: not measured */
		int64_t pages; /* Committed_AS after the last program; negative: unknown */
	} committed;
	uint32_t nspan; /* the VMAs of a fresh child, those that touch taken together */
	struct vm_range span[VM_OBSERVE_MAX_OWN];
	struct vm_area *area;
	uint8_t *io; /* the parent's alone: VM_FRAME_MAX bytes and a header */
};

/* Is the address in a range that no call may touch, or beyond TASK_SIZE? */
static inline bool vm_is_guarded(const struct vm_target_info *info, uint64_t addr)
{
	for (uint32_t i = 0; i < info->nguard; i++)
		if (addr >= info->guard[i].start && addr < info->guard[i].end)
			return true;
	return addr >= info->layout.task_size;
}

/* One line on stderr, and exit VM_EXIT_USAGE. */
_Noreturn void vm_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
