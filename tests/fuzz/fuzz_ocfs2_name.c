/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ocfs2_name.c - fuzzes names of OCFS2's locks: a parsed name is possible and prints again.
 */
#include "fuzz.h"
#include "o2top/sources/lines/ocfs2_line.h"

#include <strings.h>

static void each(const char *line, size_t len, bool complete)
{
	struct ocfs2_name name;
	char text[64];

	(void)complete;
	if (!ocfs2_name_parse(&name, line, len))
		return;
	if (name.type == 'N')
		snprintf(text, sizeof(text), "N%016llx%08x", (unsigned long long)name.number,
			 name.low);
	else
		snprintf(text, sizeof(text), "%c000000%016llx%08x", name.type,
			 (unsigned long long)name.number, name.low);
	CHECK(strlen(text) == len && !strncasecmp(text, line, len));
	CHECK(name.type >= 'A' && name.type <= 'Z');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
