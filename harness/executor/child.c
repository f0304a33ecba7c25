/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/executor/calls/run.h"
#include "harness/executor/child.h"
#include "harness/executor/run.h"

struct child {
	const struct vm_executor *ex;
	struct vm_area *area;
	uint8_t level; /* enum vm_observe */
	bool observed;
	bool full_text;
	bool sealed; /* an mseal has succeeded */
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
	vm_observer_init(&area->obs, &ex->info.layout, &ways, ex->span, ex->nspan);
	area->obs.digest = vm_fault_digest;
	vm_event_writer_init(&area->writer, area->log, VM_LOG_CAP, ex->info.own, ex->info.nown);
	if (ex->opt.inject)
		vm_inject_start(ex);
}

/* What was written so far is the parent's, whatever becomes of this process. */
static void publish(struct child *c)
{
	struct vm_event_writer *w = &c->area->writer;

	atomic_store_explicit(&c->area->log_len, w->len, memory_order_release);
	if (w->full)
		_exit(VM_CHILD_LOG_FULL);
}

static uint32_t look_layout(struct child *c)
{
	uint32_t mask = c->full_text ? 0 : vm_observe_query(&c->area->obs);

	return mask ? mask : vm_observe_text(&c->area->obs);
}

/* Reading smaps is dear: only where a seal may have come, gone or mattered. */
static bool flags_matter(const struct child *c, const struct vm_event *e)
{
	if (!(c->ex->info.features & VM_HAS_SMAPS))
		return false;
	return e->sc.op == VM_OP_MSEAL || (c->sealed && e->result == -EPERM);
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
	if (flags_matter(c, e))
		mask |= vm_observe_flags(o);
	return mask | vm_observe_contents(o);
}

/* All of it: the executor's own VMAs by text, the others with their flags, and contents. */
static uint32_t look_at_end(struct child *c)
{
	struct vm_observer *o = &c->area->obs;
	uint32_t mask = vm_observe_text(o), flags;

	if (mask && c->ex->info.features & VM_HAS_SMAPS) {
		flags = vm_observe_flags(o);
		mask = flags ? mask | flags : vm_observe_smaps(o); /* what disagrees shows */
	}
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
	struct vm_event e = { .kind = kind, .seq_begin = c->seq };

	c->seq += 2;
	finish(c, &e);
}

static void make(struct child *c, struct vm_event *e)
{
	bool inject = c->ex->opt.inject != VM_INJECT_NONE;

	if (inject && vm_inject_before(c->ex, e))
		return;
	if (vm_call_desc(e->sc.op)->nr < 0) {
		vm_run_special(c->ex, e);
	} else {
		e->status = VM_STATUS_DONE;
		e->result = vm_run_syscall(&e->sc);
	}
	if (inject)
		vm_inject_after(c->ex, e);
}

static void run_call(struct child *c, unsigned int i)
{
	const struct vm_call *call = &c->area->prog.call[i];
	const struct vm_target_info *info = &c->ex->info;
	struct vm_event e = { .kind = VM_EVENT_CALL, .call = (uint8_t)i, .seq_begin = c->seq };
	enum vm_withheld withheld;

	c->seq += 2;
	e.sc = vm_call_resolve(call, &info->layout, c->names);
	vm_event_write_begin(&c->area->writer, &e);
	publish(c);
	withheld = vm_call_withheld(&e.sc, &info->layout, info->guard, info->nguard);
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
	finish(c, &e);
}

void vm_child_main(struct vm_executor *ex, const struct vm_run_request *req)
{
	struct child c;

	start(&c, ex, req);
	mark(&c, VM_EVENT_START);
	for (unsigned int i = 0; i < ex->area->prog.ncalls; i++)
		run_call(&c, i);
	mark(&c, VM_EVENT_END);
	_exit(0);
}
