/* SPDX-License-Identifier: MIT */
/* fs_state: the generation of an OCFS2 and its device. Both readers are inside their files. */
#include "collect/mounts.c"
#include "sources/ocfs2.c"

#include "fuzz.h"

static uint32_t generation;
static unsigned device[2];

static void each(const char *line, size_t len, bool complete)
{
	take_fs_state(&generation, line, len, 1, complete);
	find_device(device, line, len, 1, complete);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
