/* SPDX-License-Identifier: MIT */
/*
 * fuzz_plocks.c - fuzzes the lines of /proc/locks and of dlm_tool plocks.
 */
#include "fuzz.h"
#include "o2top/plocks/plocks_read.h"

static void each(const char *line, size_t len, bool complete)
{
	struct plock_line own;
	struct dlm_plock_line all;
	const char *wrong;

	(void)complete;
	if (plock_line_parse(&own, line, len, &wrong) && !wrong)
		CHECK(own.end >= own.start && !own.comm[sizeof(own.comm) - 1]);
	if (!dlm_plock_parse(&all, line, len, &wrong))
		return;
	CHECK(!wrong);
	CHECK(all.end >= all.start && !all.comm[sizeof(all.comm) - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
