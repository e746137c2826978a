/* SPDX-License-Identifier: MIT */
/*
 * fuzz_glocks.c - fuzzes the lines of glocks: G:, H: and I:.
 */
#include "../unit/print_lines.h"
#include "fuzz.h"

static char buf[4096];

static void glock(const char *line, size_t len)
{
	struct gfs2_glock_line a, b;
	size_t n;

	if (gfs2_glock_parse(&a, line, len))
		return;
	n = gfs2_glock_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!gfs2_glock_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(gfs2_glock_print(&a, buf, n) == 0);
}

static void holder(const char *line, size_t len)
{
	struct gfs2_holder_line a, b;
	size_t n;

	if (gfs2_holder_parse(&a, line, len))
		return;
	n = gfs2_holder_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!gfs2_holder_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(gfs2_holder_print(&a, buf, n) == 0);
}

static void inode(const char *line, size_t len)
{
	struct gfs2_inode_line a, b;
	size_t n;

	if (gfs2_inode_parse(&a, line, len))
		return;
	n = gfs2_inode_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!gfs2_inode_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(gfs2_inode_print(&a, buf, n) == 0);
}

static void each(const char *line, size_t len, bool complete)
{
	(void)complete;
	glock(line, len);
	holder(line, len);
	inode(line, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
