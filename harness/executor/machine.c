/* SPDX-License-Identifier: MIT */
/* The executor's side of the keeper (machine_keeper.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/executor/machine.h"
#include "harness/executor/machine_keeper.h"
#include "harness/trace/preamble.h"

/* One request and its answer; an answer to a child that died is passed over. False if it is gone.
 */
static bool ask(struct vm_executor *ex, struct vm_machine_request *req,
		struct vm_machine_reply *reply)
{
	ssize_t n;

	req->id = ++ex->machine.last_id;
	if (send(ex->machine.fd, req, sizeof(*req), MSG_NOSIGNAL) != (ssize_t)sizeof(*req))
		return false;
	do {
		n = recv(ex->machine.fd, reply, sizeof(*reply), 0);
	} while ((n < 0 && errno == EINTR) ||
		 (n == (ssize_t)sizeof(*reply) && reply->id != req->id));
	return n == (ssize_t)sizeof(*reply);
}

void vm_machine_start(struct vm_executor *ex)
{
	struct vm_machine_request hello = { 0 };
	struct vm_machine_reply reply;
	int fd[2];
	pid_t pid;

	ex->machine.fd = -1;
	if (!ex->opt.whole_machine)
		return;
	if (geteuid() != 0)
		vm_die("--whole-machine sets what is root's to set: run it as root, in a guest");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		vm_die("socketpair: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		vm_die("fork: %s", strerror(errno));
	if (pid == 0) {
		close(fd[0]);
		vm_machine_keep(fd[1]);
	}
	close(fd[1]);
	ex->machine.fd = fd[0];
	if (!ask(ex, &hello, &reply) || reply.error)
		vm_die("--whole-machine: /proc/sys/vm cannot be written: %s",
		       strerror(reply.error));
	ex->machine.lsm_min_addr = reply.lsm_min_addr;
}

void vm_machine_describe(const struct vm_executor *ex, struct vm_target_info *info)
{
	if (!ex->opt.whole_machine)
		return;
	info->features |= VM_IS_WHOLE_MACHINE;
	info->lsm_min_addr = ex->machine.lsm_min_addr;
}

unsigned int vm_machine_set(struct vm_executor *ex)
{
	const struct vm_program *prog = &ex->area->prog;
	struct vm_machine_request req = { 0 };
	struct vm_machine_reply reply = { 0 };
	unsigned int refused = VM_PREAMBLE_COUNT;

	if (ex->machine.fd < 0)
		return VM_PREAMBLE_COUNT;
	req.words = prog->preamble.words >> VM_PREAMBLE_MACHINE << VM_PREAMBLE_MACHINE;
	for (unsigned int word = VM_PREAMBLE_MACHINE; word < VM_PREAMBLE_COUNT; word++)
		if (req.words >> word & 1)
			req.value[word] = vm_preamble_wants(prog, word, &ex->info);
	if (req.words && (!ask(ex, &req, &reply) || reply.error))
		refused = reply.word < VM_PREAMBLE_COUNT ? reply.word : VM_PREAMBLE_MACHINE;
	close(ex->machine.fd);
	return refused;
}

bool vm_machine_restore(struct vm_executor *ex, char *why, size_t cap)
{
	struct vm_machine_request req = { .words = 0 };
	struct vm_machine_reply reply = { 0 };

	ex->machine.last_id++; /* the child's */
	if (!ask(ex, &req, &reply)) {
		snprintf(why, cap, "the process that keeps them is gone");
		return false;
	}
	if (reply.error)
		snprintf(why, cap, "%s cannot be put back: %s", vm_preamble_desc(reply.word)->name,
			 strerror(reply.error));
	return !reply.error;
}
