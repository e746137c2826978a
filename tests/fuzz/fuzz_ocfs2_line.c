/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ocfs2_line.c - fuzzes lines of locking_state: a parsed line, printed, parses to itself.
 */
#include "../unit/print_lines.h"
#include "fuzz.h"

static bool same(const struct ocfs2_line *a, const struct ocfs2_line *b)
{
	return a->version == b->version && !strcmp(a->name, b->name) && a->id.type == b->id.type &&
	       a->id.number == b->id.number && a->id.low == b->id.low && a->level == b->level &&
	       a->flags == b->flags && a->action == b->action &&
	       a->unlock_action == b->unlock_action &&
	       !memcmp(a->holders, b->holders, sizeof(a->holders)) &&
	       a->requested == b->requested && a->blocking == b->blocking &&
	       !memcmp(a->lvb, b->lvb, sizeof(a->lvb)) && a->lvb_unsigned == b->lvb_unsigned &&
	       !memcmp(a->gets, b->gets, sizeof(a->gets)) &&
	       !memcmp(a->fails, b->fails, sizeof(a->fails)) &&
	       !memcmp(a->total_ns, b->total_ns, sizeof(a->total_ns)) &&
	       !memcmp(a->max, b->max, sizeof(a->max)) && a->refreshes == b->refreshes &&
	       !memcmp(a->last_us, b->last_us, sizeof(a->last_us)) && a->wait_us == b->wait_us &&
	       a->tail_len == b->tail_len &&
	       (!a->tail_len || !memcmp(a->tail, b->tail, a->tail_len));
}

static void each(const char *line, size_t len, bool complete)
{
	static char buf[1 << 17];
	struct ocfs2_line a, b;
	struct ocfs2_lvb lvb;
	size_t n;

	if (ocfs2_line_parse(&a, line, len, complete))
		return;
	CHECK(complete || line[len - 1] == '\t');
	ocfs2_lvb_decode(&lvb, a.lvb);
	if (a.tail_len && memchr(a.tail, '\0', a.tail_len))
		return;
	n = ocfs2_line_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!ocfs2_line_parse(&b, buf, n - 1, true));
	CHECK(same(&a, &b));
	CHECK(ocfs2_line_print(&a, buf, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
