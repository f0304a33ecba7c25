/* SPDX-License-Identifier: MIT */
/* Code lines decoded, alone and in an ELF file, for which this test's own executable stands in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fuzz/triage/code_line.h"
#include "fuzz/triage/decode.h"

static char err[256];

/* The line of its first instruction, which is not one of a prologue. */
enum { FIXTURE_LINE = __LINE__ + 3 };
__attribute__((noinline)) int fixture_add(int a, volatile int *b)
{
	return a + *b;
}

static const struct vm_instruction *at_pc(const struct vm_decoded *d)
{
	for (unsigned int i = 0; i < d->n; i++) {
		if (d->insn[i].at_pc)
			return &d->insn[i];
	}
	fail_msg("nothing was decoded at the pc");
	return NULL;
}

static void test_code_line(void **state)
{
	struct vm_code code;

	(void)state;
	assert_true(vm_code_parse("48 89 <0f> 0b c3", &code));
	assert_int_equal(code.len, 5);
	assert_int_equal(code.pc, 2);
	assert_memory_equal(code.byte, "\x48\x89\x0f\x0b\xc3", 5);
	assert_true(vm_code_parse("d503245f (d4210000)", &code));
	assert_int_equal(code.len, 8);
	assert_int_equal(code.pc, 4);
	assert_memory_equal(code.byte, "\x5f\x24\x03\xd5\x00\x00\x21\xd4", 8);
	assert_false(vm_code_parse("Unable to access opcode bytes at 0x6.", &code));
	assert_false(vm_code_parse("48 89 0f 0b", &code));
	/* Cut in the middle of the line, or of a byte. */
	assert_true(vm_code_parse("48 <89> 0", &code));
	assert_int_equal(code.len, 2);
}

static void test_x86_alone(void **state)
{
	struct vm_report r = { .code = "48 89 df e8 f0 b5 30 00 45 31 c0 <48> 8b 45 38 48 85 c0" };
	struct vm_decoded d;

	(void)state;
	assert_true(vm_decode(&r, NULL, 0, &d));
	assert_false(d.linked);
	assert_string_equal(d.insn[0].text, "mov rdi, rbx");
	assert_string_equal(at_pc(&d)->text, "mov rax, qword ptr [rbp + 0x38]");
	assert_int_equal(at_pc(&d)->address, 0);
	assert_int_equal((int64_t)d.insn[0].address, -11);
	assert_string_equal(d.insn[d.n - 1].text, "test rax, rax");
}

/* The first bytes may be the end of an instruction: decoding begins where it comes by the pc. */
static void test_x86_cut_instruction(void **state)
{
	struct vm_report r = { .code = "c7 43 18 05 00 <0f> 0b" };
	struct vm_decoded d;

	(void)state;
	assert_true(vm_decode(&r, NULL, 0, &d));
	assert_string_equal(at_pc(&d)->text, "ud2");
	assert_int_equal(at_pc(&d)->len, 2);
}

/* With the offset in its function known, what lies before that is not shown. */
static void test_x86_from_function(void **state)
{
	struct vm_report r = { .code = "cc cc 90 90 31 c0 48 89 e5 <0f> 0b c3" };
	struct vm_decoded d;

	(void)state;
	strcpy(r.pc.symbol, "f");
	r.pc.offset = 5;
	assert_true(vm_decode(&r, NULL, 0, &d));
	assert_int_equal(d.n, 4);
	assert_string_equal(d.insn[0].text, "xor eax, eax");
	assert_string_equal(at_pc(&d)->text, "ud2");
}

static void test_arm64_alone(void **state)
{
	struct vm_report r = { .arm64 = true,
			       .code = "d503233f a9be7bfd 910003fd f9000bf3 (b9003801)" };
	struct vm_decoded d;

	(void)state;
	assert_true(vm_decode(&r, NULL, 0, &d));
	assert_int_equal(d.n, 5);
	assert_string_equal(at_pc(&d)->text, "str w1, [x0, #0x38]");
	assert_string_equal(d.insn[2].text, "mov x29, sp");
}

static void test_nothing_to_decode(void **state)
{
	struct vm_report r = { 0 };
	struct vm_decoded d;

	(void)state;
	assert_false(vm_decode(&r, NULL, 0, &d));
	assert_int_equal(d.n, 0);
	assert_string_not_equal(d.note, "");
}

static struct vm_vmlinux *own(void)
{
	struct vm_vmlinux *v = vm_vmlinux_open("/proc/self/exe", err, sizeof(err));

	if (!v)
		fail_msg("%s", err);
	return v;
}

static struct vm_function find(struct vm_vmlinux *v, const char *name)
{
	struct vm_place p = { 0 };
	struct vm_function f[4];

	strcpy(p.symbol, name);
	strcpy(p.full, name);
	assert_int_equal(vm_vmlinux_find(v, &p, f, 4), 1);
	return f[0];
}

/* A report at fixture_add, `offset` bytes in, with the code that is there. */
static struct vm_report report_at(struct vm_vmlinux *v, const struct vm_function *f,
				  uint64_t offset)
{
	struct vm_report r = { .arm64 = vm_vmlinux_is_arm64(v) };
	uint8_t bytes[16];
	size_t n = vm_vmlinux_bytes(v, f->begin, bytes, sizeof(bytes)), at = 0;

	assert_int_equal(n, sizeof(bytes));
	strcpy(r.pc.symbol, f->name);
	strcpy(r.pc.full, f->name);
	r.pc.offset = offset;
	r.pc.size = f->size + 7; /* padding */
	for (size_t i = 0; i < n && !r.arm64; i++)
		at += (size_t)snprintf(r.code + at, sizeof(r.code) - at,
				       i == offset ? "<%02x> " : "%02x ", bytes[i]);
	return r;
}

