/* SPDX-License-Identifier: MIT */
/* ftruncate(2) of an object that may be mapped. fs/open.c do_ftruncate(), mm/truncate.c. */
#include "oracle/rules/rule.h"

#include <errno.h>

static const struct vm_cause no_object = { .text = "no object",
					   .basis = "fs/open.c do_sys_ftruncate()" };
static const struct vm_cause negative = { .text = "length is negative",
					  .basis = "fs/open.c do_sys_ftruncate()" };
static const struct vm_cause read_only = { .text = "object opened read-only",
					   .basis = "fs/open.c do_ftruncate()" };
static const struct vm_cause too_big = {
	.text = "beyond what the file system or RLIMIT_FSIZE allows",
	.basis = "fs/attr.c inode_newsize_ok()",
	.resource = true
};

/* What any file system that /tmp may be on can hold: ext4 with 4 KiB blocks has the least, 16 TiB.
 */
#define SAFE_FILE_SIZE (1ull << 40)

void vm_rule_truncate(struct vm_rule *r)
{
	uint64_t object = r->sc->arg[0], size = r->sc->arg[1];
	struct vm_step step = { .kind = VM_STEP_RESIZE, .end = size };

	if (vm_fails(r, vm_is((int64_t)size < 0), EINVAL, &negative) ||
	    vm_stops(r, vm_is(!object || object == VM_OBJECT_S0), EBADF, &no_object) ||
	    vm_fails(r, vm_is(object == VM_OBJECT_R0), EINVAL, &read_only))
		return;
	if (object == VM_OBJECT_F0 &&
	    vm_fails(r, size > SAFE_FILE_SIZE ? VM_MAYBE : VM_NO, EFBIG, &too_big))
		return;
	/* changes the object, not the layout: nothing is judged after it */
	step.object = r->objects->named[object];
	r->done.step[r->done.n++] = step;
	vm_succeeds(r, 0);
}
