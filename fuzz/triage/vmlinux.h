/* SPDX-License-Identifier: MIT */
/* The symbols, the bytes and, where it has DWARF, the source lines of an uncompressed kernel. */
#ifndef VM_TRIAGE_VMLINUX_H
#define VM_TRIAGE_VMLINUX_H

#include "fuzz/triage/line.h"
#include "harness/program/program.h"

struct vm_vmlinux;

/* Open an ELF file for x86-64 or arm64; NULL with one line in err. */
struct vm_vmlinux *vm_vmlinux_open(const char *path, char *err, size_t errlen);
void vm_vmlinux_close(struct vm_vmlinux *v);

bool vm_vmlinux_is_arm64(const struct vm_vmlinux *v);

/* A function of the file; addresses are as linked, without what KASLR adds. */
struct vm_function {
	char name[VM_SYMBOL_MAX];
	uint64_t begin, size;
};

/*
 * The functions that a printed name may mean (static ones may share it), those whose size fits
 * first; at most `max`. Returns how many.
 */
unsigned int vm_vmlinux_find(struct vm_vmlinux *v, const struct vm_place *place,
			     struct vm_function *f, unsigned int max);

/* The function around an address; false if there is none. */
bool vm_vmlinux_at(struct vm_vmlinux *v, uint64_t address, struct vm_function *f);

/* Copy bytes; returns how many of `len` the file has from there. */
size_t vm_vmlinux_bytes(struct vm_vmlinux *v, uint64_t address, uint8_t *buf, size_t len);

/*
 * `mm/mremap.c:701` for an instruction, relative to the folder that the kernel was built from; ""
 * and false if the file does not say.
 */
bool vm_vmlinux_source(struct vm_vmlinux *v, uint64_t address, char *buf, size_t len);

/*
 * The innermost line of one source file that an instruction is of: where it was inlined from a
 * header, that of the call there. As vm_vmlinux_source() if no line of the file is found.
 */
bool vm_vmlinux_source_in(struct vm_vmlinux *v, uint64_t address, const char *file, char *buf,
			  size_t len);

/* Each function of the symbol table, in no order, until `take` returns false. */
void vm_vmlinux_each(struct vm_vmlinux *v, bool (*take)(void *arg, const struct vm_function *f),
		     void *arg);

/*
 * Where the code of a source file such as `mm/mremap.c` lies: malloc()ed ranges, in no order.
 * Returns how many, 0 where the file's DWARF has no such unit (or there is no DWARF); -1 without
 * memory.
 */
int vm_vmlinux_unit(struct vm_vmlinux *v, const char *file, struct vm_range **range);

#endif
