/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/console.h"

void vm_console_mark(const char *path, unsigned int run)
{
	FILE *f = fopen(path, "ae");

	if (!f)
		return;
	fprintf(f, "\n== vmafuzz: the guest is started, run %u ==\n", run);
	fclose(f);
}

/* Behind the kernel's time stamp. */
static const char *skip_stamp(const char *line)
{
	const char *end = line[0] == '[' ? strstr(line, "] ") : NULL;

	return end ? end + 2 : line;
}

void vm_console_reason(const char *path, uint64_t from, char *line, size_t size)
{
	static const char panic[] = "Kernel panic", init[] = "vmafuzz-init: ";
	FILE *f = fopen(path, "re");
	bool done = false;
	char buf[512];

	line[0] = '\0';
	if (f && fseeko(f, (off_t)from, SEEK_SET))
		done = true;
	while (f && !done && fgets(buf, sizeof(buf), f)) {
		const char *text = skip_stamp(buf);

		done = !strncmp(text, panic, sizeof(panic) - 1);
		if (done || !strncmp(text, init, sizeof(init) - 1))
			snprintf(line, size, "%s", text);
	}
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}
