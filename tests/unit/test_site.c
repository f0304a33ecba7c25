/* SPDX-License-Identifier: MIT */
/* Allocation sites: from the kernel log to a name, and how calls took the failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/report/sites.h"
#include "harness/trace/site.h"

/* lib/fault-inject.c fail_dump(), as /dev/kmsg gives it. */
static const char *const dump[] = {
	"6,100,5000000,-;something else that was said\n",
	"5,101,5000001,-;FAULT_INJECTION: forcing a failure.\\x0aname failslab, interval 1, "
	"probability 0, space 0, times 0\n",
	"4,102,5000002,-;CPU: 0 UID: 65534 PID: 77 Comm: vmafuzz-execut Not tainted 6.12.117 #1\n",
	"4,103,5000003,-;Call Trace:\n",
	"4,104,5000004,-; <TASK>\n",
	"4,105,5000005,-; dump_stack_lvl+0x4e/0x70\n",
	"4,106,5000006,-; should_fail_ex.cold+0x5/0xa\n",
	"4,107,5000007,-; ? vm_area_dup+0x1f/0xc0\n",
	"4,108,5000008,-; should_failslab+0x4c/0x70\n",
	"4,109,5000009,-; kmem_cache_alloc_noprof+0x4b/0x220\n SUBSYSTEM=mm\n",
	"4,110,5000010,-; vm_area_dup+0x1f/0xc0\n",
	"4,111,5000011,-; __split_vma.constprop.0+0x84/0x2c0\n",
	"4,112,5000012,-; vms_gather_munmap_vmas+0x9a/0x2d0\n",
	"4,113,5000013,-; __x64_sys_munmap+0x17/0x20\n",
	"4,114,5000014,-; do_syscall_64+0x47/0x110\n",
	"4,115,5000015,-; entry_SYSCALL_64_after_hwframe+0x4b/0x53\n",
	"4,116,5000016,-; </TASK>\n",
};

static void test_from_the_kernel_log(void **state)
{
	char text[VM_SITE_MAX] = "";
	struct vm_site s = { .text = text };

	(void)state;
	for (size_t i = 0; i < sizeof(dump) / sizeof(dump[0]); i++)
		vm_site_line(&s, dump[i], strlen(dump[i]));
	assert_string_equal(text, "failslab kmem_cache_alloc_noprof vm_area_dup __split_vma "
				  "vms_gather_munmap_vmas __x64_sys_munmap");
}

static void test_nothing_of_it_in_the_log(void **state)
{
	char text[VM_SITE_MAX] = "";
	struct vm_site s = { .text = text };

	(void)state;
	vm_site_line(&s, dump[0], strlen(dump[0]));
	for (size_t i = 2; i < sizeof(dump) / sizeof(dump[0]); i++)
		vm_site_line(&s, dump[i], strlen(dump[i]));
	vm_site_line(&s, "no record", 9);
	assert_string_equal(text, "");
}

static void test_no_more_than_fits(void **state)
{
	char text[VM_SITE_MAX] = "", line[128];
	struct vm_site s = { .text = text };

	(void)state;
	for (size_t i = 1; i < 5; i++)
		vm_site_line(&s, dump[i], strlen(dump[i]));
	for (unsigned int i = 0; i < 100; i++) {
		int n = snprintf(line, sizeof(line), "4,1,1,-; function_number_%u+0x1/0x2\n", i);

		vm_site_line(&s, line, (size_t)n);
	}
	assert_in_range(strlen(text), VM_SITE_MAX - 24, VM_SITE_MAX - 1);
	/* whole words only */
	assert_int_equal(strncmp(strrchr(text, ' '), " function_number_", 17), 0);
}

#define NAMED(site, text)                                                                          \
	do {                                                                                       \
		char name[VM_SITE_NAME_MAX];                                                       \
		vm_site_name(site, name);                                                          \
		assert_string_equal(name, text);                                                   \
	} while (0)

static void test_names(void **state)
{
	(void)state;
	NAMED("failslab kmem_cache_alloc_noprof vm_area_dup __split_vma __x64_sys_munmap",
	      "vm_area_dup < __split_vma");
	NAMED("failslab kmem_cache_alloc_bulk_noprof mas_alloc_nodes mas_preallocate __split_vma",
	      "__split_vma");
	NAMED("fail_page_alloc __alloc_pages_noprof allocate_slab ___slab_alloc "
	      "kmem_cache_alloc_noprof vm_area_dup __split_vma __x64_sys_munmap",
	      "(new slab) vm_area_dup < __split_vma");
	NAMED(NULL, "(not known)");
}

/* One call whose allocation failed. */
static void take(struct vm_alloc_sites *s, int64_t result, uint8_t severity, uint8_t changed,
		 const char *title)
{
	static struct vm_trace t;
	static struct vm_judgement j;

	t.event[0] = (struct vm_event){ .kind = VM_EVENT_CALL,
					.sc.op = VM_OP_MUNMAP,
					.result = result,
					.injected = true,
					.site = "failslab vm_area_dup __split_vma" };
	t.nevents = 1;
	j.call[0] = (struct vm_judged_call){ .severity = severity,
					     .changed = changed,
					     .cause = result ? VM_ALLOCATION_FAILED : NULL };
	j.nverdicts = title ? 1 : 0;
	j.verdict[0].severity = severity;
	if (title)
		snprintf(j.verdict[0].title, VM_TITLE_MAX, "%s", title);
	assert_true(vm_sites_add(s, &t, &j, 0, NULL, title ? title : "plain"));
}

static void test_how_it_was_taken(void **state)
{
	struct vm_alloc_sites s = { 0 };

	(void)state;
	take(&s, 0, VM_OK, 1, NULL);
	take(&s, -ENOMEM, VM_OK, 0, NULL);
	take(&s, -ENOMEM, VM_OK, 2, NULL);
	take(&s, -ENOMEM, VM_NOTE, 1, "a note");
	take(&s, -ENOMEM, VM_DEVIATION, 1, "first");
	take(&s, -ENOMEM, VM_DEVIATION, 1, "second");
	assert_int_equal(s.n, 1);
	assert_string_equal(s.site[0].name, "vm_area_dup < __split_vma");
	assert_int_equal(s.site[0].taken[VM_TAKEN_DONE], 1);
	assert_int_equal(s.site[0].taken[VM_TAKEN_KEPT], 1);
	assert_int_equal(s.site[0].taken[VM_TAKEN_UNSEEN], 1);
	assert_int_equal(s.site[0].taken[VM_TAKEN_NOTE], 1);
	assert_int_equal(s.site[0].taken[VM_TAKEN_DEVIATION], 2);
	/* the first of the worst */
	assert_string_equal(s.site[0].title, "first");
	assert_string_equal(s.site[0].where, "first");
	vm_sites_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_the_kernel_log),
		cmocka_unit_test(test_nothing_of_it_in_the_log),
		cmocka_unit_test(test_no_more_than_fits),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_how_it_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
