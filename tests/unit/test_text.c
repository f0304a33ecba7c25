/* SPDX-License-Identifier: MIT */
/* .vma text: canonical printing, parsing, expectations, errors. */
#include <errno.h>
#include <linux/mman.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/program/call_table.h"
#include "harness/program/program.h"

#define TEXT_MAX 16384

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static struct vm_script script;

static void parse(const char *text)
{
	struct vm_parse_error err;

	if (vm_text_parse(text, strlen(text), &script, &err))
		fail_msg("%u:%u: %s in: %s", err.line, err.column, err.message, text);
}

/* `text` parses, and prints as `canonical`. */
static void assert_canonical(const char *text, const char *canonical)
{
	char printed[TEXT_MAX];

	parse(text);
	assert_int_equal(vm_text_print(&script.prog, printed, sizeof(printed)), strlen(canonical));
	assert_string_equal(printed, canonical);
}

static void assert_identity(const char *text)
{
	assert_canonical(text, text);
}

static void assert_error(const char *text, unsigned int line, unsigned int column,
			 const char *message)
{
	struct vm_parse_error err;

	if (!vm_text_parse(text, strlen(text), &script, &err))
		fail_msg("no error in: %s", text);
	assert_string_equal(err.message, message);
	assert_int_equal(err.line, line);
	assert_int_equal(err.column, column);
}

static void test_canonical_text_is_its_own(void **state)
{
	(void)state;
	assert_identity("");
	assert_identity("observe maps\n");
	assert_identity("observe end\nmunmap p0+1\n");
	assert_identity("mmap p0+4 rw anon private\n");
	assert_identity("mmap p0+4 none anon shared noreplace\n");
	assert_identity("mmap p0+4 r anon private shared fixed noreplace\n");
	assert_identity("mmap p0+4 wx anon private hint\n");
	assert_identity("mmap p0+4 x hint\n");
	assert_identity("mmap p0+4 rwx\n");
	assert_identity("let a = mmap any+4-1b rw anon private\n");
	assert_identity("mmap null+4 rw anon private\n");
	assert_identity("mmap null[1]+4 rw anon private hint\n");
	assert_identity("mmap null+4 rw anon private noreplace\n");
	assert_identity("munmap o[-1pud+2pmd-3+4b]+-1task+1\n");
	assert_identity("munmap task[-1b]+0\n");
	assert_identity("mremap p0+8 -> p16+4 maymove|fixed\n");
	assert_identity("mremap p0+0 to 1 page maymove\n");
	assert_identity("mremap p0+1 to 0 pages 0\n");
	assert_identity("mremap p0+1 to -1 pages dontunmap\n");
	assert_identity("mremap p0+1 to 2pmd+1b fixed|0x80000008\n");
	assert_identity("mremap p0+1 -> null[1b]+1 0x8\n");
	assert_identity("let o = mremap p127+1 -> task+1 maymove|dontunmap fail-nth 65535\n");
	assert_identity("mprotect p0+1 rw|0x3000000\n");
	assert_identity("mprotect p0+1 0x8\n");
	assert_identity(
		"mseal p0+1\nmseal p0+1 0x1\nmseal null[0xfffffffff000b]+4095b 0xffffffff\n");
	assert_identity("read p0+1\nwrite p1+2\nfill c+1\n");
	assert_identity("munmap null[-0x8000000000000000b]+2147483647\n");
	assert_identity("munmap null[127task-32768pud+32767pmd-2147483648]+-128task\n");
}

