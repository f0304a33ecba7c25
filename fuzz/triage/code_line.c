/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz/triage/code_line.h"

bool vm_code_parse(const char *text, struct vm_code *code)
{
	bool marked = false;

	memset(code, 0, sizeof(*code));
	while (*text) {
		size_t digits;
		uint64_t value;
		bool here;

		text += strspn(text, " ");
		here = *text == '<' || *text == '(';
		text += here;
		digits = strspn(text, "0123456789abcdef");
		if ((digits != 2 && digits != 8) || code->len + digits / 2 > sizeof(code->byte))
			break;
		if (here) {
			marked = true;
			code->pc = code->len;
		}
		/* Words are printed as numbers, and instructions lie in memory little-endian. */
		value = strtoull(text, NULL, 16);
		for (size_t i = 0; i < digits / 2; i++)
			code->byte[code->len++] = (uint8_t)(value >> (8 * i));
		text += digits;
		text += *text == '>' || *text == ')';
	}
	return marked;
}
