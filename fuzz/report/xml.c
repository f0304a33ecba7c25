/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/report/xml.h"

/* Length of the character that begins at `s` if XML may hold it, else 0. XML 1.0, 2.2: Char. */
static unsigned int char_len(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int len = *s < 0x80	   ? 1
			   : *s >> 5 == 6  ? 2
			   : *s >> 4 == 14 ? 3
			   : *s >> 3 == 30 ? 4
					   : 0;
	uint32_t c;

	if (len == 1)
		return *s >= 0x20 || *s == '\t' || *s == '\n' || *s == '\r';
	if (!len)
		return 0;
	c = *s & (0xff >> (len + 1));
	for (unsigned int i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || (c >= 0xd800 && c < 0xe000) || c == 0xfffe || c == 0xffff ||
	    c > 0x10ffff)
		return 0;
	return len;
}

static const char *escape_of(char c, bool attribute)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;"; /* needed in "]]>" only */
	case '\r':
		return "&#13;";
	case '"':
		return attribute ? "&quot;" : NULL;
	case '\n':
		return attribute ? "&#10;" : NULL;
	case '\t':
		return attribute ? "&#9;" : NULL;
	default:
		return NULL;
	}
}

static void put(FILE *to, const char *text, bool attribute)
{
	while (*text) {
		unsigned int len = char_len((const unsigned char *)text);
		const char *escape = escape_of(*text, attribute);

		if (escape)
			fputs(escape, to);
		else if (len)
			fwrite(text, 1, len, to);
		else
			fputc('?', to);
		text += len ? len : 1;
	}
}

void vm_xml_content(FILE *to, const char *text)
{
	put(to, text, false);
}

void vm_xml_attribute(FILE *to, const char *text)
{
	put(to, text, true);
}
