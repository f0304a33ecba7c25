/* SPDX-License-Identifier: MIT */
/*
 * Does a guest boot with KVM here? That /dev/kvm opens proves nothing: it is known when one was
 * seen to boot, and remembered in ${VMAFUZZ_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vmafuzz}/kvm, for
 * this kernel and this QEMU.
 */
#ifndef VM_ACCEL_H
#define VM_ACCEL_H

#include "harness/guest/spec.h"

enum vm_kvm { VM_KVM_NO, VM_KVM_YES, VM_KVM_UNKNOWN };

/* What is remembered; NO where /dev/kvm cannot be opened, or the guest is of another machine. */
enum vm_kvm vm_kvm_known(enum vm_arch arch);

/* Remember. A cache that cannot be written is no error: then it is tried again each time. */
void vm_kvm_remember(enum vm_arch arch, enum vm_kvm answer);

#endif
