/* SPDX-License-Identifier: MIT */
/* Each injected fault does what its description says, and nothing without it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/executor/inject_table.h"
#include "tests/integration/raw_host.h"

/* What is looked at in the trace. */
enum what {
	RESULT, /* of call `where`: value */
	MODE,	/* of arena page `where` at the end: VM_MODE_*, or -1 if not mapped */
	ZERO,	/* arena page `where` is present and zero at the end: 0 or 1 */
	SEALED, /* arena page `where` at the end: 0 or 1 */
	VMAS,	/* how many there are after call `where` */
	LOCKED, /* the same for VM_LOCKED */
	VMLCK,	/* of status at the end: pages */
};

struct effect {
	const char *fault, *text;
	enum what what;
	unsigned int where;
	int64_t correct, broken;
};

#define ARENA (1ll << 45) /* of the usual x86-64 */
#define RW    (VM_MODE_R | VM_MODE_W)
#define FOUR  "mmap p0+4 rw anon private fill\n"

static const struct effect effects[] = {
	{ "dest-unmapped", FOUR "mmap p16+2 rw anon private\nmremap p8+2 -> p16+2 maymove|fixed\n",
	  MODE, 17, RW, -1 },
	{ "tail-cut", FOUR "mremap p0+4 -> p2+4 maymove|fixed\n", MODE, 3, RW, -1 },
	{ "seal-ignored-munmap", FOUR "mseal p1+2\nmunmap p0+3\n", RESULT, 3, -EPERM, 0 },
	{ "seal-ignored-munmap", FOUR "mseal p1+2\nmunmap p0+3\n", MODE, 1, RW, -1 },
	{ "seal-ignored-munmap", FOUR "mseal p1+1\nmprotect p1+1 r\n", RESULT, 3, -EPERM, -EPERM },
	{ "seal-ignored-mmap", FOUR "mseal p1+2\nmmap p0+3 r anon private\n", MODE, 1, RW,
	  VM_MODE_R },
	{ "seal-ignored-mremap", FOUR "mseal p1+2\nmremap p1+2 -> p9+2 maymove|fixed\n", SEALED, 9,
	  0, 1 },
	{ "seal-ignored-mprotect", FOUR "mseal p1+2\nmprotect p0+3 r\n", MODE, 2, RW, VM_MODE_R },
	{ "partial-munmap", FOUR "mseal p2+1\nmunmap p0+4\n", MODE, 1, RW, -1 },
	{ "partial-munmap", FOUR "mseal p2+1\nmunmap p0+4\n", MODE, 3, RW, RW },
	{ "page-zeroed", FOUR "mremap p0+4 -> p8+4 maymove|fixed\n", ZERO, 8, 0, 1 },
	{ "page-zeroed", FOUR "mremap p0+4 -> p8+4 maymove|fixed\n", ZERO, 9, 0, 0 },
	{ "neighbour-unmapped", FOUR "munmap p0+2\n", MODE, 2, RW, -1 },
	{ "neighbour-unmapped", FOUR "mremap p0+2 -> p8+2 maymove|fixed\n", MODE, 2, RW, -1 },
	{ "neighbour-protected", FOUR "mprotect p0+2 r\n", MODE, 2, RW, VM_MODE_R },
	{ "wrong-errno", "mremap p0+2 to 4 pages maymove\n", RESULT, 0, -EFAULT, -EINVAL },
	{ "wrong-errno", "munmap p0+0\n", RESULT, 0, -EINVAL, -EFAULT },
	{ "success-for-nothing", FOUR "munmap p0+2\n", MODE, 1, -1, RW },
	{ "success-for-nothing", FOUR "mprotect p8+1 r\n", RESULT, 2, -ENOMEM, 0 },
	{ "success-for-nothing", "mdwe refuse\nmmap p0+1 rwx anon private\n", MODE, 0, -1,
	  RW | VM_MODE_X },
	{ "success-for-nothing", "brk brk[2]\nread brk+2\n", RESULT, 1, 2, 0 },
	{ "success-for-nothing", FOUR "msync p8+1 sync\n", RESULT, 2, -ENOMEM, 0 },
	{ "success-for-nothing", FOUR "mbind p1+1 bind node0 0\n", VMAS, 2, 3, 1 },
	{ "success-for-nothing", "pkey_free 0x1\n", RESULT, 0, -EINVAL, 0 },
	{ "size-kept", "mmap p0+4 rw m0 shared\ntruncate m0 2\nread p0+4\n", RESULT, 2, 2, 4 },
	{ "residence-wrong", FOUR "mincore p0+4\n", RESULT, 2, 0xf, 0xe },
	{ "rights-ignored", FOUR "mprotect p1+2 r\nwrite p0+4\n", RESULT, 3, 1, 4 },
	{ "rights-ignored", "write p0+1\n", RESULT, 0, 0, 0 }, /* there is no page */
	{ "lock-ignored", FOUR "mlock p0+2\n", LOCKED, 0, 1, 0 },
	{ "lock-ignored", FOUR "mlockall current\n", LOCKED, 0, 1, 0 },
	{ "locks-still-counted", FOUR "mlock p0+4\nmunlock p0+2\n", VMLCK, 0, 2, 4 },
	{ "seal-lost", FOUR "mseal p0+2\nmseal p2+2\n", SEALED, 0, 1, 0 },
	{ "seal-lost", FOUR "mseal p0+2\nmseal p2+2\n", SEALED, 2, 1, 1 },
	{ "fork-unseals", FOUR "mseal p1+2\nfork\nmunmap p1+1\n", RESULT, 4, -EPERM, 0 },
	{ "fork-unseals", FOUR "mseal p1+2\nfork\nend\nmunmap p4+1\n", SEALED, 1, 1, 1 },
	{ "fork-not-copied", "mmap p0+4 rw anon private\nread p0+1\nfork\nfill p0+1\n", ZERO, 0, 1,
	  0 },
	{ "seal-ignored-shmat", FOUR "mseal p1+2\nshmat s0 p0 remap\n", MODE, 5, -1,
	  RW | VM_MODE_S },
	{ "exec-keeps", FOUR "fork\nexec\n", VMAS, 3, 0, 1 },
	{ "seal-ignored-madvise", FOUR "mprotect p0+4 r\nmseal p1+1\nmadvise p0+2 dontneed\n",
	  RESULT, 4, -EPERM, 0 },
	{ "dontneed-kept", FOUR "madvise p0+2 dontneed\nread p0+2\n", ZERO, 1, 1, 0 },
	{ "dontneed-kept", FOUR "madvise p0+5 dontneed\n", RESULT, 2, -ENOMEM, -ENOMEM },
	{ "dontneed-neighbour", FOUR "madvise p0+2 dontneed\nread p0+4\n", ZERO, 2, 0, 1 },
	{ "dontneed-neighbour", FOUR "madvise p0+2 dontneed\nread p0+4\n", ZERO, 3, 0, 0 },
	{ "droppable-dumped", "mmap p0+2 rw anon droppable\nmadvise p0+2 dodump\n", RESULT, 1,
	  -EINVAL, 0 },
	{ "limits-ignored", "rlimit as +1 page\n" FOUR, MODE, 3, -1, RW },
	{ "limits-ignored", "rlimit data +3 pages\n" FOUR, MODE, 0, -1, RW },
	{ "limits-ignored", "rlimit data +4 pages\n" FOUR, MODE, 3, RW, RW },
	{ "limits-ignored", "rlimit memlock 1 page\n" FOUR "mlock p0+2\n", RESULT, 2, -ENOMEM, 0 },
	{ "droppable-dumped", FOUR "madvise p0[1b]+2 dodump\n", RESULT, 2, -EINVAL, -EINVAL },
	{ "stack-gap-ignored",
	  "mmap p0+1 r anon private\nmmap p9+1 rw anon private growsdown\nwrite p5+2\n", RESULT, 2,
	  0, 2 },
	{ "stack-gap-ignored",
	  "mmap p0+1 r anon private\nmmap p9+1 rw anon private growsdown\nwrite p5+2\n", MODE, 6,
	  -1, RW },
	{ "stack-gap-ignored", FOUR "write p4+1\n", RESULT, 2, 0, 0 },
	{ "huge-unreserved", "mmap p0+1 rw anon private hugetlb\n", RESULT, 0, -ENOMEM, ARENA },
	{ "huge-unreserved", "mmap p1+1 rw anon private hugetlb\n", RESULT, 0, -EINVAL, -EINVAL },
	{ "guard-missing", FOUR "madvise p1+1 guard_install\nread p0+4\n", RESULT, 3, 1, 4 },
};

