/* SPDX-License-Identifier: MIT */
/*
 * Page contents as both sides see them. The executor writes tagged pages and digests what it finds;
 * the oracle knows the digest of every page it believes in, in O(1), since the digest is linear.
 */
#ifndef VM_CONTENTS_H
#define VM_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A page: its first 64-bit word, and sum over the other words i of word[i] * M(i) mod 2^64, all
 * M(i) odd: any one changed word shows for certain, any other change but for one in 2^64. {0, 0} is
 * zero.
 */
struct vm_content {
	uint64_t head;
	uint64_t rest;
};

/* The digest of `page_size` bytes at `page` (8-byte aligned). */
struct vm_content vm_content_digest(const void *page, size_t page_size);

/* Fill a page with the pattern of `tag` (word 0 is the tag), and the digest that this page has. */
void vm_content_write(void *page, size_t page_size, uint64_t tag);
struct vm_content vm_content_of_tag(uint64_t tag, size_t page_size);

/*
 * The tags: what `fill` (call number, page of its range) leaves in a page, and the word that
 * `write` puts at the start of one, leaving the rest. Never zero, all different within a program.
 */
uint64_t vm_fill_tag(unsigned int call, uint64_t page);
uint64_t vm_write_word(unsigned int call, uint64_t page);

/* Which touch left this first word in a page? */
enum vm_origin { VM_ORIGIN_UNKNOWN, VM_ORIGIN_ZERO, VM_ORIGIN_FILL, VM_ORIGIN_WRITE };
enum vm_origin vm_content_origin(uint64_t head, unsigned int *call, uint64_t *page);

#endif
