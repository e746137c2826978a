/* SPDX-License-Identifier: MIT */
/*
 * fuzz_sbstats.c - fuzzes the rows and the header of sbstats.
 */
#include "../unit/print_lines.h"
#include "fuzz.h"

static void each(const char *line, size_t len, bool complete)
{
	static char buf[1 << 17];
	static struct gfs2_sbstats_line a, b;
	size_t n;

	(void)complete;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (gfs2_sbstats_parse(&a, line, len))
		return;
	n = gfs2_sbstats_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!gfs2_sbstats_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(gfs2_sbstats_print(&a, buf, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