static void test_other_spellings(void **state)
{
	(void)state;
	assert_canonical("munmap p0", "munmap p0+1\n");
	assert_canonical("\n# only a comment\n\r\n", "");
	assert_canonical("observe full\n", "");
	assert_canonical("\t munmap \t p0+0x10 # 16 pages\r\n", "munmap p0+16\n");
	assert_canonical("munmap p0+0x10b", "munmap p0+16b\n");
	assert_canonical("munmap p0+0x1bb", "munmap p0+27b\n");
	assert_canonical("munmap p0+0xBpmd", "munmap p0+11pmd\n");
	assert_canonical("munmap p00+1+2-1b+5b", "munmap p0+3+4b\n");
	assert_canonical("munmap p0[1-1]+0b", "munmap p0+0\n");
	assert_canonical("mmap p0+1 rw fixed private anon", "mmap p0+1 rw anon private\n");
	assert_canonical("mmap p0+1 rw noreplace|anon", "mmap p0+1 rw anon noreplace\n");
	assert_canonical("mmap p0+1 rw 0x22", "mmap p0+1 rw anon private\n");
	assert_canonical("mmap null+4 rw anon hint", "mmap any+4 rw anon\n");
	assert_canonical("mmap any+4 rw anon hint", "mmap any+4 rw anon\n");
	assert_canonical("mprotect p0 0x3", "mprotect p0+1 rw\n");
	assert_canonical("mprotect p0 none|0x8|0x10", "mprotect p0+1 0x18\n");
	assert_canonical("mseal p0 0", "mseal p0+1\n");
	assert_canonical("mremap p0+2 -> p8 maymove fixed", "mremap p0+2 -> p8+2 maymove|fixed\n");
	assert_canonical("mremap p0+2->p8 3", "mremap p0+2 -> p8+2 maymove|fixed\n");
	assert_canonical("mremap p0+2 -> null+6 maymove", "mremap p0+2 to 6 pages maymove\n");
	assert_canonical("mremap p0+2 to 6 0", "mremap p0+2 to 6 pages 0\n");
}

/* Other names get the slots whose letters the file does not use. */
static void test_preamble(void **state)
{
	(void)state;
	assert_identity("observe end\nrlimit as +4 pages\nrlimit data -1 page\nmunmap p0+1\n");
	assert_identity("rlimit as +1pmd-4+1b\nrlimit memlock 0 pages\nrlimit stack 64 pages\n");
	assert_identity("rlimit data -1task+1pud\nrlimit memlock -1b\n");
	assert_identity("cap drop ipc_lock\ncap keep sys_admin\ncap drop sys_rawio\n");
	assert_identity("sysctl max_map_count +4\nsysctl overcommit_memory 2\n"
			"sysctl overcommit_ratio 100\nsysctl nr_hugepages 8\n"
			"sysctl mmap_min_addr 16 pages\n");
	assert_identity("sysctl max_map_count -1024\n");
	assert_identity("fault slab_wait 1\nfault page_wait 0\nfault page_highmem 1\n"
			"fault page_min_order 3\n");
	/* Any order, with and without the unit. */
	assert_canonical("cap keep ipc_lock # it may lock\nrlimit as +4\nrlimit data +1pmd\n",
			 "rlimit as +4 pages\nrlimit data +1pmd\ncap keep ipc_lock\n");
	assert_error("rlimit as 4", 1, 11,
		     "expected '+' or '-' and how much more there may be, found '4'");
	assert_error("rlimit core 0", 1, 8,
		     "expected a name after rlimit (as, data, memlock, stack), found 'core'");
	assert_error("rlimit as +4 pages\nrlimit as +5", 2, 8,
		     "expected each word of the preamble once, found 'as'");
	assert_error("cap ipc_lock", 1, 5, "expected keep or drop after cap, found 'ipc_lock'");
	assert_error("cap keep all", 1, 10,
		     "expected a name after cap (ipc_lock, sys_admin, sys_rawio), found 'all'");
	assert_error("sysctl overcommit_memory 3", 1, 26, "expected a number 0..2, found 3");
	assert_error("sysctl max_map_count 3", 1, 22,
		     "expected '+' or '-' and how many more there may be, found '3'");
	assert_error("rlimit as +4 pages more", 1, 20,
		     "expected the end of the line, found 'more'");
	assert_error("munmap p0\nrlimit as +4", 2, 1,
		     "expected a call (a preamble stands before the first one), found 'rlimit'");
}

