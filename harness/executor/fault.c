/* SPDX-License-Identifier: MIT */
#include "harness/executor/fault.h"

#ifdef __x86_64__
#include <cpuid.h>

/* CPUID 7, 0: ECX bit 4 is OSPKE, the kernel has switched protection keys on. */
static bool has_keys(void)
{
	unsigned int a, b, c = 0, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1u << 4;
}

/* rdpkru and wrpkru as bytes: no compiler flag is needed. */
static uint32_t read_rights(void)
{
	uint32_t a, d;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(a), "=d"(d) : "c"(0));
	return a;
}

static void write_rights(uint32_t rights)
{
	__asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(rights), "c"(0), "d"(0) : "memory");
}
#else
static bool has_keys(void)
{
	return false;
}

static uint32_t read_rights(void)
{
	return 0;
}

static void write_rights(uint32_t rights)
{
	(void)rights;
}
#endif

static struct vm_fault *fault;
static bool keys;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (!fault->armed) {
		signal(signo, SIG_DFL); /* the access is made again, and kills */
		return;
	}
	fault->armed = 0;
	fault->signo = signo;
	fault->code = info->si_code;
	fault->addr = (uintptr_t)info->si_addr;
	if (keys)
		write_rights(fault->rights);
	siglongjmp(fault->env, 1);
}

int vm_fault_install(struct vm_fault *f, void *stack, size_t size)
{
	stack_t ss = { .ss_sp = stack, .ss_size = size };
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	fault = f;
	keys = has_keys();
	if (sigaltstack(&ss, NULL) || sigaction(SIGSEGV, &sa, NULL) || sigaction(SIGBUS, &sa, NULL))
		return -1;
	return 0;
}

void vm_fault_arm(struct vm_fault *f)
{
	if (keys)
		f->rights = read_rights();
	f->armed = 1;
}

void vm_fault_disarm(struct vm_fault *f)
{
	f->armed = 0;
}

bool vm_fault_digest(const void *page, size_t page_size, struct vm_content *out)
{
	if (sigsetjmp(fault->env, 0))
		return false;
	vm_fault_arm(fault);
	*out = vm_content_digest(page, page_size);
	vm_fault_disarm(fault);
	return true;
}
