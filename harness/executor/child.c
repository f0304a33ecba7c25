/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/child.h"
#include "harness/executor/fail_nth.h"
#include "harness/executor/preamble.h"
#include "harness/executor/run.h"
#include "harness/program/advice.h"

struct child {
	const struct vm_executor *ex;
	struct vm_area *area;
	uint8_t level; /* enum vm_observe */
	bool observed;
	bool full_text;
	bool sealed;	 /* an mseal has succeeded */
	bool joined;	 /* a forked child has ended, and the next call is the `end` that says so */
	uint64_t huge;	 /* bytes of the largest pages that may have been mapped (MAP_HUGETLB) */
	bool locks;	 /* something may have been locked */
	bool cover;	 /* kcov traces this process */
	bool compares;	 /* ... what is compared, not where it goes */
	uint16_t space;	 /* 1 in a forked child, else 0 */
	uint64_t traced; /* entries of kcov's buffer that belong to the call at hand */
	uint64_t mapped; /* bytes that the last look has seen */
	int report[2];	 /* in a forked child: a pipe for what it becomes by exec; else -1 */
	uint32_t seq;
	uint64_t names[VM_NAME_SLOTS];
};

/* The protocol's descriptors are not the child's business. */
static void close_protocol(void)
{
	if (syscall(VM_NR_CLOSE_RANGE, 0, 2, 0) == 0)
		return;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
}

static void start(struct child *c, struct vm_executor *ex, const struct vm_run_request *req)
{
	struct vm_area *area = ex->area;
	struct vm_observe_ways ways = ex->ways;

	*c = (struct child){ .ex = ex, .area = area, .level = area->prog.observe };
	c->observed = !(req->flags & VM_RUN_UNOBSERVED);
	c->full_text = req->flags & VM_RUN_FULL_TEXT || !ways.query;
	close_protocol();
	if (!ex->namespaced)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (area->prog.preamble.words && !vm_preamble_give(ex))
		_exit(VM_CHILD_NO_PREAMBLE);
	vm_observer_init(&area->obs, area->text, &ex->info.layout, &ways, ex->span, ex->nspan);
	area->obs.digest = vm_fault_digest;
	vm_event_writer_init(&area->writer, area->log, VM_LOG_CAP, ex->info.own, ex->info.nown);
	if (ex->opt.inject)
		vm_inject_start(ex);
	c->compares = req->flags & VM_RUN_COMPARE;
	if (req->flags & (VM_RUN_COVER | VM_RUN_COMPARE))
		c->cover = vm_kcov_start(&ex->kcov, VM_KCOV_PROGRAM, c->compares);
}

static enum vm_kcov_who traced_as(const struct child *c)
{
	return c->space ? VM_KCOV_FORKED : VM_KCOV_PROGRAM;
}

static void trace_begin(struct child *c)
{
	if (c->cover)
		vm_kcov_reset(&c->ex->kcov, traced_as(c));
}

/* What follows is traced too, but not the call's. */
static void trace_end(struct child *c)
{
	if (c->cover)
		c->traced = vm_kcov_count(&c->ex->kcov, traced_as(c));
}

/*
 * vm_call_withheld(), and what only run time tells: lengths that mremap rounds up to huge pages, if
 * there may be some; default huge pages of another size than the rest takes them to be; and more of
 * a pool than a program needs, since others need it too.
 */
static enum vm_withheld may_not(struct child *c, const struct vm_syscall *sc)
{
	const struct vm_target_info *info = &c->ex->info;
	struct vm_syscall wide = *sc;
	enum vm_withheld narrow = vm_call_withheld(sc, &info->layout, info->guard, info->nguard);
	bool huge = sc->op == VM_OP_MMAP && sc->arg[3] & MAP_HUGETLB &&
		    info->features & (VM_HAS_HUGE_2MB | VM_HAS_HUGE_1GB | VM_HAS_HUGE_DEFAULT);

	if (huge && !VM_MAP_HUGE_CODE(sc->arg[3]) && !(info->features & VM_HAS_HUGE_DEFAULT))
		return VM_WITHHELD_GUARD;
	if (huge && info->features & VM_HAS_HUGE_POOL && sc->arg[1] > VM_LOCK_MAX)
		return VM_WITHHELD_MEMORY;
	if (huge && c->huge < info->layout.pud_size)
		c->huge = VM_MAP_HUGE_CODE(sc->arg[3]) == 30 ? info->layout.pud_size
							     : info->layout.pmd_size;
	for (int i = 1; c->huge && sc->op == VM_OP_MREMAP && i <= 2; i++)
		if (sc->arg[i] < info->layout.task_size)
			wide.arg[i] = (sc->arg[i] + c->huge - 1) & ~(c->huge - 1);
	return narrow ? narrow : vm_call_withheld(&wide, &info->layout, info->guard, info->nguard);
}

