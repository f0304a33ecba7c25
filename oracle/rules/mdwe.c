/* SPDX-License-Identifier: MIT */
/* prctl(PR_SET_MDWE): what it forbids is in mmap.c and mprotect.c. kernel/sys.c prctl_set_mdwe().
 */
#include "oracle/rules/rule.h"

#include <errno.h>

#define SET_MDWE "kernel/sys.c prctl_set_mdwe()"

static const struct vm_cause no_call = { .text = "no PR_SET_MDWE on this kernel",
					 .basis = "kernel before 6.3" };
static const struct vm_cause bad_bits = { .text = "unknown bits", .basis = SET_MDWE };
static const struct vm_cause no_refuse = { .text = "PR_MDWE_NO_INHERIT alone", .basis = SET_MDWE };
static const struct vm_cause for_good = { .text = "set already, and not to just this",
					  .basis = SET_MDWE "; PR_SET_MDWE(2const)" };

void vm_rule_mdwe(struct vm_rule *r)
{
	uint64_t bits = r->sc->arg[0], now = r->s->process.mdwe;

	if (vm_stops(r, vm_is(r->info->features & VM_LACKS_MDWE), EINVAL, &no_call) ||
	    vm_fails(r, vm_is(bits & ~(uint64_t)(VM_MDWE_REFUSE | VM_MDWE_NO_INHERIT)), EINVAL,
		     &bad_bits) ||
	    vm_fails(r, vm_is(bits == VM_MDWE_NO_INHERIT), EINVAL, &no_refuse) ||
	    vm_fails(r, vm_is(now && now != bits), EPERM, &for_good))
		return;
	vm_succeeds(r, 0);
}
