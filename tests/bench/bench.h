/* SPDX-License-Identifier: MIT */
/* What the parts of the benchmark share. */
#ifndef VM_BENCH_H
#define VM_BENCH_H

#include "harness/target/target.h"
#include "oracle/oracle.h"

struct vm_bench {
	struct vm_target *target;
	struct vm_judge_scratch *scratch;
	struct vm_judge_options judging;
	uint32_t nprograms, rounds;
	struct vm_program *program; /* nprograms of them */
	/* One reply of each, observed in full, as bytes (vm_trace_encode()). */
	uint8_t **stored;
	size_t *stored_len;
	/* Of the stored traces. */
	uint64_t calls, succeeded, verdicts;
};

/* One line on stderr, and exit status 3. */
_Noreturn void vm_bench_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A number of an option, or the end of the process. */
uint64_t vm_bench_number(const char *name, const char *text, uint64_t least, uint64_t most);

/* Run every program once with full observation and store the traces. */
void vm_bench_store(struct vm_bench *b);

/* ---- running.c, alone.c: measure and print ---- */

void vm_bench_running(struct vm_bench *b);
void vm_bench_oracle_alone(struct vm_bench *b);

/* A ratio or a rate beside its aim. */
void vm_bench_print_aim(const char *what, double got, double aim, const char *unit);

#endif
