/* SPDX-License-Identifier: MIT */
/* From QEMU's start to the executor's hello. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/accel.h"
#include "harness/guest/console.h"
#include "harness/guest/keeper.h"

#define ATTEMPTS     3
#define KVM_LIMIT_MS 20000 /* a guest that boots with KVM does so in a tenth of it */
#define LINE_BYTES   512

/* Whether to try KVM; `guess`: it is not known to work. */
static enum vm_accel choose_accel(const struct vm_guest_spec *spec, bool *guess)
{
	enum vm_kvm known;

	*guess = false;
	if (spec->accel != VM_ACCEL_AUTO)
		return spec->accel;
	known = vm_kvm_known(spec->arch);
	*guess = known == VM_KVM_UNKNOWN;
	return known == VM_KVM_NO ? VM_ACCEL_TCG : VM_ACCEL_KVM;
}

int vm_keeper_boot(struct vm_keeper *k)
{
	char err[LINE_BYTES];
	int ret;

	k->runs++;
	if (k->command) {
		ret = vm_machine_command(&k->machine, k->command, err, sizeof(err));
	} else {
		if (k->accel == VM_ACCEL_AUTO)
			k->accel = choose_accel(&k->spec, &k->accel_is_guess);
		vm_console_mark(k->console, k->runs);
		ret = vm_machine_start(&k->machine, &k->spec, k->accel, k->initramfs, k->console,
				       err, sizeof(err));
	}
	k->up = false;
	k->limit_ms =
		k->accel == VM_ACCEL_KVM && k->hello_ms > KVM_LIMIT_MS ? KVM_LIMIT_MS : k->hello_ms;
	k->deadline = vm_now_ms() + k->limit_ms;
	if (ret)
		vm_keeper_give_up(k, err);
	return ret;
}

void vm_keeper_give_up(struct vm_keeper *k, const char *line)
{
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++)
		if (k->client[i].used)
			vm_stream_send(&k->client[i].stream, VM_FRAME_ERROR, 0, line, strlen(line),
				       NULL, 0);
	k->quit = true;
	k->status = 3;
}

/* One that ends with KVM may be well without. */
static bool fall_back(struct vm_keeper *k)
{
	if (k->spec.accel != VM_ACCEL_AUTO || k->accel != VM_ACCEL_KVM || k->command)
		return false;
	k->accel_is_guess = false;
	k->accel = VM_ACCEL_TCG;
	k->fell_back = true;
	return true;
}

void vm_keeper_boot_failed(struct vm_keeper *k, const char *why)
{
	bool hung = !why, panicked;
	char words[VM_LINE_MAX], reason[300], status[64], line[LINE_BYTES + 200];
	int st = vm_machine_stop(&k->machine, hung ? 0 : 300, words);

	vm_process_status_text(st, status, sizeof(status));
	reason[0] = '\0';
	if (!k->command)
		vm_console_reason(k->console, k->machine.console_from, reason, sizeof(reason));
	if (!why || !why[0])
		why = words[0] ? words : reason;
	if (fall_back(k)) {
		vm_keeper_boot(k);
		return;
	}
	/* A guest that panics at once may have been starved; QEMU then ends well. */
	panicked = !hung && !k->command && st == 0;
	if ((hung || panicked) && ++k->attempt < ATTEMPTS) {
		fprintf(stderr, "%s within %u s, starting it again (%u of %d)%s%s\n",
			hung ? "no hello" : "it ended", k->limit_ms / 1000, k->attempt + 1,
			ATTEMPTS, why[0] ? ": " : "", why);
		vm_keeper_boot(k);
		return;
	}
	if (hung)
		snprintf(line, sizeof(line), "it did not come up within %u s, tried %d times%s%s%s",
			 k->limit_ms / 1000, ATTEMPTS,
			 k->accel == VM_ACCEL_KVM ? " with KVM: leave accel= out" : "",
			 why[0] ? ": " : "", why);
	else
		snprintf(line, sizeof(line), "it ended while it started (%s)%s%s", status,
			 why[0] ? ": " : "", why);
	vm_keeper_give_up(k, line);
}

/* KVM is seen to work, or TCG works where KVM did not. */
static void remember(struct vm_keeper *k)
{
	if (k->accel_is_guess)
		vm_kvm_remember(k->spec.arch, VM_KVM_YES);
	else if (k->fell_back)
		vm_kvm_remember(k->spec.arch, VM_KVM_NO);
	k->accel_is_guess = k->fell_back = false;
}

void vm_keeper_take_hello(struct vm_keeper *k, int link, const struct vm_frame *f)
{
	char line[VM_LINE_MAX];
	uint8_t *copy;

	if (f->type == VM_FRAME_ERROR) {
		snprintf(line, sizeof(line), "%.*s", (int)f->len, (const char *)f->body);
		vm_keeper_give_up(k, line);
		return;
	}
	copy = f->type == VM_FRAME_HELLO ? realloc(k->hello, f->len + 1) : NULL;
	if (!copy) {
		vm_keeper_give_up(k, "the guest does not begin with a hello");
		return;
	}
	memcpy(copy, f->body, f->len);
	k->hello = copy;
	k->hello_len = f->len;
	k->machine.active = link;
	k->up = true;
	k->attempt = 0;
	remember(k);
	k->last_progress = vm_now_ms();
	/* Others than the first are told of a guest that was started again. */
	for (int i = 0; i < VM_KEEPER_CLIENTS; i++)
		k->client[i].greeted = false;
	vm_keeper_greet(k);
	vm_keeper_dispatch(k);
}
