/* SPDX-License-Identifier: MIT */
/*
 * fuzz_glock_node.c - fuzzes the lines about a process of a libglock lock space.
 */
#include "fuzz.h"
#include "o2top/sources/lines/glock_line.h"

static void each(const char *line, size_t len, bool complete)
{
	struct glock_holder_line h;
	struct glock_object_line o;
	struct glock_line g;
	char user[32];

	(void)complete;
	glock_node_line_known(line, len, user, sizeof(user));
	CHECK(strlen(user) < sizeof(user));
	if (!glock_line_parse(&g, line, len)) {
		CHECK(g.type < GLOCK_LINE_TYPES && g.state <= GLOCK_LINE_SH);
		CHECK(g.waited_ns >= 0 && g.longest_ns >= 0);
	}
	if (!glock_holder_line_parse(&h, line, len)) {
		CHECK(h.mode > GLOCK_LINE_UN && h.mode <= GLOCK_LINE_SH && h.at_ns >= 0);
		CHECK(strlen(h.comm) < sizeof(h.comm));
	}
	if (!glock_object_line_parse(&o, line, len) && o.path_len)
		CHECK(o.path > line && o.path + o.path_len == line + len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
