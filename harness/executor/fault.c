/* SPDX-License-Identifier: MIT */
#include "harness/executor/fault.h"

static struct vm_fault *fault;

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
	siglongjmp(fault->env, 1);
}

int vm_fault_install(struct vm_fault *f, void *stack, size_t size)
{
	stack_t ss = { .ss_sp = stack, .ss_size = size };
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	fault = f;
	if (sigaltstack(&ss, NULL) || sigaction(SIGSEGV, &sa, NULL) || sigaction(SIGBUS, &sa, NULL))
		return -1;
	return 0;
}

bool vm_fault_digest(const void *page, size_t page_size, struct vm_content *out)
{
	if (sigsetjmp(fault->env, 0))
		return false;
	fault->armed = 1;
	*out = vm_content_digest(page, page_size);
	fault->armed = 0;
	return true;
}