/* What was written so far is the parent's, whatever becomes of this process. */
static void publish(struct child *c)
{
	struct vm_event_writer *w = &c->area->writer;

	atomic_store_explicit(&c->area->log_len, w->len, memory_order_release);
	if (w->full)
		_exit(VM_CHILD_LOG_FULL);
}

/* Write what kcov told of a call, once the call itself is written. */
static void tell_cover(struct child *c, struct vm_event *e)
{
	const struct vm_kcov *k = &c->ex->kcov;

	if (!c->cover || !c->traced)
		return;
	if (c->compares)
		vm_kcov_compares(k, traced_as(c), c->traced, &c->area->kcov, &e->cover);
	else
		vm_kcov_edges(k, traced_as(c), c->traced, &c->area->kcov, &e->cover);
	c->traced = 0;
	vm_event_write_cover(&c->area->writer, e);
	publish(c);
}

static uint32_t look_layout(struct child *c)
{
	uint32_t mask = c->full_text ? 0 : vm_observe_query(&c->area->obs);

	return mask ? mask : vm_observe_text(&c->area->obs);
}

static bool changes_locks(uint8_t op)
{
	return op == VM_OP_MLOCK || op == VM_OP_MLOCK2 || op == VM_OP_MUNLOCK ||
	       op == VM_OP_MLOCKALL || op == VM_OP_MUNLOCKALL;
}

static bool sets_flags(const struct vm_syscall *sc)
{
	return (sc->op == VM_OP_MADVISE || sc->op == VM_OP_PROCESS_MADVISE) &&
	       vm_advice_is_flags(vm_advice(sc->arg[2]));
}

/* Has what was just looked at another size than at the look before? */
static bool resized(struct child *c)
{
	const struct vm_observer *o = &c->area->obs;
	uint64_t before = c->mapped;

	c->mapped = 0;
	for (uint32_t i = 0; i < o->nvma; i++)
		c->mapped += o->vma[i].end - o->vma[i].start;
	return c->mapped != before;
}

/* Reading smaps is dear: only where a seal, a lock or a flag may have come, gone or mattered. */
static bool flags_matter(const struct child *c, const struct vm_event *e, bool resized)
{
	if (!(c->ex->info.features & VM_HAS_SMAPS))
		return false;
	if (vm_call_is_touch(e->sc.op)) /* what grows down has grown, with flags and seal */
		return resized;
	if (sets_flags(&e->sc))
		return true;
	if (e->sc.op == VM_OP_PKEY_MPROTECT && e->sc.arg[3] != UINT32_MAX)
		return e->result == 0;
	if (e->sc.op == VM_OP_FORK || e->sc.op == VM_OP_END)
		return e->status == VM_STATUS_DONE;
	if (c->locks && (e->sc.op == VM_OP_MREMAP || (e->sc.op == VM_OP_MMAP && e->result >= 0)))
		return true;
	/* shmdt succeeds where seals keep it from doing anything */
	return e->sc.op == VM_OP_MSEAL || changes_locks(e->sc.op) ||
	       (c->sealed && (e->result == -EPERM || e->sc.op == VM_OP_SHMDT));
}

static uint32_t look_after_call(struct child *c, const struct vm_event *e)
{
	struct vm_observer *o = &c->area->obs;
	uint32_t mask;

	if (c->level == VM_OBSERVE_END)
		return 0;
	mask = look_layout(c);
	if (c->level == VM_OBSERVE_MAPS || !mask)
		return mask;
	if (flags_matter(c, e, resized(c)))
		mask |= vm_observe_flags(o);
	return mask | vm_observe_contents(o);
}

/*
 * Reading status and statm costs a fifth of a plain program: after locks, which they alone count,
 * and in every eighth other program (by its length, so that a program is always looked at in one
 * way).
 */
static bool totals_matter(const struct child *c)
{
	return c->locks || c->area->prog.ncalls % 8 == 0;
}

/* All of it: the executor's own VMAs by text, the others with their flags, contents, totals. */
static uint32_t look_at_end(struct child *c)
{
	struct vm_observer *o = &c->area->obs;
	uint32_t mask = vm_observe_text(o), flags;

	if (mask && c->ex->info.features & VM_HAS_SMAPS) {
		flags = vm_observe_flags(o);
		mask = flags ? mask | flags : vm_observe_smaps(o); /* what disagrees shows */
	}
	if (mask && totals_matter(c))
		mask |= vm_observe_totals(o);
	return mask ? mask | vm_observe_contents(o) : 0;
}