static int64_t observed(const struct vm_trace *t, enum what what, unsigned int where)
{
	const struct vm_snapshot *s = &t->event[t->nevents - 1].after;
	const struct vm_layout *l = &t->info.layout;
	uint64_t addr = l->arena_base + where * l->page_size;

	if (what == RESULT)
		return t->event[where + 1].result;
	if (what == VMAS)
		return t->event[where + 1].after.nvma;
	if (what == VMLCK)
		return (int64_t)s->totals.locked;
	for (uint32_t i = 0; what == ZERO && i < s->npage; i++) {
		if (s->page[i].addr == addr)
			return !s->page[i].content.head && !s->page[i].content.rest;
	}
	for (uint32_t i = 0; what != ZERO && i < s->nvma; i++) {
		if (addr >= s->vma[i].start && addr < s->vma[i].end)
			return what == MODE	? s->vma[i].mode
			       : what == LOCKED ? s->vma[i].flags >> VM_FLAG_LO & 1
						: s->vma[i].flags >> VM_FLAG_SL & 1;
	}
	return what == MODE ? -1 : 0;
}

static int64_t run(struct raw_host *h, const struct effect *e, struct vm_trace *trace)
{
	struct vm_program prog;

	raw_parse(e->text, &prog);
	raw_run(h, &prog, 0, trace);
	assert_int_equal(trace->exit, VM_EXIT_DONE);
	return observed(trace, e->what, e->where);
}

