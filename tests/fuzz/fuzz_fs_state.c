/* SPDX-License-Identifier: MIT */
/*
 * fuzz_fs_state.c - fuzzes fs_state: the generation of an OCFS2, and its device.
 *
 * The reader of the generation is a static function, so the target includes its file.
 */
#include "o2top/collect/machine/mounts.h"
#include "o2top/sources/ocfs2.c"

#include "fuzz.h"

static uint32_t generation;
static unsigned device[2];

static void each(const char *line, size_t len, bool complete)
{
	struct input in;

	ocfs2_take_fs_state(&generation, line, len, 1, complete);
	input_open_memory(&in, line, len, "fuzz");
	mounts_device_of_fs_state(&in, device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_lines(data, size, each);
	return 0;
}
