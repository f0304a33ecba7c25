/* SPDX-License-Identifier: MIT */
#include "harness/executor/calls/run.h"
#include "harness/executor/fail_nth.h"

/* The pages that [addr, addr + len) overlaps; the caller has bounded len. */
static uint64_t count_pages(uint64_t addr, uint64_t len, uint64_t page_size)
{
	return len ? ((addr & (page_size - 1)) + len + page_size - 1) / page_size : 0;
}

static void touch_page(const struct vm_event *e, uint64_t addr, uint64_t page, uint64_t page_size)
{
	volatile uint64_t *word = (volatile uint64_t *)(uintptr_t)addr;

	switch (e->sc.op) {
	case VM_OP_READ:
		(void)*word;
		break;
	case VM_OP_WRITE:
		*word = vm_write_word(e->call, page);
		break;
	default:
		vm_content_write((void *)(uintptr_t)addr, page_size, vm_fill_tag(e->call, page));
		break;
	}
}

/* Touch pages from *done on; a fault jumps out. */
static void touch_pages(const struct vm_executor *ex, const struct vm_event *e,
			volatile uint64_t *done)
{
	uint64_t page_size = ex->info.layout.page_size;
	uint64_t first = e->sc.arg[0] & ~(page_size - 1);
	uint64_t n = count_pages(e->sc.arg[0], e->sc.arg[1], page_size);

	vm_fault_arm(&ex->area->fault);
	vm_fail_nth_arm();
	for (; *done < n; ++*done)
		touch_page(e, first + *done * page_size, *done, page_size);
	vm_fail_nth_disarm();
	vm_fault_disarm(&ex->area->fault);
}

void vm_run_touch(const struct vm_executor *ex, struct vm_event *e, uint64_t from)
{
	struct vm_fault *f = &ex->area->fault;
	volatile uint64_t done = from;

	if (sigsetjmp(f->env, 0)) {
		vm_fail_nth_disarm();
		e->status = VM_STATUS_FAULTED;
		e->signo = f->signo;
		e->sigcode = f->code;
		e->sigaddr = f->addr;
	} else {
		touch_pages(ex, e, &done);
		e->status = VM_STATUS_DONE;
	}
	e->result = (int64_t)done;
}
