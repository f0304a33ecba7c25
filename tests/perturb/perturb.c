/* SPDX-License-Identifier: MIT */
/*
 * Recorded traces with one field of one step changed: each change must give a verdict that the
 * trace as it was does not give, or be on the list of those that nobody can see, with the reason.
 *
 * usage: perturb TRACE...    exit 0: all seen or excused, 1: a change went unseen, 3: a bad trace
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle/oracle.h"

enum field {
	RESULT_ERRNO,	/* another errno, or one for a success */
	RESULT_SUCCESS, /* a success for an errno */
	RESULT_VALUE,	/* one more page, or one more page done */
	FAULT_SIGNAL,
	FAULT_CODE,
	VMA_GONE,
	VMA_SHORTER,
	VMA_READ,
	VMA_WRITE,
	VMA_EXEC,
	VMA_SHARED,
	VMA_OFFSET,
	VMA_INODE,
	VMA_EXTRA, /* a page behind it that nobody mapped */
	VMA_SEAL,
	VMA_FLAG, /* lo, as an example of VmFlags */
	PAGE_HEAD,
	PAGE_REST,
	PAGE_GONE,
	OWN_SHORTER,
	FIELDS
};

static const char *const names[FIELDS] = {
	"errno",       "success for errno", "value",	   "signal",
	"signal code", "vma gone",	    "vma shorter", "right r",
	"right w",     "right x",	    "sharing",	   "offset",
	"inode",       "extra page",	    "seal",	   "VmFlag lo",
	"first word",  "other words",	    "page gone",   "executor's own vma",
};

struct run {
	const char *path;
	struct vm_judge_scratch *scratch;
	struct vm_trace trace;
	struct vm_judgement as_it_was, changed;
	struct vm_vma vma[VM_SNAPSHOT_MAX_VMAS + 1];
	struct vm_page page[VM_SNAPSHOT_MAX_PAGES];
	struct vm_vma own[VM_MAX_OWN];
	unsigned long tried[FIELDS], unseen[FIELDS], excused[FIELDS];
};

static void judge(struct run *r, struct vm_judgement *out)
{
	struct vm_judge_options opt = { .contract = VM_CONTRACT_EXACT };

	vm_judge(&r->trace, &opt, r->scratch, out);
}

/* Is there a verdict that the trace as it was does not give? */
static bool seen(const struct run *r)
{
	const struct vm_judgement *a = &r->as_it_was, *b = &r->changed;

	if (a->nverdicts != b->nverdicts)
		return true;
	for (uint32_t i = 0; i < a->nverdicts; i++)
		if (a->verdict[i].event != b->verdict[i].event ||
		    a->verdict[i].severity != b->verdict[i].severity ||
		    strcmp(a->verdict[i].title, b->verdict[i].title))
			return true;
	return false;
}

static bool failed(const struct vm_event *e)
{
	return e->result < 0 && e->result >= -4095;
}

/* Change the result of an event; false if this field is not there. */
static bool change_result(struct vm_event *e, enum field field, uint64_t page_size)
{
	if (e->kind != VM_EVENT_CALL)
		return false;
	switch (field) {
	case RESULT_ERRNO:
		if (e->status != VM_STATUS_DONE)
			return false;
		e->result = e->result == -EINVAL ? -EFAULT : -EINVAL;
		return true;
	case RESULT_SUCCESS:
		if (e->status != VM_STATUS_DONE || !failed(e))
			return false;
		e->result = vm_call_desc(e->sc.op)->returns_addr ? (int64_t)e->sc.arg[0] : 0;
		return !failed(e); /* an address may read as the error that it is */
	case RESULT_VALUE:
		if ((e->status != VM_STATUS_DONE && e->status != VM_STATUS_FAULTED) || failed(e))
			return false;
		e->result += vm_call_desc(e->sc.op)->returns_addr ? (int64_t)page_size : 1;
		return true;
	case FAULT_SIGNAL:
		if (e->status != VM_STATUS_FAULTED)
			return false;
		e->signo = e->signo == SIGBUS ? SIGSEGV : SIGBUS;
		return true;
	case FAULT_CODE:
		if (e->status != VM_STATUS_FAULTED || e->signo != SIGSEGV)
			return false;
		e->sigcode = e->sigcode == SEGV_MAPERR ? SEGV_ACCERR : SEGV_MAPERR;
		return true;
	default:
		return false;
	}
}

static bool gone(struct vm_snapshot *s, struct vm_vma *vma, uint32_t k)
{
	memmove(&vma[k], &vma[k + 1], (s->nvma - k - 1) * sizeof(*vma));
	s->nvma--;
	return true;
}

static bool extra(struct vm_snapshot *s, struct vm_vma *vma, uint32_t k, uint64_t page_size)
{
	if (k + 1 < s->nvma && vma[k + 1].start == vma[k].end)
		return false;
	memmove(&vma[k + 2], &vma[k + 1], (s->nvma - k - 1) * sizeof(*vma));
	vma[k + 1] = vma[k];
	vma[k + 1].start = vma[k].end;
	vma[k + 1].end = vma[k].end + page_size;
	vma[k + 1].offset += vma[k].inode ? vma[k].end - vma[k].start : 0;
	s->nvma++;
	return true;
}

