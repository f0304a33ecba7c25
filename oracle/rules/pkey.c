/* SPDX-License-Identifier: MIT */
/* pkey_alloc(2), pkey_free(2). mm/mprotect.c; arch/x86/include/asm/pkeys.h. */
#include "oracle/rules/rule.h"

#include <errno.h>

static const struct vm_cause flags = { .text = "flags are not 0",
				       .basis = "mm/mprotect.c pkey_alloc(); pkey_alloc(2)" };
static const struct vm_cause bad_rights = { .text = "unknown rights",
					    .basis = "mm/mprotect.c pkey_alloc(); pkey_alloc(2)" };
static const struct vm_cause no_keys = { .text = "the processor has no protection keys",
					 .basis = "mm_pkey_alloc(); pkey_alloc(2)",
					 .resource = true };
static const struct vm_cause all_taken = { .text = "all protection keys are in use",
					   .basis = "mm_pkey_alloc(); pkey_alloc(2)",
					   .resource = true };
static const struct vm_cause not_allocated = { .text = "key is not allocated",
					       .basis = "mm_pkey_free(); pkey_free(2)" };

/* The lowest key that is free; PROT_EXEC alone may have taken some, where that is not known. */
void vm_rule_pkey_alloc(struct vm_rule *r)
{
	const struct vm_keys *k = &r->s->process.keys;
	unsigned int key = vm_key_free(k);
	const uint64_t known = VM_KEY_NO_ACCESS | VM_KEY_NO_WRITE, rights = r->sc->arg[1];
	/* PKEY_DISABLE_EXECUTE and _READ: arch/arm64/include/uapi/asm/mman.h, from 6.12 on */
	const uint64_t perhaps = vm_is_arm64(r) ? 0xc : 0;

	if (vm_fails(r, vm_is(r->sc->arg[0]), EINVAL, &flags) ||
	    vm_fails(r, vm_is(rights & ~(known | perhaps)), EINVAL, &bad_rights) ||
	    vm_fails(r, rights & perhaps ? VM_MAYBE : VM_NO, EINVAL, &bad_rights) ||
	    vm_stops(r, vm_is(!vm_keys_exist(k)), ENOSPC, &no_keys) ||
	    vm_stops(r, vm_is(key == VM_KEYS), ENOSPC, &all_taken))
		return;
	if (k->doubt)
		vm_fails(r, VM_MAYBE, ENOSPC, &all_taken);
	vm_succeeds(r, (int64_t)key);
	for (key++; k->doubt && key < VM_KEYS; key++)
		if (!(k->allocated >> key & 1))
			vm_succeeds(r, (int64_t)key);
}

/* Mappings keep a key that is freed, and the thread its rights. */
void vm_rule_pkey_free(struct vm_rule *r)
{
	bool allocated = vm_key_is_allocated(&r->s->process.keys, r->sc->arg[0]);

	if (!vm_fails(r, vm_is(!allocated), EINVAL, &not_allocated))
		vm_succeeds(r, 0);
}
