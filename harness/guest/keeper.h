/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a guest: a process that starts it, shares its one executor among several clients,
 * starts it again when it ends, and ends with it when its owner goes. The owner is on stdin and
 * stdout, others connect to DIR/socket. Both sides speak harness/executor/protocol.h.
 */
#ifndef VM_KEEPER_H
#define VM_KEEPER_H

#include <signal.h>
#include <stdbool.h>

#include "harness/guest/machine.h"
#include "harness/target/target.h"

#define VM_KEEPER_CLIENTS 64

/* One of those who send programs; [0] is the owner. */
struct vm_client {
	bool used;
	bool greeted; /* has the hello */
	struct vm_process ends;
	struct vm_stream stream;
};

/* A program that was asked for and not yet answered, in the order of asking. */
struct vm_kept {
	struct vm_kept *next;
	int client; /* -1: it has gone */
	uint32_t id, guest_id;
	uint32_t timeout_ms;
	bool sent;
	size_t len;
	uint8_t body[]; /* of the RUN frame */
};

struct vm_keeper {
	struct vm_guest_spec spec;
	const char *command; /* instead of QEMU, or NULL */
	const char *dir;     /* private: socket, console, initramfs, lock */
	char console[PATH_MAX], initramfs[PATH_MAX];
	unsigned int hello_ms; /* how long a guest may take to boot */
	unsigned int limit_ms; /* this one, with this accelerator */
	unsigned int stall_ms; /* how long it may be silent, beyond a program's time limit */
	struct vm_machine machine;
	int listener;
	struct vm_client client[VM_KEEPER_CLIENTS];
	struct vm_kept *kept;
	unsigned int in_guest; /* of them, sent */
	uint32_t last_guest_id;
	/* The hello of the guest that runs, or NULL while it boots. */
	uint8_t *hello;
	size_t hello_len;
	bool up;
	enum vm_accel accel; /* that it runs or boots with */
	bool accel_is_guess; /* KVM, not yet seen to boot here */
	bool fell_back;	     /* KVM did not work, TCG is tried */
	unsigned int runs, attempt;
	long long deadline;	 /* of the boot */
	long long last_progress; /* of the programs in the guest */
	volatile sig_atomic_t quit;
	int status;
};

/* ---- boot.c ---- */

/* Start the guest and wait for its hello in vm_keeper_run(). 0, or -1 and said: there is no hope.
 */
int vm_keeper_boot(struct vm_keeper *k);

/* It did not come to a hello: try again, or give up. `why` may be empty. */
void vm_keeper_boot_failed(struct vm_keeper *k, const char *why);

/* A frame from the guest while it boots. */
void vm_keeper_take_hello(struct vm_keeper *k, int link, const struct vm_frame *f);

/* Say it to all clients (ERROR, id 0), and end. */
void vm_keeper_give_up(struct vm_keeper *k, const char *line);

/* ---- requests.c ---- */

/* A frame from a client. False: it is none that a client may send. */
bool vm_keeper_request(struct vm_keeper *k, int client, const struct vm_frame *f);

/* A frame from the guest that answers a program. */
void vm_keeper_reply(struct vm_keeper *k, const struct vm_frame *f);

/* Send to the guest what it has room for. */
void vm_keeper_dispatch(struct vm_keeper *k);

/* The guest has ended (or hangs): tell whose program it was, and start it again. */
void vm_keeper_died(struct vm_keeper *k, bool hung, const char *why);

/* A client has gone. */
void vm_keeper_forget(struct vm_keeper *k, int client);

/* How long the guest may be silent now, in ms. */
long long vm_keeper_patience(const struct vm_keeper *k);

void vm_keeper_free_requests(struct vm_keeper *k);

/* ---- keeper.c ---- */

/* Serve until the owner goes. The exit status: 0, or 3 when the guest cannot be started. */
int vm_keeper_run(struct vm_keeper *k);

void vm_keeper_greet(struct vm_keeper *k);

#endif
