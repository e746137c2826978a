/* SPDX-License-Identifier: MIT */
/*
 * fuzz_dlm.c - fuzzes the lines of the DLM's dump, rsb and lkb, and GFS2's names of its resources.
 */
#include "../unit/print_lines.h"
#include "fuzz.h"

static char buf[1024];

static void rsb(const char *line, size_t len)
{
	struct dlm_rsb_line a, b;
	uint64_t number;
	uint32_t type;
	size_t n;

	if (dlm_rsb_parse(&a, line, len))
		return;
	CHECK(a.len <= DLM_NAME_MAX);
	dlm_gfs2_name(&a, &type, &number);
	if (!a.hex && memchr(a.name, '\n', a.len))
		return;
	n = dlm_rsb_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!dlm_rsb_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

static void lkb(const char *line, size_t len)
{
	struct dlm_lkb_line a, b;
	size_t n;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (dlm_lkb_parse(&a, line, len))
		return;
	n = dlm_lkb_print(&a, buf, sizeof(buf));
	CHECK(n > 0 && buf[n - 1] == '\n');
	CHECK(!dlm_lkb_parse(&b, buf, n - 1));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(dlm_lkb_print(&a, buf, n) == 0);
}

static void each(const char *line, size_t len, bool complete)
{
	(void)complete;
	rsb(line, len);
	lkb(line, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