static bool can_run(const struct raw_host *h, const struct effect *e)
{
	if (strstr(e->text, "mseal") && !(h->info.features & VM_HAS_SMAPS_SEAL))
		return false;
	if (strstr(e->text, "guard") && !(h->info.features & VM_HAS_MADV_GUARD))
		return false;
	if (strstr(e->text, "hugetlb") &&
	    (!(h->info.features & VM_HAS_HUGE_DEFAULT) || h->info.features & VM_HAS_HUGE_POOL))
		return false;
	return e->what != ZERO || h->info.features & VM_HAS_PROC_MEM;
}

static void test_effects(void **state)
{
	struct vm_trace trace;
	struct raw_host plain;

	(void)state;
	memset(&trace, 0, sizeof(trace));
	raw_start(&plain, NULL);
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		const struct effect *e = &effects[i];
		const char *const args[] = { "--inject", e->fault, NULL };
		struct raw_host faulty;
		int64_t got;

		if (!can_run(&plain, e))
			continue;
		raw_start(&faulty, args);
		assert_string_equal(faulty.info.inject, e->fault);
		got = run(&plain, e, &trace);
		if (got != e->correct)
			fail_msg("without %s, row %zu: %lld, not %lld", e->fault, i, (long long)got,
				 (long long)e->correct);
		got = run(&faulty, e, &trace);
		if (got != e->broken)
			fail_msg("with %s, row %zu: %lld, not %lld", e->fault, i, (long long)got,
				 (long long)e->broken);
		assert_int_equal(raw_stop(&faulty), 0);
	}
	assert_int_equal(raw_stop(&plain), 0);
	vm_trace_free(&trace);
}

static bool has_row(const char *fault)
{
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		if (!strcmp(effects[i].fault, fault))
			return true;
	return false;
}

/* No fault without a row here. */
static void test_all_have_effects(void **state)
{
	(void)state;
	for (size_t fault = 1; vm_inject_desc(fault); fault++) {
		const char *name = vm_inject_desc(fault)->name;

		if (!has_row(name))
			fail_msg("no effect of %s is tested", name);
		assert_int_equal(vm_inject_by_name(name), fault);
	}
	assert_int_equal(vm_inject_by_name("no-such-fault"), VM_INJECT_NONE);
	assert_null(vm_inject_desc(VM_INJECT_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_all_have_effects),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
