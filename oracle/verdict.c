/* SPDX-License-Identifier: MIT */
#include "oracle/verdict.h"

#include <errno.h>
#include <string.h>

const char *vm_severity_name(enum vm_severity s)
{
	static const char *const names[] = { "ok", "note", "deviation", "violation" };

	return names[s];
}

static const char *const contracts[] = { "exact", "documented", "strict" };

const char *vm_contract_name(enum vm_contract c)
{
	return contracts[c];
}

int vm_contract_by_name(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (!strcmp(contracts[i], name))
			return i;
	return -1;
}

const char *vm_errno_name(int err)
{
	/* the constant's name, the same on every libc and locale */
	switch (err) {
	case 0:
		return "success";
	case EPERM:
		return "EPERM";
	case ENOENT:
		return "ENOENT";
	case EINTR:
		return "EINTR";
	case EIO:
		return "EIO";
	case E2BIG:
		return "E2BIG";
	case EBADF:
		return "EBADF";
	case EAGAIN:
		return "EAGAIN";
	case ENOMEM:
		return "ENOMEM";
	case EACCES:
		return "EACCES";
	case EFAULT:
		return "EFAULT";
	case ENOSPC:
		return "ENOSPC";
	case EBUSY:
		return "EBUSY";
	case EEXIST:
		return "EEXIST";
	case ENODEV:
		return "ENODEV";
	case EINVAL:
		return "EINVAL";
	case ETXTBSY:
		return "ETXTBSY";
	case ENOSYS:
		return "ENOSYS";
	case EOVERFLOW:
		return "EOVERFLOW";
	case EOPNOTSUPP:
		return "EOPNOTSUPP";
	default:
		return "an unexpected errno";
	}
}