static void test_names(void **state)
{
	(void)state;
	assert_canonical("let moved = mremap p0+1 to 2 maymove\nlet a = mmap any+1 r\n"
			 "munmap moved[1]+1\nmunmap a\n",
			 "let b = mremap p0+1 to 2 pages maymove\nlet a = mmap any+1 r\n"
			 "munmap b[1]+1\nmunmap a+1\n");
	/* Letters in comments and units are no names. */
	assert_canonical("let x1 = mmap any+1 r # a b\nmunmap x1+1b",
			 "let a = mmap any+1 r\nmunmap a+1b\n");
	/* A name may be given again, and its own call sees the old address. */
	assert_canonical("let it = mmap any+1 r\nlet it = mremap it+1 to 2 pages maymove\n",
			 "let a = mmap any+1 r\nlet a = mremap a+1 to 2 pages maymove\n");
	/* A letter needs no let: bytes can say it too. */
	assert_identity("munmap g+1\n");
}

static void test_fill_after_mmap(void **state)
{
	(void)state;
	assert_canonical("mmap p1[1]+2 rw anon private fill",
			 "mmap p1[1]+2 rw anon private\nfill p1[1]+2\n");
	assert_canonical("let q = mmap any+2 rw anon private fill => ok",
			 "let a = mmap any+2 rw anon private\nfill a+2\n");
	assert_int_equal(script.nexpect[0], 1);
	assert_int_equal(script.nexpect[1], 0);
	assert_canonical("let b = mmap p9+2 rw anon private hint fill fail-nth 2",
			 "let b = mmap p9+2 rw anon private hint fail-nth 2\nfill b+2\n");
	assert_canonical("mmap p9+2 rw noreplace fill", "mmap p9+2 rw noreplace\nfill p9+2\n");
}

static void test_what_is_only_text(void **state)
{
	const struct vm_expect *e;

	(void)state;
	parse("# Doc of\n#   two lines\n\n# not this\nmunmap p0 # nor this\n\n"
	      "munmap p1 => 6.12: EFAULT, deviation; !6.12: EINVAL, untouched; ok\n"
	      "read p2 => SIGSEGV\nmmap p3 r fill => withheld,note,changed\n"
	      "munmap p4 => <=6.12: EFAULT; >6.12: EINVAL\n");
	assert_string_equal(script.doc, "Doc of two lines");
	assert_string_equal(script.machine, "");
	assert_int_equal(script.prog.ncalls, 6);
	assert_int_equal(script.expect[5][0].profile_is, VM_PROFILE_UPTO);
	assert_int_equal(script.expect[5][1].profile_is, VM_PROFILE_ABOVE);
	assert_int_equal(script.line[0], 5);
	assert_int_equal(script.line[1], 7);
	assert_int_equal(script.line[3], 9);
	assert_int_equal(script.line[4], 9);
	assert_int_equal(script.nexpect[0], 0);
	assert_int_equal(script.nexpect[1], 3);

	e = script.expect[1];
	assert_string_equal(e[0].profile, "6.12");
	assert_int_equal(e[0].profile_is, VM_PROFILE_IS);
	assert_int_equal(e[0].result, 2);
	assert_int_equal(e[0].value, EFAULT);
	assert_int_equal(e[0].words, VM_EXPECT_DEVIATION);
	assert_string_equal(e[1].profile, "6.12");
	assert_int_equal(e[1].profile_is, VM_PROFILE_NOT);
	assert_int_equal(e[1].value, EINVAL);
	assert_int_equal(e[1].words, VM_EXPECT_UNTOUCHED);
	assert_string_equal(e[2].profile, "");
	assert_int_equal(e[2].result, 1);
	assert_int_equal(script.expect[2][0].result, 3);
	assert_int_equal(script.expect[2][0].value, SIGSEGV);
	assert_int_equal(script.expect[3][0].result, 4);
	assert_int_equal(script.expect[3][0].words, VM_EXPECT_NOTE | VM_EXPECT_CHANGED);
}

