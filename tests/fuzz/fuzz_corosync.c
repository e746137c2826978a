/* SPDX-License-Identifier: MIT */
/*
 * fuzz_corosync.c - fuzzes the parser of corosync.conf.
 */
#include "fuzz.h"
#include "o2top/collect/machine/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct discovered d = {0};
	struct input in;

	input_open_memory(&in, (const char *)data, size, "fuzz");
	CHECK(discover_corosync(&d, &in) == 0);
	for (size_t i = 0; i < d.n; i++)
		CHECK(*d.names[i] && !memchr(d.names[i], '\n', strlen(d.names[i])));
	discover_free(&d);
	return 0;
}
