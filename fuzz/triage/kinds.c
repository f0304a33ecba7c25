/* SPDX-License-Identifier: MIT */
#include "fuzz/triage/console.h"

const char *vm_report_kind_name(enum vm_report_kind kind)
{
	static const char *const names[] = {
		[VM_REPORT_OTHER] = "other",
		[VM_REPORT_OOM] = "out-of-memory",
		[VM_REPORT_NO_PAGE] = "allocation-failure",
		[VM_REPORT_NULL] = "null-dereference",
		[VM_REPORT_PAGE_FAULT] = "page-fault",
		[VM_REPORT_PROTECTION] = "protection-fault",
		[VM_REPORT_OPCODE] = "invalid-opcode",
		[VM_REPORT_DIVIDE] = "divide-error",
		[VM_REPORT_EXCEPTION] = "exception",
		[VM_REPORT_STACK] = "stack-overflow",
		[VM_REPORT_BUG] = "bug",
		[VM_REPORT_VM_BUG] = "vm-bug",
		[VM_REPORT_WARNING] = "warning",
		[VM_REPORT_KASAN] = "kasan",
		[VM_REPORT_KFENCE] = "kfence",
		[VM_REPORT_KMSAN] = "kmsan",
		[VM_REPORT_KCSAN] = "kcsan",
		[VM_REPORT_UBSAN] = "ubsan",
		[VM_REPORT_LOCKDEP] = "lockdep",
		[VM_REPORT_SPINLOCK] = "spinlock",
		[VM_REPORT_ATOMIC] = "atomic-context",
		[VM_REPORT_RCU_STALL] = "rcu-stall",
		[VM_REPORT_SOFT_LOCKUP] = "soft-lockup",
		[VM_REPORT_HARD_LOCKUP] = "hard-lockup",
		[VM_REPORT_WORKQUEUE] = "workqueue-lockup",
		[VM_REPORT_HUNG_TASK] = "hung-task",
		[VM_REPORT_MAPLE] = "maple-tree",
		[VM_REPORT_BAD_MAP] = "bad-page-map",
		[VM_REPORT_BAD_PAGE] = "bad-page",
		[VM_REPORT_BAD_MM] = "bad-mm-counter",
		[VM_REPORT_LIST] = "list-corruption",
		[VM_REPORT_REFCOUNT] = "refcount",
		[VM_REPORT_USERCOPY] = "usercopy",
		[VM_REPORT_FORTIFY] = "buffer-overflow",
		[VM_REPORT_SLAB] = "slab-corruption",
		[VM_REPORT_DEBUG_OBJECT] = "debug-object",
		[VM_REPORT_LEAK] = "memory-leak",
		[VM_REPORT_PANIC] = "panic",
	};

	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

const char *vm_report_severity_name(enum vm_report_severity severity)
{
	static const char *const names[] = {
		[VM_REPORT_INFO] = "info",	[VM_REPORT_STALLED] = "stalled",
		[VM_REPORT_WARNED] = "warning", [VM_REPORT_BROKEN] = "broken",
		[VM_REPORT_DEAD] = "dead",
	};

	return (size_t)severity < sizeof(names) / sizeof(names[0]) ? names[severity] : "unknown";
}