static void test_state_lines(void **state)
{
	const struct vm_state_expect *s = script.state;

	(void)state;
	parse("expect p0 unmapped\nlet v = mmap any+1 r\nmunmap p1\n"
	      "expect !6.18: v[1]+3 rw private sealed from p16[1]\n"
	      "expect p2+2 mapped shared unsealed zero none\n"
	      "expect p4 vmas 3 has nr lacks ac\n");
	assert_int_equal(script.nstate, 4);
	assert_int_equal(s[0].after, 0);
	assert_int_equal(s[0].len.pages, 1);
	assert_int_equal(s[0].words, VM_STATE_UNMAPPED);
	assert_int_equal(s[1].after, 2);
	assert_string_equal(s[1].when.profile, "6.18");
	assert_int_equal(s[1].when.profile_is, VM_PROFILE_NOT);
	assert_int_equal(s[1].start.base, VM_BASE_NAME);
	assert_int_equal(s[1].start.off.pages, 1);
	assert_int_equal(s[1].len.pages, 3);
	assert_int_equal(s[1].prot, 3);
	assert_int_equal(s[1].words,
			 VM_STATE_PROT | VM_STATE_PRIVATE | VM_STATE_SEALED | VM_STATE_FROM);
	assert_int_equal(s[1].from.index, 16);
	assert_int_equal(s[1].from.off.pages, 1);
	assert_int_equal(s[2].prot, 0);
	assert_int_equal(s[2].words, VM_STATE_MAPPED | VM_STATE_SHARED | VM_STATE_UNSEALED |
					     VM_STATE_ZERO | VM_STATE_PROT);
	assert_int_equal(s[3].words, VM_STATE_VMAS | VM_STATE_FLAGS);
	assert_int_equal(s[3].vmas, 3);
	assert_int_equal(s[3].nflags, 2);
	assert_string_equal(s[3].flag[0].name, "nr");
	assert_false(s[3].flag[0].lacks);
	assert_string_equal(s[3].flag[1].name, "ac");
	assert_true(s[3].flag[1].lacks);
}

