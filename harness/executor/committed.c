/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/executor/committed.h"

#define NAME "\nCommitted_AS:"

/*
 * In pages; negative if it cannot be read. fs/proc/meminfo.c shows vm_memory_committed(), which
 * sums up what each CPU has (since 5.9), so that it is exact.
 */
static int64_t committed(const struct vm_executor *ex)
{
	char text[4096];
	ssize_t n = pread(ex->committed.meminfo, text, sizeof(text) - 1, 0);
	const char *at;

	if (n <= 0)
		return -1;
	text[n] = '\0';
	at = strstr(text, NAME);
	if (!at)
		return -1;
	return (int64_t)(strtoull(at + strlen(NAME), NULL, 10) * 1024 / ex->info.layout.page_size);
}

void vm_committed_begin(struct vm_executor *ex)
{
	ex->committed.meminfo =
		ex->opt.whole_machine ? open("/proc/meminfo", O_RDONLY | O_CLOEXEC) : -1;
	ex->committed.pages = committed(ex);
}

void vm_committed_after(struct vm_executor *ex, struct vm_run_reply *reply)
{
	int64_t before = ex->committed.pages;

	if (ex->committed.meminfo < 0)
		return;
	ex->committed.pages = committed(ex);
	reply->committed_known = before >= 0 && ex->committed.pages >= 0;
	reply->committed = reply->committed_known ? ex->committed.pages - before : 0;
}
