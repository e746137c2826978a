/* SPDX-License-Identifier: MIT */
/*
 * fuzz_lock_time.c - fuzzes the trace event gfs2_glock_lock_time; other lines are left alone.
 */
#include "../unit/print_lines.h"
#include "fuzz.h"

static void each(const char *line, size_t len, bool complete)
{
	static const char head[] = " [000] 1.000000: ";
	struct gfs2_lock_time a, b;
	const char *wrong = "nothing was said";
	char buf[1024];
	size_t n;

	(void)complete;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (!gfs2_lock_time_parse(&a, line, len, &wrong))
		return;
	CHECK(!wrong || strcmp(wrong, "nothing was said"));
	if (wrong)
		return;
	memcpy(buf, head, sizeof(head) - 1);
	n = gfs2_lock_time_print(&a, buf + sizeof(head) - 1, sizeof(buf) - sizeof(head));
	CHECK(n > 0);
	n += sizeof(head) - 1;
	CHECK(buf[n - 1] == '\n');
	CHECK(gfs2_lock_time_parse(&b, buf, n - 1, &wrong) && !wrong && b.at_us == 1000000);
	b.at_us = a.at_us;
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