static void test_errors_in_calls(void **state)
{
	(void)state;
	assert_error("munmap p0\n\n  mmpa p0", 3, 3,
		     "expected a call such as 'mmap', found 'mmpa'");
	assert_error("frobnicate p0", 1, 1,
		     "expected a call (mmap, munmap, mremap, mprotect, mseal, read, write, fill, "
		     "...), found 'frobnicate'");
	assert_error("=> ok", 1, 1,
		     "expected a call (mmap, munmap, mremap, mprotect, mseal, read, write, fill, "
		     "...), found '='");
	assert_error("mmap p0+rw", 1, 9, "expected a length after '+', found 'rw'");
	assert_error("munmap p0+", 1, 11, "expected a length after '+', found the end of the line");
	assert_error("munmap p0+4+", 1, 13,
		     "expected a number after '+', found the end of the line");
	assert_error("munmap p0+4-x", 1, 13, "expected a number after '-', found 'x'");
	assert_error("munmap p0+4x", 1, 12,
		     "expected b, pmd, pud, task or nothing after the number, found 'x'");
	assert_error("munmap p0+0xb", 1, 13, "expected hex digits, found 'b'");
	assert_error("munmap p0+2147483648", 1, 11,
		     "expected -2147483648..2147483647 pages, found a number out of range");
	assert_error("munmap p0+2147483647+1", 1, 22,
		     "expected -2147483648..2147483647 pages, found a number out of range");
	assert_error("munmap p0+-129task", 1, 12,
		     "expected -128..127 task, found a number out of range");
	assert_error("munmap p0+99999999999999999999b", 1, 11,
		     "expected a length after '+', found a number above 64 bits");
	assert_error("munmap p128", 1, 8, "expected an arena page p0..p127, found 'p128'");
	assert_error("munmap p0[3", 1, 12,
		     "expected ']' after the offset, found the end of the line");
	assert_error("munmap p0[]", 1, 11, "expected an offset after '[', found ']'");
	assert_error("munmap foo", 1, 8,
		     "expected an address (p0..p127, null, task, brk, vdso, vvar or a name that an "
		     "earlier let "
		     "gives), found 'foo'");
	assert_error("munmap p0+1 r", 1, 13,
		     "expected fail-nth, '=>' or the end of the line, found 'r'");
	assert_error("mprotect p0 wr", 1, 13,
		     "expected a protection (none, r, w, x, rw, rx, wx, rwx), found 'wr'");
	assert_error("mprotect p0 r|w", 1, 15, "expected bits that fit in 32, found 'w'");
	assert_error("mmap p0 rw privat", 1, 12,
		     "expected a flag (anon, private, shared, fixed, noreplace, populate, "
		     "noreserve, locked, droppable, growsdown, hugetlb, huge2mb, huge1gb, hint, "
		     "fill), found 'privat'");
	assert_error("mmap p0 rw 0x80000", 1, 12, "expected bits within 0xfff7ffff, found 0x80000");
	assert_error("mmap any rw", 1, 10, "expected '+' and a length after any, found 'rw'");
	assert_error("mmap any+1 rw fixed", 1, 6,
		     "expected an address for fixed or noreplace, found 'any'");
	assert_error("mmap p0 rw hint noreplace", 1, 12,
		     "expected no hint beside fixed or noreplace, found 'hint'");
	assert_error("mmap any+1 rw fill", 1, 15,
		     "expected a range or let NAME = for fill, found 'fill'");
	assert_error("mremap p0 to 4 0", 1, 11, "expected '+' and the old length, found 'to'");
	assert_error("mremap p0+4 p8", 1, 13,
		     "expected '->' and a destination, or to and a new length, found 'p8'");
	assert_error(
		"mremap p0+4 -> p8", 1, 18,
		"expected a flag (maymove, fixed, dontunmap, 0x...), found the end of the line");
	assert_error(
		"mremap p0+4 -> p8 maymove|", 1, 27,
		"expected a flag (maymove, fixed, dontunmap, 0x...), found the end of the line");
	assert_error("mremap p0+4 to 1b pages 0", 1, 19,
		     "expected a flag (maymove, fixed, dontunmap, 0x...), found 'pages'");
	assert_error("mseal p0 0x100000000", 1, 10,
		     "expected bits that fit in 32, found 4294967296");
	assert_error("munmap p0 fail-nth 0", 1, 20, "expected a number 1..65535, found 0");
	assert_error("munmap p0 fail-nth 65536", 1, 20,
		     "expected a number 1..65535 after fail-nth, found 65536");
	assert_error("munmap \x01\xff", 1, 8,
		     "expected an address (p0..p127, null, task, brk, vdso, vvar or a name that an "
		     "earlier let "
		     "gives), found '?'");
	parse("observe maps\nmachine x86_64 # alone\nmunmap p0\n");
	assert_string_equal(script.machine, "x86_64");
	assert_int_equal(script.prog.ncalls, 1);
	assert_error("machine\n", 1, 8,
		     "expected a machine such as x86_64, of at most 11 letters, found the end of "
		     "the line");
	assert_error("machine x86_64\nmachine aarch64\n", 2, 9,
		     "expected one machine line, found another");
	assert_error("munmap p0\nobserve maps\n", 2, 1,
		     "expected a call (observe is for the first line), found 'observe'");
	assert_error("observe all", 1, 9, "expected full, maps or end after observe, found 'all'");
}

