/* SPDX-License-Identifier: MIT */
/* The ways to look at an address space, against each other and against what was made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/snapshot/procfs.h"

#define NR_MSEAL 462
#define WINDOW	 0x200000000000ull /* nothing of this process is near */
#define LENGTH	 (64ull << 20)

static struct vm_observer *o;
static char text[VM_OBSERVE_TEXT] __attribute__((aligned(8)));
static struct vm_layout layout;
static struct vm_range skip[2];
static const struct vm_observe_ways all_ways = { true, true, true, true, false };

static bool digest_here(const void *page, size_t page_size, struct vm_content *out)
{
	*out = vm_content_digest(page, page_size);
	return true;
}

static bool digest_faults(const void *page, size_t page_size, struct vm_content *out)
{
	(void)page;
	(void)page_size;
	(void)out;
	return false;
}

static char *at(unsigned int page)
{
	return (char *)(uintptr_t)(WINDOW + page * layout.page_size);
}

static void map(unsigned int page, unsigned int n, int prot, int flags)
{
	assert_ptr_equal(mmap(at(page), n * layout.page_size, prot,
			      flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at(page));
}

static void fill(unsigned int page, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		vm_content_write(at(page + i), layout.page_size, vm_fill_tag(1, page + i));
}

static int setup(void **state)
{
	(void)state;
	layout = (struct vm_layout){ .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
				     .task_size = (1ull << 47) - 4096 };
	skip[0] = (struct vm_range){ 0, WINDOW };
	skip[1] = (struct vm_range){ WINDOW + LENGTH, layout.task_size };
	munmap(at(0), LENGTH);
	o = malloc(sizeof(*o));
	assert_non_null(o);
	vm_observer_init(o, text, &layout, &all_ways, skip, 2);
	o->digest = digest_here;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_observer_close(o);
	free(o);
	return 0;
}

static bool parse(const char *line, struct vm_vma *vma)
{
	return vm_maps_parse(line, line + strlen(line), vma);
}

static void test_parse_maps(void **state)
{
	struct vm_vma vma;

	(void)state;
	assert_true(parse("7f00a000-7f00c000 rw-p 0000a000 fe:01 247134       /usr/bin/cat", &vma));
	assert_int_equal(vma.start, 0x7f00a000);
	assert_int_equal(vma.end, 0x7f00c000);
	assert_int_equal(vma.mode, VM_MODE_R | VM_MODE_W);
	assert_int_equal(vma.offset, 0xa000);
	assert_int_equal(vma.dev, 0xfe << 20 | 1);
	assert_int_equal(vma.inode, 247134);
	assert_int_equal(vma.kind, VM_KIND_PLAIN);
	assert_int_equal(vma.flags_known, 0);
	assert_true(parse("1000-2000 ---s 00000000 00:00 0 ", &vma));
	assert_int_equal(vma.mode, VM_MODE_S);
	assert_true(parse("1000-2000 r-xp 00000000 00:00 0          [vdso]", &vma));
	assert_int_equal(vma.mode, VM_MODE_R | VM_MODE_X);
	assert_int_equal(vma.kind, VM_KIND_VDSO);
	assert_true(parse("1000-2000 rw-p 00000000 00:00 0          [stack]", &vma));
	assert_int_equal(vma.kind, VM_KIND_STACK);
	assert_true(parse("1000-2000 r--p 00000000 00:00 0          [vvar_vclock]", &vma));
	assert_int_equal(vma.kind, VM_KIND_VVAR);
	assert_true(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", &vma));
	assert_int_equal(vma.start, 0xffffffffff600000);
	assert_int_equal(vma.kind, VM_KIND_VSYSCALL);
}

static void test_parse_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"Rss:                   8 kB",
		"1000 rw-p 00000000 00:00 0",
		"1000-2000 rwzp 00000000 00:00 0",
		"1000-2000 rw-x 00000000 00:00 0",
		"1000-2000 rw-p 00000000 0000 0",
		"1000-2000 rw-p 00000000 00:00",
		"11112222333344445-2000 rw-p 00000000 00:00 0",
	};
	struct vm_vma vma;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parse(bad[i], &vma));
}

static uint64_t flags(const char *words)
{
	return vm_flags_parse(words, words + strlen(words));
}

static void test_parse_flags(void **state)
{
	(void)state;
	assert_int_equal(flags(""), 0);
	assert_int_equal(flags(" rd wr "), 3);
	assert_int_equal(flags(" rd mr sl"), 1 | 1 << 4 | 1ull << VM_FLAG_SL);
	assert_int_equal(flags(" ac sd"), 1 << VM_FLAG_AC | 1 << VM_FLAG_SD);
	assert_int_equal(flags(" zz wr"), 1ull << VM_FLAG_UNKNOWN | 2);
}

