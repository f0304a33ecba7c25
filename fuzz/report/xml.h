/* SPDX-License-Identifier: MIT */
/* Writing XML 1.0 in UTF-8. */
#ifndef VM_REPORT_XML_H
#define VM_REPORT_XML_H

#include <stdio.h>

/*
 * Text as the content of an element, or of an attribute in double quotes: markup is escaped, in an
 * attribute line ends and tabs too, which a parser would make blanks. What XML cannot say (control
 * characters, bytes that are no UTF-8) becomes `?`.
 */
void vm_xml_content(FILE *to, const char *text);
void vm_xml_attribute(FILE *to, const char *text);

#endif