static void test_errors_in_names(void **state)
{
	static const char *const reserved[] = { "r",	"rwx",	"none", "any",	 "p3",	 "fill",
						"mmap", "task", "to",	"fixed", "zero", "anon" };
	char text[1024], message[128];
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		snprintf(text, sizeof(text), "let %s = mmap any+1 r", reserved[i]);
		snprintf(message, sizeof(message),
			 "expected a name that is no word of the grammar after let, found '%s'",
			 reserved[i]);
		assert_error(text, 1, 5, message);
	}
	assert_error("let = mmap any+1 r", 1, 5, "expected a name after let, found '='");
	assert_error("let y mmap any+1 r", 1, 7, "expected '=' after the name, found 'mmap'");
	assert_error("let a = munmap p0", 1, 9,
		     "expected a call that returns an address after let, found 'munmap'");
	assert_error("let 1a = mmap any+1 r", 1, 5,
		     "expected a name after let (a-z, then a-z, 0-9, _; up to 31 letters), "
		     "found '1a'");
	assert_error("let aB = mmap any+1 r", 1, 5,
		     "expected a name of small letters after let, found 'aB'");
	/* Its own call must not use a name that no earlier let gave. */
	assert_error("let own = mremap own+1 to 2 0", 1, 18,
		     "expected an address (p0..p127, null, task, brk, vdso, vvar or a name that an "
		     "earlier let "
		     "gives), found 'own'");
	for (unsigned int i = 0; i < 16; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "let n%u = mmap any+1 r\n",
					i);
	assert_error(text, 16, 5, "expected at most 15 names in a file, found 'n15'");
}

static void test_errors_in_expectations(void **state)
{
	(void)state;
	assert_error("munmap p0 => EFOO", 1, 14,
		     "expected ok, an errno such as EINVAL, SIGSEGV, SIGBUS, withheld, untouched, "
		     "changed, deviation or note, found 'EFOO'");
	assert_error("munmap p0 => ok, EINVAL", 1, 18,
		     "expected one result (ok, an errno, a signal), found 'EINVAL'");
	assert_error("munmap p0 => untouched, changed", 1, 25,
		     "expected words that do not contradict each other, found 'changed'");
	assert_error("munmap p0 => 6.12: ok; 6.12: EINVAL", 1, 24,
		     "expected one expectation a profile, found '6'");
	assert_error("munmap p0 => !ok", 1, 15,
		     "expected a profile such as 6.12: after '!', '<=' or '>', found 'ok'");
	assert_error("munmap p0 => 6.12-and-more: ok", 1, 14,
		     "expected a profile name of at most 11 letters, found '6'");
	assert_error("munmap p0 => ok; 1: ok; 2: ok; 3: ok; 4: ok", 1, 39,
		     "expected at most 4 expectations of a call, found '4'");
	assert_error("expect p0", 1, 10,
		     "expected unmapped, mapped, a protection, shared, private, sealed, unsealed, "
		     "zero, from, vmas, has or lacks, found the end of the line");
	assert_error("expect p0 vmas", 1, 15,
		     "expected a number of VMAs after vmas, found the end of the line");
	assert_error("expect p0 vmas 1 vmas 1", 1, 18,
		     "expected words that do not contradict each other, found 'vmas'");
	assert_error("expect p0 unmapped has nr", 1, 20,
		     "expected words that do not contradict each other, found 'has'");
	assert_error("expect p0 has nrx", 1, 15,
		     "expected the two letters of a VmFlag such as nr, found 'nrx'");
	assert_error("expect p0 has rd has wr has ex lacks sh lacks mr", 1, 47,
		     "expected at most 4 VmFlags on a line, found 'mr'");
	assert_error("expect p0 unmapped r", 1, 20,
		     "expected words that do not contradict each other, found 'r'");
	assert_error("expect p0 r w", 1, 13,
		     "expected words that do not contradict each other, found 'w'");
	assert_error("expect p0 from zero", 1, 16,
		     "expected an address (p0..p127, null, task, brk, vdso, vvar or a name that an "
		     "earlier let "
		     "gives), found 'zero'");
}

