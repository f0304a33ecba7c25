/* SPDX-License-Identifier: MIT */
/* What keeps fuzzed calls from harming the machine that they run on. */
#ifndef VM_SANDBOX_H
#define VM_SANDBOX_H

#include "harness/executor/executor.h"

/*
 * Start again by exec without address randomisation and with an 8 MiB stack limit, if that is not
 * so already and can be had. Returns in the process that goes on.
 */
void vm_sandbox_fix_layout(char **argv);

/*
 * Unless opt.privileged: as root take process and IPC namespaces of our own and become user 65534,
 * as anyone else stay that user; no new privileges, no core dumps. Always: RLIMIT_MEMLOCK at most 8
 * MiB, and no CAP_IPC_LOCK, so that it bounds what programs lock. Returns in the process that is
 * to serve; the one that was started waits for it and passes on its exit status. Dies with one line
 * on stderr if root cannot be given up.
 */
void vm_sandbox_enter(struct vm_executor *ex);

#endif
