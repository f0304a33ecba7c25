/* SPDX-License-Identifier: MIT */
/* Verdicts, results and address spaces as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "oracle/model.h"
#include "tests/unit/trace_builder.h"

static char buf[8192];
static struct vm_text t;
static struct vm_target_info info;

static int fresh(void **state)
{
	(void)state;
	vm_model_default_info(&info);
	t = (struct vm_text){ .buf = buf, .cap = sizeof(buf) };
	buf[0] = 0;
	return 0;
}

static const char *taken(void)
{
	static char out[sizeof(buf)];

	strcpy(out, buf);
	fresh(NULL);
	return out;
}

static void test_text_never_overflows(void **state)
{
	char small[8];
	struct vm_text s = { .buf = small, .cap = 6 };

	(void)state;
	memset(small, 'z', sizeof(small));
	vm_text_add(&s, "%s", "abc");
	vm_text_add(&s, "%d", 12345);
	vm_text_add(&s, "more");
	assert_string_equal(small, "abc12");
	assert_int_equal(small[6], 'z');
	assert_int_equal(s.len, 12);
	s = (struct vm_text){ 0 };
	vm_text_add(&s, "%s", "counted only");
	assert_int_equal(s.len, 12);
}

static const char *addr(uint64_t a)
{
	vm_explain_addr(a, &info, &t);
	return taken();
}

static void test_addr(void **state)
{
	(void)state;
	assert_string_equal(addr(ARENA(0)), "p0");
	assert_string_equal(addr(ARENA(16)), "p16");
	assert_string_equal(addr(ARENA(3) + 16), "p3[16b]");
	assert_string_equal(addr(ARENA(0) - 1), "0x1fffffffffff");
	assert_string_equal(addr(ARENA(0) + (8ull << 30) - PAGE), "p2097151");
	assert_string_equal(addr(ARENA(0) + (8ull << 30)), "0x200200000000");
	assert_string_equal(addr(0x1000), "0x1000");
}

static const char *result(uint8_t op, uint8_t status, int64_t value, int signo, int code)
{
	const struct vm_event e = { .kind = VM_EVENT_CALL,
				    .status = status,
				    .sc = { .op = op },
				    .result = value,
				    .signo = signo,
				    .sigcode = code,
				    .sigaddr = ARENA(4) };

	vm_explain_result(&e, &info, &t);
	return taken();
}

static void test_result(void **state)
{
	(void)state;
	assert_string_equal(result(VM_OP_MUNMAP, VM_STATUS_DONE, 0, 0, 0), "0");
	assert_string_equal(result(VM_OP_MUNMAP, VM_STATUS_DONE, -EPERM, 0, 0), "EPERM");
	assert_string_equal(result(VM_OP_MMAP, VM_STATUS_DONE, (int64_t)ARENA(9), 0, 0), "p9");
	assert_string_equal(result(VM_OP_MMAP, VM_STATUS_DONE, -ENOMEM, 0, 0), "ENOMEM");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_DONE, 3, 0, 0), "3");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_RUNNING, 0, 0, 0), "never returned");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_WITHHELD, VM_WITHHELD_GUARD, 0, 0),
			    "withheld (executor's memory)");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_WITHHELD, VM_WITHHELD_MEMORY, 0, 0),
			    "withheld (too much memory)");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_FAULTED, 0, SIGSEGV, SEGV_MAPERR),
			    "SIGSEGV/MAPERR at p4");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_FAULTED, 0, SIGSEGV, SEGV_ACCERR),
			    "SIGSEGV/ACCERR at p4");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_FAULTED, 0, SIGSEGV, SI_KERNEL),
			    "SIGSEGV at p4");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_FAULTED, 0, SIGBUS, BUS_ADRERR),
			    "SIGBUS/ADRERR at p4");
	assert_string_equal(result(VM_OP_READ, VM_STATUS_FAULTED, 0, SIGBUS, BUS_OBJERR),
			    "SIGBUS at p4");
}

static const char *picture(struct trace_builder *b, const struct vm_range *mark)
{
	vm_explain_snapshot(&tb_last(b)->after, &info, mark, &t);
	return taken();
}

static void test_picture(void **state)
{
	struct trace_builder *b = tb_open("6.18.44");
	struct vm_range mark = { ARENA(3), ARENA(10) };

	(void)state;
	tb_start(b, "");
	assert_string_equal(picture(b, NULL), "    (nothing mapped)\n");
	assert_string_equal(picture(b, &mark), "    p3+7  (not mapped)   <--\n");
	tb_call(b, "read p0+1", 1, "-");
	assert_string_equal(picture(b, NULL), "    (not observed)\n");
	tb_call(b, "read p0+1", 1, "p0+4 rw sealed | p4+2 rx shared | p8+1 none | p12+1 r");
	assert_string_equal(picture(b, NULL), "    p0+4  rw- private sealed\n"
					      "    p4+2  r-x shared\n"
					      "    p8+1  --- private\n"
					      "    p12+1  r-- private\n");
	assert_string_equal(picture(b, &mark), "    p0+4  rw- private sealed   <--\n"
					       "    p4+2  r-x shared   <--\n"
					       "    p6+2  (not mapped)   <--\n"
					       "    p8+1  --- private   <--\n"
					       "    p9+1  (not mapped)   <--\n"
					       "    p12+1  r-- private\n");
	mark = (struct vm_range){ ARENA(13), ARENA(14) };
	assert_non_null(strstr(picture(b, &mark), "p12+1  r-- private\n    p13+1  (not mapped)   "
						  "<--\n"));
	tb_close(b);
}

/* Bytes are told by the touch that they come from. */
static void test_picture_of_bytes(void **state)
{
	struct trace_builder *b = tb_open("6.18.44");

	(void)state;
	tb_start(b, "p0+8 rw | p20+1 r");
	tb_filled(b, 0, 2, 0);
	tb_filled(b, 1, 2, 1);
	tb_bytes(b, 2, vm_write_word(4, 0), 0);
	tb_bytes(b, 3, 0, 0);
	tb_bytes(b, 20, 0x1234, 0);
	assert_string_equal(picture(b, NULL),
			    "    p0+8  rw- private  fill 3.0 3.1  write 5.0  zero\n"
			    "    p20+1  r-- private  other bytes\n");
	tb_bytes(b, 21, 0, 7);
	tb_end(b, "p0+8 rw");
	for (uint64_t i = 0; i < 7; i++)
		tb_filled(b, i, 0, i);
	assert_string_equal(picture(b, NULL),
			    "    p0+8  rw- private  fill 1.0 1.1 1.2 1.3 1.4 1.5 ...\n");
	tb_trace(b)->nevents--;
	tb_last(b)->after.mask &= ~VM_SEEN_CONTENTS;
	assert_string_equal(picture(b, NULL), "    p0+8  rw- private\n    p20+1  r-- private\n");
	tb_close(b);
}

