/* SPDX-License-Identifier: MIT */
/*
 * OUT/current.PID: the programs that an engine process has in flight, in a file that it maps
 * shared, so that they outlive it. They outlive the host too if each is synced (--sync), or if the
 * kernel had the time to write them back.
 */
#ifndef VM_IN_FLIGHT_H
#define VM_IN_FLIGHT_H

#include "harness/program/program.h"
#include "harness/target/target.h"

struct vm_in_flight {
	struct {
		uint32_t len; /* 0: none */
		uint8_t bytes[VM_BYTES_MAX];
	} slot[VM_TARGET_MAX_INFLIGHT];
};

/* That of this process; NULL with one line in err. */
struct vm_in_flight *vm_in_flight_open(const char *out, char *err, size_t errlen);

/* Unmap and delete. */
void vm_in_flight_close(struct vm_in_flight *f, const char *out);

/* Note a program before it is sent; `sync`: return when it is on the disk. */
void vm_in_flight_put(struct vm_in_flight *f, uint32_t id, const struct vm_program *prog,
		      bool sync);

/* It came back. */
void vm_in_flight_drop(struct vm_in_flight *f, uint32_t id);

/* Delete the files of processes that were ended in order. */
void vm_in_flight_clear(const char *out);

/*
 * What was in flight when an earlier campaign ended without order (the host went down, the
 * supervisor was killed) becomes OUT/interrupted/NAME.bin. 0, or -1 with err.
 */
int vm_in_flight_rescue(const char *out, char *err, size_t errlen);

#endif