/* Text longer than the buffer comes out line by line all the same; a longer line is an error. */
static void test_lines(void **state)
{
	const char *line, *end;
	struct vm_lines l;
	int fd, n = 0;
	char buf[32];

	(void)state;
	fd = memfd_create("lines", 0);
	assert_true(fd >= 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(write(fd, "eleven char\n", 12), 12);
	vm_lines_start(&l, fd, buf, sizeof(buf));
	for (; vm_lines_next(&l, &line, &end); n++) {
		assert_int_equal(end - line, 11);
		assert_memory_equal(line, "eleven char", 11);
	}
	assert_int_equal(n, 20);
	assert_false(l.failed);
	vm_lines_start(&l, fd, buf, 8);
	assert_false(vm_lines_next(&l, &line, &end));
	assert_true(l.failed);
	close(fd);
}

static void states(unsigned int which)
{
	munmap(at(0), LENGTH);
	switch (which) {
	case 0:
		return; /* nothing */
	case 1:
		map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		return;
	case 2:
		map(0, 9, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		mprotect(at(1), layout.page_size, PROT_NONE);
		mprotect(at(3), layout.page_size, PROT_READ | PROT_EXEC);
		munmap(at(5), layout.page_size);
		return;
	case 3: /* shared memory, in two places */
		map(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED);
		mprotect(at(2), layout.page_size, PROT_READ);
		assert_ptr_equal(mremap(at(4), 0, 2 * layout.page_size,
					MREMAP_MAYMOVE | MREMAP_FIXED, at(20)),
				 at(20));
		return;
	default: /* one VMA a page: more text than one buffer holds */
		for (unsigned int i = 0; i < 300; i++)
			map(i, 1, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE);
	}
}

static void test_ways_agree(void **state)
{
	static const uint32_t expected[] = { 0, 1, 6, 4, 300 };
	struct vm_vma *seen = calloc(VM_SNAPSHOT_MAX_VMAS, sizeof(*seen));

	(void)state;
	assert_non_null(seen);
	for (unsigned int i = 0; i < 5; i++) {
		uint32_t n;

		states(i);
		assert_true(vm_observe_text(o) & VM_SEEN_MAPS);
		n = o->nvma;
		assert_int_equal(n, expected[i]);
		memcpy(seen, o->vma, n * sizeof(*seen));
		if (vm_observe_query(o)) {
			assert_int_equal(o->nvma, n);
			assert_memory_equal(o->vma, seen, n * sizeof(*seen));
		}
		assert_true(vm_observe_smaps(o) & VM_SEEN_FLAGS);
		assert_int_equal(o->nvma, n);
		for (uint32_t k = 0; k < n; k++) {
			assert_int_equal(o->vma[k].flags_known, 1);
			assert_int_equal(o->vma[k].flags & 1, o->vma[k].mode & VM_MODE_R);
			seen[k].flags = o->vma[k].flags;
			seen[k].flags_known = 1;
		}
		assert_memory_equal(o->vma, seen, n * sizeof(*seen));
		assert_true(vm_observe_text(o));
		assert_int_equal(vm_observe_flags(o), VM_SEEN_FLAGS);
		assert_memory_equal(o->vma, seen, n * sizeof(*seen));
	}
	free(seen);
}

/* Flags belong to the VMAs that were seen; if others are there now, there are none. */
static void test_flags_of_others(void **state)
{
	(void)state;
	states(2);
	assert_true(vm_observe_text(o));
	munmap(at(0), layout.page_size);
	assert_int_equal(vm_observe_flags(o), 0);
	for (uint32_t i = 0; i < o->nvma; i++)
		assert_int_equal(o->vma[i].flags_known, 0);
}

static void test_seal_shows(void **state)
{
	uint64_t page_size = layout.page_size;
	pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) { /* a seal cannot be undone */
		map(0, 4, PROT_READ, MAP_PRIVATE);
		if (syscall(NR_MSEAL, at(1), 2 * page_size, 0))
			_exit(77);
		_exit(!(vm_observe_smaps(o) && o->nvma == 3 &&
			!(o->vma[0].flags >> VM_FLAG_SL & 1) &&
			o->vma[1].start == (uintptr_t)at(1) && o->vma[1].flags >> VM_FLAG_SL & 1 &&
			!(o->vma[2].flags >> VM_FLAG_SL & 1)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_pages(unsigned int first, unsigned int n, uint32_t from)
{
	assert_true(from + n <= o->npage);
	for (unsigned int i = 0; i < n; i++) {
		struct vm_content want =
			vm_content_of_tag(vm_fill_tag(1, first + i), layout.page_size);

		assert_int_equal(o->page[from + i].addr, (uintptr_t)at(first + i));
		assert_int_equal(o->page[from + i].content.head, want.head);
		assert_int_equal(o->page[from + i].content.rest, want.rest);
	}
}

/* Present pages of all rights, by every way there is. */
static void test_contents(void **state)
{
	static const struct vm_observe_ways ways[] = {
		{ .scan = true, .mem = true },
		{ .pagemap = true, .mem = true },
	};

	(void)state;
	map(0, 8, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	map(20, 4, PROT_READ | PROT_WRITE, MAP_SHARED);
	fill(1, 5);
	fill(21, 2);
	mprotect(at(2), 2 * layout.page_size, PROT_NONE);
	mprotect(at(21), layout.page_size, PROT_NONE);
	for (unsigned int i = 0; i < 4; i++) {
		o->ways = ways[i / 2];
		o->digest = i % 2 ? NULL : digest_here;
		vm_observer_close(o);
		assert_true(vm_observe_text(o));
		if (o->ways.scan && !vm_pagemap_present(o))
			continue; /* before 6.7 */
		assert_int_equal(vm_observe_contents(o), VM_SEEN_CONTENTS);
		assert_int_equal(o->npage, 7);
		assert_pages(1, 5, 0);
		assert_pages(21, 2, 5);
	}
}

/* Looking brings no page in: what was never touched is not there afterwards either. */
static void test_looking_changes_nothing(void **state)
{
	(void)state;
	map(0, 64, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	fill(10, 1);
	for (int i = 0; i < 3; i++) {
		assert_true(vm_observe_smaps(o));
		assert_int_equal(vm_observe_contents(o), VM_SEEN_CONTENTS);
		assert_int_equal(o->npage, 1);
		assert_pages(10, 1, 0);
	}
}

static void test_unobserved(void **state)
{
	struct vm_snapshot s;

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	fill(0, 1);
	assert_true(vm_observe_text(o));
	o->digest = digest_faults; /* as where a protection key does not let us read */
	assert_int_equal(vm_observe_contents(o), o->ways.mem ? VM_SEEN_CONTENTS : 0);
	o->ways.mem = false;
	assert_true(vm_observe_text(o));
	assert_int_equal(vm_observe_contents(o), 0);
	assert_int_equal(o->npage, 0);
	vm_observer_snapshot(o, VM_SEEN_MAPS, &s);
	assert_int_equal(s.npage, 0);
	assert_int_equal(s.nvma, 1);
	vm_observer_snapshot(o, 0, &s);
	assert_int_equal(s.nvma, 0);
	o->digest = NULL;
	o->ways.mem = false;
	assert_int_equal(vm_observe_contents(o), 0);
	o->ways.mem = true;
	o->ways.scan = o->ways.pagemap = false;
	assert_int_equal(vm_observe_contents(o), 0);
}

/* More than there is room for is not half seen, but not seen. */
static void test_too_many(void **state)
{
	(void)state;
	for (unsigned int i = 0; i <= VM_SNAPSHOT_MAX_VMAS; i++)
		map(i, 1, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE);
	assert_int_equal(vm_observe_text(o), 0);
	assert_int_equal(vm_observe_query(o), 0);
	assert_int_equal(vm_observe_smaps(o), 0);
	munmap(at(0), LENGTH);
	map(0, VM_SNAPSHOT_MAX_PAGES + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (unsigned int i = 0; i <= VM_SNAPSHOT_MAX_PAGES; i++)
		*at(i) = 1;
	assert_true(vm_observe_text(o));
	assert_int_equal(vm_observe_contents(o), 0);
	assert_int_equal(o->npage, 0);
	munmap(at(VM_SNAPSHOT_MAX_PAGES), layout.page_size);
	assert_true(vm_observe_text(o));
	assert_int_equal(vm_observe_contents(o), VM_SEEN_CONTENTS);
	assert_int_equal(o->npage, VM_SNAPSHOT_MAX_PAGES);
}

#define LOOK(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_maps),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_parse_flags),
		cmocka_unit_test(test_lines),
		LOOK(test_ways_agree),
		LOOK(test_flags_of_others),
		LOOK(test_seal_shows),
		LOOK(test_contents),
		LOOK(test_looking_changes_nothing),
		LOOK(test_unobserved),
		LOOK(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