static void test_verdict(void **state)
{
	struct trace_builder *b = tb_open("6.12.117");

	(void)state;
	tb_start(b, "p0+2 rw | p2+2 r | p16+6 rw");
	tb_call(b, "mremap p0+4 -> p16+6 maymove|fixed", -EFAULT, "p0+2 rw | p2+2 r");
	tb_end(b, "same");
	strcpy(tb_trace(b)->info.inject, "some-fault");
	tb_judge(b, "6.12", VM_CONTRACT_EXACT);
	vm_explain_verdict(tb_trace(b), &tb_judgement(b)->verdict[0], &t);
	assert_string_equal(
		taken(),
		"deviation: mremap: destination lost on EFAULT (source crosses a VMA)\n"
		"  kernel     Linux 6.12.117 x86_64\n"
		"  injected   some-fault\n"
		"  call 1     mremap p0+4 -> p16+6 maymove|fixed\n"
		"  as made    mremap p0+4 -> p16+6 maymove|fixed = EFAULT\n"
		"  expected   EFAULT (source crosses a VMA)\n"
		"  observed   EFAULT; p16+6 lost\n"
		"  invariant  failure\n"
		"  rests on   mm/mremap.c vma_to_resize() (6.12); check_prep_vma() (6.17)\n"
		"  before\n"
		"    p0+2  rw- private\n"
		"    p2+2  r-- private\n"
		"    p16+6  rw- private   <--\n"
		"  after\n"
		"    p0+2  rw- private\n"
		"    p2+2  r-- private\n"
		"    p16+6  (not mapped)   <--\n");
	tb_close(b);
}

/* A verdict without pages points at none; one on what is not there says what it can. */
static void test_verdict_without_pages(void **state)
{
	struct trace_builder *b = tb_open("6.18.44");
	struct vm_verdict v;

	(void)state;
	tb_start(b, "p0+2 rw");
	tb_call(b, "munmap p0+2", -EINVAL, "same");
	tb_judge(b, "6.18", VM_CONTRACT_EXACT);
	v = tb_judgement(b)->verdict[0];
	v.known = "a text";
	vm_explain_verdict(tb_trace(b), &v, &t);
	assert_null(strstr(buf, "<--"));
	assert_non_null(strstr(buf, "violation: munmap: EINVAL instead of success\n"));
	assert_non_null(strstr(buf, "  known bug  a text\n"));
	assert_null(strstr(buf, "injected"));
	taken();
	v.event = 99;
	vm_explain_verdict(tb_trace(b), &v, &t);
	assert_null(strstr(buf, "before"));
	tb_close(b);
}

/* A seal that was seen holds, though later looks did not read flags. */
static void test_carried_seal(void **state)
{
	struct trace_builder *b = tb_open("6.18.44");
	struct vm_vma *v;

	(void)state;
	tb_start(b, "p0+2 rw sealed | p2+2 r");
	tb_call(b, "munmap p0+2", -EINVAL, "p0+2 rw | p2+2 r");
	v = (struct vm_vma *)tb_last(b)->after.vma;
	v[0].flags_known = v[1].flags_known = 0;
	tb_last(b)->after.mask &= ~VM_SEEN_FLAGS;
	tb_judge(b, "6.18", VM_CONTRACT_EXACT);
	vm_explain_verdict(tb_trace(b), &tb_judgement(b)->verdict[0], &t);
	assert_non_null(strstr(buf, "  after\n    p0+2  rw- private sealed"));
	tb_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_text_never_overflows, fresh),
		cmocka_unit_test_setup(test_addr, fresh),
		cmocka_unit_test_setup(test_result, fresh),
		cmocka_unit_test_setup(test_picture, fresh),
		cmocka_unit_test_setup(test_picture_of_bytes, fresh),
		cmocka_unit_test_setup(test_verdict, fresh),
		cmocka_unit_test_setup(test_carried_seal, fresh),
		cmocka_unit_test_setup(test_verdict_without_pages, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
