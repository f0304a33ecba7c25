/* SPDX-License-Identifier: MIT */
#include "oracle/state/process.h"

#include <sys/mman.h>

struct vm_process vm_process_fresh(const struct vm_target_info *info)
{
	struct vm_process p = { .brk = info->layout.brk_base };

	if (!(info->features & VM_HAS_PKU))
		return p;
	p.keys.allocated = 1;
	/* arch/x86/mm/pkeys.c init_pkru_value */
	for (unsigned int i = 1; i < VM_KEYS; i++)
		p.keys.rights[i] = VM_KEY_NO_ACCESS;
	return p;
}

static void keys_after(struct vm_keys *k, const struct vm_syscall *sc, int64_t result)
{
	if (!vm_keys_exist(k) || result < 0)
		return;
	if (sc->op == VM_OP_PKEY_ALLOC && result < (int64_t)VM_KEYS) {
		k->allocated |= (uint16_t)(1u << result);
		k->rights[result] = (uint8_t)sc->arg[1];
	} else if (sc->op == VM_OP_PKEY_FREE && vm_key_is_allocated(k, sc->arg[0])) {
		k->allocated &= (uint16_t) ~(1u << sc->arg[0]); /* rights stay as they are */
	}
}

void vm_process_after(struct vm_process *p, const struct vm_syscall *sc, int64_t result)
{
	if (sc->op == VM_OP_MMAP && sc->arg[3] & MAP_HUGETLB)
		p->huge = true;
	if (sc->op == VM_OP_MDWE && result == 0)
		p->mdwe = (uint8_t)sc->arg[0];
	else if (sc->op == VM_OP_BRK)
		p->brk = (uint64_t)result;
	else
		keys_after(&p->keys, sc, result);
}

unsigned int vm_key_free(const struct vm_keys *k)
{
	unsigned int key = 0;

	while (key < VM_KEYS && k->allocated >> key & 1)
		key++;
	return key;
}

bool vm_key_is_allocated(const struct vm_keys *k, uint64_t key)
{
	return key < VM_KEYS && k->allocated >> key & 1 && !(k->exec && key == k->exec);
}

bool vm_key_taken_by_exec(const struct vm_keys *k)
{
	return vm_keys_exist(k) && !k->exec && !k->doubt && vm_key_free(k) < VM_KEYS;
}

void vm_key_take_for_exec(struct vm_keys *k)
{
	if (!vm_key_taken_by_exec(k))
		return;
	k->exec = (uint8_t)vm_key_free(k);
	k->allocated |= (uint16_t)(1u << k->exec);
	k->rights[k->exec] = VM_KEY_NO_ACCESS;
}

uint64_t vm_key_of_exec(const struct vm_keys *k, uint64_t *maybe)
{
	struct vm_keys after = *k;

	*maybe = k->doubt ? VM_KEY_FLAGS : 0;
	vm_key_take_for_exec(&after);
	return (uint64_t)after.exec << VM_FLAG_K0;
}

void vm_key_doubt(struct vm_keys *k)
{
	k->doubt |= vm_keys_exist(k) && !k->exec;
}

enum vm_tri vm_key_denies(const struct vm_keys *k, uint64_t flags, uint64_t maybe, bool write)
{
	uint64_t key = (flags & VM_KEY_FLAGS) >> VM_FLAG_K0;

	if (!vm_keys_exist(k))
		return VM_NO;
	if (maybe & VM_KEY_FLAGS || (key && k->doubt && !(k->allocated >> key & 1)))
		return VM_MAYBE;
	return k->rights[key] & (write ? VM_KEY_NO_ACCESS | VM_KEY_NO_WRITE : VM_KEY_NO_ACCESS)
		       ? VM_YES
		       : VM_NO;
}