static uint32_t look(struct child *c, const struct vm_event *e)
{
	if (e->kind == VM_EVENT_START) /* the own VMAs are those of any fresh child */
		return look_layout(c);
	if (e->kind == VM_EVENT_END)
		return look_at_end(c);
	return look_after_call(c, e);
}

/* Look, and write the end of an event. */
static void finish(struct child *c, struct vm_event *e)
{
	struct vm_observer *o = &c->area->obs;
	uint32_t mask = c->observed ? look(c, e) : 0;

	if (c->ex->opt.inject && mask)
		vm_inject_look(c->ex, o);
	vm_observer_snapshot(o, mask, &e->after);
	e->seq_end = e->seq_begin + 1;
	vm_event_write_end(&c->area->writer, e);
	publish(c);
}

static void mark(struct child *c, enum vm_event_kind kind)
{
	struct vm_event e = {
		.kind = kind, .actor = c->space, .space = c->space, .seq_begin = c->seq
	};

	c->seq += 2;
	finish(c, &e);
}

static void make(struct child *c, struct vm_event *e)
{
	bool inject = c->ex->opt.inject != VM_INJECT_NONE;

	if (inject && vm_inject_before(c->ex, e))
		return;
	vm_fail_nth_ask(c->ex, c->area->prog.call[e->call].fail_nth);
	trace_begin(c);
	if (vm_call_desc(e->sc.op)->nr < 0) {
		vm_run_special(c->ex, e);
	} else {
		e->status = VM_STATUS_DONE;
		e->result = vm_run_syscall(&e->sc);
	}
	trace_end(c);
	vm_fail_nth_answer(e);
	if (inject)
		vm_inject_after(c->ex, e);
}

static void begin_call(struct child *c, unsigned int i, struct vm_event *e)
{
	*e = (struct vm_event){ .kind = VM_EVENT_CALL,
				.call = (uint8_t)i,
				.actor = c->space,
				.space = c->space,
				.seq_begin = c->seq };
	c->seq += 2;
	e->sc = vm_call_resolve(&c->area->prog.call[i], &c->ex->info.layout, c->names);
	vm_event_write_begin(&c->area->writer, e);
	publish(c);
}

/* Where the child of the fork `i` stops: the next `end`, or the end of the program. */
static unsigned int child_end(const struct child *c, unsigned int i)
{
	while (i < c->area->prog.ncalls && c->area->prog.call[i].op != VM_OP_END)
		i++;
	return i;
}

/* The child uses the area that the parent used, and the parent goes on with it after the child. */
static void hand_over_observers(struct child *c, void (*hand_over)(struct vm_observer *o))
{
	hand_over(&c->area->obs);
	if (c->ex->opt.inject)
		hand_over(&c->area->inject.obs);
}

static void begin_child(struct child *c, struct vm_event *e, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	c->space = e->actor = e->space = 1;
	vm_fail_nth_forked(e);
	c->cover = c->cover && vm_kcov_start(&c->ex->kcov, VM_KCOV_FORKED, c->compares);
	if (c->ex->opt.inject)
		vm_inject_forked(c->ex);
	finish(c, e);
}

/* The child became another program by the call that it has begun: write what that saw. */
static void finish_exec(struct child *c)
{
	const struct vm_target_info *info = &c->ex->info;
	struct vm_event e = { .kind = VM_EVENT_CALL, .actor = 1, .space = 1 };
	struct vm_observer *o = &c->area->obs;
	struct vm_exec_report report;

	close(c->report[1]);
	if (read(c->report[0], &report, sizeof(report)) == (ssize_t)sizeof(report)) {
		e.call = (uint8_t)report.call;
		e.sc.op = VM_OP_EXEC;
		e.seq_begin = c->seq - 2;
		e.seq_end = c->seq - 1;
		o->nvma = o->nown = o->npage = 0;
		for (uint32_t i = 0; i < report.nvma && i < VM_EXEC_MAX_VMAS; i++)
			if (!vm_is_guarded(info, report.vma[i].start))
				o->vma[o->nvma++] = report.vma[i];
		if (c->ex->opt.inject == VM_INJECT_EXEC_KEEPS)
			vm_inject_kept(c->ex, o);
		vm_observer_snapshot(o, c->observed ? VM_SEEN_MAPS : 0, &e.after);
		vm_event_write_end(&c->area->writer, &e);
		publish(c);
		c->seq = c->area->writer.next_seq;
	}
	close(c->report[0]);
}