static void test_limits(void **state)
{
	char text[65 * 24];
	size_t len = 0;

	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "munmap p0\n");
	parse(text);
	assert_int_equal(script.prog.ncalls, 64);
	snprintf(text + len, sizeof(text) - len, "munmap p0\n");
	assert_error(text, 65, 1, "expected at most 64 calls, found one more");
	len = 0;
	for (unsigned int i = 0; i < 64; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "expect p0 unmapped\n");
	parse(text);
	assert_int_equal(script.nstate, 64);
	snprintf(text + len, sizeof(text) - len, "expect p1 zero\n");
	assert_error(text, 65, 8, "expected at most 64 expect lines, found 'p1'");
}

/* Any bytes print as text that parses to the same program, and prints as itself. */
static void test_random_programs_round_trip(void **state)
{
	static struct vm_program prog;
	char text[TEXT_MAX], again[TEXT_MAX];
	uint8_t bytes[256];
	struct vm_parse_error err;
	uint64_t seed = 11;

	(void)state;
	for (unsigned int n = 0; n < 30000; n++) {
		size_t len = next_random(&seed) % sizeof(bytes), size;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)next_random(&seed);
		vm_program_decode(bytes, len, &prog);
		size = vm_text_print(&prog, text, sizeof(text));
		assert_true(size < sizeof(text));
		if (vm_text_parse(text, size, &script, &err))
			fail_msg("%u:%u: %s in:\n%s", err.line, err.column, err.message, text);
		assert_true(vm_program_equal(&prog, &script.prog));
		assert_int_equal(vm_text_print(&script.prog, again, sizeof(again)), size);
		assert_string_equal(text, again);
	}
}

/* Every error is within the text, says what was expected, and is one line. */
static void check_garbage(const char *text, size_t len)
{
	struct vm_parse_error err;
	char *exact = malloc(len ? len : 1); /* so that a sanitizer sees a read beyond it */
	unsigned int lines = 1;

	assert_non_null(exact);
	memcpy(exact, text, len);
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	if (vm_text_parse(exact, len, &script, &err)) {
		assert_int_equal(strncmp(err.message, "expected ", 9), 0);
		assert_null(strchr(err.message, '\n'));
		assert_in_range(err.line, 1, lines);
		assert_in_range(err.column, 1, len + 1);
	} else {
		struct vm_program normal = script.prog;

		vm_program_normalise(&normal);
		assert_true(vm_program_equal(&normal, &script.prog));
	}
	free(exact);
}

static const char sample[] =
	"observe maps\nrlimit as -2pmd+1b\ncap drop ipc_lock\n# a comment\nmmap p0+4 rw anon "
	"private fill => ok\n"
	"let q = mremap p0+4-1b -> p16[2pmd]+6 maymove|fixed fail-nth 3 => 6.12: EFAULT, "
	"deviation; !6.12: EFAULT, untouched\nexpect !6.12: p16+4 rw private from p16\n"
	"mprotect q[-1]+0x10b r|0x10\nmseal null[1task]+1 0x1\n";

static void test_every_truncation_of_text(void **state)
{
	(void)state;
	parse(sample);
	for (size_t len = 0; len < strlen(sample); len++)
		check_garbage(sample, len);
}

static void test_random_text(void **state)
{
	static const char letters[] = "abfgimnoprswx0189 +-[]|>=:;,!#\n\tp\xc3\x00";
	uint64_t seed = 12;
	char text[256];

	(void)state;
	for (unsigned int n = 0; n < 40000; n++) {
		size_t len = next_random(&seed) % sizeof(text);

		for (size_t i = 0; i < len; i++)
			text[i] = letters[next_random(&seed) % sizeof(letters)];
		check_garbage(text, len);
	}
	/* Text that is nearly right comes further. */
	for (unsigned int n = 0; n < 100000; n++) {
		char changed[sizeof(sample)];

		memcpy(changed, sample, sizeof(sample));
		for (uint64_t i = next_random(&seed) % 3; i < 3; i++)
			changed[next_random(&seed) % strlen(sample)] =
				letters[next_random(&seed) % sizeof(letters)];
		check_garbage(changed, strlen(sample));
	}
}

