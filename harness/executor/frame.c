/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/executor/frame.h"

/* Have `need` bytes unread; false at the end of the input. */
static bool fill(struct vm_frame_reader *r, size_t need)
{
	if (r->from == r->len)
		r->from = r->len = 0;
	if (r->from + need > VM_FRAME_MAX + sizeof(struct vm_frame_header)) {
		memmove(r->buf, r->buf + r->from, r->len - r->from);
		r->len -= r->from;
		r->from = 0;
	}
	while (r->len - r->from < need) {
		size_t room = VM_FRAME_MAX + sizeof(struct vm_frame_header) - r->len;
		ssize_t got = read(STDIN_FILENO, r->buf + r->len, room);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		r->len += (size_t)got;
	}
	return true;
}

enum vm_frame_got vm_frame_read(struct vm_frame_reader *r, struct vm_frame_header *header,
				const uint8_t **body, const char **why)
{
	*why = "the input ends inside a frame";
	if (!fill(r, sizeof(*header)))
		return r->len == r->from ? VM_FRAME_EOF : VM_FRAME_BROKEN;
	memcpy(header, r->buf + r->from, sizeof(*header));
	if (header->magic != VM_FRAME_MAGIC) {
		*why = "bad magic where a frame should begin";
		return VM_FRAME_BROKEN;
	}
	if (header->len > VM_FRAME_MAX) {
		*why = "a frame is longer than 4 MiB";
		return VM_FRAME_BROKEN;
	}
	if (!fill(r, sizeof(*header) + header->len))
		return VM_FRAME_BROKEN;
	*body = r->buf + r->from + sizeof(*header);
	r->from += sizeof(*header) + header->len;
	return VM_FRAME_GOT;
}

bool vm_frame_write(enum vm_frame_type type, uint32_t id, const void *head, size_t headlen,
		    const void *rest, size_t restlen)
{
	struct vm_frame_header header = { .magic = VM_FRAME_MAGIC,
					  .len = (uint32_t)(headlen + restlen),
					  .type = type,
					  .id = id };
	struct iovec part[3] = { { &header, sizeof(header) },
				 { (void *)(uintptr_t)head, headlen },
				 { (void *)(uintptr_t)rest, restlen } };
	unsigned int i = 0;

	while (i < 3) {
		ssize_t put = writev(STDOUT_FILENO, &part[i], (int)(3 - i));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		for (; i < 3 && (size_t)put >= part[i].iov_len; i++)
			put -= (ssize_t)part[i].iov_len;
		if (i < 3) {
			part[i].iov_base = (char *)part[i].iov_base + put;
			part[i].iov_len -= (size_t)put;
		}
	}
	return true;
}
