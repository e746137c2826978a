/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ocfs2_lvb.c - fuzzes the value block of an M lock: the decoded bytes are those in the block.
 */
#include "fuzz.h"
#include "o2top/sources/lines/ocfs2_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ocfs2_lvb lvb;
	uint8_t *copy;

	if (size < OCFS2_LVB_LEN)
		return 0;
	copy = malloc(OCFS2_LVB_LEN);
	CHECK(copy);
	memcpy(copy, data, OCFS2_LVB_LEN);
	if (ocfs2_lvb_decode(&lvb, copy)) {
		CHECK(copy[0] == 5);
		CHECK((lvb.size >> 56) == copy[40] && (lvb.size & 0xff) == copy[47]);
		CHECK(lvb.mode == (copy[48] << 8 | copy[49]));
		CHECK((lvb.generation >> 24) == copy[56] && (lvb.generation & 0xff) == copy[59]);
	}
	free(copy);
	return 0;
}
