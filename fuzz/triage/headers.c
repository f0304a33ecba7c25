/* SPDX-License-Identifier: MIT */
/*
 * One row a kind of first line. Taken from the kernel's own format strings: kernel/panic.c,
 * lib/{bug,ubsan,refcount,list_debug,string_helpers}.c, mm/{kasan,kfence,kmsan}/report.c,
 * mm/{memory,page_alloc,slub,oom_kill,usercopy,debug}.c, kernel/{fork,watchdog,hung_task}.c,
 * kernel/rcu/tree_stall.h, kernel/locking/{lockdep,spinlock_debug}.c, kernel/sched/core.c,
 * arch/x86/{mm/fault,kernel/traps}.c, arch/arm64/{mm/fault,kernel/traps}.c (6.12.117 and 7.3.4).
 */
#include <string.h>

#include "fuzz/triage/headers.h"

#define ROW(text, has, until, kind, severity, role, end, title)                                    \
	{                                                                                          \
		text, has, until, VM_REPORT_##kind, VM_REPORT_##severity, VM_##role, VM_END_##end, \
			title                                                                      \
	}

static const struct vm_header headers[] = {
	/* what debugging options check */
	ROW("BUG: KASAN: null-ptr-deref", NULL, NULL, NULL, BROKEN, HEAD, RULE,
	    "NULL dereference in %f"),
	ROW("BUG: KASAN: ", NULL, " in ", KASAN, BROKEN, HEAD, RULE, "KASAN: %m%a in %f"),
	ROW("BUG: KFENCE: ", NULL, " in ", KFENCE, BROKEN, HEAD, RULE, "KFENCE: %m in %f"),
	ROW("BUG: KMSAN: ", NULL, " in ", KMSAN, BROKEN, HEAD, RULE, "KMSAN: %m in %f"),
	ROW("BUG: KCSAN: ", NULL, NULL, KCSAN, WARNED, HEAD, RULE, "KCSAN: %m"),
	ROW("UBSAN: ", NULL, " in ", UBSAN, WARNED, HEAD, TRACE, "UBSAN: %m in %f"),
	ROW("list_add corruption", NULL, NULL, LIST, BROKEN, LEAD, TRACE,
	    "list_add corruption in %f"),
	ROW("list_del corruption", NULL, NULL, LIST, BROKEN, LEAD, TRACE,
	    "list_del corruption in %f"),
	ROW("list_add double add", NULL, NULL, LIST, BROKEN, LEAD, TRACE,
	    "list_add corruption in %f"),
	ROW("refcount_t: ", NULL, ";", REFCOUNT, BROKEN, LEAD, TRACE, "refcount %m in %f"),
	ROW("usercopy: Kernel memory ", NULL, " attempt", USERCOPY, BROKEN, LEAD, TRACE,
	    "usercopy: kernel memory %m in %f"),
	ROW("mem", ": detected buffer overflow", NULL, FORTIFY, BROKEN, LEAD, TRACE,
	    "buffer overflow in %f"),
	ROW("str", ": detected buffer overflow", NULL, FORTIFY, BROKEN, LEAD, TRACE,
	    "buffer overflow in %f"),
	ROW("ODEBUG: ", NULL, " (", DEBUG_OBJECT, BROKEN, LEAD, TRACE, "ODEBUG: %m in %f"),
	ROW("[", " overwritten] 0x", "]", SLAB, BROKEN, LEAD, OPEN, "slab corruption: %m"),
	ROW("BUG ", "): ", NULL, SLAB, BROKEN, HEAD, OPEN, "slab corruption: %m"),
	ROW("kmemleak: ", " new suspected memory leaks", NULL, LEAK, WARNED, HEAD, LINE,
	    "memory leak"),

	/* locks */
	ROW("WARNING: possible circular locking", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: circular locking in %f"),
	ROW("WARNING: possible recursive locking", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: recursive locking in %f"),
	ROW("WARNING: inconsistent lock state", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: inconsistent lock state in %f"),
	ROW("WARNING: possible irq lock inversion", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: irq lock inversion in %f"),
	ROW("WARNING: ", " lock order detected", NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: unsafe lock order in %f"),
	ROW("WARNING: bad unlock balance", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: bad unlock balance in %f"),
	ROW("WARNING: bad contention", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: bad contention in %f"),
	ROW("WARNING: held lock freed", NULL, NULL, LOCKDEP, BROKEN, HEAD, STACK,
	    "lockdep: held lock freed in %f"),
	ROW("WARNING: lock held when returning", NULL, NULL, LOCKDEP, BROKEN, HEAD, STACK,
	    "lockdep: lock held on return to user space in %f"),
	ROW("WARNING: ", " still has locks held", NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: task still has locks held in %f"),
	ROW("WARNING: Nested lock was not taken", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: nested lock was not taken in %f"),
	ROW("WARNING: suspicious RCU usage", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "suspicious RCU usage in %f"),
	ROW("[ BUG: Invalid wait context ]", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: invalid wait context in %f"),
	ROW("INFO: trying to register non-static key", NULL, NULL, LOCKDEP, WARNED, HEAD, STACK,
	    "lockdep: non-static key in %f"),
	ROW("BUG: spinlock ", NULL, " on CPU", SPINLOCK, BROKEN, HEAD, STACK, "spinlock %m in %f"),
	ROW("BUG: rwlock ", NULL, " on CPU", SPINLOCK, BROKEN, HEAD, STACK, "rwlock %m in %f"),
	ROW("BUG: scheduling while atomic", NULL, NULL, ATOMIC, BROKEN, HEAD, STACK,
	    "scheduling while atomic in %f"),
	ROW("BUG: scheduling in a non-blocking section", NULL, NULL, ATOMIC, WARNED, HEAD, STACK,
	    "scheduling in a non-blocking section in %f"),
	ROW("BUG: sleeping function called from invalid context", NULL, NULL, ATOMIC, WARNED, HEAD,
	    STACK, "sleeping function called from invalid context in %f"),
	ROW("BUG: using ", " in preemptible", " in preemptible", ATOMIC, WARNED, HEAD, STACK,
	    "using %m in preemptible code in %f"),
	ROW("BUG: workqueue leaked", NULL, ":", ATOMIC, BROKEN, HEAD, STACK,
	    "workqueue leaked%m in %f"),

	/* time */
	ROW("INFO: rcu", " stall", NULL, RCU_STALL, STALLED, HEAD, OPEN, "RCU stall in %f"),
	ROW("BUG: soft lockup", NULL, NULL, SOFT_LOCKUP, STALLED, HEAD, STACK, "soft lockup in %f"),
	ROW("", "Watchdog detected hard LOCKUP", NULL, HARD_LOCKUP, STALLED, HEAD, STACK,
	    "hard lockup in %f"),
	ROW("BUG: workqueue lockup", NULL, NULL, WORKQUEUE, STALLED, HEAD, OPEN,
	    "workqueue lockup in %f"),
	ROW("INFO: task ", " blocked", NULL, HUNG_TASK, STALLED, HEAD, STACK, "task hung in %f"),

	/* memory management */
	ROW("BUG at ", NULL, NULL, MAPLE, BROKEN, HEAD, STACK, "maple tree: BUG in %f"),
	ROW("WARN at ", NULL, NULL, MAPLE, WARNED, HEAD, STACK, "maple tree: WARNING in %f"),
	ROW("vma ", " start ", NULL, VM_BUG, WARNED, LEAD, TRACE, NULL),
	ROW("mm ", "task_size", NULL, VM_BUG, WARNED, LEAD, TRACE, NULL),
	ROW("page dumped because: VM_", NULL, NULL, VM_BUG, WARNED, LEAD, TRACE, NULL),
	ROW("vmg ", "state", NULL, VM_BUG, WARNED, LEAD, TRACE, NULL),
	ROW("BUG: Bad page map: ", " suppressed", NULL, OTHER, INFO, HEAD, LINE,
	    "reports of bad page maps suppressed"),
	ROW("BUG: Bad page state: ", " suppressed", NULL, OTHER, INFO, HEAD, LINE,
	    "reports of bad page states suppressed"),
	ROW("BUG: Bad page map in", NULL, NULL, BAD_MAP, BROKEN, HEAD, STACK, "bad page map in %f"),
	ROW("BUG: Bad page state in", NULL, NULL, BAD_PAGE, BROKEN, HEAD, STACK,
	    "bad page state in %f"),
	ROW("BUG: Bad page cache in", NULL, NULL, BAD_PAGE, BROKEN, HEAD, STACK,
	    "bad page cache in %f"),
	ROW("BUG: Bad rss-counter state", "type:", " val", BAD_MM, BROKEN, HEAD, LINE,
	    "bad rss-counter state %m"),
	ROW("BUG: non-zero pgtables_bytes", NULL, NULL, BAD_MM, BROKEN, HEAD, LINE,
	    "page tables left in a freed address space"),
	ROW("", ": bad pmd ", NULL, BAD_MAP, BROKEN, HEAD, LINE, "bad pmd"),
	ROW("", ": bad pud ", NULL, BAD_MAP, BROKEN, HEAD, LINE, "bad pud"),
	ROW("", ": bad p4d ", NULL, BAD_MAP, BROKEN, HEAD, LINE, "bad p4d"),
	ROW("", ": bad pgd ", NULL, BAD_MAP, BROKEN, HEAD, LINE, "bad pgd"),
	ROW("", ": Bad swap file entry", NULL, BAD_MAP, BROKEN, HEAD, LINE, "bad swap entry"),
	ROW("", ": Corrupted page table at", NULL, BAD_MAP, BROKEN, HEAD, TRACE,
	    "corrupted page table"),
	ROW("", " invoked oom-killer: ", NULL, OOM, INFO, HEAD, OPEN, "out of memory"),
	ROW("Out of memory: Killed process", NULL, NULL, OOM, INFO, OOPS, LINE, "out of memory"),
	ROW("Memory cgroup out of memory: Killed", NULL, NULL, OOM, INFO, OOPS, LINE,
	    "out of memory"),
	ROW("", ": page allocation failure: ", NULL, NO_PAGE, INFO, HEAD, STACK,
	    "page allocation failure in %f"),
	ROW("", ": vmalloc error: ", NULL, NO_PAGE, INFO, HEAD, STACK, "vmalloc error in %f"),
	ROW("FAULT_INJECTION: forcing a failure", NULL, NULL, NO_PAGE, INFO, HEAD, STACK,
	    "injected failure in %f"),

	/* exceptions, x86 */
	ROW("BUG: kernel NULL pointer dereference", NULL, NULL, NULL, BROKEN, HEAD, TRACE,
	    "NULL dereference in %f"),
	ROW("BUG: unable to handle kernel NULL pointer", NULL, NULL, NULL, BROKEN, HEAD, TRACE,
	    "NULL dereference in %f"),
	ROW("BUG: unable to handle ", NULL, NULL, PAGE_FAULT, BROKEN, HEAD, TRACE,
	    "page fault in %f"),
	ROW("BUG: ", " stack guard page was hit", NULL, STACK, BROKEN, HEAD, TRACE,
	    "stack overflow in %f"),
	ROW("Oops: general protection fault", NULL, NULL, PROTECTION, BROKEN, OOPS, TRACE,
	    "general protection fault in %f"),
	ROW("general protection fault", "[#", NULL, PROTECTION, BROKEN, OOPS, TRACE,
	    "general protection fault in %f"),
	ROW("Oops: invalid opcode", NULL, NULL, OPCODE, BROKEN, OOPS, TRACE,
	    "invalid opcode in %f"),
	ROW("invalid opcode: ", "[#", NULL, OPCODE, BROKEN, OOPS, TRACE, "invalid opcode in %f"),
	ROW("Oops: divide error", NULL, NULL, DIVIDE, BROKEN, OOPS, TRACE, "divide error in %f"),
	ROW("divide error: ", "[#", NULL, DIVIDE, BROKEN, OOPS, TRACE, "divide error in %f"),
	ROW("Oops: stack guard page", NULL, NULL, STACK, BROKEN, OOPS, TRACE,
	    "stack overflow in %f"),
	ROW("stack guard page: ", "[#", NULL, STACK, BROKEN, OOPS, TRACE, "stack overflow in %f"),
	ROW("kernel stack overflow (", NULL, NULL, STACK, BROKEN, OOPS, TRACE,
	    "stack overflow in %f"),
	ROW("Oops: Oops: ", NULL, NULL, PAGE_FAULT, BROKEN, OOPS, TRACE, "page fault in %f"),
	ROW("Oops: ", " [#", ":", EXCEPTION, BROKEN, OOPS, TRACE, "%m in %f"),
	ROW("PANIC: double fault", NULL, NULL, EXCEPTION, BROKEN, HEAD, TRACE,
	    "double fault in %f"),
	ROW("double fault: ", "[#", NULL, EXCEPTION, BROKEN, OOPS, TRACE, "double fault in %f"),
	ROW("stack segment: ", "[#", NULL, EXCEPTION, BROKEN, OOPS, TRACE, "stack segment in %f"),
	ROW("int3: ", "[#", NULL, EXCEPTION, BROKEN, OOPS, TRACE, "int3 in %f"),

	/* exceptions, arm64 */
	ROW("Unable to handle kernel NULL pointer", NULL, NULL, NULL, BROKEN, HEAD, TRACE,
	    "NULL dereference in %f"),
	ROW("Unable to handle kernel paging request", NULL, NULL, PAGE_FAULT, BROKEN, HEAD, TRACE,
	    "page fault in %f"),
	ROW("Unable to handle kernel ", " at virtual address", " at virtual", PAGE_FAULT, BROKEN,
	    HEAD, TRACE, "%m in %f"),
	ROW("Internal error: Oops - Undefined instruction", NULL, NULL, OPCODE, BROKEN, OOPS, TRACE,
	    "invalid opcode in %f"),
	ROW("Internal error: Oops - BUG", NULL, NULL, BUG, BROKEN, OOPS, TRACE, "BUG in %f"),
	ROW("Internal error: Oops: ", NULL, NULL, PAGE_FAULT, BROKEN, OOPS, TRACE,
	    "page fault in %f"),
	ROW("Internal error: Oops - ", NULL, ":", EXCEPTION, BROKEN, OOPS, TRACE, "%m in %f"),
	ROW("Internal error: ", "[#", ":", EXCEPTION, BROKEN, OOPS, TRACE, "%m in %f"),
	ROW("Insufficient stack space to handle exception", NULL, NULL, STACK, BROKEN, HEAD, TRACE,
	    "stack overflow in %f"),

	/* the rest */
	ROW("kernel BUG at ", NULL, NULL, BUG, BROKEN, HEAD, TRACE, "BUG in %f"),
	ROW("WARNING: CPU: ", " PID: ", NULL, WARNING, WARNED, HEAD, TRACE, "WARNING in %f"),
	ROW("WARNING: ", ", CPU#", NULL, WARNING, WARNED, HEAD, TRACE, "WARNING in %f"),
	ROW("Kernel panic - not syncing: ", NULL, NULL, PANIC, DEAD, PANIC, TRACE, "panic: %m"),
	ROW("BUG: ", NULL, NULL, OTHER, BROKEN, HEAD, STACK, "BUG: %m"),
	ROW("WARNING: ", NULL, NULL, OTHER, WARNED, HEAD, STACK, "WARNING: %m"),
};

/* Subsystems that put their name in front. */
static const char *after_subsystem(const char *text)
{
	static const char *const names[] = { "watchdog: ", "NMI watchdog: ", "rcu: ", "traps: ",
					     "workqueue: " };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(text, names[i], n))
			return text + n;
	}
	return text;
}

const struct vm_header *vm_header_find(const char *text, const char **message)
{
	text = after_subsystem(text);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct vm_header *h = &headers[i];
		size_t n = strlen(h->text);

		if (strncmp(text, h->text, n) || (h->has && !strstr(text + n, h->has)))
			continue;
		*message = text + n;
		return h;
	}
	return NULL;
}

bool vm_header_leads(const char *text)
{
	static const char *const leads[] = { "======",	       "------------[ cut here",
					     "page: refcount", "page:",
					     "head:",	       "flags: 0x",
					     "raw: ",	       "anon ",
					     "ksm ",	       "page_type: ",
					     "aops:",	       "memcg:",
					     "maple_tree(" };

	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		if (!strncmp(text, leads[i], strlen(leads[i])))
			return true;
	}
	return false;
}