static void test_place_in_elf(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_function f = find(v, "fixture_add"), around;
	struct vm_report r = report_at(v, &f, 0);
	struct vm_decoded d;
	char want[64], name[64];

	(void)state;
	assert_true(vm_decode(&r, v, 0, &d));
	assert_true(d.linked);
	assert_string_equal(d.note, "");
	assert_int_equal(d.pc, f.begin);
	assert_int_equal(at_pc(&d)->address, f.begin);
	assert_string_equal(d.function.name, "fixture_add");
	for (unsigned int i = 0; i < d.n; i++)
		assert_false(d.insn[i].patched);
	/* sanitizers have a prologue, which is of the line of the name */
	snprintf(want, sizeof(want), "test_decode.c:%d", FIXTURE_LINE);
	snprintf(name, sizeof(name), "test_decode.c:%d", FIXTURE_LINE - 1);
	if (!strstr(d.source, want) && !strstr(d.source, name))
		fail_msg("%s is not %s", d.source, want);
	assert_true(vm_vmlinux_at(v, f.begin + 1, &around));
	assert_string_equal(around.name, "fixture_add");
	vm_vmlinux_close(v);
}

/* With no name printed, the address leads there once KASLR's offset is off it. */
static void test_bare_address(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_function f = find(v, "fixture_add");
	struct vm_report r = report_at(v, &f, 0);
	struct vm_decoded d;

	(void)state;
	r.pc.symbol[0] = r.pc.full[0] = '\0';
	r.pc_address = f.begin + 0xb000000;
	assert_true(vm_decode(&r, v, 0xb000000, &d));
	assert_true(d.linked);
	assert_string_equal(d.function.name, "fixture_add");
	vm_decode(&r, v, 0, &d);
	assert_false(d.linked);
	assert_string_not_equal(d.note, "");
	vm_vmlinux_close(v);
}

/* No Code: line: the bytes are the file's. */
static void test_bytes_of_elf(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_function f = find(v, "fixture_add");
	struct vm_report r = report_at(v, &f, 0);
	struct vm_decoded d;

	(void)state;
	r.code[0] = '\0';
	assert_true(vm_decode(&r, v, 0, &d));
	assert_int_equal(at_pc(&d)->address, f.begin);
	assert_true(d.n > 2);
	vm_vmlinux_close(v);
}

#ifdef __x86_64__
/* One byte that was patched at run time is marked; other code altogether is another build's. */
static void test_patched_and_foreign(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_function f = find(v, "fixture_add");
	struct vm_report r = report_at(v, &f, 0);
	unsigned int patched = 0;
	struct vm_decoded d;

	(void)state;
	/* The first byte to nop: `<xx> `. */
	memcpy(r.code + 1, "90", 2);
	assert_true(vm_decode(&r, v, 0, &d));
	assert_true(d.linked);
	for (unsigned int i = 0; i < d.n; i++)
		patched += d.insn[i].patched;
	assert_true(patched >= 1);
	assert_true(at_pc(&d)->patched);
	strcpy(r.code, "<c5> c5 c5 c5 c5 c5 c5 c5 c5 c5 c5 c5 c5 c5 c5 c5");
	vm_decode(&r, v, 0, &d);
	assert_false(d.linked);
	assert_non_null(strstr(d.note, "another build"));
	vm_vmlinux_close(v);
}
#endif

static void test_another_machine_or_module(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_function f = find(v, "fixture_add");
	struct vm_report r = report_at(v, &f, 0);
	struct vm_decoded d;

	(void)state;
	strcpy(r.pc.module, "kvm");
	vm_decode(&r, v, 0, &d);
	assert_false(d.linked);
	assert_non_null(strstr(d.note, "module kvm"));
	r.pc.module[0] = '\0';
	r.arm64 = !r.arm64;
	vm_decode(&r, v, 0, &d);
	assert_false(d.linked);
	assert_non_null(strstr(d.note, "another machine"));
	vm_vmlinux_close(v);
}

static void test_frames(void **state)
{
	struct vm_vmlinux *v = own();
	struct vm_place p = { .offset = 1 };
	char source[128];

	(void)state;
	strcpy(p.symbol, "fixture_add");
	strcpy(p.full, "fixture_add");
	assert_true(vm_decode_frame(v, &p, source, sizeof(source)));
	assert_non_null(strstr(source, "test_decode.c:"));
	strcpy(p.full, "no_such_function");
	assert_false(vm_decode_frame(v, &p, source, sizeof(source)));
	vm_vmlinux_close(v);
}

static void test_no_elf(void **state)
{
	(void)state;
	assert_null(vm_vmlinux_open("/nonexistent/vmlinux", err, sizeof(err)));
	assert_non_null(strstr(err, "cannot read /nonexistent/vmlinux"));
	assert_null(vm_vmlinux_open(VM_SOURCE_DIR "/README.md", err, sizeof(err)));
	assert_non_null(strstr(err, "no ELF file"));
}

int main(void)
{
	volatile int one = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_line),
		cmocka_unit_test(test_x86_alone),
		cmocka_unit_test(test_x86_cut_instruction),
		cmocka_unit_test(test_x86_from_function),
		cmocka_unit_test(test_arm64_alone),
		cmocka_unit_test(test_nothing_to_decode),
		cmocka_unit_test(test_place_in_elf),
		cmocka_unit_test(test_bare_address),
		cmocka_unit_test(test_bytes_of_elf),
#ifdef __x86_64__
		cmocka_unit_test(test_patched_and_foreign),
#endif
		cmocka_unit_test(test_another_machine_or_module),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_no_elf),
	};

	return fixture_add(-1, &one) + cmocka_run_group_tests(tests, NULL, NULL);
}