static bool change_vma(struct run *r, struct vm_snapshot *s, enum field field, uint32_t k)
{
	struct vm_vma *v = &r->vma[k];
	uint64_t page = r->trace.info.layout.page_size;

	memcpy(r->vma, s->vma, s->nvma * sizeof(r->vma[0]));
	s->vma = r->vma;
	switch (field) {
	case VMA_GONE:
		return gone(s, r->vma, k);
	case VMA_SHORTER:
		v->end -= page;
		return v->end > v->start || gone(s, r->vma, k);
	case VMA_READ:
		v->mode ^= VM_MODE_R;
		return true;
	case VMA_WRITE:
		v->mode ^= VM_MODE_W;
		return true;
	case VMA_EXEC:
		v->mode ^= VM_MODE_X;
		return true;
	case VMA_SHARED:
		v->mode ^= VM_MODE_S;
		return true;
	case VMA_OFFSET:
		v->offset += page;
		return true;
	case VMA_INODE:
		v->inode += 1000000;
		return true;
	case VMA_EXTRA:
		return extra(s, r->vma, k, page);
	case VMA_SEAL:
		v->flags ^= 1ull << VM_FLAG_SL;
		return v->flags_known;
	default:
		v->flags ^= 1ull << VM_FLAG_LO;
		return v->flags_known;
	}
}

static bool change_page(struct run *r, struct vm_snapshot *s, enum field field, uint32_t k)
{
	memcpy(r->page, s->page, s->npage * sizeof(r->page[0]));
	s->page = r->page;
	if (field == PAGE_HEAD)
		r->page[k].content.head ^= 1;
	else if (field == PAGE_REST)
		r->page[k].content.rest ^= 1;
	else
		memmove(&r->page[k], &r->page[k + 1], (--s->npage - k) * sizeof(r->page[0]));
	return true;
}

static bool change_own(struct run *r, struct vm_snapshot *s, uint32_t k)
{
	memcpy(r->own, s->own, s->nown * sizeof(r->own[0]));
	s->own = r->own;
	r->own[k].end -= r->trace.info.layout.page_size;
	return true;
}

/* How many of a field an event has. */
static uint32_t count(const struct vm_event *e, enum field field)
{
	const struct vm_snapshot *s = &e->after;

	if (field < VMA_GONE)
		return 1;
	if (field < PAGE_HEAD)
		return s->mask & VM_SEEN_MAPS ? s->nvma : 0;
	if (field == OWN_SHORTER)
		return s->mask & VM_SEEN_OWN ? s->nown : 0;
	return s->mask & VM_SEEN_CONTENTS ? s->npage : 0;
}

static bool change(struct run *r, struct vm_event *e, enum field field, uint32_t k)
{
	if (field < VMA_GONE)
		return change_result(e, field, r->trace.info.layout.page_size);
	if (field < PAGE_HEAD)
		return change_vma(r, &e->after, field, k);
	if (field == OWN_SHORTER)
		return change_own(r, &e->after, k);
	return change_page(r, &e->after, field, k);
}

static const struct vm_vma *vma_of(const struct vm_snapshot *s, uint64_t addr)
{
	for (uint32_t i = 0; i < s->nvma; i++)
		if (s->vma[i].start <= addr && addr < s->vma[i].end)
			return &s->vma[i];
	return NULL;
}

/* Is the object of a VMA seen at any other time, so that its identity can be compared? */
static bool seen_once(const struct run *r, uint32_t event, const struct vm_vma *v)
{
	for (uint32_t i = 0; i < r->trace.nevents; i++) {
		const struct vm_snapshot *s = &r->trace.event[i].after;

		for (uint32_t k = 0; i != event && k < s->nvma; k++)
			if (s->vma[k].inode == v->inode && s->vma[k].dev == v->dev)
				return false;
	}
	return true;
}

/* Was the page given to MADV_FREE before, by this address? */
static bool freed(const struct run *r, uint32_t event, uint64_t addr)
{
	for (uint32_t i = 0; i <= event; i++) {
		const struct vm_event *e = &r->trace.event[i];

		if (e->kind == VM_EVENT_CALL && e->sc.op == VM_OP_MADVISE &&
		    e->sc.arg[2] == MADV_FREE && addr >= e->sc.arg[0] &&
		    addr - e->sc.arg[0] < e->sc.arg[1])
			return true;
	}
	return false;
}

/* Is the page droppable, as any look shows? */
static bool droppable(const struct run *r, uint64_t addr)
{
	for (uint32_t i = 0; i < r->trace.nevents; i++) {
		const struct vm_vma *v = vma_of(&r->trace.event[i].after, addr);

		if (v && v->flags_known && v->flags >> VM_FLAG_DP & 1)
			return true;
	}
	return false;
}

