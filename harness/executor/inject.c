/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/executor.h"
#include "harness/executor/inject_advice.h"
#include "harness/executor/inject_memory.h"
#include "harness/executor/inject_seal.h"

static uint64_t page_up(const struct vm_executor *ex, uint64_t len)
{
	uint64_t page_size = ex->info.layout.page_size;

	return (len + page_size - 1) & ~(page_size - 1);
}

int64_t vm_inject_call(const struct vm_executor *ex, const struct vm_syscall *sc)
{
	const struct vm_target_info *info = &ex->info;

	if (vm_call_withheld(sc, &info->layout, info->guard, info->nguard) ||
	    vm_call_harmful(sc, &info->layout, info->cap_effective))
		return -EPERM;
	return vm_run_syscall(sc);
}

static int64_t do_munmap(const struct vm_executor *ex, uint64_t addr, uint64_t len)
{
	struct vm_syscall sc = { .op = VM_OP_MUNMAP, .arg = { addr, len } };

	return vm_inject_call(ex, &sc);
}

static int open_mem(void)
{
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

/* The destination as an old kernel leaves it when it unmaps first and checks later. */
static void dest_unmapped(const struct vm_executor *ex, const struct vm_event *e)
{
	if (e->sc.op == VM_OP_MREMAP && e->result < 0 && e->sc.arg[3] & MREMAP_FIXED)
		do_munmap(ex, e->sc.arg[4], e->sc.arg[2]);
}

static void tail_cut(const struct vm_executor *ex, const struct vm_event *e)
{
	uint64_t len = page_up(ex, e->sc.arg[1]), page_size = ex->info.layout.page_size;

	if (e->sc.op == VM_OP_MREMAP && e->result < 0 && len > page_size)
		do_munmap(ex, e->sc.arg[0] + len - page_size, page_size);
}

/* A munmap that meets a seal half-way. */
static void partial_munmap(const struct vm_executor *ex, const struct vm_event *e)
{
	struct vm_observer *o = &ex->area->inject.obs;
	uint64_t start = e->sc.arg[0], end = start + page_up(ex, e->sc.arg[1]);

	if (e->sc.op != VM_OP_MUNMAP || e->result != -EPERM || !vm_observe_smaps(o))
		return;
	for (uint32_t i = 0; i < o->nvma; i++) {
		const struct vm_vma *vma = &o->vma[i];

		if (vma->end <= start || !(vma->flags >> VM_FLAG_SL & 1))
			continue;
		if (vma->start > start && vma->start < end)
			do_munmap(ex, start, vma->start - start);
		return;
	}
}

static bool moved(const struct vm_event *e)
{
	return e->sc.op == VM_OP_MREMAP && e->result >= 0 && e->sc.arg[1] &&
	       (uint64_t)e->result != e->sc.arg[0];
}

static void zero_page(const struct vm_executor *ex, uint64_t addr)
{
	uint64_t page_size = ex->info.layout.page_size;
	char *zeros = ex->area->inject.obs.raw;
	int fd = open_mem();

	for (uint64_t i = 0; i < page_size; i++)
		zeros[i] = 0;
	if (fd >= 0) {
		if (pwrite(fd, zeros, page_size, (off_t)addr) < 0)
			ex->area->inject.refused++;
		close(fd);
	}
}

/* The first page with bytes at the new place loses them. */
static void page_zeroed(const struct vm_executor *ex, const struct vm_event *e)
{
	struct vm_observer *o = &ex->area->inject.obs;
	uint64_t start = (uint64_t)e->result;

	if (!moved(e) || !vm_observe_text(o) || !vm_observe_contents(o))
		return;
	for (uint32_t i = 0; i < o->npage; i++) {
		const struct vm_page *page = &o->page[i];

		if (page->addr < start || page->addr >= start + page_up(ex, e->sc.arg[2]) ||
		    (!page->content.head && !page->content.rest))
			continue;
		zero_page(ex, page->addr);
		return;
	}
}

static void neighbour_unmapped(const struct vm_executor *ex, const struct vm_event *e)
{
	bool unmapped = e->sc.op == VM_OP_MUNMAP && e->result == 0;

	if (unmapped || moved(e))
		do_munmap(ex, e->sc.arg[0] + page_up(ex, e->sc.arg[1]), ex->info.layout.page_size);
}

static void neighbour_protected(const struct vm_executor *ex, const struct vm_event *e)
{
	uint64_t page_size = ex->info.layout.page_size;
	struct vm_syscall sc = { .op = VM_OP_MPROTECT };

	if (e->sc.op != VM_OP_MPROTECT || e->result || !e->sc.arg[1])
		return;
	sc.arg[0] = e->sc.arg[0] + page_up(ex, e->sc.arg[1]);
	sc.arg[1] = page_size;
	sc.arg[2] = e->sc.arg[2];
	vm_inject_call(ex, &sc);
}

static void wrong_errno(struct vm_event *e)
{
	static const int instead[][2] = {
		{ EFAULT, EINVAL }, { EINVAL, EFAULT }, { ENOMEM, EFAULT },
		{ EPERM, EACCES },  { EACCES, EPERM },	{ EEXIST, EINVAL },
	};

	if (e->status != VM_STATUS_DONE || e->result >= 0)
		return;
	for (size_t i = 0; i < sizeof(instead) / sizeof(instead[0]); i++) {
		if (e->result == -instead[i][0]) {
			e->result = -instead[i][1];
			return;
		}
	}
}

/* As if the page tables let every write through. */
static void rights_ignored(const struct vm_executor *ex, struct vm_event *e)
{
	uint64_t page_size = ex->info.layout.page_size;
	uint64_t first = e->sc.arg[0] & ~(page_size - 1);
	int fd = -1;

	while (e->sc.op == VM_OP_WRITE && e->status == VM_STATUS_FAULTED && e->signo == SIGSEGV &&
	       (e->sigcode == SEGV_ACCERR || e->sigcode == SEGV_PKUERR)) {
		uint64_t page = (uint64_t)e->result, word = vm_write_word(e->call, page);

		if (fd < 0)
			fd = open_mem();
		if (fd < 0 || pwrite(fd, &word, sizeof(word), (off_t)(first + page * page_size)) !=
				      (ssize_t)sizeof(word))
			break;
		e->signo = e->sigcode = 0;
		e->sigaddr = 0;
		vm_run_touch(ex, e, page + 1);
	}
	if (fd >= 0)
		close(fd);
}

static bool may_do_nothing(uint8_t op)
{
	return op == VM_OP_MUNMAP || op == VM_OP_MPROTECT || op == VM_OP_PKEY_MPROTECT ||
	       op == VM_OP_REMAP_FILE_PAGES || op == VM_OP_MSYNC || op == VM_OP_NAME ||
	       op == VM_OP_MDWE || op == VM_OP_BRK || op == VM_OP_PKEY_FREE || op == VM_OP_MBIND ||
	       op == VM_OP_HOME_NODE;
}

/* munmap, mprotect and their like that would have had something to do. */
static bool success_for_nothing(const struct vm_executor *ex, struct vm_event *e)
{
	struct vm_range range[2] = { { 0, 0 }, { 0, 0 } };

	if (!may_do_nothing(e->sc.op))
		return false;
	vm_call_desc(e->sc.op)->footprint(&e->sc, &ex->info.layout, range);
	if (e->sc.op != VM_OP_MDWE && e->sc.op != VM_OP_PKEY_FREE && range[0].start >= range[0].end)
		return false;
	e->status = VM_STATUS_DONE;
	e->result = e->sc.op == VM_OP_BRK ? (int64_t)e->sc.arg[0] : 0;
	return true;
}

void vm_inject_kept(const struct vm_executor *ex, struct vm_observer *o)
{
	const struct vm_layout *l = &ex->info.layout;
	struct vm_vma page = { .start = l->arena_base,
			       .end = l->arena_base + l->page_size,
			       .mode = VM_MODE_R };

	if (!o->nvma)
		o->vma[o->nvma++] = page;
}

void vm_inject_forked(const struct vm_executor *ex)
{
	if (ex->opt.inject == VM_INJECT_FORK_UNSEALS)
		vm_inject_unseal(ex);
}

/* The child's writes are made once more, in the parent. */
void vm_inject_joined(const struct vm_executor *ex, unsigned int first, unsigned int end,
		      const uint64_t names[VM_NAME_SLOTS])
{
	const struct vm_target_info *info = &ex->info;

	for (unsigned int i = first + 1; ex->opt.inject == VM_INJECT_FORK_NOT_COPIED && i < end;
	     i++) {
		const struct vm_call *call = &ex->area->prog.call[i];
		struct vm_event e = { .call = (uint8_t)i };

		if (call->op != VM_OP_WRITE && call->op != VM_OP_FILL)
			continue;
		e.sc = vm_call_resolve(call, &info->layout, names);
		if (!vm_call_withheld(&e.sc, &info->layout, info->guard, info->nguard))
			vm_run_touch(ex, &e, 0);
	}
}

/* Locking and unlocking of what an intact kernel would look at. */
static bool lock_ignored(struct vm_event *e)
{
	uint8_t op = e->sc.op;

	if (op != VM_OP_MLOCK && op != VM_OP_MLOCK2 && op != VM_OP_MUNLOCK &&
	    op != VM_OP_MLOCKALL && op != VM_OP_MUNLOCKALL)
		return false;
	e->status = VM_STATUS_DONE;
	e->result = 0;
	return true;
}

/* A truncate of what has a size to change. */
static bool size_kept(struct vm_event *e)
{
	if (e->sc.op != VM_OP_TRUNCATE || !e->sc.arg[0])
		return false;
	e->status = VM_STATUS_DONE;
	e->result = 0;
	return true;
}

static void locks_counted(const struct vm_executor *ex, const struct vm_event *e)
{
	if (e->sc.op == VM_OP_MUNLOCK && e->result == 0)
		ex->area->inject.unlocked += page_up(ex, e->sc.arg[1]) / ex->info.layout.page_size;
}

static bool ignored(const struct vm_executor *ex, struct vm_event *e)
{
	if ((int)ex->opt.inject != VM_INJECT_IGNORED + e->sc.op)
		return false;
	e->status = VM_STATUS_DONE;
	e->result = 0;
	return true;
}

void vm_inject_start(const struct vm_executor *ex)
{
	struct vm_observer *o = &ex->area->inject.obs;

	vm_observer_init(o, ex->area->inject.text, &ex->info.layout, &ex->ways, ex->span,
			 ex->nspan);
	o->digest = vm_fault_digest;
	ex->area->inject.refused = 0;
	ex->area->inject.unlocked = 0;
}

bool vm_inject_before(const struct vm_executor *ex, struct vm_event *e)
{
	if (ex->opt.inject >= VM_INJECT_IGNORED)
		return ignored(ex, e);
	switch (ex->opt.inject) {
	case VM_INJECT_SUCCESS_FOR_NOTHING:
		return success_for_nothing(ex, e);
	case VM_INJECT_SEAL_IGNORED_MUNMAP:
		return vm_inject_seal(ex, e, VM_OP_MUNMAP);
	case VM_INJECT_SEAL_IGNORED_MMAP:
		return vm_inject_seal(ex, e, VM_OP_MMAP);
	case VM_INJECT_SEAL_IGNORED_MREMAP:
		return vm_inject_seal(ex, e, VM_OP_MREMAP);
	case VM_INJECT_SEAL_IGNORED_MPROTECT:
		return vm_inject_seal(ex, e, VM_OP_MPROTECT);
	case VM_INJECT_SEAL_IGNORED_SHMAT:
		return vm_inject_seal(ex, e, VM_OP_SHMAT);
	case VM_INJECT_SEAL_IGNORED_MADVISE:
		return vm_inject_seal(ex, e, VM_OP_MADVISE);
	case VM_INJECT_SEAL_LOST:
	case VM_INJECT_FORK_UNSEALS:
		return vm_inject_seal(ex, e, VM_OP_COUNT);
	case VM_INJECT_LOCK_IGNORED:
		return lock_ignored(e);
	case VM_INJECT_SIZE_KEPT:
		return size_kept(e);
	case VM_INJECT_HUGE_UNRESERVED:
		return vm_inject_memory_before(ex, e);
	default:
		return vm_inject_advice_before(ex, e);
	}
}

void vm_inject_after(const struct vm_executor *ex, struct vm_event *e)
{
	switch (ex->opt.inject) {
	case VM_INJECT_DEST_UNMAPPED:
		dest_unmapped(ex, e);
		break;
	case VM_INJECT_TAIL_CUT:
		tail_cut(ex, e);
		break;
	case VM_INJECT_PARTIAL_MUNMAP:
		partial_munmap(ex, e);
		break;
	case VM_INJECT_PAGE_ZEROED:
		page_zeroed(ex, e);
		break;
	case VM_INJECT_NEIGHBOUR_UNMAPPED:
		neighbour_unmapped(ex, e);
		break;
	case VM_INJECT_NEIGHBOUR_PROTECTED:
		neighbour_protected(ex, e);
		break;
	case VM_INJECT_WRONG_ERRNO:
		wrong_errno(e);
		break;
	case VM_INJECT_RESIDENCE_WRONG:
		if (e->sc.op == VM_OP_MINCORE && e->result >= 0)
			e->result ^= 1;
		break;
	case VM_INJECT_RIGHTS_IGNORED:
		rights_ignored(ex, e);
		break;
	case VM_INJECT_LOCKS_COUNTED:
		locks_counted(ex, e);
		break;
	case VM_INJECT_STACK_GAP_IGNORED:
		vm_inject_memory_after(ex, e);
		break;
	default:
		vm_inject_advice_after(ex, e);
		break;
	}
}