/* As fork(), with all in place for a child that runs calls; EAGAIN where none can be had. */
static pid_t fork_child(struct child *c, struct vm_event *e)
{
	pid_t child;
	int why;

	if (c->space || pipe2(c->report, O_CLOEXEC)) {
		errno = EAGAIN;
		return -1;
	}
	vm_run_all_objects();
	hand_over_observers(c, vm_observer_close);
	vm_fail_nth_ask(c->ex, c->area->prog.call[e->call].fail_nth);
	trace_begin(c);
	child = vm_run_fork();
	why = errno;
	if (child) {
		trace_end(c);
		vm_fail_nth_answer(e);
	}
	if (child < 0) {
		close(c->report[0]);
		close(c->report[1]);
	}
	errno = why;
	return child;
}

/* Returns the index of the call that this process makes next. */
static unsigned int run_fork(struct child *c, unsigned int i)
{
	unsigned int end = child_end(c, i);
	pid_t parent = getpid(), child;
	struct vm_event e;

	begin_call(c, i, &e);
	child = fork_child(c, &e);
	if (child < 0) {
		e.status = errno == EAGAIN ? VM_STATUS_WITHHELD : VM_STATUS_DONE;
		e.result = errno == EAGAIN ? VM_WITHHELD_FORK : -errno;
		finish(c, &e);
		tell_cover(c, &e);
		return i + 1;
	}
	e.status = VM_STATUS_DONE;
	if (child == 0) {
		begin_child(c, &e, parent);
		return i + 1;
	}
	vm_run_join(child);
	hand_over_observers(c, vm_observer_forget);
	c->seq = c->area->writer.next_seq;
	c->joined = true;
	tell_cover(c, &e);
	finish_exec(c);
	if (c->ex->opt.inject)
		vm_inject_joined(c->ex, i, end, c->names);
	return end;
}

static void run_exec(struct child *c, unsigned int i)
{
	struct vm_event e;

	begin_call(c, i, &e);
	e.status = c->space ? VM_STATUS_DONE : VM_STATUS_WITHHELD;
	e.result = c->space ? vm_run_exec(c->report[1], (uint8_t)i) : VM_WITHHELD_FORK;
	finish(c, &e);
}

static void run_end(struct child *c, unsigned int i)
{
	struct vm_event e;

	begin_call(c, i, &e);
	if (!c->joined) {
		e.status = VM_STATUS_WITHHELD;
		e.result = VM_WITHHELD_FORK;
	}
	c->joined = false;
	finish(c, &e);
}

static void run_call(struct child *c, unsigned int i)
{
	const struct vm_call *call = &c->area->prog.call[i];
	const struct vm_target_info *info = &c->ex->info;
	enum vm_withheld withheld;
	struct vm_event e;

	begin_call(c, i, &e);
	withheld = may_not(c, &e.sc);
	if (!withheld && vm_call_harmful(&e.sc, &info->layout, info->cap_effective))
		withheld = VM_WITHHELD_PRIVILEGE;
	if (withheld) {
		e.status = VM_STATUS_WITHHELD;
		e.result = withheld;
	} else {
		make(c, &e);
	}
	if (call->let)
		c->names[call->let] =
			e.status == VM_STATUS_DONE && e.result > 0 ? (uint64_t)e.result : 0;
	if (e.sc.op == VM_OP_MSEAL && e.status == VM_STATUS_DONE && e.result == 0)
		c->sealed = true;
	if (changes_locks(e.sc.op) || (e.sc.op == VM_OP_MMAP && e.sc.arg[3] & MAP_LOCKED))
		c->locks = true;
	finish(c, &e);
	tell_cover(c, &e);
}

/* Every call of the program; a forked child goes through here too, and stops at its `end`. */
static void run_calls(struct child *c)
{
	const struct vm_program *prog = &c->area->prog;
	unsigned int i = 0;

	while (i < prog->ncalls) {
		uint8_t op = prog->call[i].op;

		if (op == VM_OP_FORK) {
			i = run_fork(c, i);
			continue;
		}
		if (op == VM_OP_EXEC)
			run_exec(c, i);
		else if (op != VM_OP_END)
			run_call(c, i);
		else if (c->space)
			return;
		else
			run_end(c, i);
		i++;
	}
}

void vm_child_main(struct vm_executor *ex, const struct vm_run_request *req)
{
	struct child c;

	start(&c, ex, req);
	mark(&c, VM_EVENT_START);
	run_calls(&c);
	mark(&c, VM_EVENT_END);
	_exit(0);
}