/* Did an object end inside a page before? */
static bool cut(const struct run *r, uint32_t event)
{
	for (uint32_t i = 0; i <= event; i++) {
		const struct vm_event *e = &r->trace.event[i];

		if (e->kind == VM_EVENT_CALL && e->sc.op == VM_OP_TRUNCATE &&
		    e->sc.arg[1] % r->trace.info.layout.page_size)
			return true;
	}
	return false;
}

/*
 * The list: why nobody can see this change, or NULL. `e` is the event as it was.
 */
static const char *excuse(const struct run *r, const struct vm_event *e, uint32_t event,
			  enum field field, uint32_t k)
{
	const struct vm_snapshot *s = &e->after;
	const struct vm_vma *v;

	switch (field) {
	case RESULT_VALUE:
		v = vma_of(s, e->sc.arg[0]);
		if (e->sc.op == VM_OP_MINCORE && v && v->inode)
			return "whether a page of an object is there is the page cache's matter";
		/* fallthrough */
	case RESULT_ERRNO:
	case RESULT_SUCCESS:
		return r->as_it_was.call[event].strictness == VM_SET_VALUED
			       ? "the rule allows several results"
			       : NULL;
	case PAGE_REST:
		v = vma_of(s, s->page[k].addr);
		return v && v->inode && cut(r, event)
			       ? "bytes behind the end of an object may be anything"
			       : NULL;
	case PAGE_GONE:
		v = vma_of(s, s->page[k].addr);
		if (freed(r, event, s->page[k].addr))
			return "a page that was freed may go at any time";
		if (droppable(r, s->page[k].addr))
			return "droppable memory may go at any time";
		if (!s->page[k].content.head && !s->page[k].content.rest)
			return "a page that is not present reads as zero";
		if (v && v->mode & VM_MODE_S)
			return "the object keeps a shared page that is not mapped";
		if (v && v->inode)
			return "a private page that was not written is the object's";
		return NULL;
	case VMA_INODE:
		return seen_once(r, event, &s->vma[k])
			       ? "an object's inode is learnt when it is first seen"
			       : NULL;
	case FAULT_CODE:
		return e->sc.arg[0] >= r->trace.info.layout.task_size
			       ? "beyond TASK_SIZE the architecture chooses the code"
			       : NULL;
	default:
		return NULL;
	}
}

static void describe(const struct run *r, const struct vm_event *e, uint32_t event,
		     enum field field, uint32_t k)
{
	char call[256] = "start or end";

	if (e->kind == VM_EVENT_CALL)
		vm_text_print_call(&r->trace.prog.call[e->call], call, sizeof(call));
	printf("unseen: %s: event %u (%s): %s %u changed\n", r->path, event, call, names[field], k);
}

static void perturb_event(struct run *r, uint32_t event, enum field field)
{
	struct vm_event *e = &r->trace.event[event], as_it_was = *e;

	for (uint32_t k = 0; k < count(&as_it_was, field); k++) {
		if (change(r, e, field, k)) {
			r->tried[field]++;
			judge(r, &r->changed);
			if (seen(r)) {
				;
			} else if (excuse(r, &as_it_was, event, field, k)) {
				r->excused[field]++;
			} else {
				r->unseen[field]++;
				describe(r, &as_it_was, event, field, k);
			}
		}
		*e = as_it_was;
	}
}

static int perturb_trace(struct run *r, const char *path)
{
	char err[256];

	r->path = path;
	if (vm_trace_load(path, &r->trace, err, sizeof(err))) {
		fprintf(stderr, "perturb: %s\n", err);
		return -1;
	}
	judge(r, &r->as_it_was);
	if (r->as_it_was.worst == VM_VIOLATION)
		return 0; /* what follows from a violation is not judged */
	for (uint32_t i = 0; i < r->trace.nevents; i++)
		for (int field = 0; field < FIELDS; field++)
			perturb_event(r, i, (enum field)field);
	return 0;
}

int main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	unsigned long unseen = 0, tried = 0;
	int status = 0;

	if (!r || argc < 2) {
		fprintf(stderr, "usage: perturb TRACE...\n");
		return 3;
	}
	r->scratch = vm_judge_scratch_new();
	for (int i = 1; i < argc && !status; i++)
		status = perturb_trace(r, argv[i]) ? 3 : 0;
	printf("%-20s %8s %8s %8s\n", "field", "changes", "excused", "unseen");
	for (int f = 0; f < FIELDS; f++) {
		printf("%-20s %8lu %8lu %8lu\n", names[f], r->tried[f], r->excused[f],
		       r->unseen[f]);
		unseen += r->unseen[f];
		tried += r->tried[f];
	}
	vm_trace_free(&r->trace);
	vm_judge_scratch_free(r->scratch);
	free(r);
	if (!status && !tried) {
		fprintf(stderr, "perturb: nothing was changed: are there traces?\n");
		status = 3;
	}
	return status ? status : unseen ? 1 : 0;
}