static void test_print_into_little_room(void **state)
{
	char whole[256], part[256];
	size_t len;

	(void)state;
	parse("let a = mmap any+4 rw anon private fail-nth 3\nmremap a+4 to 5 pages maymove\n");
	len = vm_text_print(&script.prog, whole, sizeof(whole));
	for (size_t cap = 0; cap <= len + 1; cap++) {
		memset(part, '~', sizeof(part));
		assert_int_equal(vm_text_print(&script.prog, part, cap), len);
		assert_int_equal(part[cap], '~');
		if (!cap)
			continue;
		assert_int_equal(part[cap <= len ? cap - 1 : len], '\0');
		assert_memory_equal(part, whole, cap <= len ? cap - 1 : len);
	}
	assert_int_equal(vm_text_print_call(&script.prog.call[1], part, sizeof(part)), 29);
	assert_string_equal(part, "mremap a+4 to 5 pages maymove");
}

static void test_print_syscall(void **state)
{
	const struct vm_layout layout = { 4096,	      2 << 20,	  1 << 30, (1ull << 47) - 4096,
					  0x10000000, 1ull << 30, 0,	   { 0 },
					  { 0 } };
	const struct {
		struct vm_syscall sc;
		const char *arena, *raw;
	} cases[] = {
		{ { VM_OP_MMAP,
		    { 0x10003000, 0x2000, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED } },
		  "mmap p3+2 rw anon private",
		  "mmap 0x10003000+0x2000b rw anon private" },
		{ { VM_OP_MMAP, { 0, 1, 8, MAP_SHARED } },
		  "mmap any+0x1b 0x8 shared",
		  "mmap any+0x1b 0x8 shared" },
		{ { VM_OP_MREMAP, { 0x10003005, 0x1000, 0x1000, 1, 0 } },
		  "mremap p3[5b]+1 to 1 page maymove",
		  "mremap 0x10003005+0x1000b to 0x1000b maymove" },
		{ { VM_OP_MREMAP, { 0x10080000, 0, ~0ull, 3, 0x7fff00000000 } },
		  "mremap p0[128]+0 -> 0x7fff00000000+0xffffffffffffffffb maymove|fixed",
		  "mremap 0x10080000+0 -> 0x7fff00000000+0xffffffffffffffffb maymove|fixed" },
		{ { VM_OP_MSEAL, { 0x10080001, 0x3000, 0 } },
		  "mseal p0[128+1b]+3",
		  "mseal 0x10080001+0x3000b" },
		{ { VM_OP_FILL, { 0x50000000, 0x1000 } },
		  "fill 0x50000000+1",
		  "fill 0x50000000+0x1000b" },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		vm_text_print_syscall(&cases[i].sc, &layout, text, sizeof(text));
		assert_string_equal(text, cases[i].arena);
		vm_text_print_syscall(&cases[i].sc, NULL, text, sizeof(text));
		assert_string_equal(text, cases[i].raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical_text_is_its_own),
		cmocka_unit_test(test_other_spellings),
		cmocka_unit_test(test_preamble),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_fill_after_mmap),
		cmocka_unit_test(test_what_is_only_text),
		cmocka_unit_test(test_state_lines),
		cmocka_unit_test(test_errors_in_calls),
		cmocka_unit_test(test_errors_in_names),
		cmocka_unit_test(test_errors_in_expectations),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_random_programs_round_trip),
		cmocka_unit_test(test_every_truncation_of_text),
		cmocka_unit_test(test_random_text),
		cmocka_unit_test(test_print_into_little_room),
		cmocka_unit_test(test_print_syscall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
