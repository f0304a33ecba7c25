/* SPDX-License-Identifier: MIT */
/* Questions about a row of the table that printing and parsing both ask. */
#include <errno.h>
#include <string.h>

#include "harness/program/text.h"

unsigned int vm_row_take(const struct vm_call_desc *desc, enum vm_arg_kind kind, unsigned int *used)
{
	unsigned int i = 0;

	while (desc->arg[i].kind != kind || *used & 1u << i)
		i++;
	*used |= 1u << i;
	return i;
}

const struct vm_arg_desc *vm_row_flags(const struct vm_call_desc *desc, unsigned int *index)
{
	for (unsigned int i = 0; i < desc->nargs; i++) {
		if (desc->arg[i].kind == VM_ARG_FLAGS) {
			*index = i;
			return &desc->arg[i];
		}
	}
	return NULL;
}

uint32_t vm_word_bits(const struct vm_arg_desc *flags, const char *word)
{
	for (const struct vm_word *w = flags->words; w->name; w++)
		if (!strcmp(w->name, word))
			return w->bits;
	return 0;
}

uint32_t vm_row_placement(const struct vm_call_desc *desc)
{
	unsigned int i;
	const struct vm_arg_desc *flags = vm_row_flags(desc, &i);

	if (!flags || !strstr(desc->syntax, "%g"))
		return 0;
	return vm_word_bits(flags, "fixed") | vm_word_bits(flags, "noreplace");
}

int vm_errno_by_name(const char *name, size_t len)
{
	static const struct {
		const char *name;
		int value;
	} known[] = {
#define KNOWN(e) { #e, e }
		KNOWN(EPERM),	  KNOWN(ENOENT),     KNOWN(ESRCH),     KNOWN(EINTR),
		KNOWN(EIO),	  KNOWN(ENXIO),	     KNOWN(E2BIG),     KNOWN(EBADF),
		KNOWN(EAGAIN),	  KNOWN(ENOMEM),     KNOWN(EACCES),    KNOWN(EFAULT),
		KNOWN(EBUSY),	  KNOWN(EEXIST),     KNOWN(ENODEV),    KNOWN(EINVAL),
		KNOWN(ENFILE),	  KNOWN(EMFILE),     KNOWN(ETXTBSY),   KNOWN(EFBIG),
		KNOWN(ENOSPC),	  KNOWN(EROFS),	     KNOWN(EDEADLK),   KNOWN(ENOSYS),
		KNOWN(EOVERFLOW), KNOWN(EOPNOTSUPP), KNOWN(EHWPOISON),
#undef KNOWN
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
			return known[i].value;
	return -1;
}
