/* SPDX-License-Identifier: MIT */
/*
 * fuzz_wire.c - fuzzes the bytes of a connection, cut into pieces; the first byte tells how.
 */
#include "fuzz.h"
#include "o2top/collect/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char nonce[WIRE_NONCE] = "N";
	struct parcel *p;
	struct wire w;
	size_t step;

	if (size < 1)
		return 0;
	step = data[0] ? data[0] : 256;
	wire_init(&w, nonce);
	w.limit = 1 << 16;
	w.state = WIRE_READY;
	for (size_t at = 1; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		if (wire_take(&w, (const char *)data + at, n)) {
			CHECK(*w.error);
			break;
		}
	}
	while ((p = wire_next(&w))) {
		size_t all = 0;

		for (size_t i = 0; i < p->n; i++)
			all += p->files[i].len;
		CHECK(all <= w.limit);
		parcel_free(p);
	}
	wire_free(&w);
	return 0;
}
